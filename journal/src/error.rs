//! What goes wrong with the log, one type for each thing that can be asked of it.

use std::io;

/// Why the log does not open. What stands in it was not changed, but for tails written again unchanged.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The operator's: bytes that were durable once are not what was written.
    #[error(
        "{file} at byte {at}: {found}, expected {expected}; nothing was changed: copy the data folder as it is, then \
         put a backup in its place"
    )]
    Corrupt {
        /// The segment file, or the one that is missing.
        file: String,
        /// Where in the file, in bytes.
        at: u64,
        /// What should stand there.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// The operator's: a newer build wrote this log.
    #[error("{file} is of format {found}, this build reads up to {known}")]
    NewerFormat {
        /// The segment file.
        file: String,
        /// Its format.
        found: u16,
        /// The newest format this build reads.
        known: u16,
    },
    /// The device's or the operator's: the system refused.
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
}

/// Why appended records were not written. They stay in memory.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Ours, final until the log is opened again.
    #[error("a sync of the log failed earlier, nothing is written until it is opened again")]
    Poisoned,
    /// Passing, as far as can be known: the next [`crate::Log::write`] tries again.
    #[error("writing {file} at byte {at}")]
    Io {
        /// The segment file.
        file: String,
        /// Where in the file, in bytes.
        at: u64,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// A sync failed: the process must stop, and the next start recovers.
#[derive(Debug, thiserror::Error)]
#[error("syncing {file}: the kernel may have dropped what was written, so the log refuses writes")]
pub struct SyncFailed {
    /// The file, or the data folder.
    pub file: String,
    /// What the system said.
    #[source]
    pub source: io::Error,
}

/// Why a payload was not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The bytes are not the record asked for: damaged, or the place never was a record's.
    #[error("{file} at byte {at}: {found}, expected {expected}")]
    Corrupt {
        /// The segment file.
        file: String,
        /// Where in the file, in bytes.
        at: u64,
        /// What should stand there.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// The system refused; [`io::ErrorKind::NotFound`] where the segment was removed.
    #[error("reading {file} at byte {at}")]
    Io {
        /// The segment file.
        file: String,
        /// Where in the file, in bytes.
        at: u64,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}
