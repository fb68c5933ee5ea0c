//! Recovery: what a start finds in the log, and how it tells a torn tail from corruption.
//!
//! The first record whose place, length, checksum or epoch is wrong ends the log. That is the ordinary end,
//! or what a crash left of a write that nobody was told of; what lies behind it is zeroed, so that it can
//! never be read as a continuation of what comes next.
//!
//! It is corruption where the log is known to have been durable further than that. The file `log-durable`
//! knows, and so may the caller, whose checkpoints are taken of durable places only. Where that file is lost,
//! a later segment that begins well speaks for the ones before it. It does not where the file is there: the
//! kernel writes back in any order, so a power loss right behind a change of segments may keep the later one
//! and tear the earlier one, both not yet durable.
//!
//! An epoch changes at the log's own records alone, marks and pads. A record of an earlier life that lines up behind a new tail is therefore
//! not taken for a part of it, even if the zeroing was lost.
//!
//! What stands behind the known place can be read, but a sync that failed in an earlier life may have
//! left it in memory only. So it is written again, from the bytes that were checked, and the caller syncs it
//! before it answers anyone.

use std::io;

use env::Disk;
use model::LogOffset;

use crate::error::OpenError;
use crate::log::Options;
use crate::note::{NOTE_FILE, Note};
use crate::record::{self, Bad, Claim, HEADER_BYTES, Kind, MARK, Record};
use crate::segment::{self, FORMAT, Layout, MARK_BYTES};

/// Bytes read at a time.
const READ_BYTES: usize = 4 << 20;

/// Bytes looked at and zeroed at a time behind the end.
const CUT_BYTES: usize = 64 << 10;

/// What a start found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Records handed on.
    pub records: u64,
    /// Where the oldest segment begins.
    pub first: LogOffset,
    /// Where the log ended; this life's first record stands there or behind.
    pub end: LogOffset,
    /// Bytes of a torn tail that were cut off.
    pub cut_bytes: u64,
    /// The number of this life.
    pub epoch: u32,
}

/// What the log is built from.
pub(crate) struct Found {
    pub(crate) recovery: Recovery,
    pub(crate) layout: Layout,
    /// Up to here the log was durable before this start.
    pub(crate) known: u64,
    /// The newest note there was.
    pub(crate) note: Note,
    /// Where the active segment's file ends, in log offsets; from the log's end to there it is zeros.
    pub(crate) zeroed: u64,
}

