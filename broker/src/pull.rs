//! Pull: read a queue from an offset on, and wait where there is nothing yet.

use crate::filter::Filter;
use bytes::Bytes;
use model::{GroupName, QueueId, QueueOffset, TopicName};
use std::time::Duration;

/// A read of one queue.
#[derive(Clone, Debug)]
pub struct Pull {
    /// Who reads.
    pub group: GroupName,
    /// The topic.
    pub topic: TopicName,
    /// The queue.
    pub queue_id: QueueId,
    /// From where on; negative counts as before the first.
    pub queue_offset: QueueOffset,
    /// Messages at most; the server's own limit is 32.
    pub max_messages: u32,
    /// Bytes at most, one message always fits; `None` for the server's own limit of 256 KiB.
    pub max_bytes: Option<u32>,
    /// Which messages; `None`: what the group's last heartbeat said of the topic.
    pub filter: Option<Filter>,
    /// The version of the client's subscription. Where the last heartbeat's is older or there was none, and
    /// `filter` is `None`, the answer is not filtered: clients check tags again themselves.
    pub sub_version: i64,
    /// The offset to commit first.
    pub commit_offset: Option<QueueOffset>,
    /// How long to wait where there is nothing; `None`: not at all.
    pub wait: Option<Duration>,
}

/// What a pull found.
#[derive(Clone, Debug)]
pub struct Pulled {
    /// Which of the outcomes.
    pub outcome: PullOutcome,
    /// The messages as stored, in order; none unless found.
    pub messages: Vec<Bytes>,
    /// Where the next pull begins.
    pub next_offset: QueueOffset,
    /// The queue's least offset.
    pub min_offset: QueueOffset,
    /// The queue's greatest offset: that of its next message.
    pub max_offset: QueueOffset,
}

/// The outcomes of a pull.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PullOutcome {
    /// Messages (RocketMQ's code 0).
    Found,
    /// Nothing new (19).
    NotFound,
    /// Nothing that passes the filter so far: go on at once (20).
    NothingMatched,
    /// The offset lies outside the queue (21).
    OffsetMoved,
}

/// Why a pull is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PullError {
    /// The caller's: no such group, and it may not be made by this (26).
    #[error("group {group} does not exist")]
    GroupUnknown {
        /// The group.
        group: GroupName,
    },
    /// The operator's: the group may not consume (16).
    #[error("group {group} may not consume")]
    GroupForbidden {
        /// The group.
        group: GroupName,
    },
    /// The caller's: no such topic (17).
    #[error("topic {topic} does not exist")]
    TopicUnknown {
        /// The topic.
        topic: TopicName,
    },
    /// The operator's: nobody may read the topic, or the server alone (16).
    #[error("topic {topic} is not readable; pending delayed messages are listed by `duemq pending list`")]
    NotReadable {
        /// The topic.
        topic: TopicName,
    },
    /// The caller's: no such queue (29).
    #[error("queueId[{queue_id}] is illegal, topic {topic} has {queues} to read")]
    QueueUnknown {
        /// The topic.
        topic: TopicName,
        /// The queue.
        queue_id: QueueId,
        /// How many there are.
        queues: u32,
    },
    /// The caller's: its heartbeat has not said that it wants the topic (24).
    #[error("group {group} has not subscribed to topic {topic}")]
    NotSubscribed {
        /// The group.
        group: GroupName,
        /// The topic.
        topic: TopicName,
    },
    /// Ours, passing: too many wait already (215).
    #[error("{parked} requests wait already, the limit is {limit}")]
    TooManyParked {
        /// How many wait.
        parked: usize,
        /// The limit.
        limit: usize,
    },
    /// Ours: the message could not be read (1).
    #[error("reading the message: {why}")]
    Unreadable {
        /// Why.
        why: String,
    },
}
