//! The buckets as the engine holds them: what of them is loaded, and what has left since they were written.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use model::{LogOffset, Timestamp};

use crate::Entry;
use crate::FileError;
use crate::catalog::{Bucket, Catalog, FAR_MS, SPLIT_AHEAD_MS};
use crate::entry::Key;
use crate::load::{LoadDone, LoadJob};
use crate::loaded::Loaded;
use crate::memory::LOAD_AHEAD_MS;

/// Buckets that are loaded, and not yet empty, at once. More wait for their turn: those before them are due first.
const LOADED_MAX: usize = 4;

/// Where a bucket is that belongs to the time that is near.
#[derive(Debug)]
enum State {
    /// It is to be read.
    Wanted,
    /// It is being read; what has left meanwhile.
    Loading(HashSet<Key>),
    /// It is here.
    Ready(Loaded),
}

/// The buckets on disk.
#[derive(Debug, Default)]
pub(crate) struct Buckets {
    catalog: Arc<Catalog>,
    /// By start.
    near: BTreeMap<i64, State>,
    /// What has left since the last checkpoint.
    removed: BTreeSet<Key>,
    /// What had left when the checkpoint that is being written began.
    removing: Arc<BTreeSet<Key>>,
}

impl Buckets {
    pub(crate) fn new(catalog: Arc<Catalog>) -> Self {
        Self { catalog, ..Self::default() }
    }

    pub(crate) fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// The buckets that are loaded or about to be, by start.
    pub(crate) fn near(&self) -> BTreeSet<i64> {
        self.near.keys().copied().collect()
    }

    /// Whether the bucket of a moment is loaded or about to be: what waits in memory for its time must stay there.
    pub(crate) fn keeps(&self, at: Timestamp) -> bool {
        self.catalog.bucket_of(at).is_some_and(|bucket| self.near.contains_key(&bucket.start))
    }

    /// When the next far bucket is to be split; one that is loaded as it is never is.
    pub(crate) fn next_split(&self) -> Option<Timestamp> {
        let far = |bucket: &&Bucket| bucket.width_ms == FAR_MS && !self.near.contains_key(&bucket.start);
        self.catalog.buckets.values().find(far)?.begin().checked_add_millis(-SPLIT_AHEAD_MS)
    }

    /// Notes that a message waits no longer, wherever it lies.
    pub(crate) fn note_removed(&mut self, key: Key) {
        self.removed.insert(key);
        if let Some(start) = self.catalog.bucket_of(key.0).map(|bucket| bucket.start)
            && let Some(State::Loading(meanwhile)) = self.near.get_mut(&start)
        {
            meanwhile.insert(key);
        }
    }

    /// Notes that a message waits again after all.
    pub(crate) fn note_back(&mut self, key: Key) {
        self.removed.remove(&key);
    }

    /// How many have left since the last checkpoint.
    pub(crate) fn removed_len(&self) -> usize {
        self.removed.len()
    }

    /// What has left since the last checkpoint that stands and is due in that time.
    pub(crate) fn removed_within(&self, from: Timestamp, until: Timestamp) -> Vec<Key> {
        let all = (from, LogOffset(0))..=(until, LogOffset(u64::MAX));
        if all.is_empty() {
            return Vec::new();
        }
        self.removed.range(all.clone()).chain(self.removing.range(all)).copied().collect()
    }

    /// Whether a message that a bucket's file tells of has left since the file was written.
    pub(crate) fn has_left(&self, key: Key) -> bool {
        self.removed.contains(&key) || self.removing.contains(&key) || self.catalog.is_gone(key)
    }

    /// Whether a message that came before the last checkpoint may lie in a bucket that is not loaded.
    pub(crate) fn may_hold(&self, key: Key) -> bool {
        let bucket = self.catalog.bucket_of(key.0).filter(|bucket| bucket.from <= key.1);
        bucket.is_some_and(|bucket| !matches!(self.near.get(&bucket.start), Some(State::Ready(_))))
            && !self.has_left(key)
    }

    /// Takes an entry out of what is loaded.
    pub(crate) fn remove(&mut self, key: Key) -> Option<Entry> {
        self.ready_mut(key)?.remove(key.0, key.1)
    }

