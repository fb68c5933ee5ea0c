//! A bucket that was loaded: what waits in it, in one sorted array.

use model::{LogOffset, Timestamp};

use crate::Entry;
use crate::entry::Key;

/// The entries of a bucket in order, and how far they have been taken. 48 bytes an entry; nothing is moved or
/// searched to take the next one.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    entries: Vec<Entry>,
    /// The first entry that was not taken; it was not removed either.
    next: usize,
    /// One bit an entry: those that were removed. Empty while none was.
    removed: Vec<u64>,
}

impl Loaded {
    /// # Panics
    /// Where the entries are not sorted.
    pub(crate) fn new(entries: Vec<Entry>) -> Self {
        assert!(entries.is_sorted_by_key(Entry::key), "a bucket is loaded in order");
        Self { entries, next: 0, removed: Vec::new() }
    }

    pub(crate) fn first(&self) -> Option<&Entry> {
        self.entries.get(self.next)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.first().is_none()
    }

    /// Takes the first entry.
    pub(crate) fn pop(&mut self) -> Option<Entry> {
        let entry = *self.first()?;
        self.next += 1;
        self.skip_removed();
        Some(entry)
    }

    /// Takes an entry out.
    pub(crate) fn remove(&mut self, deliver_at: Timestamp, log_offset: LogOffset) -> Option<Entry> {
        let place = self.place((deliver_at, log_offset))?;
        if self.removed.is_empty() {
            self.removed = vec![0; self.entries.len().div_ceil(64)];
        }
        self.removed[place / 64] |= 1 << (place % 64);
        let entry = self.entries[place];
        self.skip_removed();
        Some(entry)
    }

    pub(crate) fn get(&self, key: Key) -> Option<&Entry> {
        self.place(key).map(|place| &self.entries[place])
    }

    /// What is left from that one on, in order.
    pub(crate) fn iter_from(&self, from: Key) -> impl Iterator<Item = &Entry> {
        let before = self.entries[self.next..].partition_point(|entry| entry.key() < from);
        (self.next + before..self.entries.len())
            .filter(|&place| !self.is_removed(place))
            .map(|place| &self.entries[place])
    }

    /// Where an entry is that was neither taken nor removed.
    fn place(&self, key: Key) -> Option<usize> {
        let place = self.entries[self.next..].binary_search_by_key(&key, Entry::key).ok()? + self.next;
        (!self.is_removed(place)).then_some(place)
    }

    fn is_removed(&self, place: usize) -> bool {
        self.removed.get(place / 64).is_some_and(|bits| bits & 1 << (place % 64) != 0)
    }

    fn skip_removed(&mut self) {
        while self.next < self.entries.len() && self.is_removed(self.next) {
            self.next += 1;
        }
        if self.next == self.entries.len() {
            // All at once, so that the room of a big bucket is given back when it is done.
            *self = Self::default();
        }
    }
}