/// Reads the log from the record at `from` on, hands each record on, and cuts what is torn. Where the `epoch` of
/// what lies before that record is known, no more of it is read than its segment's mark.
pub(crate) fn recover(
    disk: &dyn Disk,
    options: &Options,
    from: u64,
    epoch: Option<u32>,
    each: &mut dyn FnMut(Record<'_>),
) -> Result<Found, OpenError> {
    let names = disk.list().map_err(io_error("listing", "the data folder"))?;
    let firsts: Vec<u64> = names.iter().filter_map(|name| segment::first_of(name)).collect();
    let noted = Note::read(disk).map_err(io_error("reading", NOTE_FILE))?;
    let known = noted.map_or(0, |note| note.durable).max(from);
    if firsts.is_empty() {
        if known > 0 {
            let expected = format!("a log that was durable up to {known}");
            return Err(corrupt(segment::name(0), 0, Bad::new(expected, "no segment")));
        }
        let layout = Layout::new(vec![0], options.segment_bytes, options.segment_bytes);
        let recovery = Recovery { epoch: 1, ..Recovery::default() };
        return Ok(Found { recovery, layout, known, note: Note::EMPTY, zeroed: 0 });
    }

    if from > 0 && firsts[0] > from {
        let found = format!("{}, so the segment of log offset {from} is missing", segment::name(firsts[0]));
        return Err(corrupt(segment::name(from), 0, Bad::new("the segment of the checkpoint", found)));
    }
    let oldest = firsts.partition_point(|first| *first <= from).saturating_sub(1);
    let mut scan =
        Scan { disk, known, from, from_epoch: epoch, each, epoch: 0, records: 0, window: Window::default() };
    // The segment the log ends in, by its number; where it ends; and the bad record there, if that is the end.
    let (mut last, mut ended, mut stop) = (oldest, firsts[oldest], None);
    for (i, first) in firsts.iter().enumerate().skip(oldest) {
        if i > oldest && *first != ended {
            let found = format!("{}, so a segment between is missing", segment::name(*first));
            stop = Some((ended, Bad::new(segment::name(ended), found)));
            break;
        }
        last = i;
        match scan.segment(*first)? {
            End::Full(end) => ended = end,
            End::Bad { at, size, bad } => {
                ended = first + size.unwrap_or(options.segment_bytes);
                stop = Some((at, bad));
                break;
            }
        }
    }

    let mut end = ended;
    let mut cut_bytes = 0;
    if let Some((at, bad)) = stop {
        let first = firsts[last];
        let orphan = noted.is_none() && begins_well(disk, &firsts[last + 1..])?;
        if at < known || orphan {
            let (file, at) =
                if at == ended { (segment::name(at), 0) } else { (segment::name(first), at - first) };
            return Err(corrupt(file, at, bad));
        }
        end = at;
        cut_bytes = cut(disk, first, at)? + remove_behind(disk, &firsts[last + 1..])?;
    }
    if end < known {
        let bad = Bad::new(format!("a log that was durable up to {known}"), "its end");
        return Err(corrupt(segment::name(firsts[last]), end - firsts[last], bad));
    }

    let active = firsts[last];
    let file = segment::name(active);
    let length = disk.len(&file).map_err(io_error("measuring", &file))?;
    let recovery = Recovery {
        records: scan.records,
        first: LogOffset(firsts[0]),
        end: LogOffset(end),
        cut_bytes,
        epoch: scan.epoch.checked_add(1).expect("a server starts fewer than 2^32 times"),
    };
    let zeroed = (active + length).min(ended).max(end);
    let layout = Layout::new(firsts[..=last].to_vec(), ended, options.segment_bytes);
    Ok(Found { recovery, layout, known: known.min(end), note: noted.unwrap_or(Note::EMPTY), zeroed })
}

/// How a segment ends.
enum End {
    /// Filled up to this place, where the next segment begins.
    Full(u64),
    /// A bad record; the segment's size where its mark could be read.
    Bad { at: u64, size: Option<u64>, bad: Bad },
}

/// A walk over the records.
struct Scan<'a> {
    disk: &'a dyn Disk,
    known: u64,
    from: u64,
    /// The epoch of what lies before `from`, where it is known.
    from_epoch: Option<u32>,
    each: &'a mut dyn FnMut(Record<'_>),
    epoch: u32,
    records: u64,
    window: Window,
}

