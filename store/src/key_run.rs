//! A run of keys: a file in which pairs of a key's hash and a message's place stand sorted.
//!
//! | bytes | what |
//! |---:|---|
//! | 24 × lines | hash u64, log offset u64, and a word u64: bytes of a message, or when a pending one is due (ms) |
//! | 32 | the foot: magic `DueMQkey`, format u32 (1), CRC-32 of all before the foot u32, lines u64, zeros |
//!
//! Hashes are spread evenly, so that a line is found by reading a few KiB where it should be.

use env::Disk;
use model::LogOffset;

use crate::error::{FileError, damaged, io, sync, whole};

const MAGIC: &[u8; 8] = b"DueMQkey";
const FORMAT: u32 = 1;
const LINE_BYTES: usize = 24;
const FOOT_BYTES: usize = 32;
/// Bytes written at a time.
const WRITE_BYTES: usize = 1 << 20;
/// Lines read at a time while one is looked for.
const LOOK_LINES: u64 = 512;

/// A key's hash and where a message with it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyLine {
    /// See [`crate::key_hash`].
    pub hash: u64,
    /// The message's record.
    pub at: LogOffset,
    /// Bytes of the stored message; of a pending one when it is due, in ms since the epoch.
    pub word: u64,
}

/// Writes and syncs a run. The lines must be sorted. Blocks.
///
/// # Panics
/// Where they are not sorted.
pub fn write(disk: &dyn Disk, file: &str, lines: &[KeyLine]) -> Result<(), FileError> {
    assert!(lines.is_sorted(), "the lines of a run are sorted");
    let mut writer = Writer::new(file);
    lines.iter().try_for_each(|line| writer.push(line, disk))?;
    writer.end(disk).map(|_| ())
}

/// Reads a whole run. Blocks.
pub fn read(disk: &dyn Disk, file: &str) -> Result<Vec<KeyLine>, FileError> {
    let bytes = whole(disk, file)?;
    let length = bytes.len() as u64;
    let bad = |found| damaged(file, length, "a run of keys", found);
    let (lines, foot) =
        bytes.split_last_chunk::<FOOT_BYTES>().ok_or_else(|| bad("fewer bytes than a foot"))?;
    if foot[..8] != *MAGIC || foot[8..12] != FORMAT.to_le_bytes() {
        return Err(bad("another foot"));
    }
    if lines.len() as u64 != u64_at(foot, 16).saturating_mul(LINE_BYTES as u64) {
        return Err(bad("another number of lines"));
    }
    if foot[12..16] != crc32fast::hash(lines).to_le_bytes() {
        return Err(bad("lines with another checksum"));
    }
    Ok(lines.chunks_exact(LINE_BYTES).map(line).collect())
}

/// Writes the lines of two runs that `keep` wants as one run, and syncs it; a part at a time, whatever they hold.
/// Gives how many lines it has. Blocks.
pub fn merge(
    disk: &dyn Disk,
    runs: [&str; 2],
    into: &str,
    keep: &dyn Fn(&KeyLine) -> bool,
) -> Result<u64, FileError> {
    let [mut left, mut right] = [Lines::open(disk, runs[0])?, Lines::open(disk, runs[1])?];
    let mut writer = Writer::new(into);
    loop {
        let from_left = match (left.first(disk)?, right.first(disk)?) {
            (None, None) => break,
            (Some(left), Some(right)) => left <= right,
            (first, _) => first.is_some(),
        };
        let from = if from_left { &mut left } else { &mut right };
        if let Some(line) = from.pop().filter(|line| keep(line)) {
            writer.push(&line, disk)?;
        }
    }
    writer.end(disk)
}

/// Reads a run from its beginning to its end.
struct Lines<'a> {
    file: &'a str,
    /// Lines that were read.
    read: u64,
    /// Lines there are.
    count: u64,
    part: std::vec::IntoIter<KeyLine>,
    crc: crc32fast::Hasher,
    expected: u32,
    bytes: u64,
}

impl<'a> Lines<'a> {
    fn open(disk: &dyn Disk, file: &'a str) -> Result<Self, FileError> {
        let bytes = disk.len(file).map_err(io("measuring", file))?;
        let lines = bytes.saturating_sub(FOOT_BYTES as u64) / LINE_BYTES as u64;
        let mut foot = [0; FOOT_BYTES];
        let have = disk.read_at(file, lines * LINE_BYTES as u64, &mut foot).map_err(io("reading", file))?;
        if have < FOOT_BYTES
            || foot[..8] != *MAGIC
            || foot[8..12] != FORMAT.to_le_bytes()
            || u64_at(&foot, 16) != lines
        {
            return Err(damaged(file, bytes, "a run of keys", "another foot"));
        }
        let expected = u32::from_le_bytes([foot[12], foot[13], foot[14], foot[15]]);
        let (part, crc) = (Vec::new().into_iter(), crc32fast::Hasher::new());
        Ok(Self { file, read: 0, count: lines, part, crc, expected, bytes })
    }

