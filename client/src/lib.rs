//! A small client of the remoting protocol.
//!
//! A [`Client`] is one connection to one name server or broker: requests go out in the order they are made,
//! many may wait for their answers at a time, and an answer finds its request by number. The verbs that the
//! command line needs have methods of their own, one file each; for all others there is [`Client::call`].
//!
//! This room does not connect again, chooses no broker and no queue, and keeps nothing: whoever uses it knows
//! what to do when a connection ends. Its errors are sentences for people.

mod cluster;
mod connection;
mod heartbeat;
mod offset;
mod pending;
mod pull;
mod register;
mod route;
mod send;
mod topic;

pub use connection::{CallError, Client, ConnectError};
pub use pull::{Delivered, PullOutcome, PullRequest, Pulled};
pub use send::SendResult;

use wire::remoting::{BodyError, Command, FieldError, RequestCode, ResponseCode};

/// Why a question was not answered as hoped.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// There was no answer.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The answer is no.
    #[error("the server answered {} to {}: {remark}", code_name(*.code), verb.name())]
    Refused {
        /// What was asked.
        verb: RequestCode,
        /// The answer's code.
        code: i32,
        /// Why, in the server's words.
        remark: String,
    },
    /// The answer's header cannot be read.
    #[error("reading the answer")]
    Header(#[from] FieldError),
    /// The answer's body cannot be read.
    #[error("reading the answer")]
    Body(#[from] BodyError),
    /// A message in the answer cannot be read.
    #[error("reading a message in the answer")]
    Message(#[from] wire::stored::StoredError),
}

impl AskError {
    /// The answer's code, where there was an answer and it says no.
    pub fn code(&self) -> Option<ResponseCode> {
        match self {
            Self::Refused { code, .. } => ResponseCode::try_from(*code).ok(),
            Self::Call(_) | Self::Header(_) | Self::Body(_) | Self::Message(_) => None,
        }
    }
}

fn code_name(code: i32) -> String {
    match ResponseCode::try_from(code) {
        Ok(known) => format!("{} ({code})", known.name()),
        Err(_) => format!("code {code}"),
    }
}

/// The answer, where its code is one of `good`.
fn accepted(
    verb: RequestCode,
    answer: Command,
    good: &[ResponseCode],
) -> Result<(ResponseCode, Command), AskError> {
    match ResponseCode::try_from(answer.code) {
        Ok(code) if good.contains(&code) => Ok((code, answer)),
        _ => {
            let remark = answer.remark.unwrap_or_else(|| "without a reason".to_owned());
            Err(AskError::Refused { verb, code: answer.code, remark })
        }
    }
}

#[cfg(test)]
mod tests;
