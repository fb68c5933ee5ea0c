//! End transaction: `END_TRANSACTION` (37). Clients send it one way; an answer is there for those who ask.

use crate::answer::{Answer, Answered, Refused};
use crate::caller::Caller;
use broker::{EndTransaction, EndTransactionError, HalfName, Resolution};
use model::LogOffset;
use wire::remoting::transaction::{COMMIT, End, ROLLBACK};
use wire::remoting::{Command, ResponseCode};

pub(crate) async fn end_transaction(caller: &Caller, request: &Command) -> Answered {
    let header = End::read(&request.ext)?;
    let resolution = match header.resolution {
        COMMIT => Resolution::Commit,
        ROLLBACK => Resolution::Rollback,
        _ => Resolution::Unknown,
    };
    let Ok(log_offset) = u64::try_from(header.log_offset) else {
        let why = format!("commitLogOffset is {}, which is no place in the log", header.log_offset);
        return Err(Refused::new(ResponseCode::SystemError, &why));
    };
    let half = HalfName::Place(LogOffset(log_offset));
    let ask = EndTransaction { half, group: Some(header.producer_group), resolution };
    match caller.ask(ask).await? {
        Ok(()) => Ok(Answer::success()),
        Err(error) => Err(Refused::new(code_of(&error), &error)),
    }
}

/// Peer: `EndTransactionProcessor`.
fn code_of(error: &EndTransactionError) -> ResponseCode {
    match error {
        EndTransactionError::HalfUnknown
        | EndTransactionError::WrongGroup { .. }
        | EndTransactionError::Unreadable { .. } => ResponseCode::SystemError,
        EndTransactionError::Unavailable { .. } => ResponseCode::ServiceNotAvailable,
    }
}
