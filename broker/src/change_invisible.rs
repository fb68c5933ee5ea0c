//! Change invisible: a lease ends at another time; its handle is replaced.

use model::{GroupName, TopicName};
use std::time::Duration;

pub use crate::ack::AckError as ChangeInvisibleError;

/// A lease is to end so long from now.
#[derive(Clone, Debug)]
pub struct ChangeInvisible {
    /// The group that popped the message.
    pub group: GroupName,
    /// The topic that was popped (not its retry topic).
    pub topic: TopicName,
    /// What it was popped with.
    pub handle: wire::ReceiptHandle,
    /// How long from now; zero makes it visible at once.
    pub invisible: Duration,
}
