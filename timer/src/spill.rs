//! Spill: what has come to wait since the last checkpoint goes from memory to buckets on disk.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use env::Disk;
use model::{LogOffset, Timestamp};

use crate::Entry;
use crate::catalog::{Bucket, Catalog, Gone};
use crate::chunk;
use crate::entry::Key;
use crate::error::{FileError, io, sync};

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
}

/// What a spill has written, and nobody is to believe before the manifest says so.
#[derive(Debug)]
pub struct Spilt {
    /// The buckets as they are then.
    pub catalog: Catalog,
    /// What still waited of what had come, in the order of the log.
    pub waiting: Vec<Entry>,
}

impl Cut {
    /// Writes and syncs. Bytes behind the committed length of a file are overwritten. Blocks.
    pub fn spill(&self, disk: &dyn Disk) -> Result<Spilt, FileError> {
        let mut catalog = (*self.catalog).clone();
        let gone = Gone { fence: self.at, before: self.before };
        let mut waiting = self.fresh.clone();
        waiting.retain(|entry| !self.removed.contains(&entry.key()));
        let mut additions: BTreeMap<i64, Addition> = BTreeMap::new();
        for entry in &waiting {
            let (start, width_ms) = catalog.place(entry.deliver_at, self.now);
            if !catalog.buckets.contains_key(&start) {
                let bucket = Bucket::new(start, width_ms, catalog.next_generation);
                catalog.next_generation += 1;
                catalog.buckets.insert(start, bucket);
            }
            additions.entry(start).or_default().entries.push(*entry);
        }
        // What has come since the last checkpoint and left again lies in no bucket.
        for key in self.removed.iter().filter(|key| key.1 < self.since) {
            let bucket = self.catalog.bucket_of(key.0);
            if let Some(bucket) = bucket.filter(|_| !gone.covers(*key) && !self.catalog.is_gone(*key)) {
                additions.entry(bucket.start).or_default().tombstones.push(*key);
            }
        }
        for (start, addition) in additions {
            if let Some(bucket) = catalog.buckets.get_mut(&start) {
                addition.write(bucket, disk)?;
            }
        }
        catalog.buckets.retain(|_, bucket| Timestamp::from_millis(bucket.end()) > self.before.0);
        catalog.add_gone(gone);
        Ok(Spilt { catalog, waiting })
    }
}

/// What is added to one bucket.
#[derive(Debug, Default)]
struct Addition {
    entries: Vec<Entry>,
    /// Sorted, as they come from a set.
    tombstones: Vec<Key>,
}

impl Addition {
    fn write(mut self, bucket: &mut Bucket, disk: &dyn Disk) -> Result<(), FileError> {
        let file = bucket.index_file();
        let mut bytes = Vec::new();
        if !self.entries.is_empty() {
            self.entries.sort_unstable_by_key(Entry::key);
            chunk::push_entries(&self.entries, &mut bytes);
            bucket.chunks += 1;
        }
        if !self.tombstones.is_empty() {
            chunk::push_tombstones(&self.tombstones, &mut bytes);
            bucket.chunks += 1;
        }
        self.entries.iter().for_each(|entry| bucket.count(entry));
        bucket.tombstones += self.tombstones.len() as u64;
        disk.write_at(&file, bucket.index_bytes, &bytes).map_err(io("writing", &file))?;
        bucket.index_bytes += bytes.len() as u64;
        disk.sync(&file).map_err(sync(&file))
    }
}
