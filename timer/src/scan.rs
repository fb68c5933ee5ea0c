//! Scan: pending messages in their order, wherever they lie, a part at a time, for whoever wants to see or count them.
//!
//! A scan tells how things stood when it was asked for. What lies in no file it carries along; of what the files
//! tell it knows what had left. So it runs on any thread, beside an engine that goes on.

use std::collections::{BTreeSet, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use env::Disk;
use model::{LogOffset, Timestamp, TopicId};

use crate::Entry;
use crate::catalog::Catalog;
use crate::entry::Key;
use crate::error::FileError;
use crate::index;

/// Which pending messages are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Due from then on.
    pub from: Timestamp,
    /// Due by then.
    pub until: Timestamp,
    /// Behind this one in the order, where one is named: the place where the part before ended.
    pub after: Option<Key>,
    /// Of this topic only.
    pub topic: Option<TopicId>,
}

impl Range {
    /// The first key that belongs to it, if any does.
    fn first(&self) -> Key {
        let behind =
            self.after.map_or((self.from, LogOffset(0)), |(at, offset)| (at, LogOffset(offset.0 + 1)));
        behind.max((self.from, LogOffset(0)))
    }

    pub(crate) fn contains(&self, entry: &Entry) -> bool {
        entry.key() >= self.first()
            && entry.deliver_at <= self.until
            && self.topic.is_none_or(|topic| topic == entry.topic)
    }
}

/// A scan, to be run on any thread.
#[derive(Debug)]
pub struct Scan {
    range: Range,
    catalog: Arc<Catalog>,
    /// What lies in files waits no earlier than this.
    floor: Key,
    /// What has left of what the files tell, from the floor on.
    removed: HashSet<Key>,
    /// Topics that anything waits for: what files hold for others was dropped with its topic.
    topics: BTreeSet<TopicId>,
    /// What waits and lies in no file, in order.
    here: Vec<Entry>,
    most: usize,
}

/// What a scan is made of, but for what lies in no file.
pub(crate) struct OnDisk {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) floor: Option<Timestamp>,
    pub(crate) removed: Vec<Key>,
    pub(crate) topics: BTreeSet<TopicId>,
}

impl Scan {
    pub(crate) fn new(range: Range, mut here: Vec<Entry>, on_disk: OnDisk, most: usize) -> Self {
        let OnDisk { catalog, floor, removed, topics } = on_disk;
        here.retain(|entry| range.contains(entry));
        if here.len() > most {
            here.select_nth_unstable_by_key(most, Entry::key);
            here.truncate(most);
        }
        here.sort_unstable_by_key(Entry::key);
        let floor = (floor.unwrap_or(Timestamp::from_millis(i64::MAX)), LogOffset(0));
        Self { range, catalog, floor, removed: removed.into_iter().collect(), topics, here, most }
    }

    /// The buckets it looks into. Where another checkpoint stands by now, its files may be gone.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// Gives each of the messages in their order, until `each` has enough of them or as many were looked at as a part
    /// may. Gives where it stopped; `None` where it came to the end. Blocks.
    ///
    /// # Errors
    /// Where a bucket's file cannot be read, or holds something else.
    pub fn run(
        &self,
        disk: &dyn Disk,
        each: &mut dyn FnMut(&Entry) -> ControlFlow<()>,
    ) -> Result<Option<Key>, FileError> {
        let (mut looked, mut stopped) = (0, None);
        let mut look = |entry: &Entry, is_wanted: bool| {
            let enough = is_wanted && each(entry).is_break();
            looked += 1;
            if enough || looked == self.most {
                stopped = Some(entry.key());
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        };
        let mut here = self.here.iter().peekable();
        let first = self.range.first().max(self.floor);
        let buckets = self.catalog.buckets.values().filter(|bucket| {
            bucket.end() > first.0.as_millis() && bucket.start <= self.range.until.as_millis()
        });
        for bucket in buckets {
            let flow = index::walk(bucket, first, self.range.until, disk, &mut |entry| {
                while let Some(before) = here.next_if(|here| here.key() < entry.key()) {
                    look(before, true)?;
                }
                look(entry, self.range.contains(entry) && self.waits(entry))
            })?;
            if flow.is_break() {
                return Ok(stopped);
            }
        }
        let _ = here.try_for_each(|entry| look(entry, true));
        Ok(stopped)
    }

    /// Whether an entry of a file waited when the scan was asked for.
    fn waits(&self, entry: &Entry) -> bool {
        let key = entry.key();
        !self.removed.contains(&key) && !self.catalog.is_gone(key) && self.topics.contains(&entry.topic)
    }
}
