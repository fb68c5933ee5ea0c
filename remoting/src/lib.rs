//! The TCP front: RocketMQ's remoting protocol.
//!
//! A connection's bytes become commands ([`wire::remoting`]); a command becomes a question to the
//! [`service`], one file a verb; what comes back becomes an answer. [`serve_connection`] does this for one
//! stream, whoever accepted it and whether or not it is wrapped in TLS. Every code is served on every port.
//!
//! All that a connection holds is bounded: requests being answered, bytes to be written, bytes of a frame.
//! Beyond a bound it stops reading, and the client's own send buffer fills up. One task serves a connection,
//! requests and answers alike: requests reach the service in the order they came, and when the connection is
//! gone, so are its questions, which takes back those that wait for messages.
//!
//! This room decides nothing about messages: each refusal of the service has its code here, and its text is
//! the refusal's own. It knows no file, no clock but for timeouts, and no other front.

mod ack;
mod admin;
mod answer;
mod assignment;
mod call;
mod caller;
mod client_config;
mod cluster;
mod connection;
mod consumers;
mod dispatch;
mod end_transaction;
mod group;
mod heartbeat;
mod lock;
mod notify;
mod offset;
mod pop;
mod pull;
mod query;
mod recall;
mod reply;
mod route;
mod send;
mod send_back;
mod settings;
mod topic;
mod unregister;

pub use connection::serve_connection;
pub use settings::{Network, Settings};
pub use topic::config as topic_config;

#[cfg(test)]
mod tests;
