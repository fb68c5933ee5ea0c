//! Settings: from what was written ([`Raw`]) to what holds ([`Settings`]).
//!
//! A flag wins over the environment, the environment over what was changed at run time, that over the file, the
//! file over the default. An unknown key
//! is refused, since it is most often a known one misspelt. What passes [`Settings::check`] is known to be good:
//! nobody asks again further in.

mod keys;
mod raw;
mod value;

pub use keys::{ALIASES, KEYS, as_file};
pub use raw::{Origin, Raw};
pub use value::name;

use crate::realtime::RealTime;
use broker::Flush;
use model::LevelTable;
use remoting::Network;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::path::PathBuf;
use std::time::Duration;

/// The ports, 0 for any free one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    /// The name server's.
    pub namesrv: u16,
    /// The broker's.
    pub broker: u16,
    /// The proxy's, by remoting.
    pub proxy: u16,
    /// The gRPC front's.
    pub grpc: u16,
}

impl Ports {
    /// The broker's second port: clients that want it compute it from the first, as RocketMQ's do.
    pub const fn second(self) -> u16 {
        self.broker.saturating_sub(2)
    }
}

/// A certificate and its key of the user's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnCertificate {
    /// PEM file of the certificate chain.
    pub cert: PathBuf,
    /// PEM file of its private key.
    pub key: PathBuf,
}

/// How the server's own log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogStyle {
    /// Lines for people.
    Text,
    /// One JSON object a line.
    Json,
}

/// What holds. Made by [`Settings::check`] only.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The data folder.
    pub data: PathBuf,
    /// The address the ports are opened on.
    pub listen: IpAddr,
    /// The address clients are told; never that of «all».
    pub advertise: IpAddr,
    /// The ports.
    pub ports: Ports,
    /// The cluster's name.
    pub cluster: String,
    /// Name servers of other processes, `host:port`.
    pub name_servers: Vec<String>,
    /// The broker's name, where it is not the saved one.
    pub broker_name: Option<String>,
    /// When a send is acknowledged.
    pub flush: Flush,
    /// Whether the engine's thread runs before all others.
    pub realtime: RealTime,
    /// The longest delay, in milliseconds.
    pub max_delay_ms: i64,
    /// The delay levels.
    pub levels: LevelTable,
    /// Whether gRPC's delivery times become levels.
    pub use_delay_level: bool,
    /// Whether arbitrary due times are taken.
    pub timer_enabled: bool,
    /// Whether messages by gRPC, and by the proxy's port, must be of their topic's type.
    pub check_message_types: bool,
    /// The longest body, in bytes.
    pub max_body_bytes: usize,
    /// Whether sends make topics.
    pub auto_create_topics: bool,
    /// Whether consumers make groups.
    pub auto_create_groups: bool,
    /// The most queues of a topic made by a send.
    pub default_queues: u32,
    /// Messages that may wait for their moment.
    pub pending_max: Option<u64>,
    /// Messages of one topic that may.
    pub pending_per_topic_max: Option<u64>,
    /// Messages that may be due within one second.
    pub pending_per_second_max: Option<u64>,
    /// How long a message keeps its key against doubles after its delivery.
    pub dedup_window: Duration,
    /// How the log is kept.
    pub log_files: journal::Options,
    /// How long a message can be read at least.
    pub retention: Duration,
    /// The length of the log beyond which messages go earlier.
    pub retention_bytes: Option<u64>,
    /// How many clients at once.
    pub max_connections: usize,
    /// Who may administer, besides this machine.
    pub admin_networks: Vec<Network>,
    /// The user's certificate, where there is one.
    pub certificate: Option<OwnCertificate>,
    /// How the server logs.
    pub log_style: LogStyle,
}

/// Why settings do not hold. Each names the key, what was written and what may be.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The file cannot be read.
    #[error("reading the settings file {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The file is not TOML.
    #[error("the settings file {} is not TOML", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Where and why.
        source: Box<toml::de::Error>,
    },
    /// A name that no setting has.
    #[error("there is no setting {key:?} ({origin}); `duemq settings` prints all there are")]
    UnknownKey {
        /// The name.
        key: String,
        /// Who wrote it.
        origin: Origin,
    },
    /// The same setting two times, perhaps by two names.
    #[error("{first} and {second} are the same setting, written twice ({origin})")]
    Twice {
        /// The name met first.
        first: String,
        /// The name met then.
        second: String,
        /// Who wrote it.
        origin: Origin,
    },
    /// A list or a table where one value is meant.
    #[error("{key} is {found} in {}, it must be one text, number, true or false", path.display())]
    NotOneValue {
        /// The key.
        key: String,
        /// TOML's word for what stands there.
        found: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// A value out of its range.
    #[error("{name} is {value:?} ({origin}), it must be {wanted}{why}")]
    Bad {
        /// The name that was used.
        name: String,
        /// What was written.
        value: String,
        /// Who wrote it.
        origin: Origin,
        /// What may be written.
        wanted: &'static str,
        /// More about it, where there is more to say.
        why: Why,
    },
    /// One of the certificate's two files.
    #[error(
        "{set} is set and {missing} is not: a certificate needs both, or neither for one made at the first start"
    )]
    HalfCertificate {
        /// The key that is set.
        set: &'static str,
        /// The key that is not.
        missing: &'static str,
    },
    /// Listening on all addresses, and no way to tell which one clients reach.
    #[error(
        "listen is {listen}, which is every address of this machine, and there is no default route to tell \
         which of them clients reach: set advertise to that address"
    )]
    NoAdvertise {
        /// What `listen` is.
        listen: IpAddr,
    },
}

