//! Groups: made by an administrator or by a first heartbeat.

use model::{Group, GroupName};

/// A group as it shall be. Its retry topic is made with it.
#[derive(Clone, Debug)]
pub struct CreateGroup {
    /// It.
    pub group: Group,
}

/// Why a group was not made or changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CreateGroupError {
    /// Ours, passing: the log cannot be written.
    #[error("the log cannot be written: {why}")]
    Unavailable {
        /// Why.
        why: String,
    },
}

/// A question for a group.
#[derive(Clone, Debug)]
pub struct GetGroup {
    /// Its name.
    pub name: GroupName,
}
