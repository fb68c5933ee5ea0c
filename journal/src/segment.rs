//! Segments: how the endless log is cut into files, and how a file begins.

use std::ops::Range;
use std::sync::Arc;

use crate::record::{Bad, HEADER_BYTES};

/// The format this build writes, and the newest it reads.
pub(crate) const FORMAT: u16 = 1;

/// Bytes of a mark's payload.
pub(crate) const MARK_PAYLOAD: usize = 24;

/// Bytes of a mark: what a segment holds before its first record of others.
pub(crate) const MARK_BYTES: u64 = (HEADER_BYTES + MARK_PAYLOAD) as u64;

const PREFIX: &str = "log-";
const MAGIC: &[u8; 8] = b"DueMQlog";

/// The name of the segment that begins at `first`: sorted by name is sorted by place.
pub(crate) fn name(first: u64) -> String {
    format!("{PREFIX}{first:020}")
}

/// The place the segment of that name begins at; `None` where the name is no segment's.
pub(crate) fn first_of(name: &str) -> Option<u64> {
    let digits = name.strip_prefix(PREFIX)?;
    if digits.len() != 20 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}

/// Which file holds which part of the log. Never changes while the log is open: the segments that were there
/// then are listed, all later ones are of one size. So a copy stays true however long it is kept.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// Where the segments begin that were there at the start, ascending, at least one.
    firsts: Arc<[u64]>,
    /// Where the last of them ends.
    end: u64,
    /// Bytes of each later one.
    segment_bytes: u64,
}

impl Layout {
    /// # Panics
    /// Where there is no segment.
    pub(crate) fn new(firsts: Vec<u64>, end: u64, segment_bytes: u64) -> Self {
        assert!(
            firsts.last().is_some_and(|last| *last < end),
            "a log has a segment, which ends behind its start"
        );
        Self { firsts: firsts.into(), end, segment_bytes }
    }

    /// The segment that holds the place; `None` where that is before the first one.
    pub(crate) fn segment(&self, at: u64) -> Option<Range<u64>> {
        if at >= self.end {
            let first = self.end + (at - self.end) / self.segment_bytes * self.segment_bytes;
            return Some(first..first + self.segment_bytes);
        }
        let next = self.firsts.partition_point(|first| *first <= at);
        let first = self.firsts[next.checked_sub(1)?];
        Some(first..self.firsts.get(next).copied().unwrap_or(self.end))
    }

    /// The segments that hold the range.
    pub(crate) fn segments(&self, range: Range<u64>) -> impl Iterator<Item = Range<u64>> + '_ {
        let mut at = range.start;
        std::iter::from_fn(move || {
            let segment = (at < range.end).then(|| self.segment(at)).flatten()?;
            at = segment.end;
            Some(segment)
        })
    }
}

/// The payload of a mark. Little-endian, 24 bytes.
///
/// A mark is the first record of each segment, and the first record of each life wherever that begins. Its
/// header, checksum, magic and `format` stay as they are in every later format, so that a build meets a newer
/// log with its number, not with a complaint about damage.
///
/// | at | bytes | field           | meaning                        |
/// |---:|------:|-----------------|--------------------------------|
/// |  0 |     8 | magic           | `DueMQlog`                     |
/// |  8 |     2 | `format`        | 1                              |
/// | 10 |     6 |                 | zeros                          |
/// | 16 |     8 | `segment_bytes` | bytes of the segment it is in  |
pub(crate) fn encode_mark(segment_bytes: u64, into: &mut Vec<u8>) {
    into.extend_from_slice(MAGIC);
    into.extend_from_slice(&FORMAT.to_le_bytes());
    into.extend_from_slice(&[0; 6]);
    into.extend_from_slice(&segment_bytes.to_le_bytes());
}

/// The format and the size of the segment by the payload of its mark.
pub(crate) fn decode_mark(payload: &[u8]) -> Result<(u16, u64), Bad> {
    if payload.len() != MARK_PAYLOAD || payload[..8] != *MAGIC {
        return Err(Bad::new("the mark of a segment", "another payload"));
    }
    let format = u16::from_le_bytes([payload[8], payload[9]]);
    let bytes = u64::from_le_bytes(payload[16..24].try_into().expect("eight bytes"));
    if format <= FORMAT && !is_segment_size(bytes) {
        let expected = format!("a multiple of 8 from {SEGMENT_MIN} to {SEGMENT_MAX} as segment size");
        return Err(Bad::new(expected, bytes.to_string()));
    }
    Ok((format, bytes))
}

/// The smallest segment, for tests.
const SEGMENT_MIN: u64 = 256;
/// The largest: a record's length is 32 bits.
const SEGMENT_MAX: u64 = 1 << 31;

/// Whether a segment may have so many bytes.
pub(crate) const fn is_segment_size(bytes: u64) -> bool {
    bytes >= SEGMENT_MIN && bytes <= SEGMENT_MAX && bytes.is_multiple_of(8)
}

#[cfg(test)]
mod tests;
