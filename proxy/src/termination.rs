//! Termination: a client leaves, and says so.

use crate::Proxy;
use crate::context::Context;
use crate::heartbeat::unrecognized;
use crate::status::{self, Refused};
use proto::v2::{NotifyClientTerminationRequest, NotifyClientTerminationResponse};

/// The group in the request is not looked at: a producer of the Go client sends an empty one.
pub(crate) async fn termination(
    proxy: &Proxy,
    context: &Context,
    _: NotifyClientTerminationRequest,
) -> Result<NotifyClientTerminationResponse, Refused> {
    if !proxy.clients.leave(&context.client) {
        return Err(unrecognized());
    }
    Ok(NotifyClientTerminationResponse { status: Some(status::ok()) })
}
