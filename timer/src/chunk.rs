//! Bytes of a bucket's index file: chunks, one behind the other, and what stands in them.

use model::{LogOffset, Timestamp, TopicId};

use crate::Entry;
use crate::entry::{IN_LOG, Key};

/// Bytes of a chunk's header.
pub(crate) const HEADER_BYTES: usize = 32;
/// Bytes of an entry.
pub(crate) const ENTRY_BYTES: usize = 40;
/// Bytes of a tombstone.
pub(crate) const TOMBSTONE_BYTES: usize = 16;

/// What the items of a chunk are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Items {
    /// Messages that waited when the chunk was written.
    Entries,
    /// Messages of chunks before this one that wait no longer.
    Tombstones,
}

impl Items {
    fn number(self) -> u8 {
        match self {
            Self::Entries => 1,
            Self::Tombstones => 2,
        }
    }

    /// Bytes of one.
    pub(crate) const fn bytes(self) -> usize {
        match self {
            Self::Entries => ENTRY_BYTES,
            Self::Tombstones => TOMBSTONE_BYTES,
        }
    }
}

/// The header of a chunk. Little-endian, 32 bytes; the items follow, sorted by moment and log offset.
///
/// | at | bytes | field      | meaning                                                     |
/// |---:|------:|------------|-------------------------------------------------------------|
/// |  0 |     4 | `crc`      | CRC-32 (IEEE) of bytes 4 to the chunk's end                 |
/// |  4 |     4 | `count`    | items                                                       |
/// |  8 |     1 | `items`    | 1 entries of 40 bytes, 2 tombstones of 16                   |
/// |  9 |     7 |            | zeros                                                       |
/// | 16 |     8 | `from`     | no item's log offset is below this                          |
/// | 24 |     8 | `to`       | every item's log offset is below this                       |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) crc: u32,
    pub(crate) count: u32,
    pub(crate) items: Items,
    pub(crate) from: LogOffset,
    pub(crate) to: LogOffset,
}

impl Header {
    /// Reads a header; `None` where it is none.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; HEADER_BYTES] = bytes.first_chunk()?;
        let items = match bytes[8] {
            1 => Items::Entries,
            2 => Items::Tombstones,
            _ => return None,
        };
        Some(Self {
            crc: u32_at(bytes, 0),
            count: u32_at(bytes, 4),
            items,
            from: LogOffset(u64_at(bytes, 16)),
            to: LogOffset(u64_at(bytes, 24)),
        })
    }

    /// Bytes of the chunk, its header included.
    pub(crate) fn chunk_bytes(&self) -> u64 {
        HEADER_BYTES as u64 + u64::from(self.count) * self.items.bytes() as u64
    }
}

/// An entry. Little-endian, 40 bytes.
///
/// | at | bytes | field        | meaning                                                           |
/// |---:|------:|--------------|-------------------------------------------------------------------|
/// |  0 |     6 | `deliver_at` | ms since the Unix epoch                                           |
/// |  6 |     1 | `flags`      | bit 0: the body lies in the bucket's data file, else in the log   |
/// |  7 |     1 | `level`      | the delay level it came by, 0 for a timer                         |
/// |  8 |     8 | `log_offset` | of its record: its identity, and its place in the order           |
/// | 16 |     8 | `position`   | bytes; where its item begins in the data file, 0 for the log      |
/// | 24 |     4 | `length`     | bytes of the stored message                                       |
/// | 28 |     4 | `topic`      | the topic's id                                                    |
/// | 32 |     8 | `key_hash`   | of its `UNIQ_KEY`; a match is only a candidate                    |
fn push_entry(entry: &Entry, into: &mut Vec<u8>) {
    let at = u64::try_from(entry.deliver_at.as_millis()).expect("parked moments are after the epoch");
    assert!(at < 1 << 48, "a moment {at} ms after the epoch is past any limit of delays");
    let in_log = entry.position == IN_LOG;
    into.extend_from_slice(&at.to_le_bytes()[..6]);
    into.extend_from_slice(&[u8::from(!in_log), entry.level]);
    into.extend_from_slice(&entry.log_offset.0.to_le_bytes());
    into.extend_from_slice(&if in_log { 0 } else { entry.position }.to_le_bytes());
    into.extend_from_slice(&entry.length.to_le_bytes());
    into.extend_from_slice(&entry.topic.0.to_le_bytes());
    into.extend_from_slice(&entry.key_hash.to_le_bytes());
}

