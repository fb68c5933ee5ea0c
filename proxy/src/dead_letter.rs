//! Dead letter: a consumer in order gives a message up.

use crate::Proxy;
use crate::ack::handle;
use crate::context::Context;
use crate::names;
use crate::status::{self, Refused};
use broker::{Ack, ChangeInvisible, SendBack};
use proto::v2::{
    Code, ForwardMessageToDeadLetterQueueRequest as Request,
    ForwardMessageToDeadLetterQueueResponse as Answer,
};
use service::ServiceExt;

/// What RocketMQ's `CONSUMER_SEND_MSG_BACK` calls no further try.
const NO_RETRY: i32 = -1;

/// Puts a copy among the group's dead letters, then finishes the message: a crash in between repeats it.
///
/// The lease is prolonged first: only who holds it may do this, and it must not end half way.
/// Peer: `ForwardMessageToDLQActivity` (RocketMQ 5.x).
pub(crate) async fn dead_letter(proxy: &Proxy, _: &Context, request: Request) -> Result<Answer, Refused> {
    let topic = names::topic(request.topic.as_ref())?;
    let group = names::group(request.group.as_ref())?;
    let handle = handle(&request.receipt_handle)?;
    let Some(log_offset) = handle.log_offset else {
        let text = "the receipt handle has no log offset: it was not given out by gRPC";
        return Err(Refused::new(Code::InvalidReceiptHandle, text));
    };
    let hold = ChangeInvisible {
        group: group.clone(),
        topic: topic.clone(),
        handle: handle.clone(),
        invisible: proxy.settings.lease_auto,
    };
    let held = proxy.service.ask(hold).await??;
    proxy.renewals().end(&group, &topic, &handle);
    let back =
        SendBack { group: group.clone(), log_offset, delay_level: NO_RETRY, max_reconsume_times: None };
    proxy.service.ask(back).await??;
    for acked in proxy.service.ask(Ack { group, topic, handles: vec![held] }).await? {
        acked?;
    }
    Ok(Answer { status: Some(status::ok()) })
}
