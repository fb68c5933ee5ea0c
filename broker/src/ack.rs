//! Ack: what was popped is finished, for good.

use model::{GroupName, TopicName};

/// Messages of one topic that a group has finished.
#[derive(Clone, Debug)]
pub struct Ack {
    /// The group that popped them.
    pub group: GroupName,
    /// The topic that was popped (not its retry topic).
    pub topic: TopicName,
    /// What they were popped with.
    pub handles: Vec<wire::ReceiptHandle>,
}

/// Why an ack did nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AckError {
    /// The caller's: the lease is over, or its end was changed and another handle given.
    #[error("receipt handle is expired")]
    LeaseOver,
    /// The caller's: there never was such a lease.
    #[error("offset is illegal, key:{topic}@{queue_id}, commit:{offset}")]
    OffsetUnknown {
        /// The topic.
        topic: TopicName,
        /// The queue.
        queue_id: u32,
        /// The offset in the handle.
        offset: i64,
    },
    /// The caller's: the topic does not exist.
    #[error("topic {topic} does not exist")]
    TopicUnknown {
        /// The topic.
        topic: TopicName,
    },
    /// Ours, passing: the log cannot be written.
    #[error("the log cannot be written: {why}")]
    Unavailable {
        /// Why.
        why: String,
    },
}
