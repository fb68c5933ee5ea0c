//! The log as the engine holds it.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use env::Disk;
use model::LogOffset;

use crate::error::{OpenError, SyncFailed, WriteError};
use crate::frontier::Frontier;
use crate::job::{Gate, Job, JobDone, Outcome, PrepareJob, RemoveJob, SyncJob};
use crate::note::Note;
use crate::reader::Reader;
use crate::record::{self, Extent, Frame, HEADER_BYTES, Header, Kind, MARK, Record};
use crate::recover::{self, Recovery};
use crate::segment::{self, Layout, MARK_BYTES, MARK_PAYLOAD};
use crate::tail::Tail;

/// How the log is kept.
#[derive(Clone, Debug)]
pub struct Options {
    /// Bytes of a segment file; a multiple of 8 and at least 1 MiB outside tests, at most 2 GiB.
    pub segment_bytes: u64,
    /// Bytes zero-filled ahead at a time. A life that has appended less yet prepares less, but 1 MiB.
    pub step_bytes: u64,
    /// Bytes of the newest records kept in memory.
    pub tail_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { segment_bytes: 256 << 20, step_bytes: 4 << 20, tail_bytes: 64 << 20 }
    }
}

/// What a life that has not appended much prepares at a time.
const FIRST_STEP_BYTES: u64 = 1 << 20;

/// While more than this is written and not yet durable, nothing is prepared.
const BUSY_BYTES: u64 = 1 << 20;

/// Zeros begin at a multiple of this many bytes of a file.
const PAGE: u64 = 4096;

/// The log, open. One thread owns it.
///
/// The order of a record's life is [`Log::append`], [`Log::write`], a [`Job::Sync`]; [`Log::appended`],
/// [`Log::written`] and [`Log::durable`] say how far each has come. What is appended and not yet written is
/// bounded by the caller alone: who appends while writes fail must stop at some point.
pub struct Log {
    disk: Arc<dyn Disk>,
    options: Options,
    layout: Layout,
    epoch: u32,
    tail: Tail,
    /// The segment the next record goes to, if it fits.
    segment: Range<u64>,
    /// Where the oldest segment begins.
    first: u64,
    written: u64,
    durable: u64,
    /// The note of the durable place that was last written.
    note: Note,
    /// What a note said that was itself synced, or was meant to be.
    noted: u64,
    /// Segments that begin before this place are durable by name.
    named: u64,
    frontier: Arc<Frontier>,
    gate: Arc<Gate>,
    /// Up to here the files are zeros ahead of the records, or were meant to be.
    prepared: u64,
    /// Where this life began to append.
    began: u64,
    /// Segments that end at or before this place may go.
    forgotten: u64,
    out: Out,
    poisoned: bool,
}

/// Which jobs are out, one of a kind at most.
#[derive(Debug, Default)]
struct Out {
    sync: bool,
    prepare: bool,
    remove: bool,
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log")
            .field("epoch", &self.epoch)
            .field("first", &self.first)
            .field("appended", &self.tail.end())
            .field("written", &self.written)
            .field("durable", &self.durable)
            .field("poisoned", &self.poisoned)
            .finish_non_exhaustive()
    }
}

