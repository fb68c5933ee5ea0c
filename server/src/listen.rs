//! The ports: opened all together before anything else, then served each by its front.
//!
//! A connection is accepted only while there is room for one more; who comes beyond that waits in the kernel's
//! queue. What a client's first byte tells (TLS or not) is asked in the connection's own task, with a limit of
//! time, so that a silent client costs nobody else anything.

mod door;

#[cfg(test)]
use door::OpenError;
pub use door::{HTTP2, Io, open};

use crate::settings::{Ports, Settings};
use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// Connections the kernel keeps for us until they are accepted.
const BACKLOG: u32 = 1024;

/// How long to wait before the next try where the system has no more file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What lies behind a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// The name server, by remoting.
    NameServer,
    /// The broker, by remoting.
    Broker,
    /// The broker once more, two ports below: RocketMQ's «VIP channel».
    BrokerSecond,
    /// The proxy, by remoting: it tells clients no other port than itself. gRPC as well.
    Proxy,
    /// gRPC.
    Grpc,
}

impl Door {
    /// All of them, in the order they are told of.
    pub const ALL: [Self; 5] = [Self::NameServer, Self::Broker, Self::BrokerSecond, Self::Proxy, Self::Grpc];

    /// The setting that moves it.
    pub const fn key(self) -> &'static str {
        match self {
            Self::NameServer => "namesrv_port",
            Self::Broker | Self::BrokerSecond => "broker_port",
            Self::Proxy => "proxy_port",
            Self::Grpc => "grpc_port",
        }
    }

    /// The flag that moves it.
    pub const fn flag(self) -> &'static str {
        match self {
            Self::NameServer => "--namesrv-port",
            Self::Broker | Self::BrokerSecond => "--broker-port",
            Self::Proxy => "--proxy-port",
            Self::Grpc => "--grpc-port",
        }
    }

    const fn port(self, ports: Ports) -> u16 {
        match self {
            Self::NameServer => ports.namesrv,
            Self::Broker => ports.broker,
            Self::BrokerSecond => ports.second(),
            Self::Proxy => ports.proxy,
            Self::Grpc => ports.grpc,
        }
    }
}

impl fmt::Display for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NameServer => "name server",
            Self::Broker => "broker",
            Self::BrokerSecond => "broker, second port",
            Self::Proxy => "proxy",
            Self::Grpc => "gRPC",
        })
    }
}

/// A port that is open and not yet served.
#[derive(Debug)]
pub struct Listener {
    /// What lies behind it.
    pub door: Door,
    /// Where it is open.
    pub address: SocketAddr,
    tcp: TcpListener,
}

/// Why a port was not opened. None is open then.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// The operator's: somebody else has it.
    #[error(
        "port {} ({door}) on {} is in use by another program; set {} or give {} to move it",
        address.port(), address.ip(), door.key(), door.flag()
    )]
    InUse {
        /// What was to lie behind it.
        door: Door,
        /// Where it was to be open.
        address: SocketAddr,
    },
    /// The operator's: two of our own ports are the same.
    #[error(
        "port {port} is meant for two: {first} ({}) and {second} ({}); move one of them, the broker's second port is \
         two below its first", first.key(), second.key()
    )]
    Twice {
        /// Who has it.
        first: Door,
        /// Who would have it too.
        second: Door,
        /// The port.
        port: u16,
    },
    /// The operator's: the system refuses.
    #[error("opening port {} ({door}, setting {}) on {} (setting listen)", address.port(), door.key(), address.ip())]
    Refused {
        /// What was to lie behind it.
        door: Door,
        /// Where it was to be open.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
}

/// Opens all ports, or none.
pub fn bind(settings: &Settings) -> Result<Vec<Listener>, BindError> {
    Door::ALL.into_iter().map(|door| bind_one(door, settings)).collect()
}

fn bind_one(door: Door, settings: &Settings) -> Result<Listener, BindError> {
    let address = SocketAddr::new(settings.listen, door.port(settings.ports));
    let opened = || {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        // Without it a restart waits a minute for the connections of the life before.
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        socket.listen(BACKLOG)
    };
    match opened().and_then(|tcp| Ok((tcp.local_addr()?, tcp))) {
        Ok((address, tcp)) => Ok(Listener { door, address, tcp }),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(in_use(door, address, settings.ports)),
        Err(source) => Err(BindError::Refused { door, address, source }),
    }
}

/// The port is taken: by a door of ours that was opened before, or by somebody else.
fn in_use(door: Door, address: SocketAddr, ports: Ports) -> BindError {
    let mut before = Door::ALL.into_iter().take_while(|&before| before != door);
    match before.find(|before| before.port(ports) == address.port()) {
        Some(first) => BindError::Twice { first, second: door, port: address.port() },
        None => BindError::InUse { door, address },
    }
}

/// How many clients may be connected, over all ports.
#[derive(Clone, Debug)]
pub struct Room(Arc<Semaphore>);

/// A client's place; given back when dropped.
#[derive(Debug)]
pub struct Place(#[expect(dead_code, reason = "held for its drop")] OwnedSemaphorePermit);

impl Room {
    /// Room for `connections`.
    pub fn new(connections: usize) -> Self {
        Self(Arc::new(Semaphore::new(connections)))
    }

    async fn place(&self) -> Place {
        if self.0.available_permits() == 0 {
            tracing::warn!("as many clients are connected as max_connections allows; new ones wait");
        }
        let permit = Arc::clone(&self.0).acquire_owned().await;
        Place(permit.expect("the semaphore is never closed"))
    }
}

/// Accepts clients until `stop`, and hands each to `greet`, which must not wait.
pub async fn accept(
    listener: Listener,
    room: Room,
    stop: CancellationToken,
    greet: impl Fn(TcpStream, SocketAddr, Place),
) {
    let Listener { door, tcp, .. } = listener;
    loop {
        let next = async {
            let place = room.place().await;
            (tcp.accept().await, place)
        };
        let Some((accepted, place)) = until(&stop, next).await else { return };
        match accepted {
            Ok((stream, peer)) => {
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%peer, %error, "the connection was gone before it was served");
                    continue;
                }
                greet(stream, peer, place);
            }
            Err(error) => {
                tracing::warn!(%door, %error, "a connection was not accepted; trying again");
                if until(&stop, tokio::time::sleep(ACCEPT_PAUSE)).await.is_none() {
                    return;
                }
            }
        }
    }
}

/// What `future` gives, or nothing where `stop` comes first.
async fn until<F: Future>(stop: &CancellationToken, future: F) -> Option<F::Output> {
    tokio::select! {
        biased;
        () = stop.cancelled() => None,
        output = future => Some(output),
    }
}

#[cfg(test)]
mod tests;
