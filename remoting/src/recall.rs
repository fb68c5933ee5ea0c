//! Recall: `RECALL_MESSAGE` (370).

use crate::answer::{Answer, Answered, Refused};
use crate::caller::Caller;
use broker::{Recall, RecallError, Recalled};
use model::TopicName;
use wire::recall_handle::RecallHandle;
use wire::remoting::recall::{self, Header, OUTCOME};
use wire::remoting::send::REGION;
use wire::remoting::{Command, ResponseCode};

/// Every answer tells of the region, as the peer's do.
pub(crate) async fn recall(caller: &Caller, request: &Command) -> Answer {
    let mut answer = call_back(caller, request).await.unwrap_or_else(Answer::from);
    answer.ext.set(REGION, &caller.settings.region);
    answer
}

async fn call_back(caller: &Caller, request: &Command) -> Answered {
    let header = Header::read(&request.ext)?;
    let topic = TopicName::new(&header.topic).map_err(Refused::name(ResponseCode::TopicNotExist))?;
    let handle = match RecallHandle::decode(&header.handle) {
        Ok(handle) => handle,
        Err(error) => return Ok(told(ResponseCode::IllegalOperation, "illegal", &error)),
    };
    let key = handle.unique_key.clone();
    Ok(match caller.ask(Recall { topic, handle }).await? {
        Ok(Recalled::Recalled) => {
            let mut answer = Answer::with_fields(|ext| recall::Answer { message_id: key }.write(ext));
            answer.ext.set(OUTCOME, "recalled");
            answer
        }
        Ok(Recalled::TooLate) => told(
            ResponseCode::IllegalOperation,
            "too_late",
            &format!("recall failed, message {key} was delivered already"),
        ),
        Ok(Recalled::Unknown) => {
            told(ResponseCode::NoMessage, "unknown", &format!("recall failed, no message {key} waits"))
        }
        Err(error) => match code_of(&error) {
            ResponseCode::IllegalOperation => told(ResponseCode::IllegalOperation, "illegal", &error),
            code => return Err(Refused::new(code, &error)),
        },
    })
}

/// An error that says, besides its code, what became of the recall.
fn told(code: ResponseCode, outcome: &str, why: &impl ToString) -> Answer {
    let mut answer = Answer::from(Refused::new(code, why));
    answer.ext.set(OUTCOME, outcome);
    answer
}

/// Peer: `RecallMessageProcessor#processRequest` (RocketMQ 5.x).
fn code_of(error: &RecallError) -> ResponseCode {
    match error {
        RecallError::TopicUnknown { .. } => ResponseCode::TopicNotExist,
        RecallError::WrongTopic { .. } | RecallError::WrongBroker { .. } => ResponseCode::IllegalOperation,
        RecallError::Unreadable { .. } => ResponseCode::SystemError,
        RecallError::Unavailable { .. } => ResponseCode::ServiceNotAvailable,
    }
}
