//! Query: `QUERY_MESSAGE` (12), `VIEW_MESSAGE_BY_ID` (33).

use crate::answer::{Answer, Answered, Refused};
use crate::caller::Caller;
use broker::{Query, QueryError, View, ViewError};
use model::{LogOffset, Timestamp, TopicName};
use wire::remoting::query::{self, Header};
use wire::remoting::{Command, ResponseCode};

/// Messages at most for a `UNIQ_KEY`, whatever was asked for.
const UNIQUE_MAX: u32 = 32;

/// Messages at most. Peer: `maxMsgsNumBatch`.
const MAX: u32 = 64;

pub(crate) async fn query(caller: &Caller, request: &Command) -> Answered {
    let header = Header::read(&request.ext)?;
    let topic = TopicName::new(&header.topic).map_err(Refused::name(ResponseCode::QueryNotFound))?;
    let ask = Query {
        topic,
        key: header.key,
        unique: header.unique,
        max: if header.unique { UNIQUE_MAX } else { header.max.max(1).unsigned_abs().min(MAX) },
        begin: Timestamp::from_millis(header.begin),
        end: Timestamp::from_millis(header.end),
    };
    // Found or not, the peer tells how far its index has come; ours is always as far as the log.
    let answer = Answer::with_fields(|ext| query::Answer::default().write(ext));
    match caller.ask(ask).await? {
        Ok(messages) => Ok(Answer { body: messages, ..answer }),
        Err(error) => Ok(Answer { code: query_code_of(&error), remark: Some(error.to_string()), ..answer }),
    }
}

pub(crate) async fn view(caller: &Caller, request: &Command) -> Answered {
    let header = query::View::read(&request.ext)?;
    let Ok(log_offset) = u64::try_from(header.log_offset) else {
        let why = format!("can not find message by the offset, {}", header.log_offset);
        return Err(Refused::new(ResponseCode::SystemError, &why));
    };
    match caller.ask(View { log_offset: LogOffset(log_offset) }).await? {
        Ok(message) => Ok(Answer::with_body(message)),
        Err(error @ ViewError::NotFound { .. }) => Err(Refused::new(ResponseCode::SystemError, &error)),
    }
}

/// Peer: `QueryMessageProcessor#queryMessage`.
fn query_code_of(error: &QueryError) -> ResponseCode {
    match error {
        QueryError::NotFound => ResponseCode::QueryNotFound,
        QueryError::Unreadable { .. } => ResponseCode::SystemError,
    }
}
