//! Heartbeat: a client is still there, and says so to the broker again.

use crate::Proxy;
use crate::context::Context;
use crate::names;
use crate::status::{self, Refused};
use proto::v2::{ClientType, Code, HeartbeatRequest, HeartbeatResponse};
use service::ServiceExt;

/// Peer: `ClientActivity#heartbeat` (RocketMQ 5.x).
pub(crate) async fn heartbeat(
    proxy: &Proxy,
    context: &Context,
    request: HeartbeatRequest,
) -> Result<HeartbeatResponse, Refused> {
    let known = proxy.known(&context.client).ok_or_else(unrecognized)?;
    match request.client_type() {
        ClientType::Producer => {}
        ClientType::PushConsumer | ClientType::SimpleConsumer => {
            names::group(request.group.as_ref())?;
        }
        other => {
            let text = format!("client_type is {}, which is not served", other.as_str_name());
            return Err(Refused::new(Code::UnrecognizedClientType, text));
        }
    }
    proxy.service.ask(known.register.as_ref().clone()).await??;
    Ok(HeartbeatResponse { status: Some(status::ok()) })
}

/// Nothing is known of the client: its telemetry has not come yet, or it was forgotten.
pub(crate) fn unrecognized() -> Refused {
    Refused::new(Code::UnrecognizedClientType, "cannot find client settings for this client")
}
