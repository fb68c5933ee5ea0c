//! Query: find messages by key, by id, by place.

use model::{LogOffset, Timestamp, TopicName};

/// A search for messages of a topic by key.
#[derive(Clone, Debug)]
pub struct Query {
    /// The topic.
    pub topic: TopicName,
    /// The `UNIQ_KEY`, or one word of `KEYS`.
    pub key: String,
    /// Whether `key` is the `UNIQ_KEY`.
    pub unique: bool,
    /// Messages at most.
    pub max: u32,
    /// Stored from then on.
    pub begin: Timestamp,
    /// Stored up to then.
    pub end: Timestamp,
}

/// Why a search gave nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// Nothing fits (22).
    #[error("can not find message, maybe time range not correct")]
    NotFound,
    /// Ours: a message could not be read (1).
    #[error("reading a message: {why}")]
    Unreadable {
        /// Why.
        why: String,
    },
}

/// A look at the message whose record lies there.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// Its place.
    pub log_offset: LogOffset,
}

/// Why there was nothing to see.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ViewError {
    /// No message lies there (1).
    #[error("can not find message by the offset, {log_offset}")]
    NotFound {
        /// The place.
        log_offset: LogOffset,
    },
}