impl Log {
    /// Opens or makes the log; hands every record from the first kept one on to `each`, in order.
    ///
    /// Pads and the log's own marks are not handed on. When this returns, all that was handed on is durable,
    /// and so is this life's epoch. Blocks.
    ///
    /// # Panics
    /// Where the options are not what they must be.
    pub fn open(
        disk: Arc<dyn Disk>,
        options: Options,
        each: &mut dyn FnMut(Record<'_>),
    ) -> Result<(Self, Recovery), OpenError> {
        Self::open_from(disk, options, LogOffset(0), None, each)
    }

    /// As [`Log::open`], but hands on the records from `from` on only, and reads little more than those: where
    /// the `epoch` of the record before `from` is not known, the rest of its segment, to learn it.
    ///
    /// `from` is a place where a record began or the log ended, and which was durable: a log that does not
    /// reach it is [`OpenError::Corrupt`].
    ///
    /// # Panics
    /// Where the options are not what they must be.
    pub fn open_from(
        disk: Arc<dyn Disk>,
        options: Options,
        from: LogOffset,
        epoch: Option<u32>,
        each: &mut dyn FnMut(Record<'_>),
    ) -> Result<(Self, Recovery), OpenError> {
        let bytes = options.segment_bytes;
        assert!(segment::is_segment_size(bytes), "a segment of {bytes} bytes");
        let found = recover::recover(&*disk, &options, from.0, epoch, each)?;
        let end = found.recovery.end.0;
        let segment = found.layout.segment(end).expect("the log ends in a segment or behind all of them");
        let mut log = Self {
            disk,
            options,
            layout: found.layout,
            epoch: found.recovery.epoch,
            tail: Tail::new(end),
            first: found.recovery.first.0,
            written: end,
            durable: found.known,
            note: found.note,
            noted: 0,
            named: 0,
            frontier: Arc::new(Frontier::new(end)),
            gate: Arc::default(),
            prepared: found.zeroed,
            began: end,
            forgotten: 0,
            out: Out::default(),
            poisoned: false,
            segment,
        };
        if end == log.segment.start {
            log.push_mark();
        } else {
            log.begin_life();
        }
        log.secure()?;
        log.began = log.tail.end();
        Ok((log, found.recovery))
    }

    /// Appends this life's mark within a segment that an earlier life began.
    fn begin_life(&mut self) {
        if self.room() < MARK_BYTES {
            self.roll(); // the new segment's own mark is this life's
        } else {
            self.push_mark();
        }
    }

    /// Writes and syncs what a start appended, the tail that was written again, names and the note.
    fn secure(&mut self) -> Result<(), OpenError> {
        if let Err(error) = self.write() {
            let file = segment::name(self.segment.start);
            return Err(match error {
                WriteError::Io { file, source, .. } => OpenError::Io { doing: "writing", file, source },
                WriteError::Poisoned => {
                    unreachable!("a log that just opened is not poisoned: {file}")
                }
            });
        }
        // So that the note has a name before it says anything new.
        let note = self.note.next(self.durable);
        if note.write(&*self.disk).is_ok() {
            self.note = note;
        }
        let mut sync = self.sync();
        (sync.folder, sync.note_synced) = (true, true);
        let synced = |SyncFailed { file, source }| OpenError::Io { doing: "syncing", file, source };
        if sync.run(&*self.disk).map_err(synced)? {
            self.note = sync.note;
        }
        (self.durable, self.noted, self.named) = (self.written, self.written, self.written);
        Ok(())
    }

    /// Makes room for a record of `payload_length` bytes (pads to a new segment where it would not fit) and
    /// tells the place the next append takes, if that is of this length.
    ///
    /// # Panics
    /// Where the payload is longer than [`Log::payload_max`].
    pub fn place(&mut self, payload_length: usize) -> LogOffset {
        let max = self.payload_max();
        assert!(payload_length <= max, "a payload of {payload_length} bytes, the limit is {max}");
        if record::size(payload_length) as u64 > self.room() {
            self.roll();
        }
        LogOffset(self.tail.end())
    }

    /// The longest payload a record can have, in bytes.
    pub fn payload_max(&self) -> usize {
        (self.options.segment_bytes - MARK_BYTES) as usize - HEADER_BYTES
    }

    /// Appends a record to the buffer. Its payload is what `fill`, told the record's place, adds to the
    /// vector: exactly `payload_length` bytes. The vector holds other records before; they are not `fill`'s.
    ///
    /// # Panics
    /// Where the payload is longer than [`Log::payload_max`], or `fill` adds another length.
    pub fn append(
        &mut self,
        header: Header,
        payload_length: usize,
        fill: impl FnOnce(LogOffset, &mut Vec<u8>),
    ) -> Extent {
        assert!(header.kind != Kind::Pad, "pads are the log's own");
        let at = self.place(payload_length);
        let frame = Frame {
            at: at.0,
            kind: header.kind as u8,
            flags: header.flags,
            epoch: self.epoch,
            due_ms: header.due_ms,
            reference: header.reference.0,
        };
        self.push(&frame, payload_length, |buffer| fill(at, buffer));
        Extent { at, length: payload_length as u32 }
    }

    fn push(&mut self, frame: &Frame, length: usize, fill: impl FnOnce(&mut Vec<u8>)) {
        record::encode(self.tail.buffer(record::size(length)), frame, length, fill);
    }

    /// Bytes left in the segment.
    fn room(&self) -> u64 {
        self.segment.end - self.tail.end()
    }

    /// The segment of a place this life appends, writes or prepares.
    fn segment_of(&self, at: u64) -> Range<u64> {
        self.layout.segment(at).expect("a layout has no end, and a life begins within or behind it")
    }

    fn own_frame(&self, kind: u8) -> Frame {
        Frame { at: self.tail.end(), kind, flags: 0, epoch: self.epoch, due_ms: 0, reference: 0 }
    }

    fn push_mark(&mut self) {
        let (frame, bytes) = (self.own_frame(MARK), self.segment.end - self.segment.start);
        self.push(&frame, MARK_PAYLOAD, |buffer| {
            segment::encode_mark(bytes, buffer);
        });
    }

    /// Ends the segment and begins the next one.
    fn roll(&mut self) {
        if self.room() >= HEADER_BYTES as u64 {
            let frame = self.own_frame(Kind::Pad as u8);
            self.push(&frame, 0, |_| ());
        }
        self.segment = self.segment_of(self.segment.end);
        self.tail.jump(self.segment.start);
        self.push_mark();
    }

    /// Writes what was appended since the last write, in one call per segment, a MiB or so at a time; gives
    /// up to where all is written.
    ///
    /// On an error the bytes stay in the buffer and the next call tries again. Without an error, too, some
    /// may be left, [`Log::written`] then being less than [`Log::appended`]: the place is just being zeroed by
    /// a [`Job::Prepare`] that is out. The next call, at the latest when that job is done, writes them.
    pub fn write(&mut self) -> Result<LogOffset, WriteError> {
        if self.poisoned {
            return Err(WriteError::Poisoned);
        }
        while let Some((at, bytes)) = self.tail.bytes_from(self.written) {
            let segment = self.segment_of(at);
            let end = at + bytes.len() as u64;
            if !self.frontier.claim(at, end) {
                break;
            }
            let (file, place) = (segment::name(segment.start), at - segment.start);
            if let Err(source) = self.disk.write_at(&file, place, bytes) {
                return Err(WriteError::Io { file, at: place, source });
            }
            self.written = end;
        }
        self.tail.settle(self.written, self.options.tail_bytes);
        Ok(LogOffset(self.written))
    }

    /// End of what was appended: where the next record stands, if it fits the segment.
    pub fn appended(&self) -> LogOffset {
        LogOffset(self.tail.end())
    }

    /// End of what was written: it outlives the process.
    pub fn written(&self) -> LogOffset {
        LogOffset(self.written)
    }

    /// End of what is durable: it outlives a loss of power.
    pub fn durable(&self) -> LogOffset {
        LogOffset(self.durable)
    }

    /// Where the oldest segment begins; the first record stands a little behind.
    pub fn first(&self) -> LogOffset {
        LogOffset(self.first)
    }

    /// This life's number.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// The segments, oldest first, each by where it begins and ends.
    pub fn segments(&self) -> impl Iterator<Item = Range<LogOffset>> + '_ {
        let segments = self.layout.segments(self.first..self.tail.end());
        segments.map(|segment| LogOffset(segment.start)..LogOffset(segment.end))
    }

    /// Lets go of the segments that lie wholly before `before`; a [`Job::Remove`] will remove them. The
    /// segment being written always stays.
    pub fn forget(&mut self, before: LogOffset) {
        let active = self.layout.segment(self.durable).map_or(0, |segment| segment.start);
        self.forgotten = before.0.min(active).max(self.first);
    }

    /// The next thing others must do for the log: at most one of each kind of [`Job`] is out at a time.
    pub fn poll_job(&mut self) -> Option<Job> {
        if self.poisoned {
            return None;
        }
        if !self.out.sync && self.durable < self.written {
            self.out.sync = true;
            return Some(Job::Sync(self.sync()));
        }
        self.poll_prepare().or_else(|| self.poll_remove())
    }

    /// A sync of all that is written and, unlike others, of the note that says so: for a clean shutdown,
    /// after which the next start has nothing to write again; then the removal of what was let go of. Comes back through
    /// [`Log::done`].
    ///
    /// `None` where there is nothing left to do, and while another sync is out: ask again when it is done.
    pub fn shutdown_job(&mut self) -> Option<Job> {
        if self.poisoned || self.out.sync {
            return None;
        }
        if self.noted == self.written {
            return self.poll_remove();
        }
        self.out.sync = true;
        let mut sync = self.sync();
        sync.note_synced = true;
        Some(Job::Sync(sync))
    }

    fn sync(&self) -> SyncJob {
        let segments: Vec<_> = self.layout.segments(self.durable..self.written).collect();
        let files = segments.iter().map(|segment| segment::name(segment.start)).collect();
        // A full segment is never looked at again but by readers: from then on its end must be known.
        let sealed = segments.len() > 1;
        let folder = segments.iter().any(|segment| segment.start >= self.named);
        SyncJob {
            files,
            folder,
            note: self.note.next(self.written),
            note_synced: sealed,
            gate: Arc::clone(&self.gate),
        }
    }

    fn poll_prepare(&mut self) -> Option<Job> {
        let appended = self.tail.end();
        let step = (appended - self.began).max(FIRST_STEP_BYTES).min(self.options.step_bytes);
        // While much is written, zeros would only take a part of the disk's time from it.
        let is_busy = self.written - self.durable > BUSY_BYTES;
        if self.out.prepare || is_busy || self.prepared >= appended + step {
            return None;
        }
        let wanted = self.prepared.max(appended);
        let segment = self.segment_of(wanted);
        let start = segment.start + (wanted - segment.start).next_multiple_of(PAGE);
        let end = (start + step).min(segment.end);
        if start >= end {
            // Less than a page is left of the segment: not worth zeros.
            self.prepared = segment.end;
            return None;
        }
        self.out.prepare = true;
        let folder = segment.start >= self.named;
        let frontier = Arc::clone(&self.frontier);
        Some(Job::Prepare(PrepareJob {
            range: start..end,
            segment: segment.start,
            folder,
            frontier,
            gate: Arc::clone(&self.gate),
        }))
    }

    fn poll_remove(&mut self) -> Option<Job> {
        if self.out.remove || self.forgotten <= self.first {
            return None;
        }
        let gone = |segment: &Range<u64>| segment.end <= self.forgotten;
        let segments: Vec<_> = self.layout.segments(self.first..self.forgotten).take_while(gone).collect();
        if segments.is_empty() {
            return None;
        }
        self.out.remove = true;
        Some(Job::Remove(RemoveJob { segments }))
    }

    /// A job came back. A failed sync, whichever job it was part of, poisons the log.
    pub fn done(&mut self, done: JobDone) -> Result<(), SyncFailed> {
        let result = match done.0 {
            Outcome::Synced { note, note_synced, result } => {
                self.out.sync = false;
                result.map(|written| {
                    self.durable = note.durable;
                    self.named = self.named.max(note.durable);
                    if written {
                        self.note = note;
                    }
                    if note_synced {
                        self.noted = note.durable;
                    }
                })
            }
            Outcome::Prepared { end, named, result } => {
                self.out.prepare = false;
                // Also where it failed: the next step is tried, this one is not tried for ever.
                self.prepared = self.prepared.max(end);
                if named {
                    self.named = self.named.max(end);
                }
                result
            }
            Outcome::Removed { first, result } => {
                self.out.remove = false;
                self.first = first.unwrap_or(self.first);
                self.forgotten = self.first;
                result
            }
        };
        self.poisoned |= result.is_err();
        result
    }

    /// The payload, where it is among the newest in memory (also when not yet written).
    pub fn read_tail(&self, extent: Extent) -> Option<Bytes> {
        self.tail.payload(extent.at.0, extent.length as usize)
    }

    /// Where to read payloads that are not in memory; can be run on any thread, and kept.
    pub fn reader(&self) -> Reader {
        Reader::new(self.layout.clone())
    }
}

#[cfg(test)]
mod tests;
