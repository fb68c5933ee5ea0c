//! When: the pending messages by their moment of delivery.

mod entry;

use std::collections::BTreeMap;

use model::{LogOffset, Timestamp, TopicId};

pub use entry::Entry;

/// The pending messages.
#[derive(Debug)]
pub struct Timer {
    entries: BTreeMap<(Timestamp, LogOffset), Entry>,
    counts: BTreeMap<TopicId, u64>,
}

impl Timer {
    /// Nothing pending, at the moment `now`.
    pub fn new(now: Timestamp) -> Self {
        let _ = now;
        Self { entries: BTreeMap::new(), counts: BTreeMap::new() }
    }

    /// Adds a pending message.
    pub fn schedule(&mut self, entry: Entry) {
        *self.counts.entry(entry.topic).or_default() += 1;
        self.entries.insert((entry.deliver_at, entry.log_offset), entry);
    }

    /// Removes the entries due at `now`, earliest first, at most `budget` of them.
    pub fn take_due(&mut self, now: Timestamp, budget: usize) -> Vec<Entry> {
        let due = self.due_within(now, budget);
        for entry in &due {
            self.remove(entry.deliver_at, entry.log_offset);
        }
        due
    }

    /// The moment at which to call [`Self::take_due`] next.
    pub fn next_due(&self) -> Option<Timestamp> {
        self.entries.keys().next().map(|&(at, _)| at)
    }

    /// What falls due by `until`, without taking it.
    pub fn due_within(&self, until: Timestamp, limit: usize) -> Vec<Entry> {
        self.entries.range(..=(until, LogOffset(u64::MAX))).map(|(_, entry)| *entry).take(limit).collect()
    }

    /// Takes a pending message away.
    pub fn remove(&mut self, deliver_at: Timestamp, log_offset: LogOffset) -> Option<Entry> {
        let entry = self.entries.remove(&(deliver_at, log_offset))?;
        let count = self.counts.get_mut(&entry.topic).expect("a pending message is counted");
        *count -= 1;
        if *count == 0 {
            self.counts.remove(&entry.topic);
        }
        Some(entry)
    }

    /// How many messages are pending.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many messages of a topic are pending.
    pub fn count(&self, topic: TopicId) -> u64 {
        self.counts.get(&topic).copied().unwrap_or(0)
    }

    /// Forgets a topic's pending messages; tells how many there were.
    pub fn drop_topic(&mut self, topic: TopicId) -> u64 {
        self.entries.retain(|_, entry| entry.topic != topic);
        self.counts.remove(&topic).unwrap_or(0)
    }
}
