//! A pending message, as much of it as waiting needs.

use model::{LogOffset, Timestamp, TopicId};

/// What entries are ordered by: the moment, and the order of acceptance among equals.
pub type Key = (Timestamp, LogOffset);

/// The key that none comes before.
pub const FIRST: Key = (Timestamp::from_millis(i64::MIN), LogOffset(0));

/// Stands for the position of a body that lies in the log, in the record that is the entry's identity.
pub const IN_LOG: u64 = u64::MAX;

/// A pending message: when it is due and where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When it is due.
    pub deliver_at: Timestamp,
    /// The log offset of its record: its identity, and its place in the order of acceptance.
    pub log_offset: LogOffset,
    /// Hash of its unique key.
    pub key_hash: u64,
    /// Where its bytes begin in its bucket's data file, or [`IN_LOG`].
    pub position: u64,
    /// Bytes of the stored message.
    pub length: u32,
    /// The topic it goes to; counted by, and nothing else.
    pub topic: TopicId,
    /// The delay level it came by, 0 for a timer.
    pub level: u8,
}

const _: () = assert!(size_of::<Entry>() == 48, "an entry is paid for once a pending message that is near");

impl Entry {
    /// What entries are ordered by.
    pub const fn key(&self) -> Key {
        (self.deliver_at, self.log_offset)
    }
}
