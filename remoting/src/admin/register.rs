//! Brokers that register here: 103, 104, 216, 217, 322, 901, 904.

use crate::answer::{Answer, Answered, Refused};
use crate::caller::Caller;
use broker::GetValues;
use model::{Permission, TopicName};
use nameserver::{Member, Queues, RegisterError, Registration, TopicsVersion};
use std::time::Duration;
use wire::remoting::admin::{DataVersion, OfClusterTopic, OfTopic, Table};
use wire::remoting::register::{
    self, Body, Header, Heartbeat, MemberGroup, MemberGroupBody, OfGroup, OfMember, RegisterBodyError,
    VersionAnswer,
};
use wire::remoting::route::{QueueData, TopicRouteData};
use wire::remoting::topic::TopicConfig;
use wire::remoting::{Command, ResponseCode, json};

/// Where the order of topics' queues is kept, which brokers are told. Peer: `NAMESPACE_ORDER_TOPIC_CONFIG`.
const ORDER_NAMESPACE: &str = "ORDER_TOPIC_CONFIG";

impl From<RegisterBodyError> for Refused {
    fn from(error: RegisterBodyError) -> Self {
        Self::new(ResponseCode::SystemError, &error)
    }
}

impl From<RegisterError> for Refused {
    fn from(error: RegisterError) -> Self {
        // No variant is another's: the peer knows one code for all of them.
        Self::new(ResponseCode::SystemError, &error)
    }
}

pub(crate) async fn register(caller: &Caller, request: &Command) -> Answered {
    let header = Header::read(&request.ext)?;
    let sum = header.body_crc32.unwrap_or(0);
    if sum != 0 && sum != register::checksum(&request.body) {
        return Err(Refused::new(ResponseCode::SystemError, &"crc32 not match"));
    }
    let body = Body::read(&request.body, header.compressed)?.topic_config_serialize_wrapper;
    let topics: Vec<(TopicName, Queues)> = body.topic_config_table.values().filter_map(topic).collect();
    let left_out = body.topic_config_table.len() - topics.len();
    let member =
        Member { cluster: header.cluster, name: header.name, id: header.id, address: header.address };
    let (name, id, address, count) = (member.name.clone(), member.id, member.address.clone(), topics.len());
    let ask = Registration {
        member,
        ha_address: header.ha_address.unwrap_or_default(),
        silence_max: header.silence_max_ms.map(|ms| Duration::from_millis(ms.max(0).unsigned_abs())),
        version: version(&body.data_version),
        topics,
    };
    let registered = match caller.service.register(caller.connection, ask).await? {
        Ok(registered) => registered,
        Err(error) => {
            tracing::warn!(broker = name, id, address, %error, "a broker is not registered");
            return Err(error.into());
        }
    };
    if registered.is_new {
        tracing::info!(broker = name, id, address, topics = count, left_out, "a broker is registered");
    }
    let (master, ha_address) = registered.master.unzip();
    let mut answer = Answer::with_fields(|ext| register::Answer { ha_address, master }.write(ext));
    let table = caller.ask(GetValues { namespace: ORDER_NAMESPACE.to_owned() }).await?;
    if !table.is_empty() {
        answer.body = vec![json::write(&Table { table })];
    }
    Ok(answer)
}

/// A topic's queues; nothing for one whose name nobody could ask for.
fn topic(config: &TopicConfig) -> Option<(TopicName, Queues)> {
    let queues = Queues {
        read: config.read_queue_nums,
        write: config.write_queue_nums,
        permission: Permission(config.perm),
        sys_flag: config.topic_sys_flag,
    };
    Some((TopicName::new(&config.topic_name).ok()?, queues))
}

pub(crate) async fn unregister(caller: &Caller, request: &Command) -> Answered {
    let OfMember { name, address, cluster, id } = OfMember::read(&request.ext)?;
    if let Some(gone) = caller.service.unregister(Member { cluster, name, id, address }).await? {
        tracing::info!(
            broker = gone.name,
            id = gone.id,
            address = gone.address,
            "a broker has gone by itself"
        );
    }
    Ok(Answer::success())
}

pub(crate) async fn data_version(caller: &Caller, request: &Command) -> Answered {
    let header = OfMember::read(&request.ext)?;
    let asked = version(&json::read::<DataVersion>(&request.body)?);
    let known = caller.service.heard(header.cluster, header.address).await?;
    let changed = known != Some(asked);
    let mut answer = Answer::with_fields(|ext| VersionAnswer { changed }.write(ext));
    answer.body = known.map(|known| json::write(&data_version_of(known))).into_iter().collect();
    Ok(answer)
}

pub(crate) async fn heartbeat(caller: &Caller, request: &Command) -> Answered {
    let Heartbeat { cluster, address } = Heartbeat::read(&request.ext)?;
    caller.service.heard(cluster, address).await?;
    Ok(Answer::success())
}

/// Peer: the cluster asked for is told again, whether or not the broker is in it.
pub(crate) async fn members(caller: &Caller, request: &Command) -> Answered {
    let OfGroup { cluster, name } = OfGroup::read(&request.ext)?;
    let found = caller.service.brokers().await?.into_iter().find(|broker| broker.name == name);
    let broker_member_group = MemberGroup {
        broker_addrs: found.map(|broker| broker.addresses).unwrap_or_default(),
        broker_name: name,
        cluster: cluster.unwrap_or_default(),
    };
    Ok(Answer::with_body(json::write(&MemberGroupBody { broker_member_group })))
}

/// One topic of brokers that are registered already.
pub(crate) async fn register_topic(caller: &Caller, request: &Command) -> Answered {
    let header = OfTopic::read(&request.ext)?;
    let topic = TopicName::new(&header.topic).map_err(Refused::name(ResponseCode::InvalidParameter))?;
    let body: TopicRouteData = json::read(&request.body)?;
    let queues = |data: QueueData| {
        let QueueData { broker_name, perm, read_queue_nums, topic_sys_flag, write_queue_nums } = data;
        let permission = Permission(perm);
        (
            broker_name,
            Queues { read: read_queue_nums, write: write_queue_nums, permission, sys_flag: topic_sys_flag },
        )
    };
    caller.service.serve(topic, body.queue_datas.into_iter().map(queues).collect()).await??;
    Ok(Answer::success())
}

/// A topic that is deleted. The broker of this process says itself what it serves: there it went with the topic.
pub(crate) async fn delete_topic(caller: &Caller, request: &Command) -> Answered {
    let header = OfClusterTopic::read(&request.ext)?;
    if let Ok(topic) = TopicName::new(&header.topic) {
        caller.service.withdraw(topic, header.cluster).await?;
    }
    Ok(Answer::success())
}

fn version(version: &DataVersion) -> TopicsVersion {
    TopicsVersion { state: version.state_version, timestamp: version.timestamp, counter: version.counter }
}

fn data_version_of(version: TopicsVersion) -> DataVersion {
    DataVersion { counter: version.counter, state_version: version.state, timestamp: version.timestamp }
}
