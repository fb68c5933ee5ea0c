//! Work: what others must do for the broker, and what came of it.

use crate::checkpoint::{CheckpointDone, CheckpointJob};
use crate::client::Notice;
use crate::count_pending::{Counting, Counts};
use crate::list_pending::{Listed, Listing};
use crate::look_up::{LookUp, LookUpError, LookedUp};
use bytes::Bytes;
use env::Disk;
use journal::{Extent, Job, JobDone, Kind, ReadError, Reader};
use model::{ConnectionId, LogOffset};
use std::ops::ControlFlow;
use std::sync::Arc;
use timer::{Catalog, Entry, IN_LOG};

/// Names a read until it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReadId(pub u64);

/// Something to be done outside the engine.
#[derive(Debug)]
pub enum Work {
    /// For the sync thread: make the log durable, or prepare its next bytes.
    Log(Job),
    /// For a worker: read messages that are no longer in memory.
    Read(ReadWork),
    /// For a worker that nobody waits for: write a checkpoint, which takes long.
    Checkpoint(Box<CheckpointJob>),
    /// For the fronts: tell a client something.
    Notify(ConnectionId, Notice),
}

/// What came back of a [`Work`].
#[derive(Debug)]
pub enum Done {
    /// Of a [`Work::Log`].
    Log(JobDone),
    /// Of a [`Work::Read`].
    Read(ReadId, ReadDone),
    /// Of a [`Work::Checkpoint`].
    Checkpoint(CheckpointDone),
}

impl Work {
    /// Does it; `None` for what is not done on the disk. Blocks.
    pub fn run(self, disk: &dyn Disk) -> Option<Done> {
        Some(match self {
            Self::Log(job) => Done::Log(job.run(disk)),
            Self::Read(read) => read.run(disk),
            Self::Checkpoint(job) => Done::Checkpoint(job.run(disk)),
            Self::Notify(..) => return None,
        })
    }
}

/// What a read asks for.
#[derive(Debug)]
pub(crate) enum Wanted {
    /// Payloads whose places are known.
    Extents(Vec<Extent>),
    /// The message record at a place that a client named, if one begins there.
    Message(LogOffset),
    /// Messages by a key.
    LookUp(Box<LookUp>),
    /// A bucket of the timer.
    Bucket(Box<timer::LoadJob>),
    /// Messages that wait, wherever they lie.
    Bodies(Vec<Entry>, Arc<Catalog>),
    /// A page of what waits.
    Listing(Box<Listing>),
    /// When what waits is due.
    Counting(Box<Counting>),
    /// How much of what lies in buckets is due in one second.
    Second(Box<timer::Scan>),
}

/// What a read gave.
#[derive(Debug)]
pub struct ReadDone(pub(crate) Outcome);

#[derive(Debug)]
pub(crate) enum Outcome {
    Bytes(Result<Vec<Bytes>, ReadError>),
    LookedUp(Box<LookUp>, Result<LookedUp, LookUpError>),
    Bucket(timer::LoadDone),
    Bodies(Result<Vec<Bytes>, LookUpError>),
    Listed(Result<Listed, LookUpError>),
    Counted(Result<Counts, LookUpError>),
    SecondCounted(Result<u64, timer::FileError>),
}

/// A read, to be run on any thread.
#[derive(Debug)]
pub struct ReadWork {
    pub(crate) id: ReadId,
    pub(crate) wanted: Wanted,
    pub(crate) reader: Reader,
}

impl ReadWork {
    /// Reads. Blocks on the disk.
    pub fn run(self, disk: &dyn Disk) -> Done {
        let outcome = match self.wanted {
            Wanted::Extents(extents) => {
                Outcome::Bytes(extents.iter().map(|&extent| self.reader.read(disk, extent)).collect())
            }
            Wanted::Message(at) => Outcome::Bytes(match self.reader.record(disk, at) {
                Ok((header, bytes))
                    if matches!(
                        header.kind,
                        Kind::Message | Kind::TimerPut | Kind::TimerReschedule | Kind::Deliver
                    ) =>
                {
                    Ok(vec![bytes])
                }
                // The place came from outside: that nothing lies there is an answer.
                Ok(_) | Err(ReadError::Corrupt { .. }) => Ok(Vec::new()),
                Err(error) => Err(error),
            }),
            Wanted::LookUp(look_up) => {
                let found = look_up.run(disk);
                Outcome::LookedUp(look_up, found)
            }
            Wanted::Bucket(job) => Outcome::Bucket(job.run(disk)),
            Wanted::Bodies(entries, catalog) => {
                Outcome::Bodies(read_bodies(&entries, &catalog, &self.reader, disk).into_iter().collect())
            }
            Wanted::Listing(listing) => Outcome::Listed(listing.run(&self.reader, disk)),
            Wanted::Counting(counting) => Outcome::Counted(counting.run(disk)),
            Wanted::Second(scan) => {
                let mut count = 0;
                let walked = scan.run(disk, &mut |_| {
                    count += 1;
                    ControlFlow::Continue(())
                });
                Outcome::SecondCounted(walked.map(|_| count))
            }
        };
        Done::Read(self.id, ReadDone(outcome))
    }
}

/// Reads pending messages, wherever they lie, in that order: those near each other in one go.
fn read_bodies(
    entries: &[Entry],
    catalog: &Catalog,
    reader: &Reader,
    disk: &dyn Disk,
) -> Vec<Result<Bytes, LookUpError>> {
    let (in_log, in_data): (Vec<Entry>, Vec<Entry>) =
        entries.iter().copied().partition(|entry| entry.position == IN_LOG);
    let extents: Vec<Extent> =
        in_log.iter().map(|entry| Extent { at: entry.log_offset, length: entry.length }).collect();
    let mut of_log = reader.read_many(disk, &extents).into_iter();
    let mut of_data = timer::read_bodies(catalog, &in_data, disk).into_iter();
    let read = |entry: &Entry| {
        let found = if entry.position == IN_LOG { of_log.next() } else { of_data.next() };
        // What could not be read with others is read alone: it may lie elsewhere by now, or else it is known why not.
        found.flatten().map_or_else(|| read_body(entry, catalog, reader, disk), Ok)
    };
    entries.iter().map(read).collect()
}

/// Reads a pending message, wherever it lies.
pub(crate) fn read_body(
    entry: &Entry,
    catalog: &Catalog,
    reader: &Reader,
    disk: &dyn Disk,
) -> Result<Bytes, LookUpError> {
    if entry.position != IN_LOG {
        return Ok(timer::read_body(catalog, entry, disk)?);
    }
    match reader.read(disk, Extent { at: entry.log_offset, length: entry.length }) {
        // A checkpoint may have taken it out of the log since, and the log may be gone.
        Err(error) => match timer::find(catalog, entry.key(), disk)? {
            Some(now) if now.position != IN_LOG => Ok(timer::read_body(catalog, &now, disk)?),
            _ => Err(error.into()),
        },
        read => Ok(read?),
    }
}
