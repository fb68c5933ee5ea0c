//! What the server may set of this front.

use std::time::Duration;

/// What the server may set. The defaults are RocketMQ's where it has one.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What clients are told to connect to where their call does not say how they reach us; `None` for the
    /// address their connection came to.
    pub advertised: Option<Host>,
    /// The largest body taken, in bytes; told to producers, who refuse larger ones by themselves. The
    /// broker's own limit holds besides. Peer: `maxMessageSize`.
    pub body_max: usize,
    /// User's properties of a message at most. Peer: `userPropertyMaxNum`.
    pub properties_max: usize,
    /// Bytes of a message's user properties, tag and keys at most. Peer: `maxUserPropertySize`.
    pub property_bytes_max: usize,
    /// Whether a message's kind must be its topic's. Peer: `enableTopicMessageTypeCheck`.
    pub check_kind: bool,
    /// Whether a delivery time becomes the delay level that is just longer. Peer: `useDelayLevel`.
    pub use_delay_level: bool,
    /// The shortest lease a receive may ask for. Peer: `minInvisibleTimeMillsForRecv`.
    pub lease_min: Duration,
    /// The longest lease, by receive or by change. Peer: `maxInvisibleTimeMills`.
    pub lease_max: Duration,
    /// The lease of a receive that leaves it to the server. Peer: `defaultInvisibleTimeMills`.
    pub lease_auto: Duration,
    /// How long a receive waits at most. Peer: `grpcClientConsumerMaxLongPollingTimeoutMillis`.
    pub poll_max: Duration,
    /// How long push consumers are told to let a receive wait, in whole seconds. They do so again and again,
    /// and to close one is to wait for its last: that is why it is shorter than the longest.
    pub poll_push: Duration,
    /// Clients known at once at most; one beyond is refused its telemetry stream.
    pub clients_max: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            advertised: None,
            body_max: 4 << 20,
            properties_max: 128,
            property_bytes_max: 16 << 10,
            check_kind: true,
            use_delay_level: false,
            lease_min: Duration::from_secs(10),
            lease_max: Duration::from_hours(12),
            lease_auto: Duration::from_mins(1),
            poll_max: Duration::from_secs(20),
            poll_push: Duration::from_secs(15),
            clients_max: 10_000,
        }
    }
}

/// A host, by name or address, and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Its name or address; an IPv6 address without brackets.
    pub name: String,
    /// The port.
    pub port: u16,
}
