//! The newest records in memory: not yet written ones, and those most readers want.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::record::{self, HEADER_BYTES};

/// A chunk that was written and has so many bytes takes no more records, and is read without copying.
const FREEZE_BYTES: usize = 64 << 10;

/// A chunk grows to about so many bytes at most, also between writes.
const CHUNK_MAX: usize = 1 << 20;

/// Chunks of records, the last one open to more. A chunk lies within one segment.
#[derive(Debug)]
pub(crate) struct Tail {
    frozen: VecDeque<Chunk>,
    /// Bytes the frozen chunks hold in memory.
    frozen_bytes: usize,
    open: Vec<u8>,
    /// The memory of a chunk that is gone, for the next: the system need not clear other pages for it.
    spare: Vec<u8>,
    /// Where in the log the open chunk begins.
    open_first: u64,
}

#[derive(Debug)]
struct Chunk {
    first: u64,
    bytes: Bytes,
    /// Bytes held in memory for it.
    held: usize,
}

impl Chunk {
    fn end(&self) -> u64 {
        self.first + self.bytes.len() as u64
    }
}

impl Tail {
    /// Nothing yet; the first record will stand at `first`.
    pub(crate) const fn new(first: u64) -> Self {
        Self {
            frozen: VecDeque::new(),
            frozen_bytes: 0,
            open: Vec::new(),
            spare: Vec::new(),
            open_first: first,
        }
    }

    /// Where the next record will stand.
    pub(crate) fn end(&self) -> u64 {
        self.open_first + self.open.len() as u64
    }

    /// The next record stands at `first`, in another segment.
    pub(crate) fn jump(&mut self, first: u64) {
        self.freeze();
        self.open_first = first;
    }

    /// Where to put a record of so many bytes.
    pub(crate) fn buffer(&mut self, size: usize) -> &mut Vec<u8> {
        if self.open.len() + size > CHUNK_MAX {
            self.freeze();
        }
        &mut self.open
    }

    /// The first bytes at or behind `from` that are in one chunk, and their place.
    pub(crate) fn bytes_from(&self, from: u64) -> Option<(u64, &[u8])> {
        let next = self.frozen.partition_point(|chunk| chunk.end() <= from);
        let (first, bytes) = match self.frozen.get(next) {
            Some(chunk) => (chunk.first, &chunk.bytes[..]),
            None => (self.open_first, &self.open[..]),
        };
        let skip = from.saturating_sub(first) as usize;
        (skip < bytes.len()).then(|| (first + skip as u64, &bytes[skip..]))
    }

    /// The payload of the record at `at`, if it is in memory and of that length.
    pub(crate) fn payload(&self, at: u64, length: usize) -> Option<Bytes> {
        let range = |first: u64, have: usize| {
            let from = usize::try_from(at.checked_sub(first)?).ok()?;
            let end = from.checked_add(HEADER_BYTES)?.checked_add(length)?;
            (end <= have).then_some(from..end)
        };
        if at >= self.open_first {
            let whole = &self.open[range(self.open_first, self.open.len())?];
            return is_record(whole, at).then(|| Bytes::copy_from_slice(&whole[HEADER_BYTES..]));
        }
        let next = self.frozen.partition_point(|chunk| chunk.first <= at);
        let chunk = self.frozen.get(next.checked_sub(1)?)?;
        let whole = chunk.bytes.slice(range(chunk.first, chunk.bytes.len())?);
        is_record(&whole, at).then(|| whole.slice(HEADER_BYTES..))
    }

    /// All before `written` was written: keeps the newest `tail_bytes`, and all that was not written.
    pub(crate) fn settle(&mut self, written: u64, tail_bytes: usize) {
        if self.open.len() >= FREEZE_BYTES && written == self.end() {
            self.freeze();
        }
        while self.frozen_bytes + self.open.capacity() > tail_bytes
            && let Some(oldest) = self.frozen.front()
            && oldest.end() <= written
        {
            self.frozen_bytes -= oldest.held;
            let gone = self.frozen.pop_front().map(|chunk| chunk.bytes.try_into_mut());
            if let Some(Ok(bytes)) = gone
                && bytes.capacity() == CHUNK_MAX
            {
                self.spare = bytes.into();
                self.spare.clear();
            }
        }
    }

    fn freeze(&mut self) {
        if self.open.is_empty() {
            return;
        }
        // As much as is likely to come: an idle log holds little, a busy one does not grow its chunks.
        let room = self.open.len().next_power_of_two().min(CHUNK_MAX);
        let first = self.end();
        let next = if room == self.spare.capacity() {
            std::mem::take(&mut self.spare)
        } else {
            Vec::with_capacity(room)
        };
        let mut bytes = std::mem::replace(&mut self.open, next);
        if bytes.capacity() - bytes.len() > bytes.len() / 4 {
            bytes.shrink_to_fit();
        }
        let held = bytes.capacity();
        self.frozen.push_back(Chunk { first: self.open_first, bytes: bytes.into(), held });
        self.frozen_bytes += held;
        self.open_first = first;
    }
}

/// Whether the bytes are, by place and length, the record at `at`. Its checksum was made from these bytes.
fn is_record(whole: &[u8], at: u64) -> bool {
    record::decode(whole, at, whole.len() as u64).is_ok_and(|claim| claim.length == whole.len())
}

#[cfg(test)]
mod tests;
