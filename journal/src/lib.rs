//! CONTRACT (the builder of this room replaces this text and every body, and keeps the signatures).
use bytes::Bytes;
use env::Disk;
use model::LogOffset;
use std::io;
use std::sync::Arc;

/// What a record is. The numbers are the format's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A message visible at once; payload: stored message.
    Message = 1,
    /// A message parked until `due_ms`; payload: stored message as it will be delivered.
    TimerPut = 2,
    /// Recall of the parked message `reference`.
    TimerRecall = 3,
    /// A parked message `reference` moved to `due_ms`.
    TimerReschedule = 4,
    /// The parked message `reference`, delivered; payload: the delivered message, whole.
    Deliver = 5,
    /// Reserved.
    DeliverRef = 6,
    /// Leases taken by pops, batched.
    Leases = 7,
    /// Leases ended by acks, batched.
    Acks = 8,
    /// Committed offsets, batched.
    Offsets = 9,
    /// A change of topics, groups or names.
    Meta = 10,
    /// State saved elsewhere up to here.
    Checkpoint = 11,
    /// Filler to the end of a segment.
    Pad = 12,
}

/// What stands in a record's header beside its place and length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What the record is.
    pub kind: Kind,
    /// Free for the kind: the delay level of a `TimerPut`, 0 for a timer.
    pub flags: u8,
    /// When a parked message is due, ms since the epoch; 0 for other kinds.
    pub due_ms: u64,
    /// The record this one speaks of; 0 where it speaks of none.
    pub reference: LogOffset,
}

/// A record read back.
#[derive(Clone, Debug)]
pub struct Record<'a> {
    /// Its place.
    pub at: LogOffset,
    /// The life of the server that wrote it.
    pub epoch: u32,
    /// Its header.
    pub header: Header,
    /// Its payload.
    pub payload: &'a [u8],
}

/// Where a payload lies: what store and timer keep of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extent {
    /// The record's log offset (not the payload's).
    pub at: LogOffset,
    /// Bytes of the payload.
    pub length: u32,
}

/// How the log is kept.
#[derive(Clone, Debug)]
pub struct Options {
    /// Bytes of a segment file; a multiple of 8 and at least 1 MiB outside tests.
    pub segment_bytes: u64,
    /// Bytes zero-filled ahead at a time.
    pub step_bytes: u64,
    /// Bytes of the newest records kept in memory.
    pub tail_bytes: usize,
}

/// What a start found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery { pub records: u64, pub first: LogOffset, pub end: LogOffset, pub cut_bytes: u64, pub epoch: u32 }

/// Why the log does not open.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("{file} at byte {at}: {found}, expected {expected}; run `duemq check`")]
    Corrupt { file: String, at: u64, expected: String, found: String },
    #[error("{file} is of format {found}, this build reads up to {known}")]
    NewerFormat { file: String, found: u16, known: u16 },
    #[error("{doing} {file}")]
    Io { doing: &'static str, file: String, #[source] source: io::Error },
}
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error("a sync of the log failed earlier, nothing is written until it is opened again")]
    Poisoned,
    #[error("writing {file} at byte {at}")]
    Io { file: String, at: u64, #[source] source: io::Error },
}

pub struct Log { /* … */ }
impl Log {
    /// Opens or makes the log; hands every record from the first kept one on to `each`, in order.
    pub fn open(disk: Arc<dyn Disk>, options: Options, each: &mut dyn FnMut(Record<'_>)) -> Result<(Self, Recovery), OpenError> { todo!() }
    /// Makes room for a record of `payload_length` bytes (pads to a new segment where it would not fit) and
    /// tells the place the next append takes.
    pub fn place(&mut self, payload_length: usize) -> LogOffset { todo!() }
    /// Appends a record to the buffer. Its payload is what `fill` adds to the buffer: exactly the length given to the last `place`.
    pub fn append(&mut self, header: Header, payload_length: usize, fill: impl FnOnce(LogOffset, &mut Vec<u8>)) -> Extent { todo!() }
    /// Writes what was appended since the last write, in one call per segment. On an error the bytes stay in the buffer and the next call tries again.
    pub fn write(&mut self) -> Result<LogOffset, WriteError> { todo!() }
    /// End of what was appended / written / is durable.
    pub fn appended(&self) -> LogOffset { todo!() }
    pub fn written(&self) -> LogOffset { todo!() }
    pub fn durable(&self) -> LogOffset { todo!() }
    /// The next thing others must do for the log: at most one sync and one preparation are out at a time.
    pub fn poll_job(&mut self) -> Option<Job> { todo!() }
    /// A job came back. A failed sync poisons the log.
    pub fn done(&mut self, done: JobDone) -> Result<(), SyncFailed> { todo!() }
    /// The payload, where it is among the newest in memory (also when not yet written).
    pub fn read_tail(&self, extent: Extent) -> Option<Bytes> { todo!() }
    /// Where to read payloads that are not in memory; can be run on any thread.
    pub fn reader(&self) -> Reader { todo!() }
}
#[derive(Debug, thiserror::Error)]
#[error("syncing {file}: the kernel may have dropped what was written, so the log refuses writes")]
pub struct SyncFailed { pub file: String, #[source] pub source: io::Error }

/// Work on the log's files for another thread.
#[derive(Debug, Clone)]
pub enum Job { /* Sync{..}, Prepare{..} */ }
impl Job {
    /// Does it. Blocks.
    pub fn run(self, disk: &dyn Disk) -> JobDone { todo!() }
}
#[derive(Debug)]
pub struct JobDone { /* … */ }

/// Reads payloads from the files, checking each record.
#[derive(Clone)]
pub struct Reader { /* options: segment size */ }
impl Reader {
    pub fn read(&self, disk: &dyn Disk, extent: Extent) -> Result<Bytes, ReadError> { todo!() }
}
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("{file} at byte {at}: {found}, expected {expected}")]
    Corrupt { file: String, at: u64, expected: String, found: String },
    #[error("reading {file} at byte {at}")]
    Io { file: String, at: u64, #[source] source: io::Error },
}
