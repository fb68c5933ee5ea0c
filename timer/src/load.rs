//! Load: what waits in a bucket is read from its file, a minute before the bucket's time begins.

use std::collections::HashSet;
use std::sync::Arc;

use env::Disk;

use crate::Entry;
use crate::catalog::{Bucket, Catalog};
use crate::entry::Key;
use crate::error::FileError;
use crate::index;

/// A bucket to be read, on any thread. It goes back through [`crate::Timer::loaded`].
#[derive(Debug)]
pub struct LoadJob {
    pub(crate) bucket: Bucket,
    pub(crate) catalog: Arc<Catalog>,
    /// What has left since the checkpoint the bucket's files are of.
    pub(crate) removed: HashSet<Key>,
}

/// What was read.
#[derive(Debug)]
pub struct LoadDone {
    pub(crate) start: i64,
    /// Of the bucket that was read.
    pub(crate) generation: u64,
    pub(crate) result: Result<Vec<Entry>, FileError>,
}

impl LoadJob {
    /// Reads and sorts. Blocks.
    pub fn run(self, disk: &dyn Disk) -> LoadDone {
        let result = index::read(&self.bucket, disk).map(|mut entries| {
            entries.retain(|entry| {
                let key = entry.key();
                !self.removed.contains(&key) && !self.catalog.is_gone(key)
            });
            entries
        });
        LoadDone { start: self.bucket.start, generation: self.bucket.generation, result }
    }
}
