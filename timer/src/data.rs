//! A bucket's data file: the bodies of its messages, so that the log need not be kept for them.
//!
//! Items stand one behind the other, each: CRC-32 (IEEE) of all behind it u32, bytes of the message u32, log offset
//! u64, the stored message. Little-endian.

use std::sync::Arc;

use bytes::Bytes;
use env::{Disk, Span};
use model::LogOffset;

use crate::Entry;
use crate::error::{FileError, io, sync};

/// Bytes of an item before its message.
const HEADER_BYTES: usize = 16;
/// Bytes written at a time.
const WRITE_BYTES: usize = 1 << 20;

/// Adds items to a file, from a place on.
#[derive(Debug)]
pub(crate) struct Writer {
    file: String,
    /// Where the file began to grow.
    began: u64,
    /// Up to where it is written.
    written: u64,
    buffer: Vec<u8>,
}

impl Writer {
    pub(crate) fn new(file: String, at: u64) -> Self {
        Self { file, began: at, written: at, buffer: Vec::new() }
    }

    /// Adds a message; gives where its item begins.
    pub(crate) fn push(&mut self, at: LogOffset, bytes: &[u8], disk: &dyn Disk) -> Result<u64, FileError> {
        let position = self.written + self.buffer.len() as u64;
        let begin = self.buffer.len();
        self.buffer.extend_from_slice(&[0; 4]);
        self.buffer.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        self.buffer.extend_from_slice(&at.0.to_le_bytes());
        self.buffer.extend_from_slice(bytes);
        let crc = crc32fast::hash(&self.buffer[begin + 4..]);
        self.buffer[begin..begin + 4].copy_from_slice(&crc.to_le_bytes());
        if self.buffer.len() >= WRITE_BYTES {
            self.write(disk)?;
        }
        Ok(position)
    }

    /// Writes and syncs what was added; gives where the file ends.
    pub(crate) fn end(mut self, disk: &dyn Disk) -> Result<u64, FileError> {
        self.write(disk)?;
        if self.written > self.began {
            disk.sync(&self.file).map_err(sync(&self.file))?;
        }
        Ok(self.written)
    }

    fn write(&mut self, disk: &dyn Disk) -> Result<(), FileError> {
        if !self.buffer.is_empty() {
            disk.write_at(&self.file, self.written, &self.buffer).map_err(io("writing", &self.file))?;
            self.written += self.buffer.len() as u64;
            self.buffer.clear();
        }
        Ok(())
    }
}

/// Where the item of an entry lies in a data file.
pub(crate) fn span(id: usize, file: Arc<str>, entry: &Entry) -> Span {
    Span { id, file, at: entry.position, length: HEADER_BYTES + entry.length as usize }
}

/// Reads the message of an entry out of a data file, and checks it.
pub(crate) fn read(disk: &dyn Disk, file: &str, entry: &Entry) -> Result<Bytes, FileError> {
    let mut bytes = vec![0; HEADER_BYTES + entry.length as usize];
    let have = disk.read_at(file, entry.position, &mut bytes).map_err(io("reading", file))?;
    let bad = |expected: String, found: String| FileError::Damaged {
        file: file.to_owned(),
        at: entry.position,
        expected,
        found,
    };
    if have < bytes.len() {
        return Err(bad(format!("{} bytes", bytes.len()), format!("{have} up to the file's end")));
    }
    message(&Bytes::from(bytes), entry).ok_or_else(|| {
        let expected = format!("the message of log offset {}, {} bytes", entry.log_offset, entry.length);
        bad(expected, "another, or one with another checksum".to_owned())
    })
}

/// The message of an item; `None` where the item is not that of the entry, or damaged.
pub(crate) fn message(item: &Bytes, entry: &Entry) -> Option<Bytes> {
    let crc = crc32fast::hash(&item[4..]);
    let head = (&item[..4], &item[4..8], &item[8..HEADER_BYTES]);
    let wanted =
        (&crc.to_le_bytes()[..], &entry.length.to_le_bytes()[..], &entry.log_offset.0.to_le_bytes()[..]);
    (head == wanted && item.len() == HEADER_BYTES + entry.length as usize).then(|| item.slice(HEADER_BYTES..))
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::{Fault, SimDisk};
    use model::{Timestamp, TopicId};

    #[test]
    fn what_is_written_is_read_back_and_damage_is_noticed() {
        let disk = SimDisk::new(1);
        let mut writer = Writer::new("d".to_owned(), 0);
        let entry = |log_offset, length, position| Entry {
            deliver_at: Timestamp::from_millis(1),
            log_offset: LogOffset(log_offset),
            key_hash: 0,
            position,
            length,
            topic: TopicId(0),
            level: 0,
        };
        let long = vec![7; WRITE_BYTES];
        let first = writer.push(LogOffset(8), b"first", &disk).unwrap();
        let second = writer.push(LogOffset(16), &long, &disk).unwrap();
        let third = writer.push(LogOffset(24), b"", &disk).unwrap();
        let end = writer.end(&disk).unwrap();
        assert_eq!(disk.len("d").unwrap(), end);
        assert_eq!(read(&disk, "d", &entry(8, 5, first)).unwrap(), &b"first"[..]);
        assert_eq!(read(&disk, "d", &entry(16, WRITE_BYTES as u32, second)).unwrap(), long);
        assert_eq!(read(&disk, "d", &entry(24, 0, third)).unwrap(), &b""[..]);
        for wrong in [entry(9, 5, first), entry(8, 4, first), entry(8, 5, first + 1), entry(24, 1, third)] {
            assert!(read(&disk, "d", &wrong).is_err());
        }
        disk.inject(Fault::FlipBit { file: "d".into(), byte: first + 18 });
        assert!(read(&disk, "d", &entry(8, 5, first)).is_err());
    }
}
