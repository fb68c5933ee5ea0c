//! Pop: take messages with leases; they come again where nobody acks them in time.

use crate::filter::Filter;
use bytes::Bytes;
use model::{GroupName, QueueId, QueueOffset, TopicName};
use std::time::Duration;

/// A take from a topic and its retry topic.
#[derive(Clone, Debug)]
pub struct Pop {
    /// Who takes.
    pub group: GroupName,
    /// The topic.
    pub topic: TopicName,
    /// The queue; `None` for any.
    pub queue_id: Option<QueueId>,
    /// Messages at most, 1 to 32.
    pub max_messages: u32,
    /// How long each stays invisible to others.
    pub invisible: Duration,
    /// How long to wait where there is nothing; zero for not at all.
    pub wait: Duration,
    /// Whether a group without offsets begins at the end or at the beginning.
    pub from_end: bool,
    /// Which messages.
    pub filter: Filter,
    /// Whether the group consumes in order: a queue is locked while one of its messages is leased.
    pub ordered: bool,
    /// The same id gets the same messages again (ordered only).
    pub attempt_id: Option<String>,
    /// Attempts before the dead letters; `None` for the group's setting.
    pub max_attempts: Option<u32>,
}

/// What a pop took. Empty where the wait ended without a message.
#[derive(Clone, Debug)]
pub struct Popped {
    /// The messages, in order.
    pub messages: Vec<PoppedMessage>,
    /// When, in ms since the epoch; grows strictly per queue.
    pub pop_time: i64,
    /// How long each is invisible, in ms.
    pub invisible_ms: i64,
    /// Messages left in the queues looked at.
    pub rest: i64,
}

/// A message taken.
#[derive(Clone, Debug)]
pub struct PoppedMessage {
    /// It, as stored; its topic is the retry topic's where it comes from there.
    pub bytes: Bytes,
    /// What to ack it with.
    pub handle: wire::ReceiptHandle,
    /// Where the read began that found it.
    pub queue_offset: QueueOffset,
    /// How often it was handed out, this time included: from 1 on.
    pub attempt: u32,
}

/// Why a pop is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PopError {
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
    /// The operator's: nobody may read the topic (16).
    #[error("topic {topic} is not readable")]
    NotReadable {
        /// The topic.
        topic: TopicName,
    },
    /// The caller's: no such queue (29).
    #[error("queue {queue_id} of topic {topic} does not exist, it has {queues} to read")]
    QueueUnknown {
        /// The topic.
        topic: TopicName,
        /// The queue.
        queue_id: QueueId,
        /// How many there are.
        queues: u32,
    },
    /// The caller's: more at once than allowed (29).
    #[error("maxMsgNums is {asked}, the limit is {limit}")]
    TooMany {
        /// How many were asked for.
        asked: u32,
        /// The limit.
        limit: u32,
    },
    /// Ours, passing: too many wait already (209).
    #[error("{parked} requests wait already, the limit is {limit}")]
    TooManyParked {
        /// How many wait.
        parked: usize,
        /// The limit.
        limit: usize,
    },
    /// Ours: a message could not be read (1).
    #[error("reading a message: {why}")]
    Unreadable {
        /// Why.
        why: String,
    },
    /// Ours, passing: the log cannot be written, so no lease can be kept.
    #[error("the log cannot be written: {why}")]
    Unavailable {
        /// Why.
        why: String,
    },
}
