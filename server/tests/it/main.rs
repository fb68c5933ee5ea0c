//! The binary from outside, and the house rules that only the whole workspace shows.

#![expect(clippy::unwrap_used, reason = "all of it is tests, their helpers too")]

mod client;
mod process;
mod serve;
mod tidy;
mod tls;
