//! Spill: what has come to wait since the last checkpoint goes from memory to buckets on disk; and buckets whose
//! shape no longer fits get another.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use env::Disk;
use journal::ReadError;
use model::{LogOffset, Timestamp};

use crate::Entry;
use crate::catalog::{Bucket, Catalog, FAR_MS, Gone, NEAR_MS, SPLIT_AHEAD_MS};
use crate::chunk;
use crate::entry::{IN_LOG, Key};
use crate::error::{FileError, io, sync};
use crate::{data, index};

/// Buckets that one checkpoint makes anew at most, so that it ends.
const RESHAPED_MAX: usize = 8;

/// From what on buckets get another shape. Small numbers are for tests: then it happens often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// What is due later than this, in ms, when it is spilled has its body copied out of the log.
    pub copy_ahead_ms: i64,
    /// Chunks of an index at most; more are made one.
    pub chunks_max: u32,
    /// Bytes: a data file shorter than this is not worth being copied for what of it is dead.
    pub dead_bytes_min: u64,
}

impl Default for Shape {
    fn default() -> Self {
        Self { copy_ahead_ms: 1_800_000, chunks_max: 16, dead_bytes_min: 64 << 20 }
    }
}

/// What a checkpoint at a place of the log has to write: a value that any thread may carry out.
#[derive(Debug)]
pub struct Cut {
    /// The place: all records before it are told here.
    pub(crate) at: LogOffset,
    /// The place of the checkpoint before it.
    pub(crate) since: LogOffset,
    pub(crate) now: Timestamp,
    /// What has come since then, in the order of the log, what has left again among it.
    pub(crate) fresh: Vec<Entry>,
    /// What has left since then.
    pub(crate) removed: Arc<BTreeSet<Key>>,
    /// Nothing that waits is before this.
    pub(crate) before: Key,
    pub(crate) catalog: Arc<Catalog>,
    /// The buckets that are loaded or about to be, by start. Their files stay as they are, but for what is added; and
    /// what waits in memory for their time has its body in the log.
    pub(crate) near: BTreeSet<i64>,
    pub(crate) shape: Shape,
}

/// Reads the bodies of entries out of the log, in that order.
pub type InLog<'a> = dyn Fn(&[Entry]) -> Result<Vec<Bytes>, ReadError> + 'a;

/// Bodies that are asked for at a time at most, and bytes of them; one always is.
const ASKED_MAX: usize = 1024;
const ASKED_BYTES_MAX: usize = 4 << 20;

/// What a spill has written, and nobody is to believe before the manifest says so.
#[derive(Debug)]
pub struct Spilt {
    /// The buckets as they are then.
    pub catalog: Catalog,
    /// What still waited of what had come, in the order of the log.
    pub waiting: Vec<Entry>,
    /// What it did to buckets besides adding.
    pub done: Reshaped,
}

/// What a spill did to buckets besides adding to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reshaped {
    /// Far buckets that were made near ones.
    pub splits: u64,
    /// Indexes whose chunks were made one.
    pub merges: u64,
    /// Data files that were copied without what is dead.
    pub rewrites: u64,
    /// Bodies that were copied out of the log.
    pub bodies: u64,
}

impl Reshaped {
    /// Counts another one in.
    pub fn add(&mut self, other: Self) {
        self.splits += other.splits;
        self.merges += other.merges;
        self.rewrites += other.rewrites;
        self.bodies += other.bodies;
    }
}

impl Cut {
    /// Writes and syncs; `in_log` reads a body out of the log. Bytes behind the committed length of a file are
    /// overwritten. Blocks.
    pub fn spill(&self, disk: &dyn Disk, in_log: &InLog<'_>) -> Result<Spilt, FileError> {
        let gone = Gone { fence: self.at, before: self.before };
        let mut catalog = (*self.catalog).clone();
        let mut additions: BTreeMap<i64, Addition> = BTreeMap::new();
        let mut done = self.reshape(&mut catalog, &mut additions, disk)?;
        let mut waiting = self.fresh.clone();
        waiting.retain(|entry| !self.removed.contains(&entry.key()));
        for entry in &waiting {
            let place = catalog.place(entry.deliver_at, self.now);
            let bucket = catalog.bucket_mut(place);
            let copied = entry.deliver_at.millis_since(self.now) > self.shape.copy_ahead_ms
                && !self.near.contains(&bucket.start);
            let body = if copied { Body::OfLog } else { Body::Stays };
            done.bodies += u64::from(copied);
            additions.entry(bucket.start).or_default().entries.push((*entry, body));
        }
        // What has come since the last checkpoint and left again lies in no bucket.
        for key in self.removed.iter().filter(|key| key.1 < self.since) {
            let bucket = catalog.bucket_of(key.0).filter(|bucket| self.is_as_it_was(bucket));
            if let Some(bucket) = bucket.filter(|_| !gone.covers(*key) && !self.catalog.is_gone(*key)) {
                additions.entry(bucket.start).or_default().tombstones.push(*key);
            }
        }
        for (start, addition) in additions {
            if let Some(bucket) = catalog.buckets.get_mut(&start) {
                addition.write(bucket, disk, in_log)?;
            }
        }
        // One that was made anew and has lost its last entry was not written at all.
        let before = self.before.0.as_millis();
        catalog.buckets.retain(|_, bucket| bucket.entries > 0 && bucket.end() > before);
        catalog.add_gone(gone);
        Ok(Spilt { catalog, waiting, done })
    }

