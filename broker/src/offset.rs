//! Offsets: how far groups have read, and how far queues reach.

use model::{GroupName, QueueId, QueueOffset, Timestamp, TopicName};

/// A question for a group's committed offset.
#[derive(Clone, Debug)]
pub struct QueryOffset {
    /// Who.
    pub group: GroupName,
    /// Of which topic.
    pub topic: TopicName,
    /// Of which queue.
    pub queue_id: QueueId,
    /// Whether a group without an offset may begin at 0 where the queue is young.
    pub zero_if_young: bool,
}

/// Why there is no offset to tell.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryOffsetError {
    /// None is committed (22).
    #[error("Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first")]
    NotCommitted,
}

/// A group has read up to an offset.
#[derive(Clone, Debug)]
pub struct CommitOffset {
    /// Who.
    pub group: GroupName,
    /// Of which topic.
    pub topic: TopicName,
    /// Of which queue.
    pub queue_id: QueueId,
    /// The next message to read; beyond the queue's end it counts as that.
    pub queue_offset: QueueOffset,
}

/// Why an offset was not committed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommitOffsetError {
    /// The caller's (17).
    #[error("topic {topic} does not exist")]
    TopicUnknown {
        /// The topic.
        topic: TopicName,
    },
    /// The caller's (29).
    #[error("queue {queue_id} of topic {topic} does not exist, it has {queues}")]
    QueueUnknown {
        /// The topic.
        topic: TopicName,
        /// The queue.
        queue_id: QueueId,
        /// How many there are.
        queues: u32,
    },
}

/// A question for a queue's ends.
#[derive(Clone, Debug)]
pub struct GetBounds {
    /// The topic.
    pub topic: TopicName,
    /// The queue.
    pub queue_id: QueueId,
}

/// A queue's ends; both 0 where there is no such queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Its first message.
    pub min: QueueOffset,
    /// Its next message.
    pub max: QueueOffset,
}

/// A question for the offset of a moment. Peer: `ConsumeQueue.binarySearchInQueueByTime`.
#[derive(Clone, Debug)]
pub struct SearchOffset {
    /// The topic.
    pub topic: TopicName,
    /// The queue.
    pub queue_id: QueueId,
    /// The moment a message was stored (delivered).
    pub at: Timestamp,
    /// The last message up to the moment rather than the first from it on.
    pub upper: bool,
}
