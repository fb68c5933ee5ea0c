//! Assignment: which queues a member of a group reads.
//!
//! All members read all of them, by pop: so one entry stands for any queue of a broker. In an ordered group
//! each queue has an entry of its own, so that a long poll on one is not in the way of another.

use crate::Proxy;
use crate::context::Context;
use crate::names;
use crate::route::{ask_route, master};
use crate::status::{self, Refused};
use crate::telemetry::ask_group;
use nameserver::QueueData;
use proto::v2::{self, Code, Permission, QueryAssignmentRequest, QueryAssignmentResponse};

/// The queue id that means any queue.
pub(crate) const ANY_QUEUE: i32 = -1;

/// Peer: `RouteActivity#queryAssignment` (RocketMQ 5.x).
pub(crate) async fn assignment(
    proxy: &Proxy,
    context: &Context,
    request: QueryAssignmentRequest,
) -> Result<QueryAssignmentResponse, Refused> {
    let name = names::topic(request.topic.as_ref())?;
    let group = names::group(request.group.as_ref())?;
    let endpoints = names::endpoints(request.endpoints, &proxy.settings, context.ends)?;
    let (_, data) = ask_route(proxy, &name).await?;
    let ordered = ask_group(proxy, group).await?.ordered;
    let assignments: Vec<v2::Assignment> = data
        .iter()
        .flat_map(|data| ids(data, ordered).map(move |id| (data, id)))
        .map(|(data, id)| v2::MessageQueue {
            topic: request.topic.clone(),
            id,
            permission: Permission::ReadWrite.into(),
            broker: Some(master(&data.broker, &endpoints)),
            accept_message_types: Vec::new(),
        })
        .map(|queue| v2::Assignment { message_queue: Some(queue) })
        .collect();
    if assignments.is_empty() {
        return Err(Refused::new(Code::Forbidden, format!("no readable queue of topic {name}")));
    }
    Ok(QueryAssignmentResponse { status: Some(status::ok()), assignments })
}

/// The ids by which a group reads a topic's queues on one broker; none where nobody may.
fn ids(data: &QueueData, ordered: bool) -> impl Iterator<Item = i32> + use<> {
    match (data.queues.permission.readable(), ordered) {
        (false, _) => 0..0,
        (true, false) => ANY_QUEUE..ANY_QUEUE + 1,
        (true, true) => 0..i32::try_from(data.queues.read).unwrap_or(i32::MAX),
    }
}

#[cfg(test)]
mod tests;