impl Scan<'_> {
    /// Walks one segment.
    fn segment(&mut self, first: u64) -> Result<End, OpenError> {
        let file = segment::name(first);
        let length = self.disk.len(&file).map_err(io_error("measuring", &file))?;
        self.window.enter(file, first, length);
        let size = match self.mark(first)? {
            Ok(size) => size,
            Err(bad) => {
                return Ok(End::Bad { at: first, size: None, bad });
            }
        };
        let end = first + size;
        let mut at = first + MARK_BYTES;
        if let Some(epoch) = self.from_epoch
            && (at..end).contains(&self.from)
        {
            at = self.from;
            self.epoch = epoch;
            self.window.seek(at);
        }
        let ending = loop {
            if end - at < HEADER_BYTES as u64 {
                break End::Full(end);
            }
            match self.record(at, end - at)? {
                Ok(claim) if claim.frame.kind == Kind::Pad as u8 => {
                    at += claim.size();
                    break End::Full(end);
                }
                Ok(claim) => at += claim.size(),
                Err(bad) => {
                    break End::Bad { at, size: Some(size), bad };
                }
            }
        };
        self.window.write_again(self.disk, self.known, at)?;
        Ok(ending)
    }

    /// Reads the mark a segment begins with; gives the segment's size.
    fn mark(&mut self, first: u64) -> Result<Result<u64, Bad>, OpenError> {
        let bytes = self.window.bytes(self.disk, self.known, first, MARK_BYTES as usize)?;
        if bytes.len() < MARK_BYTES as usize {
            let found = format!("{} bytes up to the file's end", bytes.len());
            return Ok(Err(Bad::new("the mark a segment begins with", found)));
        }
        let claim = match record::decode(bytes, first, MARK_BYTES) {
            Ok(claim) => claim,
            Err(bad) => return Ok(Err(bad)),
        };
        if claim.frame.kind != MARK {
            let found = format!("kind {}", claim.frame.kind);
            return Ok(Err(Bad::new(format!("kind {MARK}, the mark a segment begins with"), found)));
        }
        if let Err(bad) = claim.check(bytes) {
            return Ok(Err(bad));
        }
        let size = match segment::decode_mark(&bytes[HEADER_BYTES..claim.length]) {
            Ok((FORMAT, size)) => Ok(size),
            Ok((format, _)) => {
                let file = self.window.file.clone();
                return Err(OpenError::NewerFormat { file, found: format, known: FORMAT });
            }
            Err(bad) => Err(bad),
        };
        Ok(self.enter_epoch(&claim).and(size))
    }

    /// Reads the record at `at` and hands it on.
    fn record(&mut self, at: u64, room: u64) -> Result<Result<Claim, Bad>, OpenError> {
        let bytes = self.window.bytes(self.disk, self.known, at, HEADER_BYTES)?;
        if bytes.len() < HEADER_BYTES {
            return Ok(Err(Bad::new(format!("the record of log offset {at}"), "the file's end")));
        }
        let claim = match record::decode(bytes, at, room) {
            Ok(claim) => claim,
            Err(bad) => return Ok(Err(bad)),
        };
        let bytes = self.window.bytes(self.disk, self.known, at, claim.length)?;
        if bytes.len() < claim.length {
            let found = format!("{} bytes up to the file's end", bytes.len());
            return Ok(Err(Bad::new(format!("a record of {} bytes", claim.length), found)));
        }
        if let Err(bad) = claim.check(bytes) {
            return Ok(Err(bad));
        }
        if claim.frame.kind == MARK || claim.frame.kind == Kind::Pad as u8 {
            return Ok(self.enter_epoch(&claim).map(|()| claim));
        }
        if claim.frame.epoch != self.epoch {
            let (expected, found) = (self.epoch, claim.frame.epoch);
            return Ok(Err(Bad::new(format!("epoch {expected}"), format!("a record of epoch {found}"))));
        }
        let Some(header) = claim.header() else {
            let found = format!("kind {}", claim.frame.kind);
            let (file, at) = (self.window.file.clone(), at - self.window.first);
            return Err(corrupt(file, at, Bad::new("a kind this build knows", found)));
        };
        if at < self.from && self.from < at + claim.size() {
            let bad = Bad::new(format!("a record that begins at {}", self.from), "one that began before");
            return Err(corrupt(self.window.file.clone(), at - self.window.first, bad));
        }
        if at >= self.from {
            let payload = &bytes[HEADER_BYTES..claim.length];
            (self.each)(Record { at: LogOffset(at), epoch: claim.frame.epoch, header, payload });
            self.records += 1;
        }
        Ok(Ok(claim))
    }

    fn enter_epoch(&mut self, own: &Claim) -> Result<(), Bad> {
        let epoch = own.frame.epoch;
        if epoch < self.epoch {
            let expected = format!("epoch {} or later", self.epoch);
            return Err(Bad::new(expected, format!("epoch {epoch}")));
        }
        self.epoch = epoch;
        Ok(())
    }
}

/// A part of a segment file in memory.
#[derive(Default)]
struct Window {
    file: String,
    /// Where the file begins in the log.
    first: u64,
    /// Bytes of the file.
    length: u64,
    /// Where in the log the buffer begins.
    start: u64,
    buffer: Vec<u8>,
    /// Bytes of the buffer that were read.
    filled: usize,
}

impl Window {
    fn enter(&mut self, file: String, first: u64, length: u64) {
        (self.file, self.first, self.length, self.start, self.filled) = (file, first, length, first, 0);
    }

