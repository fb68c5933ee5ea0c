//! Termination: a client leaves, and says so.

use crate::Proxy;
use crate::context::Context;
use crate::heartbeat::unrecognized;
use crate::status::{self, Refused};
use proto::v2::{NotifyClientTerminationRequest, NotifyClientTerminationResponse};

/// What the client still holds goes to others. The group in the request is not looked at: a producer of the Go
/// client sends an empty one.
pub(crate) async fn termination(
    proxy: &Proxy,
    context: &Context,
    _: NotifyClientTerminationRequest,
) -> Result<NotifyClientTerminationResponse, Refused> {
    let held = proxy.renewals().take_all_of(&context.client);
    proxy.give_back(held);
    if !proxy.clients.leave(&context.client) {
        return Err(unrecognized());
    }
    Ok(NotifyClientTerminationResponse { status: Some(status::ok()) })
}
