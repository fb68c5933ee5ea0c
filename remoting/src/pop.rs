//! Pop: `POP_MESSAGE` (200050), `PEEK_MESSAGE` (200052), `NOTIFICATION` (200054), `POLLING_INFO` (200055).

use crate::answer::{Answer, Answered, Refused};
use crate::caller::Caller;
use crate::heartbeat::filter;
use broker::{CountParked, Notification, Peek, Pop, PopError, Popped};
use bytes::Bytes;
use model::{GroupName, QueueId, TopicName};
use std::time::Duration;
use wire::ReceiptHandle;
use wire::property::POP_CK;
use wire::receipt_handle::Retry;
use wire::remoting::pop::{self, BEGIN_AT_LEAST, Header, Infos};
use wire::remoting::{Command, ResponseCode};
use wire::stored;

pub(crate) async fn pop(caller: &Caller, request: &Command) -> Answered {
    let header = Header::read(&request.ext)?;
    let revive_queue = if header.ordered { ORDERED } else { 0 };
    let fields = pop::Answer { revive_queue, ..pop::Answer::default() };
    let popped = match caller.ask(ask(&header)?).await? {
        Ok(popped) => popped,
        Err(error) => return Ok(refused(&error, &fields)),
    };
    let counts = popped.messages.iter().map(|message| (&message.handle, message.attempt.saturating_sub(1)));
    let infos = Infos::of(counts);
    let fields = pop::Answer {
        pop_time: popped.pop_time,
        invisible_ms: popped.invisible_ms,
        rest: popped.rest,
        start_offset_info: infos.start_offset,
        message_offset_info: infos.message_offset,
        order_count_info: header.ordered.then_some(infos.order_count).filter(|text| !text.is_empty()),
        ..fields
    };
    let (code, remark) = match popped.messages.is_empty() {
        true => (ResponseCode::PollingTimeout, "NO_MESSAGE_IN_QUEUE"),
        false => (ResponseCode::Success, "FOUND"),
    };
    let body = shown(&header.topic, popped);
    Ok(Answer { code, remark: Some(remark.to_owned()), body, ..Answer::with_fields(|ext| fields.write(ext)) })
}

/// What stands for the revive queue where the group consumes in order. Peer: `POP_ORDER_REVIVE_QUEUE`.
const ORDERED: i32 = 999;

fn ask(header: &Header) -> Result<Pop, Refused> {
    let (group, topic) = names(&header.group, &header.topic)?;
    let kind = header.expression_type.as_deref().unwrap_or_default();
    let filter = filter(kind, header.expression.as_deref().unwrap_or_default())
        .map_err(|refused| Refused { code: ResponseCode::SubscriptionParseFailed, ..refused })?;
    Ok(Pop {
        group,
        topic,
        queue_id: queue(header.queue_id),
        max_messages: header.max_messages.max(1).unsigned_abs(),
        invisible: invisible(header.invisible_ms)?,
        wait: wait(header.wait_ms),
        from_end: header.begin != BEGIN_AT_LEAST,
        filter,
        ordered: header.ordered,
        attempt_id: header.attempt_id.clone(),
        renewed_for: None,
    })
}

pub(crate) fn names(group: &str, topic: &str) -> Result<(GroupName, TopicName), Refused> {
    let group = GroupName::new(group).map_err(Refused::name(ResponseCode::SubscriptionGroupNotExist))?;
    let topic = TopicName::new(topic).map_err(Refused::name(ResponseCode::TopicNotExist))?;
    Ok((group, topic))
}

/// The queue of that number; below 0 it is any.
fn queue(id: i32) -> Option<QueueId> {
    u32::try_from(id).ok().map(QueueId)
}

fn wait(ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap_or(0))
}

/// How long a lease is to be.
pub(crate) fn invisible(ms: i64) -> Result<Duration, Refused> {
    let ms = u64::try_from(ms).map_err(|_| {
        let why = format!("invisibleTime is {ms}, it must be 0 or more");
        Refused::new(ResponseCode::InvalidParameter, &why)
    })?;
    Ok(Duration::from_millis(ms))
}

