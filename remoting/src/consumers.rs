//! Consumers: `GET_CONSUMER_LIST_BY_GROUP` (38).

use crate::answer::{Answer, Answered, Refused};
use crate::caller::Caller;
use broker::{Consumers, ConsumersError};
use model::GroupName;
use wire::remoting::consumers::{Body, Header};
use wire::remoting::{Command, ResponseCode, json};

pub(crate) async fn consumers(caller: &Caller, request: &Command) -> Answered {
    let header = Header::read(&request.ext)?;
    let group = GroupName::new(&header.group).map_err(Refused::name(ResponseCode::SystemError))?;
    match caller.ask(Consumers { group, member: Some(caller.connection) }).await? {
        Ok(clients) => {
            let body = Body { consumer_id_list: clients.iter().map(ToString::to_string).collect() };
            Ok(Answer::with_body(json::write(&body)))
        }
        Err(error @ ConsumersError::NoneOnline { .. }) => {
            Err(Refused::new(ResponseCode::SystemError, &error))
        }
    }
}
