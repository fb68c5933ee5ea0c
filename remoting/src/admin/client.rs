//! Clients: what a tool asks a consumer, which answers for itself (223, 307, 309).

use crate::answer::{Answer, Answered, Refused};
use crate::call::{call, question};
use crate::caller::Caller;
use broker::{Client, GetMembers, View};
use bytes::Bytes;
use model::GroupName;
use std::fmt::Write as _;
use wire::message_id;
use wire::remoting::admin::{ConsumerStatus, OfClient};
use wire::remoting::{Command, Fields, RequestCode, ResponseCode, json};

pub(crate) async fn running_info(caller: &Caller, request: &Command) -> Answered {
    let header = OfClient::read(&request.ext)?;
    let client = member(caller, &header).await?;
    let question = question(RequestCode::GetConsumerRunningInfo, request.ext.clone(), Bytes::new());
    passed_on(call(caller, &client.id, client.connection, question).await?)
}

pub(crate) async fn consume(caller: &Caller, request: &Command) -> Answered {
    let header = OfClient::read(&request.ext)?;
    let client = member(caller, &header).await?;
    let id = header.message_id.as_deref().unwrap_or_default();
    let (_, log_offset) =
        message_id::decode(id).map_err(|error| Refused::new(ResponseCode::SystemError, &error))?;
    let message = match caller.ask(View { log_offset }).await? {
        Ok(message) => message,
        Err(error) => return Err(Refused::new(ResponseCode::SystemError, &error)),
    };
    let mut ext = request.ext.clone();
    ext.set("brokerName", caller.broker_name().await?);
    let question = question(RequestCode::ConsumeMessageDirectly, ext, message);
    passed_on(call(caller, &client.id, client.connection, question).await?)
}

/// Each member's own offsets, which it may not have committed yet.
pub(crate) async fn status(caller: &Caller, request: &Command) -> Answered {
    let header = ConsumerStatus::read(&request.ext)?;
    let members = match GroupName::new(&header.group) {
        Ok(group) => caller.ask(GetMembers { group }).await?,
        Err(_) => None,
    };
    let offline = || {
        Refused::new(ResponseCode::SystemError, &format!("no consumer of group {} is online", header.group))
    };
    let members = members.ok_or_else(offline)?;
    let wanted = |client: &&Client| header.client.as_ref().is_none_or(|asked| *asked == *client.id.0);
    let mut table = String::new();
    for client in members.clients.iter().filter(wanted) {
        let mut ext = Fields::new();
        ext.set("topic", &header.topic);
        ext.set("group", &header.group);
        let question = question(RequestCode::GetConsumerStatusFromClient, ext, Bytes::new());
        let Ok(answer) = call(caller, &client.id, client.connection, question).await else { continue };
        // Its keys are objects: these are known by their text here, and written as it stands.
        let Ok(body) = json::parse(&answer.body) else { continue };
        let offsets = body.get("messageQueueTable").and_then(|offsets| offsets.as_object());
        let offsets: Vec<String> =
            offsets.into_iter().flatten().map(|(queue, offset)| format!("{queue}:{offset}")).collect();
        let separator = if table.is_empty() { "" } else { "," };
        let name = String::from_utf8_lossy(&json::write(&client.id.to_string())).into_owned();
        // Writing to a string cannot fail.
        let _ = write!(table, "{separator}{name}:{{{}}}", offsets.join(","));
    }
    let body = format!("{{\"consumerTable\":{{{table}}},\"messageQueueTable\":{{}}}}");
    Ok(Answer::with_body(body.into()))
}

/// The member that is asked.
async fn member(caller: &Caller, header: &OfClient) -> Result<Client, Refused> {
    let wanted = header.client.as_deref().unwrap_or_default();
    let members = match GroupName::new(&header.group) {
        Ok(group) => caller.ask(GetMembers { group }).await?,
        Err(_) => None,
    };
    let clients = members.into_iter().flat_map(|members| members.clients);
    let client = clients.into_iter().find(|client| &*client.id.0 == wanted);
    client.ok_or_else(|| {
        Refused::new(
            ResponseCode::SystemError,
            &format!("The Consumer <{}> <{wanted}> not online", header.group),
        )
    })
}

/// What a client answered, as the answer to who asked.
fn passed_on(answer: Command) -> Answered {
    match ResponseCode::try_from(answer.code) {
        Ok(code) => {
            let (remark, ext) = (answer.remark, answer.ext);
            Ok(Answer { code, remark, ext, ..Answer::with_body(answer.body) })
        }
        Err(unknown) => {
            let why = format!("{unknown}: {}", answer.remark.unwrap_or_default());
            Err(Refused::new(ResponseCode::SystemError, &why))
        }
    }
}
