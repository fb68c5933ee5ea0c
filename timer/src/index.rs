//! Reading a bucket's index file, on any thread.

use std::collections::HashSet;

use env::Disk;

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
    let file = bucket.index_file();
    let (mut at, mut found) = (0, None);
    while at < bucket.index_bytes {
        let mut bytes = [0; HEADER_BYTES];
        read_exact(disk, &file, at, &mut bytes)?;
        let header = Header::decode(&bytes).filter(|h| at + h.chunk_bytes() <= bucket.index_bytes);
        let Some(header) = header else { return Err(damaged(file, at, "no chunk begins there")) };
        if (header.from..header.to).contains(&key.1) {
            let items = at + HEADER_BYTES as u64;
            match header.items {
                Items::Entries => {
                    let entry =
                        search(disk, &file, items, header.count, ENTRY_BYTES, key, chunk::entry, Entry::key)?;
                    found = entry.or(found);
                }
                Items::Tombstones => {
                    let count = header.count;
                    let tombstone =
                        search(disk, &file, items, count, TOMBSTONE_BYTES, key, chunk::tombstone, |key| {
                            *key
                        })?;
                    if tombstone.is_some() {
                        return Ok(None);
                    }
                }
            }
        }
        at += header.chunk_bytes();
    }
    Ok(found)
}

#[expect(clippy::too_many_arguments, reason = "two kinds of items, one search")]
fn search<T>(
    disk: &dyn Disk,
    file: &str,
    items: u64,
    count: u32,
    item_bytes: usize,
    key: Key,
    decode: impl Fn(&[u8]) -> T,
    key_of: impl Fn(&T) -> Key,
) -> Result<Option<T>, FileError> {
    let (mut low, mut high) = (0, u64::from(count));
    let mut bytes = [0; ENTRY_BYTES];
    while low < high {
        let middle = low.midpoint(high);
        read_exact(disk, file, items + middle * item_bytes as u64, &mut bytes[..item_bytes])?;
        let item = decode(&bytes);
        match key_of(&item).cmp(&key) {
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Equal => return Ok(Some(item)),
            std::cmp::Ordering::Greater => high = middle,
        }
    }
    Ok(None)
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
