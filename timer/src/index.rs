//! Reading a bucket's index file, on any thread.

use std::collections::{HashSet, VecDeque};
use std::ops::ControlFlow;

use env::Disk;
use model::Timestamp;

use crate::Entry;
use crate::catalog::Bucket;
use crate::chunk::{self, ENTRY_BYTES, HEADER_BYTES, Header, Items, TOMBSTONE_BYTES};
use crate::entry::Key;
use crate::error::{FileError, io};

/// Reads what waits in a bucket as far as its files tell: its entries, without those that have tombstones, sorted.
pub(crate) fn read(bucket: &Bucket, disk: &dyn Disk) -> Result<Vec<Entry>, FileError> {
    let file = bucket.index_file();
    let mut bytes = vec![0; usize::try_from(bucket.index_bytes).expect("an index fits memory")];
    let read = disk.read_at(&file, 0, &mut bytes).map_err(io("reading", &file))?;
    if read < bytes.len() {
        return Err(short(file, read as u64, bucket.index_bytes));
    }
    let mut entries = Vec::with_capacity(bucket.entries as usize);
    let mut tombstones = HashSet::new();
    let mut at = 0;
    while at < bytes.len() {
        let header = Header::decode(&bytes[at..]).filter(|h| h.chunk_bytes() <= (bytes.len() - at) as u64);
        let Some(header) = header else { return Err(damaged(file, at as u64, "no chunk begins there")) };
        let end = at + header.chunk_bytes() as usize;
        if crc32fast::hash(&bytes[at + 4..end]) != header.crc {
            return Err(damaged(file, at as u64, "a chunk with another checksum"));
        }
        let items = &bytes[at + HEADER_BYTES..end];
        match header.items {
            Items::Entries => entries.extend(items.chunks_exact(ENTRY_BYTES).map(chunk::entry)),
            Items::Tombstones => tombstones.extend(items.chunks_exact(TOMBSTONE_BYTES).map(chunk::tombstone)),
        }
        at = end;
    }
    if !tombstones.is_empty() {
        entries.retain(|entry| !tombstones.contains(&entry.key()));
    }
    entries.sort_unstable_by_key(Entry::key);
    Ok(entries)
}

/// Looks for one entry in a bucket; `None` where it is not there or has a tombstone. Reads little of the file.
pub(crate) fn find(bucket: &Bucket, key: Key, disk: &dyn Disk) -> Result<Option<Entry>, FileError> {
    let mut found = None;
    for mut chunk in chunks(bucket, disk)?.into_iter().filter(|chunk| chunk.may_hold(key)) {
        chunk.seek(key, disk)?;
        match chunk.first(disk, 1)? {
            Some(&(at, entry)) if at == key => match entry {
                Some(entry) => found = Some(entry),
                None => return Ok(None),
            },
            _ => {}
        }
    }
    Ok(found)
}

/// Items read at a time by a walk.
const PART: u32 = 1024;

