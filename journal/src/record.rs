//! A record: what it says, and how it stands in the log.

use model::LogOffset;

/// Bytes of a record's header.
pub(crate) const HEADER_BYTES: usize = 40;

/// Records begin at multiples of this many bytes.
const ALIGN: usize = 8;

/// The number of the journal's own kind: the mark of a segment's or a life's beginning. See `segment.rs`.
pub(crate) const MARK: u8 = 13;

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
    /// Filler to the end of a segment. The log's own: neither appended by others nor handed to them.
    Pad = 12,
}

impl Kind {
    /// The kind of the number, if it is one.
    pub(crate) const fn of(number: u8) -> Option<Self> {
        Some(match number {
            1 => Self::Message,
            2 => Self::TimerPut,
            3 => Self::TimerRecall,
            4 => Self::TimerReschedule,
            5 => Self::Deliver,
            6 => Self::DeliverRef,
            7 => Self::Leases,
            8 => Self::Acks,
            9 => Self::Offsets,
            10 => Self::Meta,
            11 => Self::Checkpoint,
            12 => Self::Pad,
            _ => return None,
        })
    }
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

/// The header of a record. Little-endian, 40 bytes; the payload follows, then zeros up to a multiple of 8.
///
/// | at | bytes | field          | meaning                                                         |
/// |---:|------:|----------------|-----------------------------------------------------------------|
/// |  0 |     4 | `crc`          | CRC-32 (IEEE) of bytes 4 to `length`                            |
/// |  4 |     4 | `length`       | bytes of header and payload, without the zeros behind           |
/// |  8 |     8 | `at`           | the record's log offset: must be the place it stands at         |
/// | 16 |     1 | `kind`         | the number of a [`Kind`], or [`MARK`]                           |
/// | 17 |     1 | `flags`        | free for the kind                                               |
/// | 18 |     2 | `header_bytes` | 40                                                              |
/// | 20 |     4 | `epoch`        | the life that wrote it: +1 at each start, never less than before |
/// | 24 |     8 | `due_ms`       | ms since the Unix epoch; 0 where the kind has none              |
/// | 32 |     8 | `reference`    | log offset of the record this one speaks of; 0 for none         |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) at: u64,
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) epoch: u32,
    pub(crate) due_ms: u64,
    pub(crate) reference: u64,
}

/// A frame read back, and what it claims of the bytes behind it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim {
    pub(crate) frame: Frame,
    /// Bytes of header and payload.
    pub(crate) length: usize,
    crc: u32,
}

/// Why bytes are no record, in words.
#[derive(Debug)]
pub(crate) struct Bad {
    pub(crate) expected: String,
    pub(crate) found: String,
}

impl Bad {
    pub(crate) fn new(expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self { expected: expected.into(), found: found.into() }
    }
}

/// Bytes that a record of so long a payload takes in the log.
pub(crate) const fn size(payload_length: usize) -> usize {
    (HEADER_BYTES + payload_length).next_multiple_of(ALIGN)
}

/// Puts a record at the buffer's end; the payload is what `fill` adds.
///
/// # Panics
/// Where `fill` adds another length than it was said to: the record's place was chosen by that length.
pub(crate) fn encode(buffer: &mut Vec<u8>, frame: &Frame, length: usize, fill: impl FnOnce(&mut Vec<u8>)) {
    let start = buffer.len();
    buffer.reserve(size(length));
    buffer.extend_from_slice(&[0; 4]);
    buffer.extend_from_slice(&((HEADER_BYTES + length) as u32).to_le_bytes());
    buffer.extend_from_slice(&frame.at.to_le_bytes());
    buffer.extend_from_slice(&[frame.kind, frame.flags]);
    buffer.extend_from_slice(&(HEADER_BYTES as u16).to_le_bytes());
    buffer.extend_from_slice(&frame.epoch.to_le_bytes());
    buffer.extend_from_slice(&frame.due_ms.to_le_bytes());
    buffer.extend_from_slice(&frame.reference.to_le_bytes());
    fill(buffer);
    let filled = buffer.len() - start - HEADER_BYTES;
    assert!(filled == length, "a payload of {length} bytes was placed, {filled} were filled in");
    let crc = crc32fast::hash(&buffer[start + 4..]);
    buffer[start..start + 4].copy_from_slice(&crc.to_le_bytes());
    buffer.resize(start + size(length), 0);
}

/// Reads the header of the record at `at`, behind which its segment has `room` bytes, header included.
///
/// # Panics
/// Where `bytes` are fewer than a header's.
pub(crate) fn decode(bytes: &[u8], at: u64, room: u64) -> Result<Claim, Bad> {
    let bytes: &[u8; HEADER_BYTES] = bytes[..HEADER_BYTES].try_into().expect("as long as the range says");
    if bytes.iter().all(|b| *b == 0) {
        return Err(Bad::new(format!("the record of log offset {at}"), "zeros"));
    }
    let u32_at = |i: usize| u32::from_le_bytes(bytes[i..i + 4].try_into().expect("four bytes"));
    let u64_at = |i: usize| u64::from_le_bytes(bytes[i..i + 8].try_into().expect("eight bytes"));
    let frame = Frame {
        at: u64_at(8),
        kind: bytes[16],
        flags: bytes[17],
        epoch: u32_at(20),
        due_ms: u64_at(24),
        reference: u64_at(32),
    };
    if frame.at != at {
        return Err(Bad::new(format!("log offset {at}"), format!("log offset {}", frame.at)));
    }
    let header_bytes = u16::from_le_bytes([bytes[18], bytes[19]]);
    if usize::from(header_bytes) != HEADER_BYTES {
        return Err(Bad::new(format!("a header of {HEADER_BYTES} bytes"), format!("one of {header_bytes}")));
    }
    let length = u32_at(4);
    if (length as usize) < HEADER_BYTES || u64::from(length) > room {
        return Err(Bad::new(format!("a length of {HEADER_BYTES} to {room}"), format!("length {length}")));
    }
    Ok(Claim { frame, length: length as usize, crc: u32_at(0) })
}

impl Claim {
    /// Whether the bytes, header and payload, are what the header says.
    pub(crate) fn check(&self, bytes: &[u8]) -> Result<(), Bad> {
        let crc = crc32fast::hash(&bytes[4..self.length]);
        if crc == self.crc {
            return Ok(());
        }
        Err(Bad::new(format!("crc {:#010x}", self.crc), format!("bytes of crc {crc:#010x}")))
    }

    /// Bytes the record takes in the log.
    pub(crate) const fn size(&self) -> u64 {
        self.length.next_multiple_of(ALIGN) as u64
    }

    /// The header, if the kind is one that others know.
    pub(crate) fn header(&self) -> Option<Header> {
        let Frame { kind, flags, due_ms, reference, .. } = self.frame;
        Some(Header { kind: Kind::of(kind)?, flags, due_ms, reference: LogOffset(reference) })
    }
}

#[cfg(test)]
mod tests;
