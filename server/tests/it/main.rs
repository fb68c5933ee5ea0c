//! The binary from outside, and the house rules that only the whole workspace shows.

mod client;
mod process;
mod serve;
mod tidy;