/// Gives each entry of a bucket from `from` on and due by `until`, in order and without those that have tombstones,
/// until `each` breaks. Reads no more of the file than that takes.
pub(crate) fn walk(
    bucket: &Bucket,
    from: Key,
    until: Timestamp,
    disk: &dyn Disk,
    each: &mut dyn FnMut(&Entry) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, FileError> {
    let mut chunks = chunks(bucket, disk)?;
    for chunk in &mut chunks {
        chunk.seek(from, disk)?;
    }
    loop {
        let mut next: Option<Key> = None;
        for chunk in &mut chunks {
            let first = chunk.first(disk, PART)?.map(|(key, _)| *key);
            next = next.into_iter().chain(first).min();
        }
        let Some(key) = next.filter(|key| key.0 <= until) else { return Ok(ControlFlow::Continue(())) };
        let (mut entry, mut has_left) = (None, false);
        for chunk in &mut chunks {
            if let Some((_, item)) = chunk.items.pop_front_if(|(at, _)| *at == key) {
                has_left |= item.is_none();
                entry = item.or(entry);
            }
        }
        if let Some(entry) = entry.filter(|_| !has_left)
            && each(&entry).is_break()
        {
            return Ok(ControlFlow::Break(()));
        }
    }
}

/// A chunk of an index file, of which a part is read.
struct Chunk {
    file: String,
    header: Header,
    /// Where its items begin.
    begin: u64,
    /// Items that were read or passed over.
    passed: u32,
    /// What was read of them: entries, and tombstones by their keys alone.
    items: VecDeque<(Key, Option<Entry>)>,
}

/// The chunks of a bucket, oldest first. Reads their headers.
fn chunks(bucket: &Bucket, disk: &dyn Disk) -> Result<Vec<Chunk>, FileError> {
    let file = bucket.index_file();
    let (mut at, mut chunks) = (0, Vec::new());
    while at < bucket.index_bytes {
        let mut bytes = [0; HEADER_BYTES];
        read_exact(disk, &file, at, &mut bytes)?;
        let header = Header::decode(&bytes).filter(|h| at + h.chunk_bytes() <= bucket.index_bytes);
        let Some(header) = header else { return Err(damaged(file, at, "no chunk begins there")) };
        let (begin, items) = (at + HEADER_BYTES as u64, VecDeque::new());
        chunks.push(Chunk { file: file.clone(), header, begin, passed: 0, items });
        at += header.chunk_bytes();
    }
    Ok(chunks)
}

impl Chunk {
    /// Whether an item of that log offset may be in it.
    fn may_hold(&self, key: Key) -> bool {
        (self.header.from..self.header.to).contains(&key.1)
    }

    /// Passes over the items before `key`.
    fn seek(&mut self, key: Key, disk: &dyn Disk) -> Result<(), FileError> {
        let (mut low, mut high) = (self.passed, self.header.count);
        while low < high {
            let middle = low.midpoint(high);
            let (at, _) = self.read(middle, 1, disk)?[0];
            if at < key { low = middle + 1 } else { high = middle }
        }
        self.passed = low;
        Ok(())
    }

    /// Its next item, of which `part` are read at a time; `None` at its end.
    fn first(&mut self, disk: &dyn Disk, part: u32) -> Result<Option<&(Key, Option<Entry>)>, FileError> {
        if self.items.is_empty() {
            let count = part.min(self.header.count - self.passed);
            self.items = self.read(self.passed, count, disk)?.into();
            self.passed += count;
        }
        Ok(self.items.front())
    }

    fn read(&self, from: u32, count: u32, disk: &dyn Disk) -> Result<Vec<(Key, Option<Entry>)>, FileError> {
        let item_bytes = self.header.items.bytes();
        let mut bytes = vec![0; count as usize * item_bytes];
        read_exact(disk, &self.file, self.begin + u64::from(from) * item_bytes as u64, &mut bytes)?;
        Ok(bytes
            .chunks_exact(item_bytes)
            .map(|bytes| match self.header.items {
                Items::Entries => {
                    let entry = chunk::entry(bytes);
                    (entry.key(), Some(entry))
                }
                Items::Tombstones => (chunk::tombstone(bytes), None),
            })
            .collect())
    }
}

fn read_exact(disk: &dyn Disk, file: &str, at: u64, into: &mut [u8]) -> Result<(), FileError> {
    let read = disk.read_at(file, at, into).map_err(io("reading", file))?;
    if read < into.len() {
        return Err(short(file.to_owned(), at + read as u64, at + into.len() as u64));
    }
    Ok(())
}

fn short(file: String, at: u64, expected: u64) -> FileError {
    FileError::Damaged { file, at, expected: format!("{expected} bytes"), found: "the file's end".to_owned() }
}

fn damaged(file: String, at: u64, found: &str) -> FileError {
    FileError::Damaged { file, at, expected: "a chunk of the index".to_owned(), found: found.to_owned() }
}
