//! Reply: `SEND_REPLY_MESSAGE` (324), `SEND_REPLY_MESSAGE_V2` (325), handed on as `PUSH_REPLY_MESSAGE_TO_CLIENT`
//! (326).
//!
//! Who asks by a message says in it who it is; the reply names that client again. It is handed to the client at
//! once, and then stored in the topic that it names, where tools find it. The answer tells whether the client has
//! taken it. Peer: `ReplyMessageProcessor` (RocketMQ 5.x).

use crate::answer::{Answer, Answered, Refused};
use crate::call::{call, question};
use crate::caller::Caller;
use crate::send;
use broker::FindRequester;
use bytes::Bytes;
use model::{ClientId, Properties};
use wire::property;
use wire::remoting::reply::Handed;
use wire::remoting::send::{Answer as Stored, Header, Spelling};
use wire::remoting::{Command, Fields, RequestCode, ResponseCode};

/// A reply by a header spelled in words.
pub(crate) async fn reply_v1(caller: &Caller, request: Command) -> Answer {
    reply(caller, request, Spelling::V1).await
}

/// A reply by a header spelled in letters.
pub(crate) async fn reply_v2(caller: &Caller, request: Command) -> Answer {
    reply(caller, request, Spelling::V2).await
}

async fn reply(caller: &Caller, request: Command, spelling: Spelling) -> Answer {
    let answer = hand_on_and_store(caller, request, spelling).await.unwrap_or_else(Answer::from);
    send::signed(caller, answer)
}

async fn hand_on_and_store(caller: &Caller, request: Command, spelling: Spelling) -> Answered {
    // A reply is one message, whatever it says.
    let header = Header { batch: false, ..Header::read(&request.ext, spelling)? };
    let body = request.body.clone();
    let send = send::wanted(caller, &header, request)?;
    let handed = match send.messages.first() {
        Some(message) => hand_on(caller, &header, message.properties.clone(), body).await,
        None => Ok(()),
    };
    // The requester has it by now, and waits for nothing more: where it cannot be stored, that is no failure.
    let stored = match caller.ask(send).await {
        Ok(Ok(sent)) => send::stored(caller, &sent, false),
        Ok(Err(error)) => unstored(&header, &error),
        Err(refused) => unstored(&header, &refused.remark),
    };
    Ok(match handed {
        Ok(()) => stored,
        Err(refused) => Answer { code: refused.code, remark: Some(refused.remark), ..stored },
    })
}

/// Hands the reply to the client that waits for it.
async fn hand_on(
    caller: &Caller,
    header: &Header,
    mut properties: Properties,
    body: Bytes,
) -> Result<(), Refused> {
    let failed = |why: &str| Refused::new(ResponseCode::SystemError, &why);
    let Some(client) = properties.get(property::REPLY_TO_CLIENT) else {
        return Err(failed("reply message properties[REPLY_TO_CLIENT] is null"));
    };
    let client = ClientId(client.into());
    let Some(requester) = caller.ask(FindRequester { client: client.clone() }).await? else {
        return Err(failed(&format!("push reply message fail, channel of <{client}> not found.")));
    };
    let now = requester.now.as_millis();
    properties.set(property::PUSH_REPLY_TIME, now.to_string());
    let mut encoded = Vec::new();
    property::encode(&properties, &mut encoded);
    let encoded = String::from_utf8(encoded).expect("properties are text");
    let mut ext = Fields::new();
    Header { properties: Some(encoded), ..header.clone() }.write(&mut ext, Spelling::V1);
    let handed = Handed {
        born_host: caller.address.to_string(),
        store_host: caller.settings.store_host.to_string(),
        handed_at: now,
    };
    handed.write(&mut ext);
    let push = question(RequestCode::PushReplyMessageToClient, ext, body);
    let fail = |why: &str| failed(&format!("push reply message to {client} fail: {why}"));
    let answer =
        call(caller, &client, requester.connection, push).await.map_err(|error| fail(&error.remark))?;
    match answer.code == ResponseCode::Success.number() {
        true => Ok(()),
        false => Err(fail(answer.remark.as_deref().unwrap_or("it was not taken"))),
    }
}

/// What stands in the answer where the reply is stored nowhere: producers must find these fields.
fn unstored(header: &Header, why: &impl ToString) -> Answer {
    tracing::debug!(why = why.to_string(), "reply not stored");
    let nowhere =
        Stored { message_id: "0".to_owned(), queue_id: header.queue_id.max(0), ..Stored::default() };
    Answer::with_fields(|ext| nowhere.write(ext))
}
