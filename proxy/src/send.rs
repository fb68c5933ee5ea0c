//! Send: messages enter, now or for later.

use crate::Proxy;
use crate::context::Context;
use crate::message;
use crate::names;
use crate::status::{self, Refused};
use broker::{Send, SendError, Sent};
use model::{Message, TopicName};
use proto::v2::{self, Code, SendMessageRequest, SendMessageResponse};
use service::ServiceExt;
use wire::{property, sys_flag};

/// Stores all messages of the call, or none; each has an entry of its own in the answer.
///
/// Peer: `SendMessageActivity` (RocketMQ 5.x), which stores several as one batch, with one entry.
pub(crate) async fn send(
    proxy: &Proxy,
    context: &Context,
    request: SendMessageRequest,
) -> Result<SendMessageResponse, Refused> {
    let (topic, messages) = checked(proxy, context, request)?;
    let transactional: Vec<bool> = messages.iter().map(is_half).collect();
    let ask = Send {
        topic,
        queue_id: None,
        messages,
        // gRPC's topics are made by an administrator, with a kind.
        auto_create: None,
        check_kind: proxy.settings.check_kind,
        as_level: proxy.settings.use_delay_level,
        batch: false,
        max_reconsume_times: None,
    };
    let several = ask.messages.len() > 1;
    let sent = proxy.service.ask(ask).await?;
    let sent = sent.map_err(|SendError { index, why }| of_message(several.then_some(index), why.into()))?;
    let entries: Vec<_> = sent.into_iter().zip(transactional).map(|(sent, half)| entry(sent, half)).collect();
    let status = status::of_entries(entries.iter().map(|entry| entry.status.as_ref()));
    Ok(SendMessageResponse { status: Some(status), entries })
}

fn is_half(message: &Message) -> bool {
    message.sys_flag & sys_flag::TRANSACTION_MASK == sys_flag::TRANSACTION_PREPARED
        && message.properties.get(property::TRAN_MSG).is_some()
}

/// The messages, as far as they can be checked here: all of them before any is stored.
fn checked(
    proxy: &Proxy,
    context: &Context,
    request: SendMessageRequest,
) -> Result<(TopicName, Vec<Message>), Refused> {
    let Some(first) = request.messages.first() else {
        return Err(Refused::new(Code::MessageCorrupted, "messages is empty: there is nothing to send"));
    };
    let resource = first.topic.clone();
    let topic = names::topic(resource.as_ref())?;
    if let Some(at) = request.messages.iter().position(|message| message.topic != resource) {
        let text = format!("message {at}: its topic is not that of the first, {topic}");
        return Err(Refused::new(Code::MessageCorrupted, text));
    }
    let several = request.messages.len() > 1;
    let messages = request.messages.into_iter().enumerate();
    let messages: Result<Vec<Message>, Refused> = messages
        .map(|(at, message)| {
            message::entering(message, &topic, context.ends, &proxy.settings)
                .map_err(|refused| of_message(several.then_some(at), refused))
        })
        .collect();
    Ok((topic, messages?))
}

/// Says of which message of a call a refusal is, where there are several.
fn of_message(index: Option<usize>, refused: Refused) -> Refused {
    match index {
        Some(index) => Refused::new(refused.code, format!("message {index}: {}", refused.text)),
        None => refused,
    }
}

/// A stored message's entry. What its producer should know besides stands in the status's text.
fn entry(sent: Sent, half: bool) -> v2::SendResultEntry {
    let mut status = status::ok();
    if let Some(remark) = sent.remark {
        status.message = remark;
    }
    v2::SendResultEntry {
        status: Some(status),
        transaction_id: if half { sent.unique_key.clone() } else { String::new() },
        message_id: sent.unique_key,
        offset: sent.queue_offset.0,
        recall_handle: sent.recall_handle.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests;