    /// Goes on at another place of the file.
    fn seek(&mut self, at: u64) {
        (self.start, self.filled) = (at, 0);
    }

    /// The bytes from `at` on, `length` of them or fewer at the file's end. All before `at` was found good.
    fn bytes(&mut self, disk: &dyn Disk, known: u64, at: u64, length: usize) -> Result<&[u8], OpenError> {
        let left = (self.first + self.length).saturating_sub(at);
        let length = (length as u64).min(left) as usize;
        if at + length as u64 > self.start + self.filled as u64 {
            self.write_again(disk, known, at)?;
            let from = ((at - self.start) as usize).min(self.filled);
            self.buffer.copy_within(from..self.filled, 0);
            self.filled -= from;
            self.start += from as u64;
            // Never more than the file holds, whatever a record claims.
            let want = (length.max(READ_BYTES) as u64).min(left) as usize;
            if self.buffer.len() < want {
                self.buffer.resize(want, 0);
            }
            let into = &mut self.buffer[self.filled..want];
            let place = self.start + self.filled as u64 - self.first;
            self.filled += disk.read_at(&self.file, place, into).map_err(io_error("reading", &self.file))?;
        }
        let from = ((at - self.start) as usize).min(self.filled);
        Ok(&self.buffer[from..self.filled.min(from + length)])
    }

    /// Writes what is in memory before `end` again, as far as it is not known to be durable.
    fn write_again(&self, disk: &dyn Disk, known: u64, end: u64) -> Result<(), OpenError> {
        let end = end.min(self.start + self.filled as u64);
        let from = known.max(self.start);
        if from >= end {
            return Ok(());
        }
        let bytes = &self.buffer[(from - self.start) as usize..(end - self.start) as usize];
        disk.write_at(&self.file, from - self.first, bytes).map_err(io_error("writing again", &self.file))
    }
}

/// Whether any of the segments begins with a good mark.
fn begins_well(disk: &dyn Disk, firsts: &[u64]) -> Result<bool, OpenError> {
    for first in firsts {
        let file = segment::name(*first);
        let mut bytes = [0; MARK_BYTES as usize];
        let read = disk.read_at(&file, 0, &mut bytes).map_err(io_error("reading", &file))?;
        let good = |claim: Claim| claim.frame.kind == MARK && claim.check(&bytes).is_ok();
        if read == bytes.len() && record::decode(&bytes, *first, MARK_BYTES).is_ok_and(good) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Zeroes a segment file from the log's end on; gives how many bytes lay there.
fn cut(disk: &dyn Disk, first: u64, end: u64) -> Result<u64, OpenError> {
    let file = segment::name(first);
    let mut buffer = vec![0; CUT_BYTES];
    let mut at = end - first;
    let mut last = at;
    loop {
        let read = disk.read_at(&file, at, &mut buffer).map_err(io_error("reading", &file))?;
        if read == 0 {
            return Ok(last - (end - first));
        }
        if let Some(i) = buffer[..read].iter().rposition(|b| *b != 0) {
            last = at + i as u64 + 1;
            buffer.fill(0);
            disk.write_at(&file, at, &buffer[..read]).map_err(io_error("zeroing", &file))?;
        }
        at += read as u64;
    }
}

/// Removes segments behind the log's end, the last one first; gives how many bytes they had, zeros apart.
fn remove_behind(disk: &dyn Disk, firsts: &[u64]) -> Result<u64, OpenError> {
    let mut bytes = 0;
    for first in firsts.iter().rev() {
        bytes += cut(disk, *first, *first)?;
        let file = segment::name(*first);
        disk.remove(&file).map_err(io_error("removing", &file))?;
    }
    Ok(bytes)
}

fn corrupt(file: String, at: u64, bad: Bad) -> OpenError {
    OpenError::Corrupt { file, at, expected: bad.expected, found: bad.found }
}

pub(crate) fn io_error(doing: &'static str, file: &str) -> impl FnOnce(io::Error) -> OpenError {
    let file = file.to_owned();
    move |source| OpenError::Io { doing, file, source }
}
