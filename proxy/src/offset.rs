//! Offsets: how far a group has read a queue, and where a queue begins, ends, or was at a moment. For consumers
//! that read by offset; those that take with leases need none of it.

use crate::Proxy;
use crate::context::Context;
use crate::names;
use crate::status::{self, Refused};
use crate::time::millis;
use broker::{CommitOffset, GetBounds, GetGroup, GetTopic, QueryOffset, SearchOffset};
use model::{GroupName, QueueId, QueueOffset, Timestamp, TopicName};
use proto::v2::{
    self, Code, GetOffsetRequest, GetOffsetResponse, QueryOffsetPolicy, QueryOffsetRequest,
    QueryOffsetResponse, UpdateOffsetRequest, UpdateOffsetResponse,
};
use service::ServiceExt;

/// The offset a group has committed. None is no error of the server's, and has a code of its own.
pub(crate) async fn get(
    proxy: &Proxy,
    _: &Context,
    request: GetOffsetRequest,
) -> Result<GetOffsetResponse, Refused> {
    let (topic, queue_id) = queue(proxy, request.message_queue.as_ref()).await?;
    let group = names::group(request.group.as_ref())?;
    let text = format!("group {group} has committed no offset of queue {queue_id} of topic {topic}");
    let ask = QueryOffset { group, topic, queue_id, zero_if_young: false };
    match proxy.service.ask(ask).await? {
        Ok(offset) => Ok(GetOffsetResponse { status: Some(status::ok()), offset: offset.0 }),
        Err(broker::QueryOffsetError::NotCommitted) => Err(Refused::new(Code::OffsetNotFound, text)),
    }
}

/// Commits; an offset beyond the queue's end counts as that.
pub(crate) async fn update(
    proxy: &Proxy,
    _: &Context,
    request: UpdateOffsetRequest,
) -> Result<UpdateOffsetResponse, Refused> {
    let (topic, queue_id) = queue(proxy, request.message_queue.as_ref()).await?;
    let group = existing_group(proxy, request.group.as_ref()).await?;
    let queue_offset = offset(request.offset)?;
    proxy.service.ask(CommitOffset { group, topic, queue_id, queue_offset }).await??;
    Ok(UpdateOffsetResponse { status: Some(status::ok()) })
}

/// Where a queue begins or ends, or the first offset stored at a moment or after it.
pub(crate) async fn query(
    proxy: &Proxy,
    _: &Context,
    request: QueryOffsetRequest,
) -> Result<QueryOffsetResponse, Refused> {
    let (topic, queue_id) = queue(proxy, request.message_queue.as_ref()).await?;
    let wrong = |text: String| Refused::new(Code::BadRequest, text);
    let offset = match QueryOffsetPolicy::try_from(request.query_offset_policy) {
        Ok(QueryOffsetPolicy::Beginning) => proxy.service.ask(GetBounds { topic, queue_id }).await?.min,
        Ok(QueryOffsetPolicy::End) => proxy.service.ask(GetBounds { topic, queue_id }).await?.max,
        Ok(QueryOffsetPolicy::Timestamp) => {
            let at = request.timestamp.ok_or_else(|| wrong("the timestamp is missing".to_owned()))?;
            let at = Timestamp::from_millis(millis(at));
            proxy.service.ask(SearchOffset { topic, queue_id, at, upper: false }).await?
        }
        Err(_) => {
            let policy = request.query_offset_policy;
            return Err(wrong(format!("query_offset_policy is {policy}, which is none there is")));
        }
    };
    Ok(QueryOffsetResponse { status: Some(status::ok()), offset: offset.0 })
}

/// The queue that is meant: of a topic there is, and one of those that may be read.
pub(crate) async fn queue(
    proxy: &Proxy,
    asked: Option<&v2::MessageQueue>,
) -> Result<(TopicName, QueueId), Refused> {
    let asked = asked.ok_or_else(|| Refused::new(Code::BadRequest, "the message_queue is missing"))?;
    let name = names::topic(asked.topic.as_ref())?;
    let found = proxy.service.ask(GetTopic { name: name.clone() }).await?;
    let Some(topic) = found else {
        return Err(Refused::new(Code::TopicNotFound, format!("topic {name} does not exist")));
    };
    let queues = topic.read_queues;
    let queue_id = u32::try_from(asked.id).ok().filter(|&id| id < queues).map(QueueId);
    let text = || format!("queue {} of topic {name} does not exist, it has {queues} to read", asked.id);
    let queue_id = queue_id.ok_or_else(|| Refused::new(Code::BadRequest, text()))?;
    Ok((name, queue_id))
}

/// A group there is: what is committed for others would be kept for ever.
async fn existing_group(proxy: &Proxy, asked: Option<&v2::Resource>) -> Result<GroupName, Refused> {
    let name = names::group(asked)?;
    match proxy.service.ask(GetGroup { name: name.clone() }).await? {
        Some(_) => Ok(name),
        None => Err(Refused::new(Code::ConsumerGroupNotFound, format!("group {name} does not exist"))),
    }
}

/// A place in a queue.
pub(crate) fn offset(asked: i64) -> Result<QueueOffset, Refused> {
    if asked < 0 {
        let text = format!("offset is {asked}, it must be 0 or more");
        return Err(Refused::new(Code::IllegalOffset, text));
    }
    Ok(QueueOffset(asked))
}
