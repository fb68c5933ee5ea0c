//! Topics: 18, 21, 32, 215, 224, 300, 304, 305, 321.

use super::version;
use crate::answer::{Answer, Answered, Refused};
use crate::caller::Caller;
use crate::route::broker;
use crate::topic;
use broker::{
    CreateTopic, DeleteTopic, DeleteTopicError, GetEntries, GetEntriesError, GetGroupsOf, GetTopics,
};
use model::{QueueId, QueueOffset, TopicName, is_system_topic};
use std::collections::BTreeSet;
use wire::remoting::admin::{
    AllTopics, GroupList, Index, IndexData, IndexPart, OfCluster, OfTopic, TopicConfigs, TopicList,
};
use wire::remoting::offset::Queue;
use wire::remoting::{Command, ResponseCode, json};

pub(crate) async fn create_all(caller: &Caller, request: &Command) -> Answered {
    let body: TopicConfigs = json::read(&request.body)?;
    // All are looked at before any is made.
    let all = body.topic_config_list.iter().map(topic::wanted).collect::<Result<Vec<CreateTopic>, _>>()?;
    for ask in all {
        topic::make(caller, ask).await?;
    }
    Ok(Answer::success())
}

pub(crate) async fn configs(caller: &Caller) -> Answered {
    let topics = caller.ask(GetTopics).await?;
    let body = AllTopics {
        data_version: version(),
        mapping_data_version: version(),
        topic_config_table: topics.iter().map(|one| (one.name.to_string(), topic::config(one))).collect(),
        ..AllTopics::default()
    };
    Ok(Answer::with_body(json::write(&body)))
}

pub(crate) async fn delete(caller: &Caller, request: &Command) -> Answered {
    let header = OfTopic::read(&request.ext)?;
    let name = TopicName::new(&header.topic).map_err(Refused::name(ResponseCode::InvalidParameter))?;
    match caller.ask(DeleteTopic { name }).await? {
        Ok(deleted) => {
            let (topic, messages, pending) = (header.topic, deleted.messages, deleted.pending);
            tracing::info!(topic, messages, pending, "topic deleted");
            Ok(Answer::success())
        }
        Err(error) => {
            let code = match error {
                DeleteTopicError::SystemTopic { .. } | DeleteTopicError::RetryTopic { .. } => {
                    ResponseCode::InvalidParameter
                }
                DeleteTopicError::Unavailable { .. } => ResponseCode::ServiceNotAvailable,
            };
            Err(Refused::new(code, &error))
        }
    }
}

pub(crate) async fn of_cluster(caller: &Caller, request: &Command) -> Answered {
    let header = OfCluster::read(&request.ext)?;
    let topics = caller.service.topics(Some(header.cluster)).await?;
    Ok(names(topics.iter().map(ToString::to_string).collect(), None))
}

/// Clusters and brokers have topics of their names; a broker tells the rest, the one of this process where it can.
pub(crate) async fn system_of_name_server(caller: &Caller) -> Answered {
    let brokers = caller.service.brokers().await?;
    let clusters: BTreeSet<&str> = brokers.iter().map(|broker| broker.cluster.as_str()).collect();
    let names_of_brokers = brokers.iter().map(|broker| broker.name.as_str());
    let all = clusters.into_iter().chain(names_of_brokers).map(str::to_owned).collect();
    let one = brokers.iter().find(|broker| broker.local).or(brokers.first());
    let told = one.map(|one| broker(caller, one));
    Ok(names(all, told.and_then(|told| told.broker_addrs.into_values().next())))
}

pub(crate) async fn system(caller: &Caller) -> Answered {
    let topics = caller.ask(GetTopics).await?;
    let ours = caller.service.brokers().await?.into_iter().find(|broker| broker.local);
    let own = |name: &str| {
        ours.as_ref().is_some_and(|broker| {
            broker.cluster == name
                || broker.name == name
                || name.strip_suffix("_REPLY_TOPIC").is_some_and(|cluster| broker.cluster == cluster)
        })
    };
    let system =
        topics.iter().map(|topic| topic.name.as_str()).filter(|name| is_system_topic(name) || own(name));
    Ok(names(system.map(str::to_owned).collect(), Some(caller.settings.route_host.to_string())))
}

/// No topic is of a unit.
pub(crate) fn none() -> Answer {
    names(Vec::new(), None)
}

pub(super) fn names(topic_list: Vec<String>, broker_addr: Option<String>) -> Answer {
    Answer::with_body(json::write(&TopicList { broker_addr, topic_list }))
}

pub(crate) async fn groups_of(caller: &Caller, request: &Command) -> Answered {
    let header = OfTopic::read(&request.ext)?;
    let groups = match TopicName::new(&header.topic) {
        Ok(topic) => caller.ask(GetGroupsOf { topic }).await?,
        Err(_) => Vec::new(),
    };
    let body = GroupList { group_list: groups.iter().map(ToString::to_string).collect() };
    Ok(Answer::with_body(json::write(&body)))
}

pub(crate) async fn index(caller: &Caller, request: &Command) -> Answered {
    let header = Index::read(&request.ext)?;
    let ask = GetEntries {
        topic: TopicName::new(&header.topic).map_err(Refused::name(ResponseCode::SystemError))?,
        queue_id: QueueId(header.queue_id.max(0).unsigned_abs()),
        from: QueueOffset(header.from.max(0)),
        count: header.count.max(0).unsigned_abs(),
    };
    let part = match caller.ask(ask).await? {
        Ok(part) => part,
        Err(error) => {
            let code = match error {
                GetEntriesError::QueueUnknown { .. } => ResponseCode::SystemError,
                GetEntriesError::View { .. } => ResponseCode::NoPermission,
            };
            return Err(Refused::new(code, &error));
        }
    };
    let entries = part.entries.iter().map(|entry| IndexData {
        eval: false,
        physic_offset: entry.log_offset.0 as i64,
        physic_size: entry.length as i32,
        tags_code: entry.tag_code,
    });
    let body =
        IndexPart { max_queue_index: part.max.0, min_queue_index: part.min.0, queue_data: entries.collect() };
    Ok(Answer::with_body(json::write(&body)))
}

pub(crate) async fn earliest(caller: &Caller, request: &Command) -> Answered {
    let header = Queue::read(&request.ext)?;
    let first = match (TopicName::new(&header.topic), u32::try_from(header.queue_id)) {
        (Ok(topic), Ok(queue)) => {
            let ask = GetEntries { topic, queue_id: QueueId(queue), from: QueueOffset(0), count: 1 };
            caller.ask(ask).await?.ok().and_then(|part| part.entries.first().copied())
        }
        _ => None,
    };
    let stored_at = first.map_or(-1, |first| first.stored_at.as_millis());
    Ok(Answer::with_fields(|ext| ext.set("timestamp", stored_at)))
}