    pub(crate) fn get(&self, key: Key) -> Option<&Entry> {
        let start = self.catalog.bucket_of(key.0)?.start;
        match self.near.get(&start)? {
            State::Ready(loaded) => loaded.get(key),
            State::Wanted | State::Loading(_) => None,
        }
    }

    fn ready_mut(&mut self, key: Key) -> Option<&mut Loaded> {
        let start = self.catalog.bucket_of(key.0)?.start;
        match self.near.get_mut(&start)? {
            State::Ready(loaded) => Some(loaded),
            State::Wanted | State::Loading(_) => None,
        }
    }

    /// Chooses the buckets whose time is near: they are to be loaded.
    pub(crate) fn pass(&mut self, now: Timestamp) {
        let soon = now.as_millis().saturating_add(LOAD_AHEAD_MS);
        while let Some(start) = self.next_wanted(soon) {
            if self.held() >= LOADED_MAX && !self.unload(start) {
                return;
            }
            self.near.insert(start, State::Wanted);
        }
    }

    /// The first bucket that begins by `soon` and is not chosen.
    fn next_wanted(&self, soon: i64) -> Option<i64> {
        self.catalog
            .buckets
            .range(..=soon)
            .map(|(&start, _)| start)
            .find(|start| !self.near.contains_key(start))
    }

    /// How many are loaded and not empty, or will be.
    fn held(&self) -> usize {
        let empty = |state: &State| matches!(state, State::Ready(loaded) if loaded.is_empty());
        self.near.values().filter(|state| !empty(state)).count()
    }

    /// Lets go of a bucket behind `start`, for a step of the clock or a late message made that one come first. It is read
    /// anew when its turn comes.
    fn unload(&mut self, start: i64) -> bool {
        let behind = self.near.range(start.saturating_add(1)..).rev();
        // One that is being read comes back first; an empty one holds nothing that could be let go of.
        let mut holding = behind.filter(|(_, state)| match state {
            State::Wanted => true,
            State::Loading(_) => false,
            State::Ready(loaded) => !loaded.is_empty(),
        });
        let last = holding.next().map(|(&start, _)| start);
        last.is_some_and(|start| self.near.remove(&start).is_some())
    }

    /// The next bucket to read; those first that are due first.
    pub(crate) fn poll_load(&mut self) -> Option<LoadJob> {
        let wanted = |(start, state): (&i64, &mut State)| match state {
            State::Wanted => {
                *state = State::Loading(HashSet::new());
                Some(*start)
            }
            State::Loading(_) | State::Ready(_) => None,
        };
        let start = self.near.iter_mut().find_map(wanted)?;
        let bucket = self.catalog.buckets[&start].clone();
        let end = Timestamp::from_millis(bucket.end());
        let range = (bucket.begin(), LogOffset(0))..(end, LogOffset(0));
        let removed = self.removed.range(range.clone()).chain(self.removing.range(range)).copied().collect();
        Some(LoadJob { bucket, catalog: Arc::clone(&self.catalog), removed })
    }

    /// A bucket was read. Where it was not, it will be tried again.
    pub(crate) fn loaded(&mut self, done: LoadDone) -> Result<(), FileError> {
        // It may have been read as it was before a checkpoint gave it other files.
        let is_same = |bucket: &Bucket| bucket.generation == done.generation;
        if !self.catalog.buckets.get(&done.start).is_some_and(is_same) {
            return Ok(());
        }
        let Some(State::Loading(meanwhile)) = self.near.get_mut(&done.start) else { return Ok(()) };
        match done.result {
            Ok(mut entries) => {
                entries.retain(|entry| !meanwhile.contains(&entry.key()));
                self.near.insert(done.start, State::Ready(Loaded::new(entries)));
                Ok(())
            }
            Err(error) => {
                self.near.insert(done.start, State::Wanted);
                Err(error)
            }
        }
    }

    /// The first bucket that has begun and is not here: nothing that is due in it or later may leave.
    pub(crate) fn missing(&self, now: Timestamp) -> Option<Timestamp> {
        let mut begun = self.catalog.buckets.range(..=now.as_millis());
        let ready = |start: &i64| matches!(self.near.get(start), Some(State::Ready(_)));
        begun.find(|(start, _)| !ready(start)).map(|(_, bucket)| bucket.begin())
    }