/// The entry of these bytes.
///
/// # Panics
/// Where they are fewer than an entry's.
pub(crate) fn entry(bytes: &[u8]) -> Entry {
    Entry {
        deliver_at: Timestamp::from_millis((u64_at(bytes, 0) & ((1 << 48) - 1)) as i64),
        log_offset: LogOffset(u64_at(bytes, 8)),
        length: u32_at(bytes, 24),
        topic: TopicId(u32_at(bytes, 28)),
        key_hash: u64_at(bytes, 32),
        position: if bytes[6] & 1 == 0 { IN_LOG } else { u64_at(bytes, 16) },
        level: bytes[7],
    }
}

/// The tombstone of these bytes: moment u64, log offset u64.
///
/// # Panics
/// Where they are fewer than a tombstone's.
pub(crate) fn tombstone(bytes: &[u8]) -> Key {
    (Timestamp::from_millis(u64_at(bytes, 0) as i64), LogOffset(u64_at(bytes, 8)))
}

/// Adds a chunk of entries, which must be sorted.
pub(crate) fn push_entries(entries: &[Entry], into: &mut Vec<u8>) {
    let begin = begin(into, entries.len(), Items::Entries, entries.iter().map(|entry| entry.log_offset));
    for entry in entries {
        push_entry(entry, into);
    }
    seal(begin, into);
}

/// Adds a chunk of tombstones, which must be sorted.
pub(crate) fn push_tombstones(keys: &[Key], into: &mut Vec<u8>) {
    let begin = begin(into, keys.len(), Items::Tombstones, keys.iter().map(|key| key.1));
    for (deliver_at, log_offset) in keys {
        into.extend_from_slice(&deliver_at.as_millis().to_le_bytes());
        into.extend_from_slice(&log_offset.0.to_le_bytes());
    }
    seal(begin, into);
}

fn begin(
    into: &mut Vec<u8>,
    count: usize,
    items: Items,
    offsets: impl Iterator<Item = LogOffset> + Clone,
) -> usize {
    let begin = into.len();
    into.reserve(HEADER_BYTES + count * items.bytes());
    into.extend_from_slice(&[0; 4]);
    into.extend_from_slice(&u32::try_from(count).expect("memory ends before a chunk's count").to_le_bytes());
    into.extend_from_slice(&[items.number(), 0, 0, 0, 0, 0, 0, 0]);
    let from = offsets.clone().min().map_or(0, |least| least.0);
    let to = offsets.max().map_or(0, |greatest| greatest.0 + 1);
    into.extend_from_slice(&from.to_le_bytes());
    into.extend_from_slice(&to.to_le_bytes());
    begin
}

fn seal(begin: usize, into: &mut [u8]) {
    let crc = crc32fast::hash(&into[begin + 4..]);
    into[begin..begin + 4].copy_from_slice(&crc.to_le_bytes());
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry_of(at: i64, log_offset: u64, position: u64) -> Entry {
        Entry {
            deliver_at: Timestamp::from_millis(at),
            log_offset: LogOffset(log_offset),
            length: 77,
            topic: TopicId(9),
            key_hash: u64::MAX - 5,
            position,
            level: 18,
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let entries = [entry_of(0, 8, IN_LOG), entry_of((1 << 48) - 1, 16, 0), entry_of(5, 24, 1 << 40)];
        let mut bytes = vec![1, 2, 3];
        push_entries(&entries, &mut bytes);
        let header = Header::decode(&bytes[3..]).unwrap();
        assert_eq!((header.count, header.items), (3, Items::Entries));
        assert_eq!((header.from, header.to), (LogOffset(8), LogOffset(25)));
        assert_eq!(header.chunk_bytes() as usize, bytes.len() - 3);
        assert_eq!(header.crc, crc32fast::hash(&bytes[7..]));
        let read = bytes[3 + HEADER_BYTES..].chunks(ENTRY_BYTES).map(entry).collect::<Vec<_>>();
        assert_eq!(read, entries);

        let keys = [(Timestamp::from_millis(7), LogOffset(8)), (Timestamp::from_millis(7), LogOffset(9))];
        let mut bytes = Vec::new();
        push_tombstones(&keys, &mut bytes);
        let header = Header::decode(&bytes).unwrap();
        assert_eq!((header.count, header.items), (2, Items::Tombstones));
        let read = bytes[HEADER_BYTES..].chunks(TOMBSTONE_BYTES).map(tombstone).collect::<Vec<_>>();
        assert_eq!(read, keys);
        assert_eq!(Header::decode(&[0; HEADER_BYTES]), None);
        assert_eq!(Header::decode(&bytes[..HEADER_BYTES - 1]), None);
    }
}
