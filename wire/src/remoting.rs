//! What travels between RocketMQ's clients and us.
//!
//! A connection carries [`frame`]s: a length, a header in one of two dialects and a body. A header is a
//! [`Command`]: a [`code`], a number that joins answer and request, and named [`Fields`]. What the fields of
//! a verb mean is said in that verb's file, from text to type and back; so are the bodies, JSON in the
//! dialect of RocketMQ's own library (see [`json`]).
//!
//! Nothing here decides what to answer: a field that cannot be read is a [`FieldError`] that names it, a
//! frame that cannot be read a [`DecodeError`], after which the stream of bytes is lost.

pub mod ack;
pub mod admin;
pub mod assignment;
pub mod batch;
pub mod client_config;
pub mod cluster;
pub mod code;
pub mod consumers;
pub mod fields;
pub mod frame;
pub mod group;
pub mod heartbeat;
pub mod json;
pub mod language;
pub mod lock;
pub mod notify;
pub mod offset;
pub mod pending;
pub mod pop;
pub mod pull;
pub mod query;
pub mod recall;
pub mod register;
pub mod reply;
pub mod route;
pub mod running;
pub mod send;
pub mod send_back;
pub mod topic;
pub mod transaction;
pub mod unregister;

pub use code::{RequestCode, ResponseCode};
pub use fields::{FieldError, Fields};
pub use frame::{Command, DecodeError, Serialize, VERSION};
pub use json::BodyError;
pub use language::Language;

#[cfg(test)]
mod tests;
