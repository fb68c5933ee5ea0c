//! Change invisible: a lease ends at another time, and its handle is replaced.

use crate::Proxy;
use crate::ack::handle;
use crate::context::Context;
use crate::names;
use crate::settings::Settings;
use crate::status::{self, Refused};
use crate::time::span;
use broker::ChangeInvisible;
use prost_types::Duration as WireDuration;
use proto::v2::{ChangeInvisibleDurationRequest, ChangeInvisibleDurationResponse, Code};
use service::ServiceExt;
use std::time::Duration;

/// Peer: `ChangeInvisibleDurationActivity` (RocketMQ 5.x). Zero makes the message visible at once.
pub(crate) async fn change_invisible(
    proxy: &Proxy,
    _: &Context,
    request: ChangeInvisibleDurationRequest,
) -> Result<ChangeInvisibleDurationResponse, Refused> {
    let topic = names::topic(request.topic.as_ref())?;
    let group = names::group(request.group.as_ref())?;
    let invisible = invisible(request.invisible_duration, &proxy.settings)?;
    let handle = handle(&request.receipt_handle)?;
    let ask =
        ChangeInvisible { group: group.clone(), topic: topic.clone(), handle: handle.clone(), invisible };
    let changed = proxy.service.ask(ask).await??;
    proxy.renewals().end(&group, &topic, &handle);
    Ok(ChangeInvisibleDurationResponse { status: Some(status::ok()), receipt_handle: changed.to_string() })
}

/// The time asked for. A missing one counts as zero, which proto3 cannot tell from it elsewhere.
fn invisible(asked: Option<WireDuration>, settings: &Settings) -> Result<Duration, Refused> {
    let illegal = |what: String| {
        let limit = settings.lease_max.as_secs();
        Refused::new(
            Code::IllegalInvisibleTime,
            format!("invisible_duration is {what}, allowed is 0 s to {limit} s"),
        )
    };
    let asked = asked.unwrap_or_default();
    let time = span(asked).ok_or_else(|| illegal(format!("{} s", asked.seconds)))?;
    if time > settings.lease_max {
        return Err(illegal(format!("{} s", time.as_secs())));
    }
    Ok(time)
}

#[cfg(test)]
mod tests;
