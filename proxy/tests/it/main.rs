//! The front with a real engine behind it and a real gRPC client before it, in one process.
//!
//! The engine runs on a simulated disk and a clock that the test moves, so nothing here sleeps until a due time.

mod calls;
mod engine;
mod messages;
mod world;
