//! Pull: `PULL_MESSAGE` (11), `LITE_PULL_MESSAGE` (361).

use crate::answer::{Answer, Answered, Refused};
use crate::caller::Caller;
use crate::heartbeat::{filter, is_tag_expression};
use broker::{Pull, PullError, PullOutcome};
use model::{GroupName, QueueId, QueueOffset, TopicName};
use std::time::Duration;
use wire::remoting::pull::{self, COMMIT_OFFSET, Header, SUBSCRIPTION, SUSPEND};
use wire::remoting::{Command, Language, ResponseCode};

pub(crate) async fn pull(caller: &Caller, request: &Command) -> Answered {
    let header = Header::read(&request.ext)?;
    let pulled = match caller.ask(ask(caller, request.language, &header)?).await? {
        Ok(pulled) => pulled,
        Err(error) => return Err(Refused::new(code_of(&error), &error)),
    };
    let fields = pull::Answer {
        suggested_broker: 0,
        next_offset: pulled.next_offset.0,
        min_offset: pulled.min_offset.0,
        max_offset: pulled.max_offset.0,
    };
    let (code, remark) = match pulled.outcome {
        PullOutcome::Found => (ResponseCode::Success, Some("FOUND".to_owned())),
        PullOutcome::NotFound => (ResponseCode::PullNotFound, None),
        PullOutcome::NothingMatched => (ResponseCode::PullRetryImmediately, None),
        PullOutcome::OffsetMoved => (ResponseCode::PullOffsetMoved, None),
    };
    // A client that cannot take them now asks again for the same.
    let again = pull::Answer { next_offset: header.queue_offset, ..fields };
    let again =
        Answer { code: ResponseCode::PullRetryImmediately, ..Answer::with_fields(|ext| again.write(ext)) };
    Ok(Answer {
        code,
        remark,
        body: pulled.messages,
        instead: Some(Box::new(again)),
        ..Answer::with_fields(|ext| fields.write(ext))
    })
}

fn ask(caller: &Caller, language: Language, header: &Header) -> Result<Pull, Refused> {
    let has = |bit: i32| header.sys_flag & bit != 0;
    let group =
        GroupName::new(&header.group).map_err(Refused::name(ResponseCode::SubscriptionGroupNotExist))?;
    let topic = TopicName::new(&header.topic).map_err(Refused::name(ResponseCode::TopicNotExist))?;
    let Ok(queue_id) = u32::try_from(header.queue_id) else {
        let why = format!("queueId[{}] is illegal, topic {topic}", header.queue_id);
        return Err(Refused::new(ResponseCode::InvalidParameter, &why));
    };
    let kind = header.expression_type.as_deref().unwrap_or_default();
    let filter = if has(SUBSCRIPTION) {
        Some(filter(kind, header.subscription.as_deref().unwrap_or_default())?)
    } else if let Some(refused) = caller.unserved(&group, &topic) {
        return Err(refused);
    } else {
        None
    };
    Ok(Pull {
        group,
        topic,
        queue_id: QueueId(queue_id),
        queue_offset: QueueOffset(header.queue_offset),
        max_messages: header.max_messages.max(1).unsigned_abs(),
        max_bytes: header.max_bytes.and_then(|bytes| u32::try_from(bytes).ok()).filter(|&bytes| bytes > 0),
        filter,
        sub_version: header.subscription_version.unwrap_or(0),
        // Go's pulls say that it filters by tags, whatever it does.
        rechecks: is_tag_expression(kind) && language != Language::Go,
        commit_offset: header
            .commit_offset
            .filter(|&offset| has(COMMIT_OFFSET) && offset >= 0)
            .map(QueueOffset),
        wait: header
            .suspend_ms
            .and_then(|ms| u64::try_from(ms).ok())
            .filter(|&ms| has(SUSPEND) && ms > 0)
            .map(Duration::from_millis),
        member: Some(caller.connection),
    })
}

/// Peer: `PullMessageProcessor#processRequest`.
fn code_of(error: &PullError) -> ResponseCode {
    match error {
        PullError::GroupUnknown { .. } => ResponseCode::SubscriptionGroupNotExist,
        PullError::GroupForbidden { .. }
        | PullError::TopicForbidden { .. }
        | PullError::NotReadable { .. } => ResponseCode::NoPermission,
        PullError::TopicUnknown { .. } => ResponseCode::TopicNotExist,
        PullError::QueueUnknown { .. } => ResponseCode::InvalidParameter,
        PullError::NotSubscribed { .. } => ResponseCode::SubscriptionNotExist,
        PullError::SubscriptionNotLatest { .. } => ResponseCode::SubscriptionNotLatest,
        PullError::TooManyParked { .. } => ResponseCode::FlowControl,
        PullError::Unreadable { .. } => ResponseCode::SystemError,
    }
}