    fn first(&mut self, disk: &dyn Disk) -> Result<Option<KeyLine>, FileError> {
        if self.part.as_slice().is_empty() && self.read < self.count {
            let to = (self.read + (WRITE_BYTES / LINE_BYTES) as u64).min(self.count);
            let mut bytes = vec![0; (to - self.read) as usize * LINE_BYTES];
            let at = self.read * LINE_BYTES as u64;
            let have = disk.read_at(self.file, at, &mut bytes).map_err(io("reading", self.file))?;
            self.crc.update(&bytes);
            let is_bad = to == self.count && self.crc.clone().finalize() != self.expected;
            if have < bytes.len() || is_bad {
                return Err(damaged(self.file, self.bytes, "a run of keys", "lines with another checksum"));
            }
            self.part = bytes.chunks_exact(LINE_BYTES).map(line).collect::<Vec<_>>().into_iter();
            self.read = to;
        }
        Ok(self.part.as_slice().first().copied())
    }

    fn pop(&mut self) -> Option<KeyLine> {
        self.part.next()
    }
}

/// Writes a run a part at a time.
struct Writer<'a> {
    file: &'a str,
    at: u64,
    lines: u64,
    buffer: Vec<u8>,
    crc: crc32fast::Hasher,
}

impl<'a> Writer<'a> {
    fn new(file: &'a str) -> Self {
        Self { file, at: 0, lines: 0, buffer: Vec::new(), crc: crc32fast::Hasher::new() }
    }

    fn push(&mut self, line: &KeyLine, disk: &dyn Disk) -> Result<(), FileError> {
        for number in [line.hash, line.at.0, line.word] {
            self.buffer.extend_from_slice(&number.to_le_bytes());
        }
        self.lines += 1;
        if self.buffer.len() >= WRITE_BYTES { self.write(disk) } else { Ok(()) }
    }

    fn write(&mut self, disk: &dyn Disk) -> Result<(), FileError> {
        self.crc.update(&self.buffer);
        disk.write_at(self.file, self.at, &self.buffer).map_err(io("writing", self.file))?;
        self.at += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    fn end(mut self, disk: &dyn Disk) -> Result<u64, FileError> {
        self.write(disk)?;
        self.buffer.extend_from_slice(MAGIC);
        self.buffer.extend_from_slice(&FORMAT.to_le_bytes());
        self.buffer.extend_from_slice(&self.crc.clone().finalize().to_le_bytes());
        self.buffer.extend_from_slice(&self.lines.to_le_bytes());
        self.buffer.extend_from_slice(&[0; 8]);
        self.write(disk)?;
        disk.sync(self.file).map_err(sync(self.file))?;
        Ok(self.lines)
    }
}

/// The lines of a hash, in the order of the log, at most `limit` of them, the newest. Reads little of the run. Blocks.
pub fn find(disk: &dyn Disk, file: &str, hash: u64, limit: usize) -> Result<Vec<KeyLine>, FileError> {
    find_before(disk, file, hash, LogOffset(u64::MAX), limit)
}

/// The same, of lines whose messages lie before `before` in the log.
pub fn find_before(
    disk: &dyn Disk,
    file: &str,
    hash: u64,
    before: LogOffset,
    limit: usize,
) -> Result<Vec<KeyLine>, FileError> {
    let length = disk.len(file).map_err(io("measuring", file))?;
    let lines = length.saturating_sub(FOOT_BYTES as u64) / LINE_BYTES as u64;
    let end = first_behind(disk, file, lines, hash, before)?;
    // The newest of a hash stand last.
    let mut found = Vec::new();
    let mut to = end;
    while to > 0 && found.len() < limit {
        let from = to.saturating_sub(LOOK_LINES);
        let some = look(disk, file, from, to)?;
        let own = some.iter().rev().take_while(|line| line.hash == hash).count();
        found.extend(some.iter().rev().take(own.min(limit - found.len())));
        if own < some.len() {
            break;
        }
        to = from;
    }
    found.reverse();
    Ok(found)
}

/// The first line whose hash is above `hash`, or is that and whose message does not lie before `at`.
fn first_behind(disk: &dyn Disk, file: &str, lines: u64, hash: u64, at: LogOffset) -> Result<u64, FileError> {
    let before = |line: &KeyLine| (line.hash, line.at) < (hash, at);
    let (mut low, mut high) = (0, lines);
    // Evenly spread hashes lie near their share; a few steps of halving follow where they do not.
    let mut guess = ((u128::from(hash) * u128::from(lines)) >> 64) as u64;
    while high - low > LOOK_LINES {
        let from = guess.clamp(low, high - LOOK_LINES / 2).saturating_sub(LOOK_LINES / 2).max(low);
        let to = (from + LOOK_LINES).min(high);
        let some = look(disk, file, from, to)?;
        let place = some.partition_point(before) as u64;
        match place {
            0 => high = from,
            all if all == some.len() as u64 => low = to,
            within => return Ok(from + within),
        }
        guess = low.midpoint(high);
    }
    Ok(low + look(disk, file, low, high)?.partition_point(before) as u64)
}

fn look(disk: &dyn Disk, file: &str, from: u64, to: u64) -> Result<Vec<KeyLine>, FileError> {
    let mut bytes = vec![0; (to - from) as usize * LINE_BYTES];
    let have = disk.read_at(file, from * LINE_BYTES as u64, &mut bytes).map_err(io("reading", file))?;
    if have < bytes.len() {
        return Err(damaged(file, from * LINE_BYTES as u64 + have as u64, "a run of keys", "the file's end"));
    }
    Ok(bytes.chunks_exact(LINE_BYTES).map(line).collect())
}

fn line(bytes: &[u8]) -> KeyLine {
    KeyLine { hash: u64_at(bytes, 0), at: LogOffset(u64_at(bytes, 8)), word: u64_at(bytes, 16) }
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests;
