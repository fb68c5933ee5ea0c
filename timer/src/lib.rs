//! When: the pending messages by their moment of delivery.
//!
//! A pending message is an [`Entry`]: when it is due, and where its record lies in the log. It enters by
//! [`Timer::schedule`] and leaves on time by [`Timer::take_due`], or before by [`Timer::remove`]. Entries
//! leave in the order of their moments, and within one millisecond in the order of acceptance, which is the
//! order of the log.
//!
//! An entry is first held in memory (`memory.rs`). At each checkpoint what has come since the last one is
//! written to *buckets* on disk (`spill.rs`), stretches of ten minutes or, two days ahead and more, of a day; of
//! those whose time is far nothing is left in memory but the catalog's line on the bucket. A minute before a
//! bucket's time begins it is read back (`load.rs`) into a sorted array. So memory goes by what is near and by
//! what has come lately, not by what is pending.
//!
//! Work on files is a value, [`Cut`] or [`LoadJob`], which any thread carries out and whose outcome comes back.
//! While a bucket whose time has begun is being read, nothing due in it or behind it leaves: the order stands.
//!
//! The clock is the caller's and may jump. A step back loads nothing twice and delivers nothing early: only
//! the moment told with a call decides. A step forward makes everything in between overdue.
//!
//! What a bucket's file holds may wait no longer when it is read: what has left since the last checkpoint is
//! kept by name until the next; that writes what it does not say in one sentence as tombstones.
//!
//! This room never knows what a topic is, only that it counts by it. It never reads a message, asks for no
//! time, and is told again after a start what the log holds behind the checkpoint.

mod buckets;
mod catalog;
mod chunk;
mod data;
mod entry;
mod error;
mod index;
mod load;
mod loaded;
mod memory;
mod occupancy;
mod pile;
mod run;
mod scan;
mod seconds;
mod slab;
mod spill;
mod window;

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use env::Disk;
use model::{LogOffset, Timestamp, TopicId};

pub use catalog::{Catalog, is_timer_file};
pub use entry::{Entry, FIRST, IN_LOG, Key};
pub use error::FileError;
pub use load::{LoadDone, LoadJob};
pub use scan::{Range, Scan};
pub use seconds::InSecond;
pub use spill::{Cut, InLog, Reshaped, Shape, Spilt};

use buckets::Buckets;
use memory::Memory;
use seconds::{Seconds, second_of};

/// Looks in the buckets for the entry of that moment and place; `None` where it is not there, or is known to
/// wait no longer since before the checkpoint that `catalog` is of. Blocks.
pub fn find(catalog: &Catalog, key: Key, disk: &dyn Disk) -> Result<Option<Entry>, FileError> {
    match catalog.bucket_of(key.0) {
        Some(bucket) if bucket.from <= key.1 && !catalog.is_gone(key) => index::find(bucket, key, disk),
        _ => Ok(None),
    }
}

/// Reads the message of an entry whose body lies in a data file. Blocks.
///
/// The entry may be older than `catalog`, and its bucket may have been split since: then it is looked for.
///
/// # Errors
/// Where it is nowhere, or its bytes are not what was written.
pub fn read_body(catalog: &Catalog, entry: &Entry, disk: &dyn Disk) -> Result<Bytes, FileError> {
    let file = |at| catalog.bucket_of(at).map(catalog::Bucket::data_file).unwrap_or_default();
    data::read(disk, &file(entry.deliver_at), entry).or_else(|error| {
        match find(catalog, entry.key(), disk)? {
            Some(now) if now.position != entry.position && now.position != IN_LOG => {
                data::read(disk, &file(now.deliver_at), &now)
            }
            _ => Err(error),
        }
    })
}

/// Reads the messages of entries whose bodies lie in data files, in that order: those near each other in one go.
/// Blocks. `None` for one that is not there or is damaged: [`read_body`] finds it elsewhere, or says why not.
pub fn read_bodies(catalog: &Catalog, entries: &[Entry], disk: &dyn Disk) -> Vec<Option<Bytes>> {
    let mut files = BTreeMap::new();
    let span = |(id, entry): (usize, &Entry)| {
        let bucket = catalog.bucket_of(entry.deliver_at).filter(|_| entry.position != IN_LOG)?;
        let file = files.entry(bucket.start).or_insert_with(|| bucket.data_file().into());
        Some(data::span(id, Arc::clone(file), entry))
    };
    let mut found = vec![None; entries.len()];
    let spans = entries.iter().enumerate().filter_map(span).collect();
    env::read_spans(disk, spans, &mut |id, item| {
        found[id] = data::message(&item, &entries[id]);
    });
    found
}

