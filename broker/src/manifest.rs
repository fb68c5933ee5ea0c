//! The manifest: which files of a checkpoint belong together, and where in the log it was.
//!
//! `manifest-<generation>` is written beside its predecessor under another name, synced, and renamed: one that is
//! there is whole, or damaged. All files it names are durable before it is. A start believes the newest one,
//! removes what it does not name, and cuts what is longer than it says.
//!
//! | bytes | field | meaning |
//! |------:|-------|---------|
//! | 8 | magic | `DueMQman` |
//! | 4 | format | 1 |
//! | 4 | crc | CRC-32 (IEEE) of all behind |
//! | 8 | generation | of this manifest and of its `state-<generation>` |
//! | 8 | checkpoint | every record of the log before this place is told by these files |
//! | 4 | epoch | of the log's last record before the checkpoint |
//! | 8 | written at | ms since the epoch |
//! | 8 | state bytes | of the state file |
//! | 4 + 24 × n | queues | of each `queues-<generation>`, oldest first: generation, bytes, end of what it tells of |
//! | 4 + 24 × n | keys | of each `keys-<generation>` |
//! | 4 + 24 × n | pending keys | of each `pending-<generation>` |
//! | 4 + 16 × n | ages | places of the log, and by when (ms since the epoch) all before each was there |
//! | … | timer | the timer's catalog |

use crate::state::Reader;
use env::Disk;
use journal::OpenError;
use model::{LogOffset, Timestamp};
use std::collections::BTreeMap;
use std::sync::Arc;
use timer::Catalog;

const MAGIC: &[u8; 8] = b"DueMQman";
const FORMAT: u32 = 1;
const HEAD_BYTES: usize = 16;
const PREFIX: &str = "manifest-";
/// What a manifest is called until it is whole.
pub(crate) const NEW: &str = "manifest.new";

/// A file that is never changed once it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndexFile {
    pub(crate) generation: u64,
    pub(crate) bytes: u64,
    /// It tells of no record of the log from here on.
    pub(crate) to: LogOffset,
}

/// Kinds of [`IndexFile`]: the beginnings of their names.
pub(crate) const STATE: &str = "state-";
pub(crate) const QUEUES: &str = "queues-";
pub(crate) const KEYS: &str = "keys-";
pub(crate) const PENDING: &str = "pending-";

/// The name of a file of a kind.
pub(crate) fn name(kind: &str, generation: u64) -> String {
    format!("{kind}{generation:020}")
}

/// A checkpoint that stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Manifest {
    pub(crate) generation: u64,
    pub(crate) checkpoint: LogOffset,
    pub(crate) epoch: u32,
    pub(crate) written_at: Timestamp,
    pub(crate) state_bytes: u64,
    pub(crate) queues: Vec<IndexFile>,
    pub(crate) keys: Vec<IndexFile>,
    pub(crate) pending: Vec<IndexFile>,
    /// Places of the log, ascending, and by when all before each was there.
    pub(crate) ages: Vec<(LogOffset, Timestamp)>,
    pub(crate) timer: Arc<Catalog>,
}

impl Manifest {
    /// The newest manifest there is; `None` where there is none.
    pub(crate) fn read(disk: &dyn Disk) -> Result<Option<Self>, OpenError> {
        let names = disk.list().map_err(io("listing", "the data folder"))?;
        let Some(file) = names.iter().rev().find(|name| name.starts_with(PREFIX)) else { return Ok(None) };
        let bytes = read_file(disk, file)?;
        Self::decode(&bytes)
            .filter(|manifest| name(PREFIX, manifest.generation) == *file)
            .map(Some)
            .ok_or_else(|| damaged(file, "a manifest of format 1", "another, or one with another checksum"))
    }

    /// Makes the folder what this manifest says: removes files of checkpoints that it does not name, and cuts those of
    /// the timer. Where nothing is there yet, all such files go.
    pub(crate) fn tidy(&self, disk: &dyn Disk) -> Result<(), OpenError> {
        let mut named: BTreeMap<String, u64> = self.files().collect();
        for file in disk.list().map_err(io("listing", "the data folder"))? {
            match named.remove(&file) {
                Some(bytes) => {
                    let length = disk.len(&file).map_err(io("measuring", &file))?;
                    if length < bytes || (length > bytes && !timer::is_timer_file(&file)) {
                        let (expected, found) = (format!("{bytes} bytes"), format!("{length}"));
                        return Err(OpenError::Corrupt { file, at: length, expected, found });
                    }
                    if length > bytes {
                        disk.set_len(&file, bytes).map_err(io("cutting", &file))?;
                    }
                }
                None if is_own(&file) && file != self.file() => {
                    disk.remove(&file).map_err(io("removing", &file))?;
                }
                None => {}
            }
        }
        match named.pop_first() {
            None => Ok(()),
            Some((file, bytes)) => Err(damaged(&file, &format!("{bytes} bytes"), "no such file")),
        }
    }