/// More about a bad value.
#[derive(Debug, Default)]
pub struct Why(Option<String>);

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(why) => write!(f, ": {why}"),
            None => Ok(()),
        }
    }
}

impl Settings {
    /// What holds of `raw` together with what was changed at run time, and how all of it was written.
    pub fn with_changes(mut raw: Raw) -> Result<(Self, Raw), SettingsError> {
        let data = PathBuf::from(raw.meant("data"));
        crate::process::read_changes(&data, &mut raw)?;
        Ok((Self::check(&raw)?, raw))
    }

    /// Judges what was written. Names of hosts are resolved here.
    pub fn check(raw: &Raw) -> Result<Self, SettingsError> {
        let listen = read(raw, "listen", value::host)?;
        let max_delay_ms = read(raw, "max_delay", |text| {
            value::duration_ms(text).filter(|ms| (1000..=36_500 * DAY_MS).contains(ms))
        })?;
        Ok(Self {
            data: read(raw, "data", |text| (!text.is_empty()).then(|| PathBuf::from(text)))?,
            listen,
            advertise: advertised(raw, listen)?,
            ports: Ports {
                namesrv: read(raw, "namesrv_port", port)?,
                broker: read(raw, "broker_port", |text| port(text).filter(|&port| port == 0 || port >= 3))?,
                proxy: read(raw, "proxy_port", port)?,
                grpc: read(raw, "grpc_port", port)?,
            },
            cluster: read(raw, "cluster", value::name)?,
            name_servers: read(raw, "name_servers", value::addresses)?,
            broker_name: read_optional(raw, "broker_name", value::name)?,
            realtime: read(raw, "realtime", RealTime::parse)?,
            flush: read(raw, "flush", |text| match text {
                "sync" => Some(Flush::Sync),
                "async" => Some(Flush::Async),
                _ => None,
            })?,
            max_delay_ms,
            levels: levels(raw, max_delay_ms)?,
            use_delay_level: read(raw, "use_delay_level", value::switch)?,
            timer_enabled: read(raw, "timer", value::switch)?,
            check_message_types: read(raw, "check_message_types", value::switch)?,
            max_body_bytes: read(raw, "max_body_bytes", |text| value::bytes(text, KIB, 64 * MIB))? as usize,
            auto_create_topics: read(raw, "auto_create_topics", value::switch)?,
            auto_create_groups: read(raw, "auto_create_groups", value::switch)?,
            default_queues: read(raw, "default_queues", |text| value::number(text, 1, 1024))? as u32,
            pending_max: limit(raw, "pending_max")?,
            pending_per_topic_max: limit(raw, "pending_per_topic_max")?,
            pending_per_second_max: limit(raw, "pending_per_second_max")?,
            dedup_window: read(raw, "dedup_window", |text| {
                let ms = value::duration_ms(text).filter(|ms| (1000..=7 * DAY_MS).contains(ms));
                ms.map(|ms| Duration::from_millis(ms as u64))
            })?,
            log_files: log_files(raw)?,
            retention: read(raw, "retention", |text| {
                let ms = value::duration_ms(text).filter(|ms| (60_000..=36_500 * DAY_MS).contains(ms));
                ms.map(|ms| Duration::from_millis(ms as u64))
            })?,
            retention_bytes: read(raw, "retention_bytes", |text| match text {
                "0" => Some(None),
                _ => value::bytes(text, 64 * MIB, u64::MAX).map(Some),
            })?,
            max_connections: read(raw, "max_connections", |text| value::number(text, 1, 1_000_000))? as usize,
            admin_networks: read(raw, "admin_networks", value::networks)?,
            certificate: certificate(raw)?,
            log_style: read(raw, "log", |text| match text {
                "text" => Some(LogStyle::Text),
                "json" => Some(LogStyle::Json),
                _ => None,
            })?,
        })
    }
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const DAY_MS: i64 = 86_400_000;

/// What was written for `name`, or its default, read by `parse`.
fn read<T>(raw: &Raw, name: &'static str, parse: impl FnOnce(&str) -> Option<T>) -> Result<T, SettingsError> {
    read_or_why(raw, name, |text| parse(text).ok_or_else(Why::default))
}

/// The same, for what has more to say about a bad value than its range.
fn read_or_why<T>(
    raw: &Raw,
    name: &'static str,
    parse: impl FnOnce(&str) -> Result<T, Why>,
) -> Result<T, SettingsError> {
    let key = keys::key(name);
    let written = raw.get(name);
    let meant = written.map_or(key.default, |written| written.meant.as_str());
    parse(meant).map_err(|why| SettingsError::Bad {
        name: written.map_or(name, |written| &written.name).to_owned(),
        value: written.map_or(key.default, |written| &written.text).to_owned(),
        origin: written.map_or(Origin::Default, |written| written.origin.clone()),
        wanted: key.wanted,
        why,
    })
}

/// The same, where an empty text says that there is none.
fn read_optional<T>(
    raw: &Raw,
    name: &'static str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, SettingsError> {
    read_or_why(raw, name, |text| match text {
        "" => Ok(None),
        text => parse(text).map(Some).ok_or_else(Why::default),
    })
}

/// A limit, where 0 says that there is none.
fn limit(raw: &Raw, name: &'static str) -> Result<Option<u64>, SettingsError> {
    Ok(Some(read(raw, name, |text| value::number(text, 0, u64::MAX))?).filter(|limit| *limit > 0))
}

fn port(text: &str) -> Option<u16> {
    value::number(text, 0, 65_535).map(|port| port as u16)
}

/// The address to tell clients: the one set, else the one listened on, else the default route's.
fn advertised(raw: &Raw, listen: IpAddr) -> Result<IpAddr, SettingsError> {
    let set = read_optional(raw, "advertise", |text| value::host(text).filter(|ip| !ip.is_unspecified()))?;
    match set {
        Some(ip) => Ok(ip),
        None if !listen.is_unspecified() => Ok(listen),
        None => default_route().map(IpAddr::V4).ok_or(SettingsError::NoAdvertise { listen }),
    }
}

/// The IPv4 address this machine would speak from to a far one. Connecting a UDP socket sends nothing: it only
/// asks the kernel for the route; the far address is one reserved for documentation.
fn default_route() -> Option<Ipv4Addr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    match socket.local_addr().ok()?.ip() {
        IpAddr::V4(ip) if !ip.is_unspecified() => Some(ip),
        _ => None,
    }
}