/// The pending messages.
///
/// A pair of moment and log offset names an entry; one that is pending already is not scheduled twice.
#[derive(Debug)]
pub struct Timer {
    /// The latest moment told, which may be earlier than the one before.
    now: Timestamp,
    memory: Memory,
    buckets: Buckets,
    /// What has come since the last checkpoint, in the order of the log, what has left again among it.
    fresh: Vec<Entry>,
    /// Where the last checkpoint was, or the one that is being written.
    checkpoint: LogOffset,
    /// Where the last one was that stands.
    standing: LogOffset,
    /// How many are pending, by topic and level. No line says zero.
    counts: BTreeMap<(TopicId, u8), u64>,
    len: u64,
    /// How many are due in each second, where that is wanted.
    seconds: Option<Seconds>,
    shape: Shape,
}

impl Timer {
    /// Nothing pending, at the moment `now`.
    pub fn new(now: Timestamp) -> Self {
        Self::restore(now, Arc::default(), LogOffset(0), [])
    }

    /// What was pending at a checkpoint: the buckets, and how many they hold that wait, by topic and level.
    pub fn restore(
        now: Timestamp,
        catalog: Arc<Catalog>,
        checkpoint: LogOffset,
        counts: impl IntoIterator<Item = (TopicId, u8, u64)>,
    ) -> Self {
        let counts = counts.into_iter().filter(|(.., count)| *count > 0);
        let counts: BTreeMap<_, _> = counts.map(|(topic, level, count)| ((topic, level), count)).collect();
        Self {
            now,
            memory: Memory::new(now),
            buckets: Buckets::new(catalog),
            fresh: Vec::new(),
            checkpoint,
            standing: checkpoint,
            len: counts.values().sum(),
            counts,
            seconds: None,
            shape: Shape::default(),
        }
    }

    /// The same, with buckets of another shape than is usual.
    #[must_use]
    pub fn shaped(self, shape: Shape) -> Self {
        Self { shape, ..self }
    }

    /// Adds a pending message, due at any moment, past ones too. It is taken by [`Self::take_due`] only.
    pub fn schedule(&mut self, entry: Entry) {
        if self.memory.insert(entry) {
            self.fresh.push(entry);
            self.count_in(&entry);
        }
    }

    /// Takes back what [`Self::take_due`] gave and what was not delivered: it waits again.
    pub fn put_back(&mut self, entry: Entry) {
        if self.memory.insert(entry) {
            self.buckets.note_back(entry.key());
            self.count_in(&entry);
        }
    }

    /// Removes the entries due at `now`, earliest first, at most `budget` of them.
    ///
    /// Never early: every entry returned has `deliver_at <= now`. Entries of one moment come in the order of
    /// their log offsets. Work left over shows as [`Timer::next_due`] in the past; the caller decides when to
    /// come back. `now` may be earlier or later than at any call before, by any distance.
    pub fn take_due(&mut self, now: Timestamp, budget: usize) -> Vec<Entry> {
        self.now = now;
        self.buckets.pass(now);
        let until = match self.buckets.missing(now) {
            Some(begin) => Timestamp::from_millis(begin.as_millis().saturating_sub(1)),
            None => now,
        };
        let mut due = Vec::new();
        while due.len() < budget {
            let bound = self.buckets.first().map(Entry::key).filter(|key| key.0 <= until);
            let before = due.len();
            self.memory.take_before(until, bound, budget, &mut due);
            for entry in &due[before..] {
                self.buckets.note_removed(entry.key());
                self.count_out(entry.key(), entry.topic, entry.level);
            }
            if bound.is_none() {
                break;
            }
            self.take_loaded(until, budget, &mut due);
        }
        self.memory.pass(now);
        due
    }

    /// Takes what is loaded and comes before what is in memory.
    fn take_loaded(&mut self, until: Timestamp, budget: usize, due: &mut Vec<Entry>) {
        let bound = self.memory.first_near();
        while due.len() < budget
            && let Some(first) = self.buckets.first().copied()
            && first.deliver_at <= until
            && bound.is_none_or(|bound| first.key() <= bound)
        {
            self.buckets.pop();
            // What is in memory as well goes from there: the bucket knows where the body lies now. What belongs to a
            // topic that is gone, is gone.
            if bound == Some(first.key()) {
                self.memory.remove(first.deliver_at, first.log_offset);
            }
            if self.counts.contains_key(&(first.topic, first.level)) {
                self.buckets.note_removed(first.key());
                self.count_out(first.key(), first.topic, first.level);
                due.push(first);
            }
        }
    }

