//! Offsets: `QUERY_CONSUMER_OFFSET` (14), `UPDATE_CONSUMER_OFFSET` (15), `SEARCH_OFFSET_BY_TIMESTAMP` (29),
//! `GET_MAX_OFFSET` (30), `GET_MIN_OFFSET` (31).
//!
//! A queue that is not there reaches from 0 to 0, and so does one whose name could not be: Go's client reads
//! an offset from whatever answer it gets.

use crate::answer::{Answer, Answered, Refused};
use crate::caller::Caller;
use broker::{
    Bounds, CommitOffset, CommitOffsetError, GetBounds, QueryOffset, QueryOffsetError, SearchOffset,
};
use model::{GroupName, QueueId, QueueOffset, Timestamp, TopicName};
use wire::remoting::offset::{self, Commit, Query, Queue, Search};
use wire::remoting::{Command, ResponseCode};

pub(crate) async fn query(caller: &Caller, request: &Command) -> Answered {
    let header = Query::read(&request.ext)?;
    let not_found = |error| Refused::new(ResponseCode::QueryNotFound, &error);
    let group = GroupName::new(&header.group).map_err(Refused::name(ResponseCode::QueryNotFound))?;
    let Some((topic, queue_id)) = queue(&header.topic, header.queue_id) else {
        return Err(not_found(QueryOffsetError::NotCommitted));
    };
    let ask = QueryOffset { group, topic, queue_id, zero_if_young: header.may_be_zero() };
    match caller.ask(ask).await? {
        Ok(offset) => Ok(told(offset)),
        Err(error @ QueryOffsetError::NotCommitted) => Err(not_found(error)),
    }
}

pub(crate) async fn commit(caller: &Caller, request: &Command) -> Answered {
    let header = Commit::read(&request.ext)?;
    let group =
        GroupName::new(&header.group).map_err(Refused::name(ResponseCode::SubscriptionGroupNotExist))?;
    let topic = TopicName::new(&header.topic).map_err(Refused::name(ResponseCode::TopicNotExist))?;
    let invalid = |why: String| Refused::new(ResponseCode::InvalidParameter, &why);
    let queue_id = u32::try_from(header.queue_id)
        .map_err(|_| invalid(format!("queueId[{}] is illegal, topic {topic}", header.queue_id)))?;
    if header.queue_offset < 0 {
        return Err(invalid(format!("commitOffset is {}, the least is 0", header.queue_offset)));
    }
    let ask = CommitOffset {
        group,
        topic,
        queue_id: QueueId(queue_id),
        queue_offset: QueueOffset(header.queue_offset),
    };
    match caller.ask(ask).await? {
        Ok(()) => Ok(Answer::success()),
        Err(error) => Err(Refused::new(commit_code_of(&error), &error)),
    }
}

pub(crate) async fn search(caller: &Caller, request: &Command) -> Answered {
    let header = Search::read(&request.ext)?;
    let Some((topic, queue_id)) = queue(&header.topic, header.queue_id) else {
        return Ok(told(QueueOffset(0)));
    };
    let ask =
        SearchOffset { topic, queue_id, at: Timestamp::from_millis(header.at), upper: header.is_upper() };
    Ok(told(caller.ask(ask).await?))
}

pub(crate) async fn max(caller: &Caller, request: &Command) -> Answered {
    Ok(told(bounds(caller, request).await?.max))
}

pub(crate) async fn min(caller: &Caller, request: &Command) -> Answered {
    Ok(told(bounds(caller, request).await?.min))
}

async fn bounds(caller: &Caller, request: &Command) -> Result<Bounds, Refused> {
    let header = Queue::read(&request.ext)?;
    let Some((topic, queue_id)) = queue(&header.topic, header.queue_id) else {
        return Ok(Bounds::default());
    };
    caller.ask(GetBounds { topic, queue_id }).await
}

/// A queue, where such a one could be.
fn queue(topic: &str, queue_id: i32) -> Option<(TopicName, QueueId)> {
    Some((TopicName::new(topic).ok()?, QueueId(u32::try_from(queue_id).ok()?)))
}

fn told(offset: QueueOffset) -> Answer {
    Answer::with_fields(|ext| offset::Answer { queue_offset: offset.0 }.write(ext))
}

/// Peer: `ConsumerManageProcessor#updateConsumerOffset`.
fn commit_code_of(error: &CommitOffsetError) -> ResponseCode {
    match error {
        CommitOffsetError::TopicUnknown { .. } => ResponseCode::TopicNotExist,
        CommitOffsetError::QueueUnknown { .. } => ResponseCode::InvalidParameter,
        CommitOffsetError::GroupUnknown { .. } => ResponseCode::SubscriptionGroupNotExist,
    }
}
