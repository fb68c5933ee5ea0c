//! The rules of names. Peer: `TopicValidator` and `Validators` (RocketMQ 5.x).

use std::fmt;
use std::sync::Arc;

/// The longest topic a client may name, in bytes.
const TOPIC_MAX: usize = 127;
/// The longest retry or dead-letter topic, in bytes; the stored message's one length byte ends there.
const RETRY_TOPIC_MAX: usize = 255;
/// The longest group, in bytes.
const GROUP_MAX: usize = 120;

const RETRY_PREFIX: &str = "%RETRY%";
const DLQ_PREFIX: &str = "%DLQ%";

/// Topics that belong to the server: no client creates, writes or deletes them.
const SYSTEM_TOPICS: [&str; 11] = [
    "TBW102",
    "SCHEDULE_TOPIC_XXXX",
    "BenchmarkTest",
    "RMQ_SYS_TRANS_HALF_TOPIC",
    "RMQ_SYS_TRACE_TOPIC",
    "RMQ_SYS_TRANS_OP_HALF_TOPIC",
    "TRANS_CHECK_MAX_TIME_TOPIC",
    "SELF_TEST_TOPIC",
    "OFFSET_MOVED_EVENT",
    "CHECKPOINT_TOPIC",
    "rmq_sys_wheel_timer",
];

/// Why a name is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Nothing, or nothing but white space.
    #[error("the {what} is blank")]
    Blank {
        /// `topic` or `group`.
        what: &'static str,
    },
    /// More bytes than the limit.
    #[error("the {what} {name:?} has {length} bytes, the limit is {limit}")]
    TooLong {
        /// `topic` or `group`.
        what: &'static str,
        /// The beginning of the name.
        name: String,
        /// Its length in bytes.
        length: usize,
        /// The longest allowed, in bytes.
        limit: usize,
    },
    /// A character outside `%|a-zA-Z0-9_-`.
    #[error("the {what} {name:?} holds {found:?}, allowed are letters, digits and % | _ -")]
    BadCharacter {
        /// `topic` or `group`.
        what: &'static str,
        /// The beginning of the name.
        name: String,
        /// The first character that is not allowed.
        found: char,
    },
}

fn checked(what: &'static str, name: &str, limit: usize, also: &str) -> Result<Arc<str>, NameError> {
    if name.trim().is_empty() {
        return Err(NameError::Blank { what });
    }
    let shown = || name.chars().take(64).collect();
    if name.len() > limit {
        return Err(NameError::TooLong { what, name: shown(), length: name.len(), limit });
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || "%|_-".contains(c) || also.contains(c);
    if let Some(found) = name.chars().find(|&c| !allowed(c)) {
        return Err(NameError::BadCharacter { what, name: shown(), found });
    }
    Ok(name.into())
}

/// A topic's name: 1 to 127 of `%|a-zA-Z0-9_-`; to 255 for `%RETRY%…`, which may hold a `+` besides, and
/// `%DLQ%…`. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicName(Arc<str>);

impl TopicName {
    /// Takes `name` where it fits the rules. A system topic's name fits; see [`is_system_topic`].
    pub fn new(name: &str) -> Result<Self, NameError> {
        let (limit, also) = match () {
            // Neither group nor topic may hold a `+`, so that it parts them without doubt.
            () if name.starts_with(RETRY_PREFIX) => (RETRY_TOPIC_MAX, "+"),
            () if name.starts_with(DLQ_PREFIX) => (RETRY_TOPIC_MAX, ""),
            () => (TOPIC_MAX, ""),
        };
        checked("topic", name, limit, also).map(Self)
    }

    /// The retry topic of a group that pulls: `%RETRY%group`.
    pub fn retry(group: &GroupName) -> Self {
        Self(format!("{RETRY_PREFIX}{group}").into())
    }

    /// The retry topic of a group that pops from `topic`: `%RETRY%group_topic`. Groups and topics hold `_` too,
    /// so another pair may have the same.
    pub fn pop_retry(group: &GroupName, topic: &TopicName) -> Self {
        Self(format!("{RETRY_PREFIX}{group}_{topic}").into())
    }

    /// The same in the form that no other pair has: `%RETRY%group+topic`.
    pub fn pop_retry_apart(group: &GroupName, topic: &TopicName) -> Self {
        Self(format!("{RETRY_PREFIX}{group}+{topic}").into())
    }

    /// The dead-letter topic of a group: `%DLQ%group`.
    pub fn dead_letter(group: &GroupName) -> Self {
        Self(format!("{DLQ_PREFIX}{group}").into())
    }

    /// Whether this is a retry topic.
    pub fn is_retry(&self) -> bool {
        self.0.starts_with(RETRY_PREFIX)
    }

    /// Whether this is a dead-letter topic.
    pub fn is_dead_letter(&self) -> bool {
        self.0.starts_with(DLQ_PREFIX)
    }

    /// The group whose retry topic this is, where it is one.
    pub fn retry_group(&self) -> Option<GroupName> {
        GroupName::new(self.0.strip_prefix(RETRY_PREFIX)?).ok()
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TopicName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A group's name: 1 to 120 of `%|a-zA-Z0-9_-`. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupName(Arc<str>);

impl GroupName {
    /// Takes `name` where it fits the rules.
    pub fn new(name: &str) -> Result<Self, NameError> {
        checked("group", name, GROUP_MAX, "").map(Self)
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for GroupName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether `topic` belongs to the server: clients may not create, write or delete it.
pub fn is_system_topic(topic: &str) -> bool {
    SYSTEM_TOPICS.contains(&topic) || topic.starts_with("rmq_sys_")
}

#[cfg(test)]
mod tests;
