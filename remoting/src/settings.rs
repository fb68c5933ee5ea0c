//! What a port is set to.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use wire::remoting::frame;

/// Settings of the connections of a port.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The address that clients reach the broker at; offset message ids hold it.
    pub store_host: SocketAddr,
    /// The address by which clients of this port are told to reach that broker; another one on the proxy's port,
    /// which tells them its own.
    pub route_host: SocketAddr,
    /// The region told to producers.
    pub region: String,
    /// Whether producers shall trace.
    pub trace_on: bool,
    /// Whether a send may make the topic it names.
    pub auto_create_topics: bool,
    /// Queues of a topic made by a send, at most.
    pub default_topic_queues: u32,
    /// Whether a message's kind must be its topic's: on the proxy's port.
    pub check_kind: bool,
    /// Who may administer, besides this machine.
    pub admin_networks: Vec<Network>,
    /// Requests of one connection that are answered at a time, at most; those that wait for messages count.
    pub in_flight_max: usize,
    /// Bytes of one connection that wait to be written, beyond which it is not read from.
    pub outbox_bytes_max: usize,
    /// Bytes of one connection's answers that wait to be written, beyond which an answer with a large body is not given:
    /// a pull is told to ask again at once, any other request that the server is busy. One answer always fits.
    pub answer_bytes_max: usize,
    /// Bytes of a frame at most.
    pub frame_bytes_max: usize,
    /// How long a connection may be silent on both sides.
    pub idle_max: Duration,
    /// How long a connection may go on with what it has been asked once the server shuts down.
    pub drain_max: Duration,
}

impl Settings {
    /// The defaults, for a broker at that address. Peer: `BrokerConfig`, `NettyServerConfig` (RocketMQ 5.x).
    pub fn new(store_host: SocketAddr) -> Self {
        Self {
            store_host,
            route_host: store_host,
            region: "DefaultRegion".to_owned(),
            trace_on: true,
            auto_create_topics: true,
            default_topic_queues: 8,
            check_kind: false,
            admin_networks: Vec::new(),
            in_flight_max: 1024,
            outbox_bytes_max: 4 << 20,
            answer_bytes_max: 64 << 20,
            frame_bytes_max: frame::MAX_BYTES,
            idle_max: Duration::from_mins(2),
            drain_max: Duration::from_secs(1),
        }
    }

    /// Whether somebody at that address may administer.
    pub(crate) fn may_administer(&self, address: IpAddr) -> bool {
        address.is_loopback() || self.admin_networks.iter().any(|network| network.holds(address))
    }
}

/// The addresses that share their first bits with one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// One of them.
    pub address: IpAddr,
    /// How many bits they share.
    pub bits: u8,
}

impl Network {
    /// Whether `address` is one of them; those of the other family never are.
    pub fn holds(&self, address: IpAddr) -> bool {
        let same = |differing_zeros: u32| differing_zeros >= u32::from(self.bits);
        match (self.address, address) {
            (IpAddr::V4(ours), IpAddr::V4(theirs)) => {
                same((ours.to_bits() ^ theirs.to_bits()).leading_zeros())
            }
            (IpAddr::V6(ours), IpAddr::V6(theirs)) => {
                same((ours.to_bits() ^ theirs.to_bits()).leading_zeros())
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_holds_what_shares_its_bits() {
        let network = |address: &str, bits| Network { address: address.parse().unwrap(), bits };
        let holds = |network: Network, address: &str| network.holds(address.parse().unwrap());
        assert!(holds(network("10.1.0.0", 16), "10.1.255.3"));
        assert!(!holds(network("10.1.0.0", 16), "10.2.0.0"));
        assert!(holds(network("10.1.2.3", 32), "10.1.2.3"));
        assert!(!holds(network("10.1.2.3", 32), "10.1.2.2"));
        assert!(holds(network("0.0.0.0", 0), "1.2.3.4"));
        assert!(!holds(network("0.0.0.0", 0), "::1"));
        assert!(holds(network("fd00::", 8), "fdff::1"));
    }
}
