//! Send: a message enters. Wanted now, it goes to its queue; wanted later, to the timer.

use model::{LogOffset, Message, QueueId, QueueOffset, Timestamp, TopicKind, TopicName};

/// Messages for one topic: all are stored, or none.
#[derive(Clone, Debug)]
pub struct Send {
    /// Where they go.
    pub topic: TopicName,
    /// The queue wanted; `None` lets the broker choose, by message group where there is one.
    pub queue_id: Option<QueueId>,
    /// The messages, with the properties as the client set them.
    pub messages: Vec<Message>,
    /// What happens where the topic does not exist.
    pub auto_create: Option<AutoCreate>,
    /// Whether each message's kind must be the topic's (the proxy's ports).
    pub check_kind: bool,
    /// Whether they are one batch in one queue (remoting), in which no delay is allowed.
    pub batch: bool,
    /// The retries the client allows, on a send to `%RETRY%group`.
    pub max_reconsume_times: Option<i32>,
}

/// How a topic that does not exist is made by a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AutoCreate {
    /// Queues the client wishes for; the server's own number is the limit.
    pub queues: u32,
}

/// Where a message was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Its real queue, also where it waits for its time.
    pub queue_id: QueueId,
    /// Its offset in that queue; of a delayed one, its number in the system topic's view.
    pub queue_offset: QueueOffset,
    /// Its record's place in the log.
    pub log_offset: LogOffset,
    /// Its `UNIQ_KEY`.
    pub unique_key: String,
    /// How to call it back, where it is delayed and may be recalled.
    pub recall_handle: Option<String>,
    /// Something the producer should know: that its level was above the last, say.
    pub remark: Option<String>,
}

/// Why nothing was stored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("message {index}: {why}")]
pub struct SendError {
    /// Which of the messages, from 0 on.
    pub index: usize,
    /// Why it was refused.
    pub why: SendRefusal,
}

/// Why a message is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendRefusal {
    /// The caller's: there is no such topic, and it may not be made by a send.
    #[error("topic {topic} does not exist, and this send may not create it")]
    TopicUnknown {
        /// The topic asked for.
        topic: TopicName,
    },
    /// The caller's: the topic belongs to the server.
    #[error("topic {topic} belongs to the server, clients may not write to it")]
    SystemTopic {
        /// The topic asked for.
        topic: TopicName,
    },
    /// The operator's: nobody may write to the topic now.
    #[error("topic {topic} is not writable")]
    NotWritable {
        /// The topic asked for.
        topic: TopicName,
    },
    /// The caller's: the topic has no such queue.
    #[error("queue {queue_id} of topic {topic} does not exist, it has {queues}")]
    QueueUnknown {
        /// The topic asked for.
        topic: TopicName,
        /// The queue asked for.
        queue_id: QueueId,
        /// How many there are.
        queues: u32,
    },
    /// The caller's: the message is of another kind than the topic takes.
    #[error("topic {topic} takes {takes:?} messages, this one is {is:?}")]
    WrongKind {
        /// The topic asked for.
        topic: TopicName,
        /// The topic's kind.
        takes: TopicKind,
        /// The message's kind.
        is: TopicKind,
    },
    /// The caller's: there is nothing in it.
    #[error("the body is empty")]
    EmptyBody,
    /// The caller's: the body is too large.
    #[error("the body has {length} bytes, the limit is {limit}")]
    BodyTooLarge {
        /// Its bytes.
        length: usize,
        /// The most allowed.
        limit: usize,
    },
    /// The caller's: the properties are too large.
    #[error("the properties have {length} bytes, the limit is {limit}")]
    PropertiesTooLarge {
        /// Their bytes, with those the server adds.
        length: usize,
        /// The most allowed.
        limit: usize,
    },
    /// The caller's: a delay property does not hold a whole number that 64 bits hold.
    #[error("property {property} is {value:?}, not a whole number of 64 bits")]
    DelayNotANumber {
        /// Its name.
        property: &'static str,
        /// The beginning of its value.
        value: String,
    },
    /// The caller's: it is wanted later than the server keeps messages.
    #[error("property {property} is {value:?}, {ahead_ms} ms ahead; the limit is {limit_ms} ms")]
    TooFar {
        /// Its name.
        property: &'static str,
        /// Its value.
        value: String,
        /// How far ahead of now.
        ahead_ms: i64,
        /// The farthest allowed.
        limit_ms: i64,
    },
    /// The caller's: a message in a batch asks for a delay.
    #[error("property {property} asks for a delay, which no message of a batch may")]
    DelayInBatch {
        /// Its name.
        property: &'static str,
    },
    /// The operator's: delayed messages are switched off.
    #[error("accurate timer message is not enabled, timerWheelEnable is false")]
    TimerDisabled,
    /// Not served: transactional messages.
    #[error("transactional messages are not supported")]
    TransactionUnsupported,
    /// The caller's: the group of a `%RETRY%` topic does not exist.
    #[error("group {group} does not exist")]
    GroupUnknown {
        /// The group.
        group: String,
    },
    /// Ours, passing: too much is waiting, or the log cannot be written just now.
    #[error("the server is busy: {what}")]
    Busy {
        /// What is full.
        what: &'static str,
    },
    /// Ours, passing: the disk is full or failing.
    #[error("the log cannot be written: {why}")]
    Unavailable {
        /// Why.
        why: String,
    },
}

impl Sent {
    /// Whether this is the answer for a message that waits for its time.
    pub fn is_delayed(&self) -> bool {
        self.recall_handle.is_some()
    }
}

/// When a message is wanted, as its properties say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// At once.
    Now,
    /// At a moment, asked for by a level (1 and up) or (0) by a time.
    At { deliver_at: Timestamp, level: u8 },
}
