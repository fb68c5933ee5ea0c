//! The front with a real engine behind it and a real gRPC client before it, in one process.
//!
//! The engine runs on a simulated disk and a clock that the test moves, so nothing here sleeps until a due time.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod calls;
mod engine;
mod future;
mod leases;
mod messages;
mod offsets;
mod transactions;
mod world;
