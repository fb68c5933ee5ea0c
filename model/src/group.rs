//! Groups: consumers that share the messages of a topic.

use crate::name::GroupName;

/// A consumer group's settings. Peer: `SubscriptionGroupConfig` (RocketMQ 5.x), whose defaults these are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its name.
    pub name: GroupName,
    /// Whether it may consume at all.
    pub consume_enabled: bool,
    /// Whether it may consume in broadcast mode.
    pub broadcast_enabled: bool,
    /// Whether it consumes in order (gRPC).
    pub ordered: bool,
    /// Queues of its retry topic.
    pub retry_queues: u32,
    /// Retries before the dead-letter queue; a message is handed out this often and once more.
    pub retry_max: u32,
    /// Whether members are told when the membership changes.
    pub notify_changes: bool,
}

impl Group {
    /// A group with the default settings.
    pub fn new(name: GroupName) -> Self {
        Self {
            name,
            consume_enabled: true,
            broadcast_enabled: true,
            ordered: false,
            retry_queues: 1,
            retry_max: 16,
            notify_changes: true,
        }
    }
}