    /// Writes it and makes it durable, in place of its predecessors; what it names is durable already. Blocks.
    pub(crate) fn write(&self, disk: &dyn Disk) -> Result<(), WriteError> {
        let (bytes, file) = (self.encode(), self.file());
        let failed = |doing| move |source| WriteError::Io { doing, file: NEW.to_owned(), source };
        match disk.remove(NEW) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(failed("removing")(error));
            }
            _ => {}
        }
        disk.write_at(NEW, 0, &bytes).map_err(failed("writing"))?;
        disk.sync(NEW).map_err(|source| WriteError::Sync { file: NEW.to_owned(), source })?;
        disk.rename(NEW, &file).map_err(failed("renaming"))?;
        disk.sync_folder().map_err(|source| WriteError::Sync { file: "the data folder".to_owned(), source })
    }

    /// Removes what it does not name. A file that cannot be removed is left for the next time.
    pub(crate) fn remove_others(&self, disk: &dyn Disk) {
        let named: BTreeMap<String, u64> = self.files().collect();
        let others = disk.list().unwrap_or_default().into_iter();
        for file in others.filter(|file| is_own(file) && *file != self.file() && !named.contains_key(file)) {
            let _ = disk.remove(&file);
        }
    }

    fn file(&self) -> String {
        name(PREFIX, self.generation)
    }

    /// The files it names, with their bytes.
    pub(crate) fn files(&self) -> impl Iterator<Item = (String, u64)> + '_ {
        let kinds = [(QUEUES, &self.queues), (KEYS, &self.keys), (PENDING, &self.pending)];
        let indexes = kinds.into_iter().flat_map(|(kind, files)| {
            files.iter().map(move |file| (name(kind, file.generation), file.bytes))
        });
        let state = (self.generation > 0).then(|| (name(STATE, self.generation), self.state_bytes));
        indexes.chain(state).chain(self.timer.files())
    }

    fn encode(&self) -> Vec<u8> {
        let mut into = Vec::from(MAGIC);
        into.extend_from_slice(&FORMAT.to_le_bytes());
        into.extend_from_slice(&[0; 4]);
        into.extend_from_slice(&self.generation.to_le_bytes());
        into.extend_from_slice(&self.checkpoint.0.to_le_bytes());
        into.extend_from_slice(&self.epoch.to_le_bytes());
        into.extend_from_slice(&self.written_at.as_millis().to_le_bytes());
        into.extend_from_slice(&self.state_bytes.to_le_bytes());
        for files in [&self.queues, &self.keys, &self.pending] {
            into.extend_from_slice(&u32::try_from(files.len()).expect("files are few").to_le_bytes());
            for file in files {
                into.extend_from_slice(&file.generation.to_le_bytes());
                into.extend_from_slice(&file.bytes.to_le_bytes());
                into.extend_from_slice(&file.to.0.to_le_bytes());
            }
        }
        into.extend_from_slice(&u32::try_from(self.ages.len()).expect("segments are few").to_le_bytes());
        for (place, at) in &self.ages {
            into.extend_from_slice(&place.0.to_le_bytes());
            into.extend_from_slice(&at.as_millis().to_le_bytes());
        }
        self.timer.encode(&mut into);
        let crc = crc32fast::hash(&into[HEAD_BYTES..]);
        into[12..HEAD_BYTES].copy_from_slice(&crc.to_le_bytes());
        into
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (head, rest) = bytes.split_first_chunk::<HEAD_BYTES>()?;
        let crc = crc32fast::hash(rest).to_le_bytes();
        if head[..8] != *MAGIC || head[8..12] != FORMAT.to_le_bytes() || head[12..16] != crc {
            return None;
        }
        let mut from = Reader(rest);
        let mut manifest = Self {
            generation: from.u64()?,
            checkpoint: LogOffset(from.u64()?),
            epoch: from.u32()?,
            written_at: Timestamp::from_millis(from.i64()?),
            state_bytes: from.u64()?,
            ..Self::default()
        };
        for files in [&mut manifest.queues, &mut manifest.keys, &mut manifest.pending] {
            for _ in 0..from.u32()? {
                let (generation, bytes) = (from.u64()?, from.u64()?);
                files.push(IndexFile { generation, bytes, to: LogOffset(from.u64()?) });
            }
        }
        for _ in 0..from.u32()? {
            manifest.ages.push((LogOffset(from.u64()?), Timestamp::from_millis(from.i64()?)));
        }
        manifest.timer = Arc::new(Catalog::decode(from.0)?);
        Some(manifest)
    }
}

