//! Offsets: set anew (222), taken over (314), all of them (43), the least ones (308).

use super::progress::queue_of;
use crate::answer::{Answer, Answered, Refused};
use crate::caller::Caller;
use broker::{CloneOffsets, GetLeastOffsets, GetOffsets, ResetOffset, ResetOffsetError, ResetTo};
use model::{GroupName, QueueId, QueueOffset, Timestamp, TopicName};
use std::collections::BTreeMap;
use wire::remoting::admin::{Clone as CloneHeader, CorrectionOffsets, LeastOffsets, Reset};
use wire::remoting::{Command, ResponseCode, json};

/// Peer: `AdminBrokerProcessor#resetOffsetInner`: a queue with an offset, else the moment for all.
pub(crate) async fn reset(caller: &Caller, request: &Command) -> Answered {
    let header = Reset::read(&request.ext)?;
    let topic = TopicName::new(&header.topic).map_err(Refused::name(ResponseCode::TopicNotExist))?;
    let group =
        GroupName::new(&header.group).map_err(Refused::name(ResponseCode::SubscriptionGroupNotExist))?;
    let queue_id = header.queue_id.and_then(|queue| u32::try_from(queue).ok()).map(QueueId);
    let to = match (header.offset.filter(|&offset| offset >= 0 && queue_id.is_some()), header.timestamp) {
        (Some(offset), _) => ResetTo::Offset(QueueOffset(offset)),
        (None, Some(at)) if at >= 0 => ResetTo::Stored(Timestamp::from_millis(at)),
        (None, _) => ResetTo::End,
    };
    let only_back = header.force.is_some_and(|word| word.eq_ignore_ascii_case("false"));
    let places =
        match caller.ask(ResetOffset { group, topic: topic.clone(), queue_id, to, only_back }).await? {
            Ok(places) => places,
            Err(error) => return Err(Refused::new(code_of(&error), &error)),
        };
    tracing::info!(%topic, group = header.group, queues = places.len(), "offsets reset");
    let broker = caller.broker_name().await?;
    let places = places.iter().map(|(queue_id, offset)| (queue_of(&broker, &topic, *queue_id), offset.0));
    Ok(Answer::with_body(format!("{{\"offsetTable\":{}}}", json::write_keyed(places)).into()))
}

fn code_of(error: &ResetOffsetError) -> ResponseCode {
    match error {
        ResetOffsetError::TopicUnknown { .. } => ResponseCode::TopicNotExist,
        ResetOffsetError::GroupUnknown { .. } => ResponseCode::SubscriptionGroupNotExist,
        ResetOffsetError::QueueUnknown { .. } | ResetOffsetError::OffsetOutside { .. } => {
            ResponseCode::SystemError
        }
        ResetOffsetError::Unavailable { .. } => ResponseCode::ServiceNotAvailable,
    }
}

pub(crate) async fn clone(caller: &Caller, request: &Command) -> Answered {
    let header = CloneHeader::read(&request.ext)?;
    let group = |name: &str| GroupName::new(name).map_err(Refused::name(ResponseCode::InvalidParameter));
    let topic = header.topic.as_deref().map(TopicName::new).transpose();
    let topic = topic.map_err(Refused::name(ResponseCode::TopicNotExist))?;
    caller.ask(CloneOffsets { from: group(&header.from)?, to: group(&header.to)?, topic }).await?;
    Ok(Answer::success())
}

pub(crate) async fn all(caller: &Caller) -> Answered {
    let mut table: BTreeMap<String, BTreeMap<u32, i64>> = BTreeMap::new();
    for (group, topic, queue_id, offset) in caller.ask(GetOffsets).await? {
        table.entry(format!("{topic}@{group}")).or_default().insert(queue_id.0, offset.0);
    }
    let body = BTreeMap::from([("offsetTable", table)]);
    Ok(Answer::with_body(json::write(&body)))
}

pub(crate) async fn least(caller: &Caller, request: &Command) -> Answered {
    let header = LeastOffsets::read(&request.ext)?;
    let without = header.without.as_deref().unwrap_or_default().split(',');
    let ask = GetLeastOffsets {
        topic: TopicName::new(&header.topic).map_err(Refused::name(ResponseCode::TopicNotExist))?,
        without: without.filter_map(|group| GroupName::new(group).ok()).collect(),
        compare: GroupName::new(&header.compare).map_err(Refused::name(ResponseCode::InvalidParameter))?,
    };
    let least = caller.ask(ask).await?;
    let correction_offsets = least.into_iter().map(|(queue_id, offset)| (queue_id.0, offset.0)).collect();
    Ok(Answer::with_body(json::write(&CorrectionOffsets { correction_offsets })))
}
