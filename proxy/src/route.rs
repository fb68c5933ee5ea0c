//! Route: where a topic lies, as far as a client must know.
//!
//! Clients differ in what they bear: some use a queue whatever its permission, one only queues of id 0, and
//! none an unspecified kind. So a topic that may be read and written shows exactly the queues for which both
//! hold. Peer: `RouteActivity` (RocketMQ 5.x), which lists the rest besides.

use crate::Proxy;
use crate::context::Context;
use crate::names;
use crate::status::{self, Refused};
use broker::GetTopic;
use model::{Topic, TopicKind, TopicName};
use nameserver::{QueueData, Queues};
use proto::v2::{self, Code, MessageType, Permission, QueryRouteRequest, QueryRouteResponse};
use service::ServiceExt;

/// Which queues of which brokers serve a topic, and which kinds of messages it takes.
pub(crate) async fn route(
    proxy: &Proxy,
    context: &Context,
    request: QueryRouteRequest,
) -> Result<QueryRouteResponse, Refused> {
    let name = names::topic(request.topic.as_ref())?;
    let endpoints = names::endpoints(request.endpoints, &proxy.settings, context.ends)?;
    let (topic, data) = ask_route(proxy, &name).await?;
    let kinds = kinds(topic.kind);
    let message_queues = data
        .iter()
        .flat_map(|data| queues(data).map(move |(id, permission)| (data, id, permission)))
        .map(|(data, id, permission)| v2::MessageQueue {
            topic: request.topic.clone(),
            id,
            permission: permission.into(),
            broker: Some(master(&data.broker, &endpoints)),
            accept_message_types: kinds.iter().map(|&kind| kind.into()).collect(),
        })
        .collect();
    Ok(QueryRouteResponse { status: Some(status::ok()), message_queues })
}

/// A topic and its queues on the broker of this process: what other brokers have of it is not reached by this door.
pub(crate) async fn ask_route(proxy: &Proxy, name: &TopicName) -> Result<(Topic, Vec<QueueData>), Refused> {
    let topic = proxy.service.ask(GetTopic { name: name.clone() }).await?;
    let mut queues = proxy.service.route(name.clone()).await?.unwrap_or_default().queues;
    queues.retain(|data| data.local);
    match topic {
        Some(topic) if !queues.is_empty() => Ok((topic, queues)),
        _ => Err(Refused::new(Code::TopicNotFound, format!("topic {name} does not exist"))),
    }
}

/// A broker's master, reached by `endpoints`.
pub(crate) fn master(name: &str, endpoints: &v2::Endpoints) -> v2::Broker {
    v2::Broker { name: name.to_owned(), id: 0, endpoints: Some(endpoints.clone()) }
}

/// A topic's queues on one broker, with what may be done with them.
fn queues(data: &QueueData) -> impl Iterator<Item = (i32, Permission)> + use<> {
    let Queues { read, write, permission, .. } = data.queues;
    let (count, permission) = match (permission.readable(), permission.writable()) {
        (true, true) => (read.min(write), Permission::ReadWrite),
        (true, false) => (read, Permission::Read),
        (false, true) => (write, Permission::Write),
        (false, false) => (1, Permission::None),
    };
    (0..i32::try_from(count).unwrap_or(i32::MAX)).map(move |id| (id, permission))
}

/// The kinds of messages that a topic takes.
fn kinds(kind: TopicKind) -> &'static [MessageType] {
    match kind {
        TopicKind::Normal => &[MessageType::Normal],
        TopicKind::Fifo => &[MessageType::Fifo],
        TopicKind::Delay => &[MessageType::Delay],
        TopicKind::Transaction => &[MessageType::Transaction],
        TopicKind::Mixed => {
            &[MessageType::Normal, MessageType::Fifo, MessageType::Delay, MessageType::Transaction]
        }
    }
}

#[cfg(test)]
mod tests;
