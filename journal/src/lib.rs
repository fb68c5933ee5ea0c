//! The one log: every change of the server is a record here, and everything else is derived from it.
//!
//! Records stand one behind the other in an endless run of bytes, cut into segment files. A record's place
//! in that run, its log offset, is its identity. [`Log::append`] puts a record into memory, where it can be
//! read at once; [`Log::write`] hands it to the system, where it outlives the process; a [`Job`] that another
//! thread runs syncs it, after which it outlives a loss of power. One job covers all that was written since
//! the last, so many callers share one sync. The engine's thread never waits for any of this.
//!
//! [`Log::open`] reads back what is there. A life of the server that ended in the middle of a write leaves a
//! torn tail, which is cut; bytes that are wrong where they are known to have been durable are corruption,
//! and the log does not open. How the two are told apart is said in `recover.rs`; the layout of the bytes
//! stands in `record.rs` and `segment.rs`.
//!
//! A failed sync poisons the log: the kernel may have dropped what was written and call it clean, so only a
//! new start, which writes the doubtful tail again, can be believed.
//!
//! This room knows no message, no topic, no time: a payload is bytes, and `due_ms` is carried, not read.

mod error;
mod frontier;
mod job;
mod log;
mod note;
mod reader;
mod record;
mod recover;
mod segment;
mod tail;

pub use error::{OpenError, ReadError, SyncFailed, WriteError};
pub use job::{Job, JobDone, PrepareJob, RemoveJob, SyncJob};
pub use log::{Log, Options};
pub use reader::Reader;
pub use record::{Extent, Header, Kind, Record};
pub use recover::Recovery;