fn levels(raw: &Raw, max_delay_ms: i64) -> Result<LevelTable, SettingsError> {
    read_or_why(raw, "delay_levels", |text| {
        let table = LevelTable::parse(text).map_err(|error| Why(Some(error.to_string())))?;
        match (1..=table.max()).find(|&level| table.delay_ms(level) > max_delay_ms) {
            Some(level) => {
                let by = raw.get("max_delay").map_or("max_delay", |written| &written.name);
                let word = text.split_whitespace().nth(level as usize - 1).unwrap_or_default();
                Err(Why(Some(format!(
                    "level {level}, {word}, is longer than {by} allows, which is {max_delay_ms} ms; set delay_levels \
                     as well, or a longer {by}"
                ))))
            }
            None => Ok(table),
        }
    })
}

fn log_files(raw: &Raw) -> Result<journal::Options, SettingsError> {
    let whole = |bytes: &u64| bytes.is_multiple_of(8);
    Ok(journal::Options {
        segment_bytes: read(raw, "log_segment_bytes", |text| {
            value::bytes(text, MIB, 1024 * MIB).filter(whole)
        })?,
        step_bytes: read(raw, "log_step_bytes", |text| value::bytes(text, 64 * KIB, 64 * MIB).filter(whole))?,
        tail_bytes: read(raw, "log_tail_bytes", |text| value::bytes(text, MIB, 4096 * MIB))? as usize,
    })
}

fn certificate(raw: &Raw) -> Result<Option<OwnCertificate>, SettingsError> {
    let path = |name| read_optional(raw, name, |text| Some(PathBuf::from(text)));
    match (path("tls_cert")?, path("tls_key")?) {
        (Some(cert), Some(key)) => Ok(Some(OwnCertificate { cert, key })),
        (None, None) => Ok(None),
        (Some(_), None) => Err(SettingsError::HalfCertificate { set: "tls_cert", missing: "tls_key" }),
        (None, Some(_)) => Err(SettingsError::HalfCertificate { set: "tls_key", missing: "tls_cert" }),
    }
}

#[cfg(test)]
mod tests;
