//! RocketMQ's gRPC protocol, version 2, as Rust: messages, and both ends of `MessagingService`.
//!
//! All of it is generated from `apache/rocketmq/v2/*.proto` beside this room. The proxy serves the one end;
//! tests call the other. Nobody else waits for this room to compile, and it decides nothing.

/// The package `apache.rocketmq.v2`: messages, enums, [`v2::messaging_service_server`] and
/// [`v2::messaging_service_client`].
#[allow(
    missing_docs,
    clippy::all,
    clippy::pedantic,
    reason = "generated code answers to its generator; what it trips changes with each version, so nothing is expected"
)]
pub mod v2 {
    include!(concat!(env!("OUT_DIR"), "/apache.rocketmq.v2.rs"));
}
