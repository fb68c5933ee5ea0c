//! Who serves which topic.
//!
//! Brokers register what they serve; clients ask where a topic lies. One broker lives in this process: it is
//! here for as long as the process, and what it serves is told at each change, so that a topic has a route before
//! its maker hears that it exists. Every other broker is foreign: it registers over a connection, and is gone once
//! that is closed or once it has been silent for too long.
//!
//! This room knows no message, no offset and no file: what it holds is told to it again after a start. It is told
//! the time, and what a foreign broker can make it hold is limited.

mod foreign;
mod route;

pub use foreign::{Departed, Member, RegisterError, Registered, Registration, TopicsVersion};
pub use route::{BrokerAddress, BrokerData, NameServer, QueueData, Queues, Route};

#[cfg(test)]
mod tests;
