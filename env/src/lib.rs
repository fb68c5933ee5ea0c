//! What may be asked of the world: a [`Disk`], a [`Seed`]; for the driver only the [`Clock`] and the [real-time class](realtime).
//!
//! The engine keeps its files through [`Disk`] alone, so that a simulated disk can lose, tear and fail
//! what a real one can. A disk is a flat folder of named files: no paths come from outside, a name
//! is `[a-z0-9._-]+`. All calls block; the engine thread itself calls only [`Disk::write_at`] of what it
//! appended, everything slower is handed out as work.
//!
//! This room knows no record, no message and no protocol.

mod clock;
mod disk;
mod file_disk;
mod name;
pub mod realtime;
mod seed;
mod sim_disk;
mod span;

pub use clock::{Clock, SystemClock};
pub use disk::Disk;
pub use file_disk::{FileDisk, LockError};
pub use seed::Seed;
pub use sim_disk::{Fault, SimDisk};
pub use span::{Span, read_spans};
