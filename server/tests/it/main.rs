//! The binary from outside, and the house rules that only the whole workspace shows.

mod tidy;
