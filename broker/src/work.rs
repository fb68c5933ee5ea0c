//! Work: what others must do for the broker, and what came of it.

use crate::client::Notice;
use bytes::Bytes;
use env::Disk;
use journal::{Extent, Job, JobDone, Kind, ReadError, Reader};
use model::{ConnectionId, LogOffset};

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
    /// For the fronts: tell a client something.
    Notify(ConnectionId, Notice),
}

/// What came back of a [`Work`].
#[derive(Debug)]
pub enum Done {
    /// Of a [`Work::Log`].
    Log(JobDone),
    /// Of a [`Work::Read`].
    Read(ReadId, Result<Vec<Bytes>, ReadError>),
}

/// What a read asks for.
#[derive(Clone, Debug)]
pub(crate) enum Wanted {
    /// Payloads whose places are known.
    Extents(Vec<Extent>),
    /// The message record at a place that a client named, if one begins there.
    Message(LogOffset),
}

/// A read of messages, to be run on any thread.
#[derive(Debug)]
pub struct ReadWork {
    pub(crate) id: ReadId,
    pub(crate) wanted: Wanted,
    pub(crate) reader: Reader,
}

impl ReadWork {
    /// Reads. Blocks on the disk.
    pub fn run(self, disk: &dyn Disk) -> Done {
        let bytes = match self.wanted {
            Wanted::Extents(extents) => {
                extents.iter().map(|&extent| self.reader.read(disk, extent)).collect()
            }
            Wanted::Message(at) => match self.reader.record(disk, at) {
                Ok((header, bytes))
                    if matches!(header.kind, Kind::Message | Kind::TimerPut | Kind::Deliver) =>
                {
                    Ok(vec![bytes])
                }
                // The place came from outside: that nothing lies there is an answer.
                Ok(_) | Err(ReadError::Corrupt { .. }) => Ok(Vec::new()),
                Err(error) => Err(error),
            },
        };
        Done::Read(self.id, bytes)
    }
}