    /// Whether a bucket's files are those of the last checkpoint, which may tell of what has left since.
    fn is_as_it_was(&self, bucket: &Bucket) -> bool {
        self.catalog.buckets.get(&bucket.start).is_some_and(|old| old.generation == bucket.generation)
    }

    /// Takes buckets apart that are too wide for how near they are, or too much in pieces: their entries are added
    /// anew.
    fn reshape(
        &self,
        catalog: &mut Catalog,
        additions: &mut BTreeMap<i64, Addition>,
        disk: &dyn Disk,
    ) -> Result<Reshaped, FileError> {
        let Shape { chunks_max, dead_bytes_min, .. } = self.shape;
        let is_wide = |bucket: &Bucket| {
            bucket.width_ms == FAR_MS && bucket.begin().millis_since(self.now) < SPLIT_AHEAD_MS
        };
        let is_dead = |bucket: &Bucket| bucket.data_bytes >= dead_bytes_min && bucket.is_mostly_dead();
        let unfit = |bucket: &&Bucket| is_wide(bucket) || bucket.chunks > chunks_max || is_dead(bucket);
        let mut done = Reshaped::default();
        let chosen = self.catalog.buckets.values().filter(|bucket| !self.near.contains(&bucket.start));
        let chosen: Vec<&Bucket> = chosen.filter(unfit).take(RESHAPED_MAX).collect();
        for old in chosen {
            catalog.buckets.remove(&old.start);
            let (narrow, dead) = (is_wide(old), is_dead(old));
            let width_ms = if narrow { NEAR_MS } else { old.width_ms };
            let takes_data_over = !narrow && !dead;
            match (narrow, dead) {
                (true, _) => done.splits += 1,
                (false, true) => done.rewrites += 1,
                (false, false) => done.merges += 1,
            }
            if takes_data_over {
                let bucket = catalog.bucket_mut((old.start, width_ms));
                (bucket.data_generation, bucket.data_bytes) = (old.data_generation, old.data_bytes);
            }
            for entry in index::read(old, disk)? {
                if self.removed.contains(&entry.key()) || self.catalog.is_gone(entry.key()) {
                    continue;
                }
                let start = entry.deliver_at.as_millis().div_euclid(width_ms) * width_ms;
                let bucket = catalog.bucket_mut((start, width_ms));
                let stays = takes_data_over || entry.position == IN_LOG;
                let body = if stays { Body::Stays } else { Body::OfFile(old.data_file()) };
                additions.entry(bucket.start).or_default().entries.push((entry, body));
            }
        }
        Ok(done)
    }
}

/// Where an entry's body comes from.
#[derive(Debug)]
enum Body {
    /// It stays where it is, in the log.
    Stays,
    /// It is copied out of the log.
    OfLog,
    /// It is copied out of another bucket's data file.
    OfFile(String),
}

/// What is added to one bucket.
#[derive(Debug, Default)]
struct Addition {
    entries: Vec<(Entry, Body)>,
    /// Sorted, as they come from a set.
    tombstones: Vec<Key>,
}

impl Addition {
    fn write(mut self, bucket: &mut Bucket, disk: &dyn Disk, in_log: &InLog<'_>) -> Result<(), FileError> {
        self.copy_bodies(bucket, disk, in_log)?;
        let mut entries: Vec<Entry> = self.entries.into_iter().map(|(entry, _)| entry).collect();
        let file = bucket.index_file();
        let mut bytes = Vec::new();
        if !entries.is_empty() {
            entries.sort_unstable_by_key(Entry::key);
            chunk::push_entries(&entries, &mut bytes);
            bucket.chunks += 1;
        }
        if !self.tombstones.is_empty() {
            chunk::push_tombstones(&self.tombstones, &mut bytes);
            bucket.chunks += 1;
        }
        for entry in &entries {
            bucket.count(entry);
        }
        bucket.tombstones += self.tombstones.len() as u64;
        disk.write_at(&file, bucket.index_bytes, &bytes).map_err(io("writing", &file))?;
        bucket.index_bytes += bytes.len() as u64;
        disk.sync(&file).map_err(sync(&file))
    }

    /// Copies the bodies that are to lie in the bucket's data file, and says of each where it lies.
    fn copy_bodies(
        &mut self,
        bucket: &mut Bucket,
        disk: &dyn Disk,
        in_log: &InLog<'_>,
    ) -> Result<(), FileError> {
        let before = bucket.data_bytes;
        let mut writer = data::Writer::new(bucket.data_file(), before);
        let mut rest = self.entries.as_mut_slice();
        while !rest.is_empty() {
            let mut bytes = 0;
            let fits = |(entry, _): &&(Entry, Body)| {
                bytes += entry.length as usize;
                bytes <= ASKED_BYTES_MAX
            };
            let count = rest.iter().take(ASKED_MAX).take_while(fits).count().max(1);
            let (some, behind) = rest.split_at_mut(count);
            rest = behind;
            let is_in_log = |(_, body): &&(Entry, Body)| matches!(body, Body::OfLog);
            let asked: Vec<Entry> = some.iter().filter(is_in_log).map(|(entry, _)| *entry).collect();
            let mut of_log = if asked.is_empty() { Vec::new() } else { in_log(&asked)? }.into_iter();
            for (entry, body) in some {
                let bytes = match body {
                    Body::Stays => continue,
                    Body::OfLog => of_log.next().expect("a body for each that was asked for"),
                    Body::OfFile(file) => data::read(disk, file, entry)?,
                };
                entry.position = writer.push(entry.log_offset, &bytes, disk)?;
            }
        }
        bucket.data_bytes = writer.end(disk)?;
        Ok(())
    }
}
