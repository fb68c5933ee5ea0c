//! What goes wrong with a bucket's files.

use std::io;

/// Why a bucket was not written or read. What was committed before stands as it was.
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
    #[error("{file} at byte {at}: {found}, expected {expected}")]
    Damaged {
        /// The file.
        file: String,
        /// Where in it, in bytes.
        at: u64,
        /// What should stand there.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// A message could not be copied out of the log.
    #[error("copying a pending message out of the log")]
    Log(#[from] journal::ReadError),
}

pub(crate) fn io(doing: &'static str, file: &str) -> impl FnOnce(io::Error) -> FileError {
    let file = file.to_owned();
    move |source| FileError::Io { doing, file, source }
}

pub(crate) fn sync(file: &str) -> impl FnOnce(io::Error) -> FileError {
    let file = file.to_owned();
    move |source| FileError::Sync { file, source }
}
