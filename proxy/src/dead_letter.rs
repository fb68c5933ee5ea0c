//! Dead letter: a consumer in order gives a message up.

use crate::Proxy;
use crate::context::Context;
use crate::names;
use crate::status::Refused;
use proto::v2::{
    Code, ForwardMessageToDeadLetterQueueRequest as Request,
    ForwardMessageToDeadLetterQueueResponse as Answer,
};

/// The broker has no verb that moves a leased message to the dead letters yet, and the answer says so.
pub(crate) async fn dead_letter(_: &Proxy, _: &Context, request: Request) -> Result<Answer, Refused> {
    names::topic(request.topic.as_ref())?;
    names::group(request.group.as_ref())?;
    Err(Refused::new(Code::NotImplemented, "forwarding to the dead-letter queue is not supported yet"))
}