/// The messages as clients get them: under the topic that they asked for.
///
/// A message from the retry topic carries its handle, since its place there is not told by that topic. Where there
/// is one, all carry theirs: older clients count the places of both topics together.
fn shown(topic: &str, popped: Popped) -> Vec<Bytes> {
    let retry = popped.messages.iter().any(|message| message.handle.retry != Retry::Normal);
    let messages = popped.messages.into_iter();
    let shown = messages.map(|message| match retry {
        true => {
            let handle = ReceiptHandle { log_offset: None, ..message.handle }.to_string();
            Bytes::from(stored::with_topic(&message.bytes, topic, &[(POP_CK, &handle)]))
        }
        false => message.bytes,
    });
    shown.collect()
}

/// Clients read the fields of some refusals, too.
fn refused(error: &PopError, fields: &pop::Answer) -> Answer {
    Answer {
        ext: Answer::with_fields(|ext| fields.write(ext)).ext,
        ..Refused::new(code_of(error), error).into()
    }
}

/// A look takes nothing, so its messages have no handles.
pub(crate) async fn peek(caller: &Caller, request: &Command) -> Answered {
    let header = pop::Peek::read(&request.ext)?;
    let (group, topic) = names(&header.group, &header.topic)?;
    let max_messages = header.max_messages.max(1).unsigned_abs();
    let ask = Peek { group, topic, queue_id: queue(header.queue_id), max_messages };
    let peeked = match caller.ask(ask).await? {
        Ok(peeked) => peeked,
        Err(error) => return Ok(refused(&error, &pop::Answer::default())),
    };
    let fields = pop::Answer { rest: peeked.rest, ..pop::Answer::default() };
    let (code, remark) = match peeked.messages.is_empty() {
        true => (ResponseCode::PullNotFound, "NO_MESSAGE_IN_QUEUE"),
        false => (ResponseCode::Success, "FOUND"),
    };
    let answer = Answer::with_fields(|ext| fields.write(ext));
    Ok(Answer { code, remark: Some(remark.to_owned()), body: peeked.messages, ..answer })
}

pub(crate) async fn notification(caller: &Caller, request: &Command) -> Answered {
    let header = pop::Notification::read(&request.ext)?;
    let (group, topic) = names(&header.group, &header.topic)?;
    let ask = Notification {
        group,
        topic,
        queue_id: queue(header.queue_id),
        wait: wait(header.wait_ms),
        ordered: header.ordered,
        attempt_id: header.attempt_id,
    };
    let (has_message, polling_full) = match caller.ask(ask).await? {
        Ok(has_message) => (has_message, false),
        Err(PopError::TooManyParked { .. }) => (false, true),
        Err(error) => return Err(Refused::new(code_of(&error), &error)),
    };
    let answer = pop::NotificationAnswer { has_message, polling_full };
    Ok(Answer::with_fields(|ext| answer.write(ext)))
}

pub(crate) async fn polling_info(caller: &Caller, request: &Command) -> Answered {
    let header = pop::PollingInfo::read(&request.ext)?;
    let (group, topic) = names(&header.group, &header.topic)?;
    match caller.ask(CountParked { group, topic, queue_id: queue(header.queue_id) }).await? {
        Ok(count) => {
            let answer = pop::PollingInfoAnswer { count: i32::try_from(count).unwrap_or(i32::MAX) };
            Ok(Answer::with_fields(|ext| answer.write(ext)))
        }
        Err(error) => Err(Refused::new(code_of(&error), &error)),
    }
}

/// Peer: `PopMessageProcessor#processRequest` (RocketMQ 5.x).
fn code_of(error: &PopError) -> ResponseCode {
    match error {
        PopError::GroupUnknown { .. } => ResponseCode::SubscriptionGroupNotExist,
        PopError::GroupForbidden { .. } | PopError::TopicForbidden { .. } | PopError::NotReadable { .. } => {
            ResponseCode::NoPermission
        }
        PopError::TopicUnknown { .. } => ResponseCode::TopicNotExist,
        PopError::QueueUnknown { .. }
        | PopError::NamesTooLong(_)
        | PopError::TooMany { .. }
        | PopError::InvisibleTooLong { .. } => ResponseCode::InvalidParameter,
        PopError::TooManyParked { .. } => ResponseCode::PollingFull,
        PopError::Unreadable { .. } => ResponseCode::SystemError,
        PopError::Unavailable { .. } => ResponseCode::ServiceNotAvailable,
    }
}
