//! What goes wrong with the files of the indexes.

use std::io;

use env::Disk;

/// Why a file of an index was not written or read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The device's or the operator's, passing as far as can be known.
    #[error("{doing} {file}")]
    Io {
        /// What was attempted.
        doing: &'static str,
        /// On which file.
        file: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The device's: the kernel may have dropped what was written. The process must stop.
    #[error("syncing {file}")]
    Sync {
        /// The file.
        file: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The operator's: bytes that were durable once are not what was written.
    #[error("{file}, {length} bytes: {found}, expected {expected}")]
    Damaged {
        /// The file.
        file: String,
        /// Its bytes.
        length: u64,
        /// What should stand there.
        expected: &'static str,
        /// What stands there.
        found: &'static str,
    },
}

pub(crate) fn io(doing: &'static str, file: &str) -> impl Fn(io::Error) -> FileError {
    let file = file.to_owned();
    move |source| FileError::Io { doing, file: file.clone(), source }
}

pub(crate) fn sync(file: &str) -> impl FnOnce(io::Error) -> FileError {
    let file = file.to_owned();
    move |source| FileError::Sync { file, source }
}

pub(crate) fn damaged(file: &str, length: u64, expected: &'static str, found: &'static str) -> FileError {
    FileError::Damaged { file: file.to_owned(), length, expected, found }
}

/// Reads a whole file.
pub(crate) fn whole(disk: &dyn Disk, file: &str) -> Result<Vec<u8>, FileError> {
    let length = disk.len(file).map_err(io("measuring", file))?;
    let mut bytes = vec![0; usize::try_from(length).expect("a file of an index fits memory")];
    let have = disk.read_at(file, 0, &mut bytes).map_err(io("reading", file))?;
    bytes.truncate(have);
    Ok(bytes)
}