    /// The first entry of all that are loaded.
    pub(crate) fn first(&self) -> Option<&Entry> {
        self.ready().find_map(Loaded::first)
    }

    fn ready(&self) -> impl Iterator<Item = &Loaded> {
        self.near.values().filter_map(|state| match state {
            State::Ready(loaded) => Some(loaded),
            State::Wanted | State::Loading(_) => None,
        })
    }

    /// How many entries those have that are not loaded and began by `now`, what has left them among it.
    pub(crate) fn overdue(&self, now: Timestamp) -> u64 {
        let begun = self.catalog.buckets.range(..=now.as_millis());
        let absent = begun.filter(|(start, _)| !matches!(self.near.get(start), Some(State::Ready(_))));
        absent.map(|(_, bucket)| bucket.entries.saturating_sub(bucket.tombstones)).sum()
    }

    /// Takes the first entry of all that are loaded.
    pub(crate) fn pop(&mut self) -> Option<Entry> {
        self.near.values_mut().find_map(|state| match state {
            State::Ready(loaded) => loaded.pop(),
            State::Wanted | State::Loading(_) => None,
        })
    }

    /// The loaded entries from `from` on that are due by `until`, in order, at most `limit` of them.
    pub(crate) fn due_from(&self, from: Key, until: Timestamp, limit: usize) -> impl Iterator<Item = Entry> {
        let rest = self.ready().flat_map(move |loaded| loaded.iter_from(from));
        let due = rest.take_while(move |entry| entry.deliver_at <= until);
        due.take(limit).copied()
    }

    /// When the next bucket is to be chosen; `None` where none is left, or where those chosen must be used up first.
    pub(crate) fn next_load(&self) -> Option<Timestamp> {
        if self.near.values().any(|state| matches!(state, State::Wanted)) {
            return Some(Timestamp::from_millis(i64::MIN));
        }
        let start = self.catalog.buckets.keys().find(|start| !self.near.contains_key(start))?;
        let gives_way = self.near.range(start.saturating_add(1)..).next().is_some();
        if self.held() >= LOADED_MAX && !gives_way {
            return None;
        }
        Some(Timestamp::from_millis(start.saturating_sub(LOAD_AHEAD_MS)))
    }

    /// A moment before which nothing waits in a bucket that is not loaded, or is loaded and has entries.
    pub(crate) fn floor(&self) -> Option<Timestamp> {
        let first = self.first().map(|entry| entry.deliver_at);
        let ready = |start: &i64| matches!(self.near.get(start), Some(State::Ready(_)));
        let missing = self.catalog.buckets.iter().find(|(start, _)| !ready(start));
        first.into_iter().chain(missing.map(|(_, bucket)| bucket.begin())).min()
    }

    /// A checkpoint begins: gives what has left up to it.
    pub(crate) fn freeze(&mut self) -> Arc<BTreeSet<Key>> {
        assert!(self.removing.is_empty(), "one checkpoint at a time");
        self.removing = Arc::new(std::mem::take(&mut self.removed));
        Arc::clone(&self.removing)
    }

    /// The checkpoint stands.
    pub(crate) fn commit(&mut self, catalog: Arc<Catalog>, now: Timestamp) {
        let soon = now.as_millis().saturating_add(LOAD_AHEAD_MS);
        // What a new bucket of the near time holds has just been written, and is in memory; not so what has come out
        // of a bucket that was split.
        let old = &self.catalog;
        let new = |bucket: &&Bucket| bucket.start <= soon && old.bucket_of(bucket.begin()).is_none();
        let new: Vec<i64> = catalog.buckets.values().filter(new).map(|bucket| bucket.start).collect();
        // What was loaded from files that have been replaced is read again.
        let is_same = |start: &i64| match (old.buckets.get(start), catalog.buckets.get(start)) {
            (Some(old), Some(new)) => old.generation == new.generation,
            _ => false,
        };
        self.near.retain(|start, _| is_same(start));
        self.near.extend(new.into_iter().map(|start| (start, State::Ready(Loaded::default()))));
        self.catalog = catalog;
        self.removing = Arc::default();
    }

    /// The checkpoint does not stand: what it was to write is still to be written.
    pub(crate) fn melt(&mut self) {
        let removing = std::mem::take(&mut self.removing);
        self.removed.extend(removing.iter().copied());
    }
}
