//! Clients: who is connected, what each produces and consumes, and who must hear of changes.

use crate::filter::Filter;
use model::{ClientId, ConnectionId, ConsumeFrom, ConsumeKind, GroupName, MessageModel, TopicName};

/// A client's heartbeat: all that it produces and consumes.
#[derive(Clone, Debug)]
pub struct Register {
    /// The connection it came by.
    pub connection: ConnectionId,
    /// The client.
    pub client: ClientId,
    /// Its language, as it says.
    pub language: String,
    /// Its version, as RocketMQ's ordinal or 0.
    pub version: i32,
    /// Its address, for tools.
    pub address: std::net::SocketAddr,
    /// The groups it produces for (gRPC: the topics).
    pub producers: Vec<String>,
    /// The groups it consumes for.
    pub consumers: Vec<Consumer>,
}

/// A member of a consumer group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consumer {
    /// The group.
    pub group: GroupName,
    /// How it gets messages.
    pub kind: ConsumeKind,
    /// Shared or all.
    pub model: MessageModel,
    /// Where it begins without offsets.
    pub from: ConsumeFrom,
    /// What it wants.
    pub subscriptions: Vec<Subscription>,
}

/// A topic that a consumer wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscription {
    /// The topic.
    pub topic: TopicName,
    /// Which messages.
    pub filter: Filter,
    /// The expression as the client wrote it.
    pub expression: String,
    /// The expression's version: greater is newer.
    pub version: i64,
}

/// Why a heartbeat was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegisterError {
    /// Ours, passing: the log cannot be written.
    #[error("the log cannot be written: {why}")]
    Unavailable {
        /// Why.
        why: String,
    },
}

/// A client leaves groups by itself.
#[derive(Clone, Debug)]
pub struct Unregister {
    /// The connection it came by.
    pub connection: ConnectionId,
    /// The client.
    pub client: ClientId,
    /// The group it no longer produces for.
    pub producer: Option<String>,
    /// The group it no longer consumes for.
    pub consumer: Option<GroupName>,
}

/// A connection is gone, and with it what was registered by it and the requests it waits for.
#[derive(Clone, Copy, Debug)]
pub struct Disconnect {
    /// Which.
    pub connection: ConnectionId,
}

/// A question for the members of a group.
#[derive(Clone, Debug)]
pub struct Consumers {
    /// The group.
    pub group: GroupName,
}

/// Why there are no members to tell.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConsumersError {
    /// Nobody is there (1).
    #[error("no consumer for this group, {group}")]
    NoneOnline {
        /// The group.
        group: GroupName,
    },
}

/// Something a client must hear without having asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The members of a group, or what they want, have changed: rebalance.
    ConsumersChanged {
        /// The group.
        group: GroupName,
    },
}