    /// The moment at which to call [`Self::take_due`] next; `None` where nothing is pending, or where all that is
    /// waits for a bucket that is being read.
    ///
    /// It is exact for what is due within a minute; else it may also be the moment at which something is to be
    /// loaded, and it stays in the past until that is done. So it is never later than the first entry's
    /// moment.
    pub fn next_due(&self) -> Option<Timestamp> {
        let entries = [self.memory.next_due(), self.buckets.first().map(|entry| entry.deliver_at)];
        let missing = self.buckets.missing(self.now);
        let entry = entries.into_iter().flatten().min().filter(|at| missing.is_none_or(|begin| *at < begin));
        entry.into_iter().chain(self.buckets.next_load()).min()
    }

    /// The next bucket to be read, until there is none.
    pub fn poll_load(&mut self) -> Option<LoadJob> {
        self.buckets.poll_load()
    }

    /// A bucket was read.
    ///
    /// # Errors
    /// Where it was not; it will be asked for again.
    pub fn loaded(&mut self, done: LoadDone) -> Result<(), FileError> {
        self.buckets.loaded(done)
    }

    /// The entries due by `until` in the order in which they will be taken, at most `limit` of them. Takes
    /// none, and knows none of a bucket that is not loaded.
    pub fn due_within(&self, until: Timestamp, limit: usize) -> Vec<Entry> {
        self.due_from(FIRST, until, limit)
    }

    /// Of those, the ones from `from` on. For moments within the next minute it costs by what it returns.
    pub fn due_from(&self, from: Key, until: Timestamp, limit: usize) -> Vec<Entry> {
        let mut due = self.memory.due_from(from, until, limit);
        let before = due.len();
        due.extend(self.buckets.due_from(from, until, limit));
        if due.len() > before {
            // Of two that are one, that of the bucket knows where the body lies now.
            due.sort_unstable_by_key(|entry| (entry.key(), entry.position == IN_LOG));
            due.dedup_by_key(|entry| entry.key());
            due.truncate(limit);
        }
        due
    }

    /// Takes a pending message away that is in memory or loaded. `None` where there is no such entry: it may
    /// yet lie in a bucket, where [`find`] finds it and [`Self::remove_found`] takes it away.
    pub fn remove(&mut self, deliver_at: Timestamp, log_offset: LogOffset) -> Option<Entry> {
        let key = (deliver_at, log_offset);
        let loaded =
            self.buckets.remove(key).filter(|entry| self.counts.contains_key(&(entry.topic, entry.level)));
        let entry = self.memory.remove(deliver_at, log_offset).or(loaded)?;
        self.buckets.note_removed(key);
        self.count_out(key, entry.topic, entry.level);
        Some(entry)
    }

    /// Takes a pending message away that [`find`] found in the buckets of `catalog`. `None` where it has left
    /// meanwhile.
    ///
    /// # Errors
    /// [`Stale`] where another checkpoint stands by now: what was found says nothing, look again.
    pub fn remove_found(&mut self, entry: &Entry, catalog: &Arc<Catalog>) -> Result<Option<Entry>, Stale> {
        if let Some(entry) = self.remove(entry.deliver_at, entry.log_offset) {
            return Ok(Some(entry));
        }
        if !Arc::ptr_eq(self.buckets.catalog(), catalog) {
            return Err(Stale);
        }
        let counted = self.counts.contains_key(&(entry.topic, entry.level));
        if !counted || !self.buckets.may_hold(entry.key()) {
            return Ok(None);
        }
        self.buckets.note_removed(entry.key());
        self.count_out(entry.key(), entry.topic, entry.level);
        Ok(Some(*entry))
    }

    /// The log tells, after a start, that a message has left that was pending at the checkpoint. Its topic may have
    /// been deleted since.
    pub fn replay_removed(&mut self, key: Key, topic: TopicId, level: u8) {
        self.buckets.note_removed(key);
        if self.counts.contains_key(&(topic, level)) {
            self.count_out(key, topic, level);
        }
    }

