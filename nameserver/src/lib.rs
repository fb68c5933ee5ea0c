//! Who serves which topic.
//!
//! Brokers register what they serve; clients ask where a topic lies. One broker lives in this process and
//! registers whenever its topics change, so that a topic has a route before its maker hears that it exists.
//!
//! This room knows no message, no offset and no file: what it holds is told to it again after a start.

mod route;

pub use route::{BrokerAddress, BrokerData, NameServer, QueueData, Route};
