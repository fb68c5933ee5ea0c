//! Progress: how far queues reach (202) and how far groups have read (208, 303, 317).

use crate::answer::{Answer, Answered, Refused};
use crate::caller::Caller;
use broker::{GetGroups, GetProgress, GetTopicStats, Progress, QueueProgress};
use model::{GroupName, QueueId, TopicName};
use std::collections::BTreeMap;
use wire::remoting::admin::{
    ConsumeStatsHeader, OfTopic, OffsetWrapper, QueueTimeSpan, TimeSpanHeader, TimeSpans, TopicOffset,
};
use wire::remoting::lock::MessageQueue;
use wire::remoting::{Command, ResponseCode, json};

pub(crate) async fn topic(caller: &Caller, request: &Command) -> Answered {
    let header = OfTopic::read(&request.ext)?;
    let name = TopicName::new(&header.topic).ok();
    let stats = match name.clone() {
        Some(topic) => caller.ask(GetTopicStats { topic }).await?,
        None => None,
    };
    let (Some(stats), Some(name)) = (stats, name) else { return Err(unknown(&header.topic)) };
    let broker = caller.broker_name().await?;
    let table = json::write_keyed(stats.queues.iter().map(|queue| {
        let offset = TopicOffset {
            last_update_timestamp: queue.stored_at.as_millis(),
            max_offset: queue.max.0,
            min_offset: queue.min.0,
        };
        (queue_of(&broker, &name, queue.queue_id), offset)
    }));
    let body = format!("{{\"offsetTable\":{table},\"topicPutTps\":{:?}}}", stats.put_per_second);
    Ok(Answer::with_body(body.into()))
}

pub(crate) async fn group(caller: &Caller, request: &Command) -> Answered {
    let header = ConsumeStatsHeader::read(&request.ext)?;
    let listed = header.topics.as_deref().unwrap_or_default().split(';');
    let topics =
        header.topic.as_deref().into_iter().chain(listed).filter_map(|topic| TopicName::new(topic).ok());
    let progress = match GroupName::new(&header.group) {
        Ok(group) => caller.ask(GetProgress { group, topics: topics.collect() }).await?,
        Err(_) => Progress::default(),
    };
    let broker = caller.broker_name().await?;
    Ok(Answer::with_body(stats(&broker, progress.got_per_second, &progress.queues).into()))
}

pub(crate) async fn all(caller: &Caller) -> Answered {
    let broker = caller.broker_name().await?;
    let (mut list, mut behind, mut in_flight) = (Vec::new(), 0, 0);
    for group in caller.ask(GetGroups).await? {
        let progress = caller.ask(GetProgress { group: group.name.clone(), topics: Vec::new() }).await?;
        let mut by_topic: BTreeMap<&TopicName, Vec<QueueProgress>> = BTreeMap::new();
        for queue in &progress.queues {
            behind += queue.max.0 - queue.finished.0;
            in_flight += queue.taken.0 - queue.finished.0;
            by_topic.entry(&queue.topic).or_default().push(queue.clone());
        }
        if by_topic.is_empty() {
            continue;
        }
        let of_topics: Vec<String> =
            by_topic.values().map(|queues| stats(&broker, progress.got_per_second, queues)).collect();
        list.push(format!("{{\"{}\":[{}]}}", group.name, of_topics.join(",")));
    }
    let body = format!(
        "{{\"brokerAddr\":\"{}\",\"consumeStatsList\":[{}],\"totalDiff\":{behind},\"totalInflightDiff\":{in_flight}}}",
        caller.settings.store_host,
        list.join(","),
    );
    Ok(Answer::with_body(body.into()))
}

/// Peer: `ConsumeStats`.
fn stats(broker: &str, per_second: f64, queues: &[QueueProgress]) -> String {
    let table = json::write_keyed(queues.iter().map(|queue| {
        let offset = OffsetWrapper {
            broker_offset: queue.max.0,
            consumer_offset: queue.finished.0,
            last_timestamp: queue.finished_stored_at.as_millis(),
            pull_offset: queue.taken.0,
        };
        (queue_of(broker, &queue.topic, queue.queue_id), offset)
    }));
    format!("{{\"consumeTps\":{per_second:?},\"offsetTable\":{table}}}")
}

pub(crate) async fn time_span(caller: &Caller, request: &Command) -> Answered {
    let header = TimeSpanHeader::read(&request.ext)?;
    let (Ok(topic), Ok(group)) = (TopicName::new(&header.topic), GroupName::new(&header.group)) else {
        return Err(unknown(&header.topic));
    };
    let progress = caller.ask(GetProgress { group, topics: vec![topic] }).await?;
    if progress.queues.is_empty() {
        return Err(unknown(&header.topic));
    }
    let broker = caller.broker_name().await?;
    let spans = progress.queues.iter().map(|queue| {
        let (consumed, newest) = (queue.finished_stored_at.as_millis(), queue.max_stored_at.as_millis());
        QueueTimeSpan {
            consume_time_stamp: consumed,
            delay_time: newest - consumed,
            max_time_stamp: newest,
            message_queue: queue_of(&broker, &queue.topic, queue.queue_id),
            min_time_stamp: queue.min_stored_at.as_millis(),
        }
    });
    Ok(Answer::with_body(json::write(&TimeSpans { consume_time_span_set: spans.collect() })))
}

/// A queue as clients name it.
pub(super) fn queue_of(broker: &str, topic: &TopicName, queue_id: QueueId) -> MessageQueue {
    MessageQueue { broker_name: broker.to_owned(), queue_id: queue_id.0 as i32, topic: topic.to_string() }
}

fn unknown(topic: &str) -> Refused {
    Refused::new(ResponseCode::TopicNotExist, &format!("topic[{topic}] not exist"))
}
