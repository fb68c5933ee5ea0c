//! The nouns: what every room speaks of, and the rules of their names.
//!
//! A message belongs to a topic, lies in one of its queues and is read by groups. Moments and places are
//! types of their own, so that a log offset never lands where a queue offset is meant.
//!
//! This room knows no bytes, no files, no clocks and no protocol: it has no serde and asks nothing of
//! the world. How a noun looks on a wire is said in `wire`, once for each wire.

mod client;
mod group;
mod level;
mod message;
mod name;
mod offset;
mod time;
mod topic;

pub use client::{ClientId, ConnectionId, ConsumeFrom, ConsumeKind, ConsumeMode, MessageModel};
pub use group::{Group, Pauses, PausesError};
pub use level::{LevelTable, LevelTableError};
pub use message::{Message, Properties};
pub use name::{GroupName, NameError, TopicName, is_system_topic};
pub use offset::{LogOffset, QueueId, QueueOffset, TopicId};
pub use time::{Monotonic, Now, Timestamp};
pub use topic::{Permission, Topic, TopicKind};
