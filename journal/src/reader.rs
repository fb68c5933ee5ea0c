//! Reading records that are no longer in memory, from any thread.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use env::{Disk, Span};
use model::LogOffset;

use crate::error::ReadError;
use crate::record::{self, Bad, Claim, Extent, HEADER_BYTES, Header};
use crate::segment::{self, Layout};

/// Reads payloads from the files, checking each record. Stays true as long as the log is open.
#[derive(Clone, Debug)]
pub struct Reader {
    layout: Layout,
}

/// A place in a segment file.
struct Place {
    file: String,
    /// Bytes into the file.
    at: u64,
    log_offset: u64,
    /// Bytes from here to the segment's end.
    room: u64,
}

impl Reader {
    pub(crate) const fn new(layout: Layout) -> Self {
        Self { layout }
    }

    /// The payload at `extent`. Blocks.
    pub fn read(&self, disk: &dyn Disk, extent: Extent) -> Result<Bytes, ReadError> {
        let place = self.place(extent.at)?;
        let length = HEADER_BYTES + extent.length as usize;
        if length as u64 > place.room {
            let expected = format!("at most {} bytes", place.room);
            return Err(place.corrupt(Bad::new(expected, format!("{length} bytes asked for"))));
        }
        let bytes = place.read(disk, length)?;
        place.check(&bytes)?;
        Ok(Bytes::from(bytes).slice(HEADER_BYTES..))
    }

    /// The payloads at `extents`, in that order: those that lie near each other are read in one go. Blocks. `None` for
    /// one that is not there or is damaged: [`Self::read`] says why.
    pub fn read_many(&self, disk: &dyn Disk, extents: &[Extent]) -> Vec<Option<Bytes>> {
        let mut files = BTreeMap::new();
        let span = |(id, extent): (usize, &Extent)| {
            let segment = self.segment(extent.at)?;
            let length = HEADER_BYTES + extent.length as usize;
            let file = files.entry(segment.start).or_insert_with(|| segment::name(segment.start).into());
            let fits = length as u64 <= segment.end - extent.at.0;
            fits.then(|| Span { id, file: Arc::clone(file), at: extent.at.0 - segment.start, length })
        };
        let mut found = vec![None; extents.len()];
        let spans = extents.iter().enumerate().filter_map(span).collect();
        env::read_spans(disk, spans, &mut |id, bytes| {
            // The segment has room for it: that was looked at before.
            let claim = record::decode(&bytes, extents[id].at.0, bytes.len() as u64);
            let is_it = claim.is_ok_and(|claim| claim.length == bytes.len() && claim.check(&bytes).is_ok());
            found[id] = is_it.then(|| bytes.slice(HEADER_BYTES..));
        });
        found
    }

    /// The record at `at`, whose length is not known. Blocks.
    ///
    /// The place may come from outside: a place where no record begins is [`ReadError::Corrupt`].
    pub fn record(&self, disk: &dyn Disk, at: LogOffset) -> Result<(Header, Bytes), ReadError> {
        let place = self.place(at)?;
        if place.room < HEADER_BYTES as u64 {
            let bad = Bad::new("a record", "the end of a segment");
            return Err(place.corrupt(bad));
        }
        let claim = place.claim(&place.read(disk, HEADER_BYTES)?)?;
        let Some(header) = claim.header() else {
            let found = format!("kind {}", claim.frame.kind);
            return Err(place.corrupt(Bad::new("a record of a known kind", found)));
        };
        let bytes = place.read(disk, claim.length)?;
        claim.check(&bytes).map_err(|bad| place.corrupt(bad))?;
        Ok((header, Bytes::from(bytes).slice(HEADER_BYTES..)))
    }

    /// The segment that holds the place. One near the end of 64 bits is in no segment there can be.
    fn segment(&self, at: LogOffset) -> Option<Range<u64>> {
        (at.0 < u64::MAX / 2).then(|| self.layout.segment(at.0)).flatten()
    }

    fn place(&self, at: LogOffset) -> Result<Place, ReadError> {
        let segment = self.segment(at);
        let at = at.0;
        let Some(segment) = segment else {
            let bad = Bad::new("a place the log holds", format!("log offset {at}"));
            return Err(Place { file: segment::name(at), at: 0, log_offset: at, room: 0 }.corrupt(bad));
        };
        Ok(Place {
            file: segment::name(segment.start),
            at: at - segment.start,
            log_offset: at,
            room: segment.end - at,
        })
    }
}

impl Place {
    /// Reads exactly `length` bytes, which the segment has room for.
    fn read(&self, disk: &dyn Disk, length: usize) -> Result<Vec<u8>, ReadError> {
        // A file is shorter than its segment while that is being filled; nothing is allocated for what it lacks.
        let have = disk.len(&self.file).map_err(|source| self.io(source))?.saturating_sub(self.at);
        if have < length as u64 {
            return Err(
                self.corrupt(Bad::new(format!("{length} bytes"), format!("{have} up to the file's end")))
            );
        }
        let mut bytes = vec![0; length];
        let read = disk.read_at(&self.file, self.at, &mut bytes).map_err(|source| self.io(source))?;
        if read < length {
            return Err(
                self.corrupt(Bad::new(format!("{length} bytes"), format!("{read} up to the file's end")))
            );
        }
        Ok(bytes)
    }

    /// Whether these bytes are the record here, and no other and no more.
    fn check(&self, bytes: &[u8]) -> Result<(), ReadError> {
        let claim = self.claim(bytes)?;
        if claim.length != bytes.len() {
            let found = format!("one of {}", claim.length);
            return Err(self.corrupt(Bad::new(format!("a record of {} bytes", bytes.len()), found)));
        }
        claim.check(bytes).map_err(|bad| self.corrupt(bad))
    }

    fn claim(&self, bytes: &[u8]) -> Result<Claim, ReadError> {
        record::decode(bytes, self.log_offset, self.room).map_err(|bad| self.corrupt(bad))
    }

    fn corrupt(&self, bad: Bad) -> ReadError {
        ReadError::Corrupt { file: self.file.clone(), at: self.at, expected: bad.expected, found: bad.found }
    }

    fn io(&self, source: io::Error) -> ReadError {
        ReadError::Io { file: self.file.clone(), at: self.at, source }
    }
}

#[cfg(test)]
mod tests;
