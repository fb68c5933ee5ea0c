//! Messages that wait: 20001 to 20005.

use crate::answer::{Answer, Answered, Refused};
use crate::caller::Caller;
use broker::{
    CountPending, GetHistogram, HistogramError, ListPending, ListPendingError, NewMoment, PendingPlace,
    RecallByKey, RecallError, Reschedule, RescheduleError, Which,
};
use model::{LogOffset, Timestamp, TopicName};
use std::num::NonZeroU64;
use wire::remoting::pending::{self, Counts, Listed, Moved, Recalled, Rescheduled, Stretches};
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
    let levels: Vec<String> = page.messages.iter().map(|message| message.level.to_string()).collect();
    let next = Listed { more: page.is_cut, levels: Some(levels.join(",")), ..next(page.next) };
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
    let ask =
        RecallByKey { topic: topic(&header.topic)?, key: header.key, unique: header.unique == Some(true) };
    let done = caller.ask(ask).await?.map_err(|error| Refused::new(recall_code_of(&error), &error))?;
    for key in &done.recalled {
        tracing::info!(topic = header.topic, key, "message recalled by its key");
    }
    let body =
        Recalled { before: done.before, more: done.more, recalled: done.recalled, visible: done.visible };
    Ok(Answer::with_body(json::write(&body)))
}

pub(crate) async fn reschedule(caller: &Caller, request: &Command) -> Answered {
    let header = pending::Reschedule::read(&request.ext)?;
    if header.key.is_empty() {
        return Err(Refused::new(ResponseCode::InvalidParameter, &"the key is empty"));
    }
    let to = match (header.deliver_at, header.delay_ms) {
        (Some(at), None) => NewMoment::At(Timestamp::from_millis(at)),
        (None, Some(ms)) => NewMoment::In(ms),
        (None, None) | (Some(_), Some(_)) => {
            let why = "deliverAt or delayMs tells the new moment, one of them and not both";
            return Err(Refused::new(ResponseCode::InvalidParameter, &why));
        }
    };
    let before = match header.before {
        None => None,
        Some(before @ 0..) => Some(LogOffset(before as u64)),
        Some(before) => {
            let why = format!("beforeLogOffset is {before}, and a log offset is 0 or more");
            return Err(Refused::new(ResponseCode::InvalidParameter, &why));
        }
    };
    let unique = header.unique == Some(true);
    let ask = Reschedule { topic: topic(&header.topic)?, key: header.key, unique, to, before };
    let done = caller.ask(ask).await?.map_err(|error| Refused::new(reschedule_code_of(&error), &error))?;
    for Moved { id, from } in done.moved.iter().map(moved) {
        let to = done.deliver_at.as_millis();
        tracing::info!(topic = header.topic, key = id, from, to, "message rescheduled by its key");
    }
    Ok(Answer::with_body(json::write(&Rescheduled {
        deliver_at: done.deliver_at.as_millis(),
        moved: done.moved.iter().map(moved).collect(),
        recalled: done.recalled,
        visible: done.visible,
        before_log_offset: done.older.map(|older| older.0 as i64),
    })))
}

pub(crate) async fn histogram(caller: &Caller, request: &Command) -> Answered {
    let header = pending::Histogram::read(&request.ext)?;
    let width_ms = u64::try_from(header.width_ms).ok().and_then(NonZeroU64::new).ok_or_else(|| {
        let why = format!("widthMs is {}, and a stretch is 1 ms or longer", header.width_ms);
        Refused::new(ResponseCode::InvalidParameter, &why)
    })?;
    let ask = GetHistogram {
        topic: header.topic.as_deref().map(topic).transpose()?,
        from: Timestamp::from_millis(header.from.unwrap_or(0)),
        until: Timestamp::from_millis(header.until.unwrap_or(i64::MAX)),
        width_ms,
        after: place(header.after_deliver_at, header.after_log_offset)?,
    };
    let histogram =
        caller.ask(ask).await?.map_err(|error| Refused::new(histogram_code_of(&error), &error))?;
    let counts = histogram.counts.into_iter().map(|(begin, count)| (begin.as_millis(), count)).collect();
    let body = json::write(&Stretches { counts });
    Ok(Answer { body: vec![body], ..Answer::with_fields(|ext| next(histogram.next).write(ext)) })
}

fn moved(message: &broker::Moved) -> Moved {
    Moved { from: message.from.as_millis(), id: message.unique_key.clone() }
}

/// Where the next answer begins.
fn next(place: Option<PendingPlace>) -> Listed {
    Listed {
        next_deliver_at: place.map(|next| next.deliver_at.as_millis()),
        next_log_offset: place.map(|next| next.log_offset.0 as i64),
        ..Listed::default()
    }
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

fn reschedule_code_of(error: &RescheduleError) -> ResponseCode {
    match error {
        RescheduleError::TopicUnknown { .. } => ResponseCode::TopicNotExist,
        RescheduleError::TooFar { .. } => ResponseCode::MessageIllegal,
        RescheduleError::Unavailable { .. } => ResponseCode::ServiceNotAvailable,
        RescheduleError::Unreadable { .. } => ResponseCode::SystemError,
    }
}

fn histogram_code_of(error: &HistogramError) -> ResponseCode {
    match error {
        HistogramError::TopicUnknown { .. } => ResponseCode::TopicNotExist,
        HistogramError::Unreadable { .. } => ResponseCode::SystemError,
    }
}