/// Why a manifest was not written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteError {
    /// Passing, as far as can be known.
    #[error("{doing} {file}")]
    Io {
        doing: &'static str,
        file: String,
        #[source]
        source: std::io::Error,
    },
    /// The process must stop.
    #[error("syncing {file}")]
    Sync {
        file: String,
        #[source]
        source: std::io::Error,
    },
}

fn is_own(file: &str) -> bool {
    let kinds = [PREFIX, STATE, QUEUES, KEYS, PENDING];
    file == NEW || timer::is_timer_file(file) || kinds.iter().any(|kind| file.starts_with(kind))
}

/// Reads a whole file.
pub(crate) fn read_file(disk: &dyn Disk, file: &str) -> Result<Vec<u8>, OpenError> {
    let length = disk.len(file).map_err(io("measuring", file))?;
    let mut bytes = vec![0; usize::try_from(length).expect("such a file fits memory")];
    let have = disk.read_at(file, 0, &mut bytes).map_err(io("reading", file))?;
    bytes.truncate(have);
    Ok(bytes)
}

pub(crate) fn damaged(file: &str, expected: &str, found: &str) -> OpenError {
    let (expected, found) = (expected.to_owned(), found.to_owned());
    OpenError::Corrupt { file: file.to_owned(), at: 0, expected, found }
}

pub(crate) fn io(doing: &'static str, file: &str) -> impl FnOnce(std::io::Error) -> OpenError {
    let file = file.to_owned();
    move |source| OpenError::Io { doing, file, source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::{Fault, SimDisk};

    fn file(generation: u64, bytes: u64) -> IndexFile {
        IndexFile { generation, bytes, to: LogOffset(9) }
    }

    fn manifest(generation: u64) -> Manifest {
        Manifest {
            generation,
            checkpoint: LogOffset(77),
            epoch: 3,
            written_at: Timestamp::from_millis(5),
            state_bytes: 2,
            queues: vec![file(1, 3), file(2, 4)],
            keys: Vec::new(),
            pending: vec![file(2, 1)],
            ages: vec![(LogOffset(70), Timestamp::from_millis(4))],
            timer: Arc::default(),
        }
    }

    fn disk_of(manifest: &Manifest) -> SimDisk {
        let disk = SimDisk::new(1);
        for (file, bytes) in manifest.files() {
            disk.write_at(&file, 0, &vec![1; bytes as usize]).unwrap();
        }
        disk
    }

    #[test]
    fn the_newest_one_is_read_back() {
        let disk = SimDisk::new(1);
        assert_eq!(Manifest::read(&disk).unwrap(), None);
        for generation in [9, 10, 11] {
            manifest(generation).write(&disk).unwrap();
            assert_eq!(Manifest::read(&disk).unwrap(), Some(manifest(generation)));
        }
        disk.write_at(NEW, 0, b"half of one").unwrap();
        assert_eq!(Manifest::read(&disk).unwrap(), Some(manifest(11)));
    }

    #[test]
    fn a_damaged_one_is_told_and_none_older_is_believed() {
        let length = manifest(2).encode().len() as u64;
        for byte in 0..length {
            let disk = SimDisk::new(1);
            manifest(1).write(&disk).unwrap();
            manifest(2).write(&disk).unwrap();
            disk.inject(Fault::FlipBit { file: manifest(2).file(), byte });
            assert!(matches!(Manifest::read(&disk), Err(OpenError::Corrupt { .. })), "byte {byte}");
        }
    }

    #[test]
    fn what_it_does_not_name_is_removed_and_what_is_missing_is_told() {
        let manifest = manifest(2);
        let disk = disk_of(&manifest);
        manifest.write(&disk).unwrap();
        for other in [
            "queues-00000000000000000009",
            "timer-000000000000000-00000000.idx",
            "manifest.new",
            "log-durable",
        ] {
            disk.write_at(other, 0, b"x").unwrap();
        }
        manifest.tidy(&disk).unwrap();
        let mut left: Vec<String> = manifest.files().map(|(file, _)| file).collect();
        left.extend([manifest.file(), "log-durable".to_owned()]);
        left.sort();
        assert_eq!(disk.list().unwrap(), left);
        for (file, bytes) in manifest.files() {
            let disk = disk_of(&manifest);
            disk.set_len(&file, bytes + 1).unwrap();
            assert!(manifest.tidy(&disk).is_err(), "{file} is longer");
            disk.remove(&file).unwrap();
            assert!(manifest.tidy(&disk).is_err(), "{file} is missing");
        }
    }
}
