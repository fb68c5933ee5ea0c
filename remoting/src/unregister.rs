//! Unregister: `UNREGISTER_CLIENT` (35).

use crate::answer::{Answer, Answered};
use crate::caller::Caller;
use broker::Unregister;
use model::{ClientId, GroupName};
use wire::remoting::Command;
use wire::remoting::unregister::Header;

pub(crate) async fn unregister(caller: &Caller, request: &Command) -> Answered {
    let header = Header::read(&request.ext)?;
    let ask = Unregister {
        connection: caller.connection,
        client: ClientId(header.client_id.into()),
        producer: header.producer_group,
        // Nobody is in a group whose name could be no group's.
        consumer: header.consumer_group.and_then(|group| GroupName::new(&group).ok()),
    };
    caller.ask(ask).await?;
    Ok(Answer::success())
}
