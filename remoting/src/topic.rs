//! Topics: `UPDATE_AND_CREATE_TOPIC` (17), `GET_TOPIC_CONFIG` (351), `GET_ALL_TOPIC_LIST_FROM_NAMESERVER` (206).

use crate::answer::{Answer, Answered, Refused};
use crate::caller::Caller;
use broker::{CreateTopic, CreateTopicError, GetTopic};
use model::{Permission, Topic, TopicKind, TopicName};
use wire::remoting::topic::{Get, Header, TopicConfig, TopicList};
use wire::remoting::{Command, ResponseCode, json};

/// The attribute that holds a topic's kind.
const KIND: &str = "message.type";

/// Attributes that say what is so anyway.
const GIVEN: [(&str, &str); 2] = [("queue.type", "SimpleCQ"), ("cleanup.policy", "DELETE")];

pub(crate) async fn create(caller: &Caller, request: &Command) -> Answered {
    let header = Header::read(&request.ext)?;
    let ask = CreateTopic {
        name: TopicName::new(&header.topic).map_err(Refused::name(ResponseCode::InvalidParameter))?,
        read_queues: positive("readQueueNums", header.read_queues)?,
        write_queues: positive("writeQueueNums", header.write_queues)?,
        permission: permission(header.permission)?,
        kind: kind(header.attributes.as_deref().unwrap_or_default())?,
        order: header.order,
        sys_flag: header.sys_flag.unwrap_or(0) as u32,
    };
    make(caller, ask).await?;
    Ok(Answer::success())
}

/// Makes or changes a topic.
pub(crate) async fn make(caller: &Caller, ask: CreateTopic) -> Result<(), Refused> {
    match caller.ask(ask).await? {
        Ok(_) => Ok(()),
        Err(error) => Err(Refused::new(code_of(&error), &error)),
    }
}

/// A topic as a list says that it shall be.
pub(crate) fn wanted(config: &TopicConfig) -> Result<CreateTopic, Refused> {
    let changes: Vec<String> = config
        .attributes
        .iter()
        .map(|(name, value)| format!("+{}={value}", name.trim_start_matches('+')))
        .collect();
    Ok(CreateTopic {
        name: TopicName::new(&config.topic_name).map_err(Refused::name(ResponseCode::InvalidParameter))?,
        read_queues: config.read_queue_nums,
        write_queues: config.write_queue_nums,
        permission: permission(config.perm as i32)?,
        kind: kind(&changes.join(","))?,
        order: config.order,
        sys_flag: config.topic_sys_flag,
    })
}

pub(crate) async fn get(caller: &Caller, request: &Command) -> Answered {
    let header = Get::read(&request.ext)?;
    let topic = match TopicName::new(&header.topic) {
        Ok(name) => caller.ask(GetTopic { name }).await?,
        Err(_) => None,
    };
    let unknown =
        || Refused::new(ResponseCode::TopicNotExist, &format!("topic {} does not exist", header.topic));
    let topic = topic.ok_or_else(unknown)?;
    Ok(Answer::with_body(json::write(&config(&topic))))
}

pub(crate) async fn list(caller: &Caller) -> Answered {
    let topics = caller.service.topics(None).await?;
    let body = TopicList { topic_list: topics.iter().map(ToString::to_string).collect() };
    Ok(Answer::with_body(json::write(&body)))
}

fn invalid(why: &str) -> Refused {
    Refused::new(ResponseCode::InvalidParameter, &why)
}

fn positive(field: &str, value: i32) -> Result<u32, Refused> {
    u32::try_from(value).map_err(|_| invalid(&format!("{field} is {value}, the least is 1")))
}

/// Peer: `PermName#isValid`, which takes reading, writing and inheriting in any mix but nothing more.
fn permission(value: i32) -> Result<Permission, Refused> {
    match u32::try_from(value) {
        Ok(bits) if bits & !7 == 0 => Ok(Permission(bits)),
        _ => {
            Err(invalid(&format!("perm is {value}, allowed are sums of 4 (read), 2 (write) and 1 (inherit)")))
        }
    }
}

/// The kind that changes of attributes set, `+name=value` or `-name` with commas between; `None` leaves it.
fn kind(changes: &str) -> Result<Option<TopicKind>, Refused> {
    let mut kind = None;
    for change in changes.split(',').map(str::trim).filter(|change| !change.is_empty()) {
        if change.strip_prefix('-') == Some(KIND) {
            kind = Some(TopicKind::Normal);
            continue;
        }
        let (name, value) =
            change.strip_prefix('+').and_then(|set| set.split_once('=')).ok_or_else(|| {
                invalid(&format!("attribute change {change:?} is neither +name=value nor -{KIND}"))
            })?;
        match (name, TopicKind::parse(value)) {
            (KIND, Some(word)) => kind = Some(word),
            // It says nothing about the kind, as does leaving the attribute out.
            (KIND, None) if value == "UNSPECIFIED" => {}
            _ if GIVEN.contains(&(name, value)) => {}
            _ => return Err(invalid(&format!("attribute {name} = {value} is not supported"))),
        }
    }
    Ok(kind)
}

/// A topic as tools and name servers are told of it.
pub fn config(topic: &Topic) -> TopicConfig {
    TopicConfig {
        attributes: [(KIND.to_owned(), topic.kind.as_str().to_owned())].into(),
        order: topic.order,
        perm: topic.permission.0,
        read_queue_nums: topic.read_queues,
        topic_name: topic.name.to_string(),
        topic_sys_flag: topic.sys_flag,
        write_queue_nums: topic.write_queues,
        ..TopicConfig::default()
    }
}

/// Peer: `AdminBrokerProcessor#updateAndCreateTopic`.
fn code_of(error: &CreateTopicError) -> ResponseCode {
    match error {
        CreateTopicError::Name(_)
        | CreateTopicError::SystemTopic { .. }
        | CreateTopicError::NoGroup { .. }
        | CreateTopicError::Queues { .. } => ResponseCode::InvalidParameter,
        CreateTopicError::Unavailable { .. } => ResponseCode::ServiceNotAvailable,
    }
}
