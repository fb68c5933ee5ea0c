//! Work on the log's files that takes too long for the engine's thread.

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use env::Disk;

use crate::error::SyncFailed;
use crate::frontier::{BLOCK, Frontier};
use crate::note::{NOTE_FILE, Note};
use crate::segment;

/// Work on the log's files for another thread. Each goes back through [`crate::Log::done`].
#[derive(Debug, Clone)]
pub enum Job {
    /// For the sync thread: callers wait for it.
    Sync(SyncJob),
    /// For the worker: nobody waits for it.
    Prepare(PrepareJob),
    /// For the worker: nobody waits for it.
    Remove(RemoveJob),
}

/// Makes all that was written durable, and notes how far that is.
#[derive(Debug, Clone)]
pub struct SyncJob {
    /// The segments to sync, oldest first.
    pub(crate) files: Vec<String>,
    /// Whether one of them may be missing from the folder after a loss of power.
    pub(crate) folder: bool,
    /// Up to where all is durable once this is done, and how that is noted.
    pub(crate) note: Note,
    /// Whether the note of it is synced too.
    pub(crate) note_synced: bool,
    pub(crate) gate: Arc<Gate>,
}

/// Fills a part of a segment with zeros, ahead of the records: overwriting them needs no change of the file
/// system's own tables, so later syncs are faster and less spread.
#[derive(Debug, Clone)]
pub struct PrepareJob {
    /// The part of the log.
    pub(crate) range: Range<u64>,
    /// Where its segment begins.
    pub(crate) segment: u64,
    /// Whether the segment's file may be new.
    pub(crate) folder: bool,
    pub(crate) frontier: Arc<Frontier>,
    pub(crate) gate: Arc<Gate>,
}

/// Removes segments nobody needs, oldest first, so that those left never have a gap.
#[derive(Debug, Clone)]
pub struct RemoveJob {
    pub(crate) segments: Vec<Range<u64>>,
}

/// What became of a [`Job`].
#[derive(Debug)]
pub struct JobDone(pub(crate) Outcome);

#[derive(Debug)]
pub(crate) enum Outcome {
    /// The result says whether the note was written.
    Synced {
        note: Note,
        note_synced: bool,
        result: Result<bool, SyncFailed>,
    },
    Prepared {
        end: u64,
        named: bool,
        result: Result<(), SyncFailed>,
    },
    /// The log now begins at `first`.
    Removed {
        first: Option<u64>,
        result: Result<(), SyncFailed>,
    },
}

impl Job {
    /// Does it. Blocks.
    pub fn run(self, disk: &dyn Disk) -> JobDone {
        JobDone(match self {
            Self::Sync(sync) => {
                let result = sync.run(disk);
                Outcome::Synced { note: sync.note, note_synced: sync.note_synced, result }
            }
            Self::Prepare(prepare) => prepare.run(disk),
            Self::Remove(remove) => remove.run(disk),
        })
    }
}

impl SyncJob {
    /// Gives whether the note was written.
    pub(crate) fn run(&self, disk: &dyn Disk) -> Result<bool, SyncFailed> {
        for file in &self.files {
            self.gate.sync(disk, file)?;
        }
        if self.folder {
            disk.sync_folder().map_err(failed(FOLDER))?;
        }
        // Without the note the next start writes more again and believes less: no reason to stop.
        let noted = self.note.write(disk).is_ok();
        if self.note_synced && noted {
            let _ = disk.sync(NOTE_FILE);
        }
        Ok(noted)
    }
}

impl PrepareJob {
    fn run(self, disk: &dyn Disk) -> Outcome {
        let file = segment::name(self.segment);
        let end = self.range.end;
        let written = self.write_zeros(disk, &file);
        let mut result = Ok(());
        // A full disk or a bad write is for the records to meet: they are written where no zeros are, too. A
        // sync that fails may have dropped records of the same file, whoever asked for it.
        if written.is_ok() {
            result = self.gate.sync(disk, &file);
            if result.is_ok() && self.folder {
                result = disk.sync_folder().map_err(failed(FOLDER));
            }
        }
        Outcome::Prepared { end, named: self.folder && written.is_ok() && result.is_ok(), result }
    }

    fn write_zeros(&self, disk: &dyn Disk, file: &str) -> io::Result<()> {
        let zeros = vec![0; BLOCK.min(self.range.end - self.range.start) as usize];
        let mut block = self.range.start;
        while block < self.range.end {
            let end = self.range.end.min(block + BLOCK);
            if self.frontier.begin_block(block) {
                let written = disk.write_at(file, block - self.segment, &zeros[..(end - block) as usize]);
                self.frontier.end_block();
                written?;
            }
            block = end;
        }
        Ok(())
    }
}

impl RemoveJob {
    fn run(self, disk: &dyn Disk) -> Outcome {
        let mut first = None;
        for segment in self.segments {
            match disk.remove(&segment::name(segment.start)) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                // Tried again when the log is next told to forget.
                Err(_) => break,
            }
            if let Err(source) = disk.sync_folder() {
                return Outcome::Removed { first, result: Err(failed(FOLDER)(source)) };
            }
            first = Some(segment.end);
        }
        Outcome::Removed { first, result: Ok(()) }
    }
}

/// Lets one thread at a time sync the log's files, and none after a sync failed.
///
/// The kernel reports a lost write to one of the callers that sync a file at the same time. The other would
/// take its own success for the truth.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    failed: Mutex<bool>,
}

impl Gate {
    fn sync(&self, disk: &dyn Disk, file: &str) -> Result<(), SyncFailed> {
        let mut shut = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if *shut {
            return Err(failed(file)(io::Error::other("an earlier sync of the log failed")));
        }
        let result = disk.sync(file).map_err(failed(file));
        *shut = result.is_err();
        result
    }
}

const FOLDER: &str = "the data folder";

fn failed(file: &str) -> impl Fn(io::Error) -> SyncFailed + '_ {
    |source| SyncFailed { file: file.to_owned(), source }
}
