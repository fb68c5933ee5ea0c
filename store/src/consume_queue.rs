//! One queue's messages in order.

use std::collections::VecDeque;

use journal::Extent;
use model::{LogOffset, QueueOffset, Timestamp};

/// One message of a queue. 32 bytes; its place in the queue is its queue offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Where the stored message lies.
    pub extent: Extent,
    /// The number of its tag, 0 without one; a match is only a candidate.
    pub tag_code: i64,
    /// When it was stored, for searching by time without the log.
    pub stored_at: Timestamp,
}

const _: () = assert!(size_of::<Entry>() == 32, "an entry is paid for once a message");

/// A queue's messages: consecutive offsets from [`Self::min`] to [`Self::max`], less one.
#[derive(Clone, Debug, Default)]
pub struct ConsumeQueue {
    min: i64,
    entries: VecDeque<Entry>,
}

impl ConsumeQueue {
    /// An empty queue that begins at offset 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a message at the end; tells its offset.
    pub fn append(&mut self, entry: Entry) -> QueueOffset {
        let offset = self.max();
        self.entries.push_back(entry);
        offset
    }

    /// The offset of the oldest message kept; of the next one to come where there is none.
    pub fn min(&self) -> QueueOffset {
        QueueOffset(self.min)
    }

    /// The offset of the next message to come.
    pub fn max(&self) -> QueueOffset {
        QueueOffset(self.min + self.entries.len() as i64)
    }

    /// How many messages the queue holds.
    pub fn len(&self) -> u64 {
        self.entries.len() as u64
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The message at `offset`.
    pub fn get(&self, offset: QueueOffset) -> Option<&Entry> {
        self.entries.get(self.index(offset)?)
    }

    /// The messages from `offset` on, in order; from the oldest on where `offset` is below it, none where it
    /// is past the end.
    pub fn iter_from(&self, offset: QueueOffset) -> impl ExactSizeIterator<Item = &Entry> {
        let from =
            self.index(offset.max(self.min())).map_or(self.entries.len(), |i| i.min(self.entries.len()));
        self.entries.range(from..)
    }

    /// The offset that belongs to the moment `at`.
    ///
    /// | entries                      | lower (`upper` false)   | upper                    |
    /// |------------------------------|-------------------------|--------------------------|
    /// | some stored at `at`          | the first of them       | the last of them         |
    /// | none at it, some on each side | the first one later    | the last one earlier     |
    /// | all earlier                  | [`Self::max`]           | the last one             |
    /// | all later                    | the first one           | [`Self::min`]            |
    /// | no entry                     | [`Self::min`]           | [`Self::min`]            |
    ///
    /// Moments in a queue grow unless the clock was set back; around such a step the answer is one of the
    /// places that fit. Peer: `ConsumeQueue#binarySearchInQueueByTime` (RocketMQ 5.x).
    pub fn search(&self, at: Timestamp, upper: bool) -> QueueOffset {
        let index = if upper {
            self.entries.partition_point(|entry| entry.stored_at <= at).saturating_sub(1)
        } else {
            self.entries.partition_point(|entry| entry.stored_at < at)
        };
        self.min().plus(index as i64)
    }

    /// The offset of the message whose record is at `at`, where it is of this queue.
    pub fn offset_of(&self, at: LogOffset) -> Option<QueueOffset> {
        let index = self.entries.binary_search_by_key(&at, |entry| entry.extent.at).ok()?;
        Some(self.min().plus(index as i64))
    }

    /// Forgets the messages below `min`, which the log no longer keeps. A queue never begins past its end.
    pub fn trim(&mut self, min: QueueOffset) {
        let count = min.min(self.max()).0 - self.min;
        if count > 0 {
            self.entries.drain(..count as usize);
            self.min += count;
        }
    }

    fn index(&self, offset: QueueOffset) -> Option<usize> {
        usize::try_from(offset.0.checked_sub(self.min)?).ok()
    }
}

#[cfg(test)]
mod tests;