    /// Whether a message is pending, as far as that is known without reading a file: `None` where it depends on
    /// what a bucket's file says of it.
    pub fn is_pending(&self, deliver_at: Timestamp, log_offset: LogOffset) -> Option<bool> {
        let key = (deliver_at, log_offset);
        if self.entry(key).is_some() {
            return Some(true);
        }
        if self.buckets.may_hold(key) { None } else { Some(false) }
    }

    /// A pending message that is in memory or loaded.
    pub fn entry(&self, key: Key) -> Option<&Entry> {
        self.memory.get(key.0, key.1).or_else(|| self.buckets.get(key))
    }

    /// A look at the pending messages of `range`, `most` of them at most, as they are now; `taken` are what
    /// [`Self::take_due`] gave and what may yet be put back. Costs by how many of the range are in memory.
    pub fn scan(&self, range: Range, taken: impl IntoIterator<Item = Entry>, most: usize) -> Scan {
        let mut here = self.memory.within(range.from, range.until);
        // What is older lies in a file as well.
        here.retain(|entry| entry.log_offset >= self.standing);
        here.extend(taken);
        Scan::new(range, here, self.on_disk(range.from, range.until), most)
    }

    /// What is to be known for a look into files at what is due in that time.
    fn on_disk(&self, from: Timestamp, until: Timestamp) -> scan::OnDisk {
        let floor = self.floor();
        let from = from.max(floor.unwrap_or(from));
        scan::OnDisk {
            catalog: Arc::clone(self.buckets.catalog()),
            floor,
            removed: self.buckets.removed_within(from, until),
            topics: self.counts.keys().map(|(topic, _)| *topic).collect(),
        }
    }

    /// Where the log's last checkpoint was: what came before it lies in buckets.
    pub fn checkpoint(&self) -> LogOffset {
        self.checkpoint
    }

    /// When a checkpoint is wanted for a bucket to be split, whatever has come.
    pub fn next_split(&self) -> Option<Timestamp> {
        self.buckets.next_split()
    }

    /// The buckets as the last checkpoint left them.
    pub fn catalog(&self) -> &Arc<Catalog> {
        self.buckets.catalog()
    }

    /// How many messages are pending.
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many messages of a topic are pending.
    pub fn count(&self, topic: TopicId) -> u64 {
        self.counts.range((topic, 0)..=(topic, u8::MAX)).map(|(_, count)| count).sum()
    }

    /// How many are pending, by topic and level.
    pub fn counts(&self) -> impl Iterator<Item = (TopicId, u8, u64)> {
        self.counts.iter().map(|(&(topic, level), &count)| (topic, level, count))
    }

    /// Says whether it is counted how many are due in each second. To begin looks at every entry in memory.
    pub fn count_seconds(&mut self, wanted: bool) {
        if wanted == self.seconds.is_some() {
            return;
        }
        self.seconds = wanted.then(Seconds::default);
        if wanted {
            let (from, until) = (Timestamp::from_millis(i64::MIN), Timestamp::from_millis(i64::MAX));
            for entry in self.memory.within(from, until) {
                // What is older lies in a file as well.
                if entry.log_offset >= self.standing {
                    self.count_second_of(entry.key(), 1);
                }
            }
        }
    }

    /// How many are due in the second that `at` lies in, that is, wait for it still. `None` where it is not counted.
    ///
    /// Of what has come since the last checkpoint that is always known. Of what is older it is known where it was
    /// counted ([`Self::count_second`]), or where no bucket holds any of it.
    pub fn due_in_second(&self, at: Timestamp) -> Option<InSecond> {
        let most = self.catalog().bucket_of(at).map_or(0, |bucket| bucket.entries);
        Some(self.seconds.as_ref()?.get(second_of(at), most))
    }

    /// A look at what lies in files and is due in the second that `at` lies in, for any thread. How many it found goes
    /// to [`Self::second_counted`].
    pub fn count_second(&mut self, at: Timestamp) -> Scan {
        let second = second_of(at);
        if let Some(seconds) = &mut self.seconds {
            seconds.begin(second);
        }
        let from = Timestamp::from_millis(second.saturating_mul(1000));
        let until = Timestamp::from_millis(second.saturating_mul(1000).saturating_add(999));
        let range = Range { from, until, after: None, topic: None };
        Scan::new(range, Vec::new(), self.on_disk(from, until), usize::MAX)
    }

    /// So many of the second that `at` lies in were found, in the buckets as the last checkpoint left them.
    pub fn second_counted(&mut self, at: Timestamp, count: u64) {
        if let Some(seconds) = &mut self.seconds {
            seconds.counted(second_of(at), count);
        }
    }

