//! Clients: who is connected, and how they consume.

use std::fmt;
use std::sync::Arc;

/// A client's own name for itself, opaque to us.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub Arc<str>);

impl fmt::Display for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One connection to a front; given by the service when it opens, never used again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

/// How a consumer gets its messages. RocketMQ's `ConsumeType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsumeKind {
    /// Asks by itself (`CONSUME_ACTIVELY`).
    Pull,
    /// Is called with messages (`CONSUME_PASSIVELY`).
    Push,
    /// Takes with leases (`CONSUME_POP`).
    Pop,
}

/// How members of a group that leave it to the server get the messages of a topic. RocketMQ's
/// `MessageRequestMode` and `popShareQueueNum`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConsumeMode {
    /// Whether they pop; else they pull.
    pub pop: bool,
    /// How many other members' queues each pops besides its own; 0 and below: all queues.
    pub share: i32,
}

/// Whether the members of a group share the messages or each get all. RocketMQ's `MessageModel`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageModel {
    /// Each message goes to one member.
    Clustering,
    /// Each message goes to every member.
    Broadcasting,
}

/// Where a group without offsets begins. RocketMQ's `ConsumeFromWhere`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsumeFrom {
    /// At the end of the queue.
    Last,
    /// At its beginning.
    First,
    /// At a moment.
    Timestamp,
}
