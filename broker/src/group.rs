//! Groups: made by an administrator or by a first heartbeat.

use model::{Group, GroupName};

/// A group as it shall be. Its retry topic is made with it.
#[derive(Clone, Debug)]
pub struct CreateGroup {
    /// It.
    pub group: Group,
}

/// A question for a group.
#[derive(Clone, Debug)]
pub struct GetGroup {
    /// Its name.
    pub name: GroupName,
}
