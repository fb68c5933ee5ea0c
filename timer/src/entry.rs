//! A pending message, as much of it as waiting needs.

use model::{LogOffset, Timestamp, TopicId};

/// A pending message: when it is due and where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When it is due.
    pub deliver_at: Timestamp,
    /// The log offset of its record: its identity, and its place in the order of acceptance.
    pub log_offset: LogOffset,
    /// Bytes of the record's payload.
    pub length: u32,
    /// The topic it goes to; counted by, and nothing else.
    pub topic: TopicId,
    /// Hash of its unique key.
    pub key_hash: u64,
    /// The delay level it came by, 0 for a timer.
    pub level: u8,
}

const _: () = assert!(size_of::<Entry>() == 40, "an entry is paid for once a pending message");

impl Entry {
    /// What entries are ordered by: the moment, and the order of acceptance among equals.
    pub(crate) fn key(&self) -> (Timestamp, LogOffset) {
        (self.deliver_at, self.log_offset)
    }
}
