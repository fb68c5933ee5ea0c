//! A pile: the entries of one stretch of time, not yet on a wheel.

use model::{LogOffset, Timestamp};

use crate::Entry;
use crate::run::Run;

/// The entries due within one window's width that wait in memory, in the order of acceptance, until the window is
/// near or they are written to a bucket.
#[derive(Debug, Default)]
pub(crate) struct Pile {
    entries: Run,
}

impl Pile {
    /// Adds an entry; `false` where it is there already.
    pub(crate) fn insert(&mut self, entry: Entry) -> bool {
        self.entries.insert(entry)
    }

    pub(crate) fn contains(&self, entry: &Entry) -> bool {
        self.entries.contains(entry)
    }

    pub(crate) fn get(&self, deliver_at: Timestamp, log_offset: LogOffset) -> Option<&Entry> {
        self.entries.get(deliver_at, log_offset)
    }

    /// Takes an entry out.
    pub(crate) fn remove(&mut self, deliver_at: Timestamp, log_offset: LogOffset) -> Option<Entry> {
        self.entries.remove(deliver_at, log_offset)
    }

    /// Takes out the entry accepted first, for loading: a slot that gets its entries in this order has them
    /// in the order of delivery.
    pub(crate) fn pop(&mut self) -> Option<Entry> {
        self.entries.pop_front()
    }

    /// The entries due by `until`, in no order of moments. Looks at every entry.
    pub(crate) fn due_within(&self, until: Timestamp) -> impl Iterator<Item = Entry> {
        self.entries.iter().filter(move |entry| entry.deliver_at <= until).copied()
    }

    pub(crate) fn retain(&mut self, keep: impl Fn(&Entry) -> bool) {
        self.entries.retain(keep);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
