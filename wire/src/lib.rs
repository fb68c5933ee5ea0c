//! Bytes to nouns and back.
//!
//! Two families live here. [`remoting`] is what travels between RocketMQ's clients and us: frames, request
//! and response headers (one file a verb), JSON bodies. The rest is what a message looks like wherever it
//! lies: its [`stored`] layout, its ids and handles, and the payloads of the log's [`record`]s.
//!
//! This room knows no socket, no file and no moment but those in the bytes; it decides nothing.

pub mod message_id;
pub mod property;
pub mod recall_handle;
pub mod receipt_handle;
pub mod record;
pub mod remoting;
pub mod stored;
pub mod sys_flag;
pub mod tag;

pub use receipt_handle::ReceiptHandle;
