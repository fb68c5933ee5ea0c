//! One queue's messages in order.

use std::collections::VecDeque;
use std::sync::Arc;

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
///
/// They lie in pieces: those that were there at a checkpoint are never changed again, so that another thread can
/// write them to disk while the queue grows.
#[derive(Clone, Debug, Default)]
pub struct ConsumeQueue {
    min: i64,
    /// None is empty; they follow each other.
    pieces: VecDeque<Piece>,
    /// What has come since the last checkpoint began, and the offset of the first of it.
    tail: Vec<Entry>,
    tail_first: i64,
    /// All before this is on disk.
    saved: i64,
}

/// Messages that follow each other, the first one at an offset.
#[derive(Clone, Debug)]
pub struct Piece {
    /// The offset of the first one.
    pub first: i64,
    /// They.
    pub entries: Arc<Vec<Entry>>,
}

impl Piece {
    pub(crate) fn end(&self) -> i64 {
        self.first + self.entries.len() as i64
    }
}

impl ConsumeQueue {
    /// An empty queue that begins at offset 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// A queue as it was at a checkpoint: from `min` on, with these messages, all of which are on disk.
    pub(crate) fn restore(min: QueueOffset, first: i64, entries: Vec<Entry>) -> Self {
        let piece = Piece { first, entries: Arc::new(entries) };
        let saved = piece.end();
        let mut queue = Self { min: first, saved, tail_first: saved, ..Self::default() };
        if !piece.entries.is_empty() {
            queue.pieces.push_back(piece);
        }
        queue.trim(min);
        queue
    }

    /// Adds a message at the end; tells its offset.
    pub fn append(&mut self, entry: Entry) -> QueueOffset {
        let offset = self.max();
        self.tail.push(entry);
        offset
    }

    /// The offset of the oldest message kept; of the next one to come where there is none.
    pub fn min(&self) -> QueueOffset {
        QueueOffset(self.min)
    }

    /// The offset of the next message to come.
    pub fn max(&self) -> QueueOffset {
        QueueOffset(self.tail_first + self.tail.len() as i64)
    }

    /// How many messages the queue holds.
    pub fn len(&self) -> u64 {
        (self.max().0 - self.min) as u64
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The message at `offset`.
    pub fn get(&self, offset: QueueOffset) -> Option<&Entry> {
        if offset.0 < self.min {
            return None;
        }
        let (first, entries) = self.part(offset.0);
        entries.get(usize::try_from(offset.0 - first).ok()?)
    }

    /// The messages from `offset` on, in order; from the oldest on where `offset` is below it, none where it
    /// is past the end.
    pub fn iter_from(&self, offset: QueueOffset) -> impl Iterator<Item = &Entry> {
        let mut at = offset.max(self.min()).0;
        let mut entries: &[Entry] = &[];
        std::iter::from_fn(move || {
            if entries.is_empty() {
                let (first, part) = self.part(at);
                entries = part.get(usize::try_from(at - first).ok()?..)?;
            }
            let (entry, rest) = entries.split_first()?;
            (entries, at) = (rest, at + 1);
            Some(entry)
        })
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
        if upper {
            QueueOffset((self.partition_point(|entry| entry.stored_at <= at) - 1).max(self.min))
        } else {
            QueueOffset(self.partition_point(|entry| entry.stored_at < at))
        }
    }

    /// The offset of the message whose record is at `at`, where it is of this queue.
    pub fn offset_of(&self, at: LogOffset) -> Option<QueueOffset> {
        let offset = QueueOffset(self.partition_point(|entry| entry.extent.at < at));
        (self.get(offset)?.extent.at == at).then_some(offset)
    }

    /// Forgets the messages below `min`, which the log no longer keeps. A queue never begins past its end.
    pub fn trim(&mut self, min: QueueOffset) {
        self.min = min.0.clamp(self.min, self.max().0);
        while self.pieces.front().is_some_and(|piece| piece.end() <= self.min) {
            self.pieces.pop_front();
        }
        if self.min > self.tail_first {
            self.tail.drain(..(self.min - self.tail_first) as usize);
            self.tail_first = self.min;
        }
    }

    /// Forgets the messages whose records lie before `first`; tells whether there were any.
    pub(crate) fn trim_before(&mut self, first: LogOffset) -> bool {
        let min = self.min;
        if self.get(QueueOffset(min)).is_some_and(|entry| entry.extent.at < first) {
            self.trim(QueueOffset(self.partition_point(|entry| entry.extent.at < first)));
        }
        self.min > min
    }

    /// Ends the tail: it becomes a piece, and what comes goes to a new one. Gives the pieces that are not on disk.
    pub(crate) fn freeze(&mut self) -> Vec<Piece> {
        let first = self.tail_first;
        let entries = std::mem::take(&mut self.tail);
        self.tail_first += entries.len() as i64;
        if !entries.is_empty() {
            self.pieces.push_back(Piece { first, entries: Arc::new(entries) });
        }
        self.pieces.iter().filter(|piece| piece.end() > self.saved).cloned().collect()
    }

    /// All before `end` is on disk.
    pub(crate) fn saved(&mut self, end: i64) {
        self.saved = self.saved.max(end);
    }

    /// Whether all is on disk.
    pub(crate) fn is_saved(&self) -> bool {
        self.saved >= self.max().0
    }

    /// The part of the queue that an offset lies in, and where that begins: the tail for what is past the end.
    fn part(&self, offset: i64) -> (i64, &[Entry]) {
        let next = self.pieces.partition_point(|piece| piece.end() <= offset);
        self.pieces
            .get(next)
            .map_or((self.tail_first, &self.tail[..]), |piece| (piece.first, &piece.entries[..]))
    }

    /// The first offset whose message does not fit, of messages of which those that fit come first.
    fn partition_point(&self, fits: impl Fn(&Entry) -> bool) -> i64 {
        let (mut low, mut high) = (self.min, self.max().0);
        while low < high {
            let middle = low.midpoint(high);
            match self.get(QueueOffset(middle)).is_some_and(&fits) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }
}

#[cfg(test)]
mod tests;
