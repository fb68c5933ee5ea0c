//! The consume queues' file of one checkpoint: of each queue the messages that came since the one before.
//!
//! | bytes | what |
//! |---:|---|
//! | 32 × entries | the entries, queue after queue |
//! | 24 × parts | the directory: of each part its queue and how many entries it has, in the order in which they stand |
//! | 24 | the foot: magic `DueMQque`, format u32 (1), parts u32, CRC-32 of the directory u32, zeros |
//!
//! An entry: log offset u64, bytes u32, zeros u32, tag code i64, stored at i64 (ms since the epoch). A line of the
//! directory: topic id u32, queue id u32, first offset i64, entries u32, CRC-32 of the entries u32. Little-endian.

use env::Disk;
use journal::Extent;
use model::{LogOffset, QueueId, Timestamp, TopicId};

use crate::consume_queue::{Entry, Piece};
use crate::error::{FileError, damaged, io, sync, whole};

const MAGIC: &[u8; 8] = b"DueMQque";
const FORMAT: u32 = 1;
const ENTRY_BYTES: usize = 32;
const LINE_BYTES: usize = 24;
const FOOT_BYTES: usize = 24;
/// Bytes written at a time.
const WRITE_BYTES: usize = 1 << 20;

/// Messages of a queue.
#[derive(Clone, Debug)]
pub struct Part {
    /// The queue's topic.
    pub topic: TopicId,
    /// The queue.
    pub queue_id: QueueId,
    /// Its messages.
    pub piece: Piece,
}

/// Writes and syncs a file of parts. Blocks.
pub fn write(disk: &dyn Disk, file: &str, parts: &[Part]) -> Result<(), FileError> {
    let (mut bytes, mut at, mut directory) = (Vec::new(), 0, Vec::new());
    for Part { topic, queue_id, piece } in parts {
        let mut crc = crc32fast::Hasher::new();
        for entries in piece.entries.chunks(WRITE_BYTES / ENTRY_BYTES) {
            let begin = bytes.len();
            for entry in entries {
                push(entry, &mut bytes);
            }
            crc.update(&bytes[begin..]);
            if bytes.len() >= WRITE_BYTES {
                disk.write_at(file, at, &bytes).map_err(io("writing", file))?;
                at += bytes.len() as u64;
                bytes.clear();
            }
        }
        directory.extend_from_slice(&topic.0.to_le_bytes());
        directory.extend_from_slice(&queue_id.0.to_le_bytes());
        directory.extend_from_slice(&piece.first.to_le_bytes());
        directory.extend_from_slice(&(piece.entries.len() as u32).to_le_bytes());
        directory.extend_from_slice(&crc.finalize().to_le_bytes());
    }
    bytes.extend_from_slice(&directory);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&FORMAT.to_le_bytes());
    bytes.extend_from_slice(&(parts.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&crc32fast::hash(&directory).to_le_bytes());
    bytes.extend_from_slice(&[0; 4]);
    disk.write_at(file, at, &bytes).map_err(io("writing", file))?;
    disk.sync(file).map_err(sync(file))
}

/// Reads a file of parts. Blocks.
pub fn read(disk: &dyn Disk, file: &str) -> Result<Vec<Part>, FileError> {
    let bytes = whole(disk, file)?;
    let length = bytes.len() as u64;
    let bad = |found| damaged(file, length, "the queues of a checkpoint", found);
    let (rest, foot) =
        bytes.split_last_chunk::<FOOT_BYTES>().ok_or_else(|| bad("fewer bytes than a foot"))?;
    if foot[..8] != *MAGIC || u32_at(foot, 8) != FORMAT {
        return Err(bad("another foot"));
    }
    let count = u32_at(foot, 12) as usize;
    let split = rest
        .len()
        .checked_sub(count.saturating_mul(LINE_BYTES))
        .ok_or_else(|| bad("more parts than bytes"))?;
    let (mut entries, directory) = rest.split_at(split);
    if crc32fast::hash(directory) != u32_at(foot, 16) {
        return Err(bad("a directory with another checksum"));
    }
    let mut parts = Vec::with_capacity(count);
    for line in directory.chunks_exact(LINE_BYTES) {
        let count = u32_at(line, 16) as usize;
        let (own, others) =
            entries.split_at_checked(count * ENTRY_BYTES).ok_or_else(|| bad("fewer entries than it says"))?;
        if crc32fast::hash(own) != u32_at(line, 20) {
            return Err(bad("entries with another checksum"));
        }
        entries = others;
        let piece = Piece {
            first: u64_at(line, 8) as i64,
            entries: std::sync::Arc::new(own.chunks_exact(ENTRY_BYTES).map(entry).collect()),
        };
        parts.push(Part { topic: TopicId(u32_at(line, 0)), queue_id: QueueId(u32_at(line, 4)), piece });
    }
    if entries.is_empty() { Ok(parts) } else { Err(bad("more entries than it says")) }
}

fn push(entry: &Entry, into: &mut Vec<u8>) {
    into.extend_from_slice(&entry.extent.at.0.to_le_bytes());
    into.extend_from_slice(&entry.extent.length.to_le_bytes());
    into.extend_from_slice(&[0; 4]);
    into.extend_from_slice(&entry.tag_code.to_le_bytes());
    into.extend_from_slice(&entry.stored_at.as_millis().to_le_bytes());
}

fn entry(bytes: &[u8]) -> Entry {
    Entry {
        extent: Extent { at: LogOffset(u64_at(bytes, 0)), length: u32_at(bytes, 8) },
        tag_code: u64_at(bytes, 16) as i64,
        stored_at: Timestamp::from_millis(u64_at(bytes, 24) as i64),
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests;
