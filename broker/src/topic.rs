//! Topics: made by an administrator or by a first send.

use model::{NameError, Permission, TopicKind, TopicName};

/// A topic as it shall be.
#[derive(Clone, Debug)]
pub struct CreateTopic {
    /// Its name.
    pub name: TopicName,
    /// Queues to read, 1 to 1024.
    pub read_queues: u32,
    /// Queues to write, 1 to 1024.
    pub write_queues: u32,
    /// What may be done with it.
    pub permission: Permission,
    /// Its kind; `None` leaves that of a topic there is, and makes a new one NORMAL.
    pub kind: Option<TopicKind>,
    /// RocketMQ's `order` flag.
    pub order: bool,
    /// RocketMQ's `topicSysFlag`.
    pub sys_flag: u32,
}

/// Why a topic was not made or changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CreateTopicError {
    /// The caller's: the name is not allowed.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The caller's: the name belongs to the server.
    #[error("topic {name} belongs to the server")]
    SystemTopic {
        /// The name.
        name: TopicName,
    },
    /// The caller's: a number of queues outside the range.
    #[error("{field} is {value}, allowed is 1 to {limit}")]
    Queues {
        /// Which number.
        field: &'static str,
        /// Its value.
        value: u32,
        /// The most allowed.
        limit: u32,
    },
    /// Ours, passing: the log cannot be written.
    #[error("the log cannot be written: {why}")]
    Unavailable {
        /// Why.
        why: String,
    },
}

/// A question for a topic.
#[derive(Clone, Debug)]
pub struct GetTopic {
    /// Its name.
    pub name: TopicName,
}
