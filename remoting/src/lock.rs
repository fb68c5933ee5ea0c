//! Lock: `LOCK_BATCH_MQ` (41), `UNLOCK_BATCH_MQ` (42).

use crate::answer::{Answer, Answered, Refused};
use crate::caller::Caller;
use broker::{Lock, LockError, Unlock};
use model::{ClientId, GroupName, QueueId, TopicName};
use std::collections::HashSet;
use wire::remoting::lock::{self, Body, MessageQueue};
use wire::remoting::{Command, ResponseCode, json};

pub(crate) async fn lock(caller: &Caller, request: &Command) -> Answered {
    let body: Body = json::read(&request.body)?;
    let (group, client, queues) = asked(&body)?;
    let held = caller.ask(Lock { group, client, queues }).await?.map_err(|error| refused(&error))?;
    let held: HashSet<_> = held.into_iter().collect();
    // A queue is given back as the client named it, its broker too.
    let locked =
        body.mq_set.into_iter().filter(|named| queue(named).is_some_and(|queue| held.contains(&queue)));
    Ok(Answer::with_body(json::write(&lock::Answer { locked: locked.collect() })))
}

pub(crate) async fn unlock(caller: &Caller, request: &Command) -> Answered {
    let body: Body = json::read(&request.body)?;
    let (group, client, queues) = asked(&body)?;
    caller.ask(Unlock { group, client, queues }).await?;
    Ok(Answer::success())
}

fn refused(error: &LockError) -> Refused {
    let code = match error {
        LockError::GroupUnknown { .. } => ResponseCode::SubscriptionGroupNotExist,
        LockError::ClientIdTooLong { .. } => ResponseCode::InvalidParameter,
        LockError::Full { .. } => ResponseCode::SystemBusy,
    };
    Refused::new(code, error)
}

/// Of which group, which member, and which queues.
type Asked = (GroupName, ClientId, Vec<(TopicName, QueueId)>);

/// Who asks, and for which queues: those that could be none are passed over.
fn asked(body: &Body) -> Result<Asked, Refused> {
    let group = GroupName::new(&body.consumer_group).map_err(Refused::name(ResponseCode::SystemError))?;
    let client = ClientId(body.client_id.as_str().into());
    Ok((group, client, body.mq_set.iter().filter_map(queue).collect()))
}

fn queue(named: &MessageQueue) -> Option<(TopicName, QueueId)> {
    Some((TopicName::new(&named.topic).ok()?, QueueId(u32::try_from(named.queue_id).ok()?)))
}
