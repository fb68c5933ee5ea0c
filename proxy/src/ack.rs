//! Ack: what was received is finished.

use crate::Proxy;
use crate::context::Context;
use crate::names;
use crate::status::{self, Refused};
use broker::Ack;
use proto::v2::{self, AckMessageRequest, AckMessageResponse, Code};
use service::ServiceExt;
use wire::ReceiptHandle;

/// Acks each entry by itself; an entry's answer has its id and handle as the client sent them.
///
/// Peer: `AckMessageActivity` (RocketMQ 5.x), which acks one entry after the other.
pub(crate) async fn ack(
    proxy: &Proxy,
    _: &Context,
    request: AckMessageRequest,
) -> Result<AckMessageResponse, Refused> {
    let topic = names::topic(request.topic.as_ref())?;
    let group = names::group(request.group.as_ref())?;
    if request.entries.is_empty() {
        return Err(Refused::new(Code::BadRequest, "entries is empty: there is nothing to ack"));
    }
    let parsed: Vec<Result<ReceiptHandle, Refused>> =
        request.entries.iter().map(|entry| handle(&entry.receipt_handle)).collect();
    let handles: Vec<ReceiptHandle> =
        parsed.iter().filter_map(|parsed| parsed.as_ref().ok()).cloned().collect();
    let acked = if handles.is_empty() {
        Vec::new()
    } else {
        proxy.service.ask(Ack { group: group.clone(), topic: topic.clone(), handles }).await?
    };
    let mut acked = acked.into_iter();
    let entries: Vec<v2::AckMessageResultEntry> = request
        .entries
        .into_iter()
        .zip(parsed)
        .map(|(entry, parsed)| {
            let ended = parsed.and_then(|handle| {
                let acked = acked.next().expect("an ack is answered once for each handle");
                if acked.is_ok() {
                    proxy.renewals().end(&group, &topic, &handle);
                }
                acked.map_err(Refused::from)
            });
            v2::AckMessageResultEntry {
                message_id: entry.message_id,
                receipt_handle: entry.receipt_handle,
                status: Some(ended.map_or_else(v2::Status::from, |()| status::ok())),
            }
        })
        .collect();
    let status = status::of_entries(entries.iter().map(|entry| entry.status.as_ref()));
    Ok(AckMessageResponse { status: Some(status), entries })
}

/// Reads a receipt handle.
pub(crate) fn handle(text: &str) -> Result<ReceiptHandle, Refused> {
    text.parse().map_err(|error: wire::receipt_handle::ReceiptHandleError| {
        Refused::new(Code::InvalidReceiptHandle, error.to_string())
    })
}