    /// How many are due at `now`: of those that are in memory or loaded, and at most so many of the others.
    pub fn overdue(&self, now: Timestamp) -> u64 {
        let here = self.due_within(now, usize::MAX).len() as u64;
        here + self.buckets.overdue(now)
    }

    /// How much the next checkpoint has to write: what has come and what has left since the last one.
    pub fn unsaved(&self) -> usize {
        self.fresh.len() + self.buckets.removed_len()
    }

    /// Forgets a topic's pending messages, whose id no other topic gets; tells how many there were, by level.
    /// Looks at every entry in memory.
    pub fn drop_topic(&mut self, topic: TopicId) -> Vec<(u8, u64)> {
        let dropped: Vec<(u8, u64)> = self
            .counts
            .range((topic, 0)..=(topic, u8::MAX))
            .map(|(&(_, level), &count)| (level, count))
            .collect();
        if dropped.is_empty() {
            return dropped;
        }
        self.memory.retain(|entry| entry.topic != topic);
        self.fresh.retain(|entry| entry.topic != topic);
        for &(level, count) in &dropped {
            self.counts.remove(&(topic, level));
            self.len -= count;
        }
        if self.seconds.take().is_some() {
            self.count_seconds(true);
        }
        dropped
    }

    /// Begins a checkpoint at the log's end: everything that the log holds before `at` has been told. Gives
    /// what is to be written, for any thread. Costs nothing by the number of entries.
    ///
    /// One checkpoint at a time: it ends by [`Self::commit`] or [`Self::give_up`].
    pub fn cut(&mut self, at: LogOffset) -> Cut {
        let floor = self.floor();
        // Never past now: what comes later may be due before the first of those that wait now.
        let next = self.now.checked_add_millis(1).unwrap_or(self.now);
        let before = (floor.map_or(next, |floor| floor.min(next)), LogOffset(0));
        self.memory.freeze();
        self.seconds.iter_mut().for_each(Seconds::freeze);
        Cut {
            at,
            since: std::mem::replace(&mut self.checkpoint, at),
            now: self.now,
            fresh: std::mem::take(&mut self.fresh),
            removed: self.buckets.freeze(),
            before,
            catalog: Arc::clone(self.buckets.catalog()),
            near: self.buckets.near(),
            shape: self.shape,
        }
    }

    /// The checkpoint stands: its manifest is durable.
    pub fn commit(&mut self, catalog: Arc<Catalog>) {
        self.buckets.commit(catalog, self.now);
        self.standing = self.checkpoint;
        self.seconds.iter_mut().for_each(Seconds::commit);
        let buckets = &self.buckets;
        self.memory.forget_frozen(|begin| buckets.keeps(begin));
    }

    /// The checkpoint of `cut` does not stand: all of it is still to be written.
    pub fn give_up(&mut self, cut: Cut) {
        let mut fresh = cut.fresh;
        fresh.append(&mut self.fresh);
        fresh.retain(|entry| self.counts.contains_key(&(entry.topic, entry.level)));
        self.fresh = fresh;
        self.checkpoint = cut.since;
        self.buckets.melt();
        self.memory.melt_frozen();
        self.seconds.iter_mut().for_each(Seconds::melt);
    }

    /// A moment before which nothing waits.
    fn floor(&self) -> Option<Timestamp> {
        [self.memory.floor(), self.buckets.floor()].into_iter().flatten().min()
    }

    fn count_in(&mut self, entry: &Entry) {
        *self.counts.entry((entry.topic, entry.level)).or_default() += 1;
        self.len += 1;
        self.count_second_of(entry.key(), 1);
    }

    fn count_second_of(&mut self, key: Key, change: i64) {
        if let Some(seconds) = &mut self.seconds {
            seconds.count(key, self.standing, self.checkpoint, change);
        }
    }

    fn count_out(&mut self, key: Key, topic: TopicId, level: u8) {
        self.len -= 1;
        self.count_second_of(key, -1);
        let pending = self
            .counts
            .get_mut(&(topic, level))
            .unwrap_or_else(|| panic!("topic {topic} has entries and no count"));
        *pending -= 1;
        if *pending == 0 {
            self.counts.remove(&(topic, level));
        }
    }
}

/// Another checkpoint stands by now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stale;

#[cfg(test)]
mod tests;
