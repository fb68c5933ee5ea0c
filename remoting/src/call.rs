//! Call: a client is asked, and answers for itself.

use crate::answer::Refused;
use crate::caller::Caller;
use bytes::Bytes;
use model::{ClientId, ConnectionId};
use service::CallError;
use std::time::Duration;
use wire::remoting::{Command, Fields, Language, RequestCode, ResponseCode};

/// How long a client may take, its turn included. Peer: `Broker2Client`, which waits 10 s.
const CALL_MAX: Duration = Duration::from_secs(10);

/// What a client is asked.
pub(crate) fn question(code: RequestCode, ext: Fields, body: Bytes) -> Command {
    Command { language: Language::Java, ..Command::request(code, ext, body) }
}

/// Asks the client at the end of another connection; gives its answer, whatever code that has.
pub(crate) async fn call(
    caller: &Caller,
    client: &ClientId,
    connection: ConnectionId,
    question: Command,
) -> Result<Command, Refused> {
    let gone =
        |error: CallError| Refused::new(ResponseCode::SystemError, &format!("asking {client}: {error}"));
    let called = caller.service.call(connection, Box::new(question));
    match tokio::time::timeout(CALL_MAX, called).await {
        Ok(answer) => {
            let answer = answer.map_err(gone)?;
            answer.downcast::<Command>().map(|answer| *answer).map_err(|_| gone(CallError::Gone))
        }
        Err(_) => {
            let why = format!("client <{client}> did not answer within {} s", CALL_MAX.as_secs());
            Err(Refused::new(ResponseCode::ConsumeMsgTimeout, &why))
        }
    }
}
