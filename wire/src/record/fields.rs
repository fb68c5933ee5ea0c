//! Writing and reading the fields of a payload, one after the other.

use super::RecordError;

/// Adds a text: its length, then its bytes.
pub(super) fn push_text(text: &str, into: &mut Vec<u8>) {
    push_count(text.len(), into);
    into.extend_from_slice(text.as_bytes());
}

/// Adds how many of something follow.
pub(super) fn push_count(count: usize, into: &mut Vec<u8>) {
    let count = u32::try_from(count).expect("a record's payload is far below 4 GiB");
    into.extend_from_slice(&count.to_le_bytes());
}

/// Reads fields in order, never past the end.
pub(super) struct Fields<'a> {
    record: &'static str,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    /// Begins behind the version, which is the first byte.
    pub(super) fn of(record: &'static str, known: u8, bytes: &'a [u8]) -> Result<Self, RecordError> {
        let mut fields = Self { record, bytes, at: 0 };
        match fields.u8("version")? {
            found if found == 0 || found > known => Err(RecordError::Version { record, found, known }),
            _ => Ok(fields),
        }
    }

    pub(super) fn u8(&mut self, field: &'static str) -> Result<u8, RecordError> {
        Ok(self.array::<1>(field)?[0])
    }

    pub(super) fn u32(&mut self, field: &'static str) -> Result<u32, RecordError> {
        Ok(u32::from_le_bytes(self.array(field)?))
    }

    pub(super) fn i32(&mut self, field: &'static str) -> Result<i32, RecordError> {
        Ok(i32::from_le_bytes(self.array(field)?))
    }

    pub(super) fn truth(&mut self, field: &'static str) -> Result<bool, RecordError> {
        match self.u8(field)? {
            0 => Ok(false),
            1 => Ok(true),
            found => Err(self.unknown(field, found, 1)),
        }
    }

    pub(super) fn u64(&mut self, field: &'static str) -> Result<u64, RecordError> {
        Ok(u64::from_le_bytes(self.array(field)?))
    }

    pub(super) fn i64(&mut self, field: &'static str) -> Result<i64, RecordError> {
        Ok(i64::from_le_bytes(self.array(field)?))
    }

    pub(super) fn text(&mut self, field: &'static str) -> Result<&'a str, RecordError> {
        let length = self.u32(field)? as usize;
        let bytes = self.take(field, length)?;
        std::str::from_utf8(bytes).map_err(|_| RecordError::NotUtf8 { record: self.record, field })
    }

    /// Reads a count and that many items. No room is made for more of them than the bytes can hold.
    pub(super) fn list<T>(
        &mut self,
        field: &'static str,
        item_bytes_min: usize,
        mut item: impl FnMut(&mut Self) -> Result<T, RecordError>,
    ) -> Result<Vec<T>, RecordError> {
        let count = self.u32(field)? as usize;
        let mut items = Vec::with_capacity(count.min((self.bytes.len() - self.at) / item_bytes_min));
        for _ in 0..count {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// The refusal of a number past the highest `known` one.
    pub(super) fn unknown(&self, field: &'static str, found: u8, known: u8) -> RecordError {
        RecordError::Unknown { record: self.record, field, found, known }
    }

    pub(super) fn name<T>(&self, checked: Result<T, model::NameError>) -> Result<T, RecordError> {
        checked.map_err(|source| RecordError::Name { record: self.record, source })
    }

    /// Everything is read.
    pub(super) fn end(self) -> Result<(), RecordError> {
        if self.at == self.bytes.len() {
            return Ok(());
        }
        Err(RecordError::Trailing { record: self.record, at: self.at, length: self.bytes.len() })
    }

    fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], RecordError> {
        Ok(*self.take(field, N)?.first_chunk().expect("as many bytes were taken"))
    }

    fn take(&mut self, field: &'static str, count: usize) -> Result<&'a [u8], RecordError> {
        let (at, length) = (self.at, self.bytes.len());
        let short = RecordError::Short { record: self.record, field, at, length };
        let (taken, _) = self.bytes[at..].split_at_checked(count).ok_or(short)?;
        self.at += count;
        Ok(taken)
    }
}
