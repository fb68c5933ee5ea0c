//! Send back: `CONSUMER_SEND_MSG_BACK` (36).

use crate::answer::{Answer, Answered, Refused};
use crate::caller::Caller;
use broker::{SendBack, SendBackError};
use model::{GroupName, LogOffset};
use wire::remoting::send_back::Header;
use wire::remoting::{Command, ResponseCode};

/// The first version (3.4.9) whose number of retries is its user's and not a default of its own.
const MAX_RECONSUME_TIMES_SINCE: i32 = 121;

pub(crate) async fn send_back(caller: &Caller, request: &Command) -> Answered {
    let header = Header::read(&request.ext)?;
    let group =
        GroupName::new(&header.group).map_err(Refused::name(ResponseCode::SubscriptionGroupNotExist))?;
    let Ok(log_offset) = u64::try_from(header.log_offset) else {
        return Err(Refused::new(
            ResponseCode::SystemError,
            &format!("look message by offset failed, {}", header.log_offset),
        ));
    };
    let ask = SendBack {
        group,
        log_offset: LogOffset(log_offset),
        delay_level: header.delay_level,
        max_reconsume_times: header
            .max_reconsume_times
            .filter(|_| request.version >= MAX_RECONSUME_TIMES_SINCE),
    };
    match caller.ask(ask).await? {
        Ok(()) => Ok(Answer::success()),
        Err(error) => Err(Refused::new(code_of(&error), &error)),
    }
}

/// Peer: `AbstractSendMessageProcessor#consumerSendMsgBack`.
fn code_of(error: &SendBackError) -> ResponseCode {
    match error {
        SendBackError::GroupUnknown { .. } => ResponseCode::SubscriptionGroupNotExist,
        SendBackError::MessageUnknown { .. } => ResponseCode::SystemError,
        SendBackError::Unavailable { .. } => ResponseCode::ServiceNotAvailable,
    }
}
