//! `duemq topic create`.

use super::{CreateTopic, Kind, reach};
use crate::exit::{Exit, Failure};
use anyhow::anyhow;
use model::{Permission, TopicKind, TopicName};
use wire::remoting::topic::{Header, TopicConfig};

/// The attribute that holds a topic's kind.
const KIND: &str = "message.type";

/// Queues of a new topic, where nobody says how many.
const QUEUES: u32 = 8;

/// Makes the topic on every broker that the name server knows; of one that is there, changes what is given.
pub fn create(args: &CreateTopic) -> Result<(), Failure> {
    let topic = TopicName::new(&args.name).map_err(reach::wrong)?;
    reach::run(async {
        let names = reach::name_server(&args.server).await?;
        let cluster = names.cluster().await.map_err(reach::names_refused(&args.server))?;
        if cluster.broker_addr_table.is_empty() {
            return Err(Failure::new(
                Exit::NoServer,
                anyhow!("the name server at {} knows no broker", args.server.namesrv),
            ));
        }
        for broker in cluster.broker_addr_table.values() {
            let address = reach::master(broker)?;
            let client = reach::broker(address).await?;
            let before = client.topic(topic.as_str()).await.map_err(reach::refused_at(address))?;
            let header = wanted(args, &topic, before.as_ref());
            client.create_topic(&header).await.map_err(reach::refused_at(address))?;
            let said = told(&header, before.as_ref());
            reach::say(&format!("topic {topic} on broker {}: {said}\n", broker.broker_name))?;
            if let Some(hidden) = hidden(&header, before.as_ref()) {
                eprintln!("warning: {hidden}");
            }
        }
        Ok(())
    })
}

/// The topic as it shall be: what was given, else what it was, else what a new one is.
fn wanted(args: &CreateTopic, topic: &TopicName, before: Option<&TopicConfig>) -> Header {
    let number = |given: Option<u32>, before: Option<u32>| {
        i32::try_from(given.or(before).unwrap_or(QUEUES)).unwrap_or(i32::MAX)
    };
    let kind = args.kind.map(TopicKind::from).or(before.map(kind_of)).unwrap_or(TopicKind::Mixed);
    Header {
        topic: topic.to_string(),
        default_topic: Some("TBW102".to_owned()),
        read_queues: number(args.queues, before.map(|before| before.read_queue_nums)),
        write_queues: number(args.queues, before.map(|before| before.write_queue_nums)),
        permission: before.map_or(Permission::READ_WRITE.0, |before| before.perm) as i32,
        filter_type: Some("SINGLE_TAG".to_owned()),
        sys_flag: Some(before.map_or(0, |before| before.topic_sys_flag) as i32),
        order: before.is_some_and(|before| before.order),
        attributes: Some(format!("+{KIND}={}", kind.as_str())),
    }
}

/// The kind as the server tells it. One that tells none takes messages of every kind.
fn kind_of(topic: &TopicConfig) -> TopicKind {
    topic.attributes.get(KIND).and_then(|word| TopicKind::parse(word)).unwrap_or(TopicKind::Mixed)
}

/// What became of the topic.
fn told(now: &Header, before: Option<&TopicConfig>) -> String {
    let kind = now.attributes.as_deref().and_then(|text| text.split_once('=')).map_or("", |(_, kind)| kind);
    let now = shape(kind, i64::from(now.read_queues));
    match before.map(|before| shape(kind_of(before).as_str(), i64::from(before.read_queue_nums))) {
        None => format!("made: {now}"),
        Some(before) if before == now => format!("unchanged: {now}"),
        Some(before) => format!("changed from {before} to {now}"),
    }
}

fn shape(kind: &str, queues: i64) -> String {
    format!("{kind} messages, {queues} queue{}", if queues == 1 { "" } else { "s" })
}

/// What can no longer be received, where the topic has fewer queues than before.
fn hidden(now: &Header, before: Option<&TopicConfig>) -> Option<String> {
    let before = i64::from(before?.read_queue_nums);
    let now = i64::from(now.read_queues);
    (now < before).then(|| {
        format!(
            "messages in queues {now} to {} are not received until the topic has {before} queues again",
            before - 1
        )
    })
}

impl From<Kind> for TopicKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Normal => Self::Normal,
            Kind::Delay => Self::Delay,
            Kind::Fifo => Self::Fifo,
            Kind::Transaction => Self::Transaction,
            Kind::Mixed => Self::Mixed,
        }
    }
}

#[cfg(test)]
mod tests;
