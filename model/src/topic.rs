//! Topics: how many queues, who may do what, and which kind of message they take.

use crate::name::TopicName;
use crate::offset::TopicId;

/// What may be done with a topic, as RocketMQ's bits: 4 read, 2 write, 1 inherit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permission(pub u32);

impl Permission {
    /// Read and write.
    pub const READ_WRITE: Self = Self(6);

    /// The bit of writing.
    pub const WRITE: u32 = 2;

    /// Whether consumers may read.
    pub const fn readable(self) -> bool {
        self.0 & 4 != 0
    }

    /// Whether producers may write.
    pub const fn writable(self) -> bool {
        self.0 & Self::WRITE != 0
    }
}

/// The kind of message a topic takes (RocketMQ's attribute `message.type`), and the kind a message is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TopicKind {
    /// Neither ordered, delayed nor transactional.
    #[default]
    Normal,
    /// Ordered by message group.
    Fifo,
    /// Delivered at a later moment.
    Delay,
    /// Visible once its transaction commits.
    Transaction,
    /// Any kind; only topics are mixed, never messages.
    Mixed,
}

impl TopicKind {
    /// RocketMQ's word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "NORMAL",
            Self::Fifo => "FIFO",
            Self::Delay => "DELAY",
            Self::Transaction => "TRANSACTION",
            Self::Mixed => "MIXED",
        }
    }

    /// The kind that RocketMQ's word names; `None` for any other word.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Normal, Self::Fifo, Self::Delay, Self::Transaction, Self::Mixed]
            .into_iter()
            .find(|kind| kind.as_str() == word)
    }
}

/// A topic as it is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// Its name.
    pub name: TopicName,
    /// Its identity; not that of an earlier topic of the same name.
    pub id: TopicId,
    /// Queues that consumers read: 0 to this, less one.
    pub read_queues: u32,
    /// Queues that producers write: 0 to this, less one.
    pub write_queues: u32,
    /// What may be done with it.
    pub permission: Permission,
    /// The kind of message it takes; enforced on the proxy's ports only.
    pub kind: TopicKind,
    /// RocketMQ's `order` flag, kept for tools.
    pub order: bool,
    /// RocketMQ's `topicSysFlag`, kept for tools.
    pub sys_flag: u32,
}

impl Topic {
    /// The greater of its numbers of queues: ids below it exist.
    pub fn queues(&self) -> u32 {
        self.read_queues.max(self.write_queues)
    }
}
