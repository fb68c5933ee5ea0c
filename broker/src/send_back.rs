//! Send back: a consumer could not handle a message, and gets it again later or, at last, never.

use model::{GroupName, LogOffset};

/// A message given back by a consumer that pulled it. RocketMQ's `CONSUMER_SEND_MSG_BACK`.
#[derive(Clone, Debug)]
pub struct SendBack {
    /// The group that could not handle it.
    pub group: GroupName,
    /// The log offset of the copy that it got.
    pub log_offset: LogOffset,
    /// 0: by the number of tries; above: that delay level; below: to the dead letters at once.
    pub delay_level: i32,
    /// The retries the client allows, in place of the group's.
    pub max_reconsume_times: Option<i32>,
}

/// Why a message was not taken back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendBackError {
    /// The caller's: there is no such group, and it may not be made by this.
    #[error("group {group} does not exist")]
    GroupUnknown {
        /// The group.
        group: GroupName,
    },
    /// The caller's: no message lies there.
    #[error("look message by offset failed, {log_offset}")]
    MessageUnknown {
        /// The place.
        log_offset: LogOffset,
    },
    /// Ours, passing: the log cannot be written.
    #[error("the log cannot be written: {why}")]
    Unavailable {
        /// Why.
        why: String,
    },
}
