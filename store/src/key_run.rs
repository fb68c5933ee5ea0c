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
    let (mut at, mut bytes, mut crc) = (0, Vec::new(), crc32fast::Hasher::new());
    for some in lines.chunks(WRITE_BYTES / LINE_BYTES) {
        bytes.clear();
        for line in some {
            for number in [line.hash, line.at.0, line.word] {
                bytes.extend_from_slice(&number.to_le_bytes());
            }
        }
        crc.update(&bytes);
        disk.write_at(file, at, &bytes).map_err(io("writing", file))?;
        at += bytes.len() as u64;
    }
    let mut foot = Vec::from(MAGIC);
    foot.extend_from_slice(&FORMAT.to_le_bytes());
    foot.extend_from_slice(&crc.finalize().to_le_bytes());
    foot.extend_from_slice(&(lines.len() as u64).to_le_bytes());
    foot.extend_from_slice(&[0; 8]);
    disk.write_at(file, at, &foot).map_err(io("writing", file))?;
    disk.sync(file).map_err(sync(file))
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

/// The lines of a hash, in the order of the log, at most `limit` of them, the newest. Reads little of the run. Blocks.
pub fn find(disk: &dyn Disk, file: &str, hash: u64, limit: usize) -> Result<Vec<KeyLine>, FileError> {
    let length = disk.len(file).map_err(io("measuring", file))?;
    let lines = length.saturating_sub(FOOT_BYTES as u64) / LINE_BYTES as u64;
    let end = first_behind(disk, file, lines, hash)?;
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

/// The first line whose hash is above `hash`.
fn first_behind(disk: &dyn Disk, file: &str, lines: u64, hash: u64) -> Result<u64, FileError> {
    let before = |line: &KeyLine| line.hash <= hash;
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
