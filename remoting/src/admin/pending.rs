//! Messages that wait: 20001, 20002, 20003.

use crate::answer::{Answer, Answered, Refused};
use crate::caller::Caller;
use broker::{CountPending, ListPending, ListPendingError, PendingPlace, RecallByKey, RecallError, Which};
use model::{LogOffset, Timestamp, TopicName};
use wire::remoting::pending::{self, Counts, Listed, Recalled};
use wire::remoting::{Command, ResponseCode, json};

/// Messages of an answer where the request does not say.
const PAGE: i32 = 32;

pub(crate) async fn list(caller: &Caller, request: &Command) -> Answered {
    // An empty field reads as one that is not there, and without a key the whole topic would be meant.
    if request.ext.get("key") == Some("") {
        return Err(Refused::new(ResponseCode::InvalidParameter, &"the key is empty"));
    }
    let header = pending::List::read(&request.ext)?;
    let ask = ListPending {
        which: which(header.topic, header.key)?,
        from: Timestamp::from_millis(header.from.unwrap_or(0)),
        until: Timestamp::from_millis(header.until.unwrap_or(i64::MAX)),
        after: place(header.after_deliver_at, header.after_log_offset)?,
        max: header.max.unwrap_or(PAGE).max(1).unsigned_abs(),
    };
    let page = caller.ask(ask).await?.map_err(|error| Refused::new(list_code_of(&error), &error))?;
    let next = Listed {
        next_deliver_at: page.next.map(|next| next.deliver_at.as_millis()),
        next_log_offset: page.next.map(|next| next.log_offset.0 as i64),
        more: page.is_cut,
    };
    let body = page.messages.into_iter().map(|message| message.bytes).collect();
    Ok(Answer { body, ..Answer::with_fields(|ext| next.write(ext)) })
}

pub(crate) async fn count(caller: &Caller) -> Answered {
    let counts = caller.ask(CountPending).await?;
    let pending = counts.into_iter().map(|(topic, count)| (topic.to_string(), count)).collect();
    Ok(Answer::with_body(json::write(&Counts { pending })))
}

pub(crate) async fn recall(caller: &Caller, request: &Command) -> Answered {
    let header = pending::RecallByKey::read(&request.ext)?;
    let ask = RecallByKey { topic: topic(&header.topic)?, key: header.key, unique: header.unique };
    let done = caller.ask(ask).await?.map_err(|error| Refused::new(recall_code_of(&error), &error))?;
    for key in &done.recalled {
        tracing::info!(topic = header.topic, key, "message recalled by its key");
    }
    let body =
        Recalled { before: done.before, more: done.more, recalled: done.recalled, visible: done.visible };
    Ok(Answer::with_body(json::write(&body)))
}

fn which(of: Option<String>, key: Option<String>) -> Result<Which, Refused> {
    Ok(match (of, key) {
        (None, None) => Which::All,
        (Some(of), None) => Which::Topic(topic(&of)?),
        (Some(of), Some(key)) => Which::Key { topic: topic(&of)?, key },
        (None, Some(_)) => {
            return Err(Refused::new(ResponseCode::InvalidParameter, &"a key needs a topic"));
        }
    })
}

fn topic(name: &str) -> Result<TopicName, Refused> {
    TopicName::new(name).map_err(Refused::name(ResponseCode::InvalidParameter))
}

fn place(deliver_at: Option<i64>, log_offset: Option<i64>) -> Result<Option<PendingPlace>, Refused> {
    match (deliver_at, log_offset) {
        (None, None) => Ok(None),
        (Some(moment), Some(0..)) => Ok(Some(PendingPlace {
            deliver_at: Timestamp::from_millis(moment),
            log_offset: LogOffset(log_offset.unwrap_or_default() as u64),
        })),
        _ => {
            let why = "afterDeliverAt and afterLogOffset belong together, and the second is 0 or more";
            Err(Refused::new(ResponseCode::InvalidParameter, &why))
        }
    }
}

fn list_code_of(error: &ListPendingError) -> ResponseCode {
    match error {
        ListPendingError::TopicUnknown { .. } => ResponseCode::TopicNotExist,
        ListPendingError::Unreadable { .. } => ResponseCode::SystemError,
    }
}

fn recall_code_of(error: &RecallError) -> ResponseCode {
    match error {
        RecallError::TopicUnknown { .. } => ResponseCode::TopicNotExist,
        RecallError::Unavailable { .. } => ResponseCode::ServiceNotAvailable,
        RecallError::Unreadable { .. } | RecallError::WrongTopic { .. } | RecallError::WrongBroker { .. } => {
            ResponseCode::SystemError
        }
    }
}
