//! Name servers of other processes: this broker registers with each of them all that it serves, when it starts, when
//! a topic changes and every 30 s, and says when it stops.
//!
//! A name server forgets a broker whose connection is closed; so one is kept open to each, and where it breaks, all
//! is told anew by the next. What has changed since is told alone. A topic that was deleted is told as one without
//! queues and permission, which clients pass over: name servers of RocketMQ's have no word for «not any more» that
//! is about one broker.

use broker::GetTopics;
use client::{AskError, Client, ConnectError};
use model::{Topic, TopicName};
use service::{Service, ServiceExt as _, Unavailable};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use wire::remoting::admin::DataVersion;
use wire::remoting::register::{Body, Header, OfMember, Topics};
use wire::remoting::topic::TopicConfig;

/// How often all is told again, where nothing changes. Peer: `registerNameServerPeriod`.
const PERIOD: Duration = Duration::from_secs(30);
/// The least between two registrations: what changes in between is told together.
const BREATH: Duration = Duration::from_millis(50);
/// How long a name server may take. Peer: `registerBrokerTimeoutMills`.
const TIMEOUT: Duration = Duration::from_secs(24);
/// How long to wait before the next try where a name server cannot be reached: at first, and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));
/// How long a stop waits for name servers to take it in.
const STOP_MAX: Duration = Duration::from_secs(3);

/// How this broker calls itself.
#[derive(Clone, Debug)]
pub struct Ours {
    /// Its cluster.
    pub cluster: String,
    /// Its name.
    pub name: String,
    /// Where clients reach it.
    pub address: SocketAddr,
    /// When the process began, in ms since the epoch.
    pub began_ms: i64,
}

/// Keeps this broker registered, until it is stopped.
pub struct Registrar {
    stop: CancellationToken,
    tasks: TaskTracker,
}

/// Why a name server no longer knows of us.
#[derive(Debug, thiserror::Error)]
enum Lost {
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    Ask(#[from] AskError),
    #[error("asking for the topics")]
    Topics(#[from] Unavailable),
    #[error("the name server closed the connection")]
    Closed,
}

impl Registrar {
    /// Registers `ours` at each of `name_servers`, and again whenever `changes` says so.
    pub fn start(
        name_servers: &[String],
        ours: &Ours,
        service: &Arc<dyn Service>,
        changes: &watch::Receiver<u64>,
    ) -> Self {
        let registrar = Self { stop: CancellationToken::new(), tasks: TaskTracker::new() };
        for address in name_servers {
            if ours.address.ip().is_loopback() && !is_loopback(address) {
                tracing::warn!(
                    name_server = address,
                    advertise = %ours.address.ip(),
                    "clients of that name server are sent to an address of their own machine: set advertise"
                );
            }
            let keeper = Keeper {
                address: address.clone(),
                ours: ours.clone(),
                service: Arc::clone(service),
                changes: changes.clone(),
                stop: registrar.stop.clone(),
            };
            registrar.tasks.spawn(keeper.keep());
        }
        registrar
    }

    /// Takes this broker out of every name server, as far as they are there.
    pub async fn stop(self) {
        self.stop.cancel();
        self.tasks.close();
        if timeout(STOP_MAX, self.tasks.wait()).await.is_err() {
            tracing::warn!("a name server was not told in time that this broker stops");
        }
    }
}

/// Whether an address, `host:port`, is this machine's as it is written.
fn is_loopback(address: &str) -> bool {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Keeps this broker registered at one name server.
struct Keeper {
    address: String,
    ours: Ours,
    service: Arc<dyn Service>,
    changes: watch::Receiver<u64>,
    stop: CancellationToken,
}

impl Keeper {
    async fn keep(mut self) {
        let mut pause = PAUSES.0;
        let mut is_known = true;
        loop {
            let began = Instant::now();
            let Err(lost) = self.serve().await else { return };
            if began.elapsed() > PERIOD {
                (pause, is_known) = (PAUSES.0, true);
            }
            self.tell(&lost, std::mem::take(&mut is_known));
            tokio::select! {
                () = sleep(pause) => pause = (pause * 2).min(PAUSES.1),
                () = self.stop.cancelled() => return,
            }
        }
    }

    /// Says why this broker is not known there: to the operator at first, to whoever looks closer from then on.
    fn tell(&self, lost: &Lost, is_first: bool) {
        let (name_server, error) = (&self.address, lost as &dyn std::error::Error);
        if is_first {
            tracing::warn!(name_server, error, "not registered; trying again");
        } else {
            tracing::debug!(name_server, error, "not registered; trying again");
        }
    }

    /// Registers over one connection for as long as it stands; returns once the broker is taken out for the stop.
    async fn serve(&mut self) -> Result<(), Lost> {
        let client = Client::connect(self.address.as_str()).await?.with_timeout(TIMEOUT);
        let mut told = BTreeMap::new();
        let (mut all_at, mut next_at) = (Instant::now(), Instant::now());
        loop {
            let is_first = told.is_empty();
            let all = Instant::now() >= all_at;
            let counter = *self.changes.borrow_and_update();
            let now: BTreeMap<TopicName, Topic> = self
                .service
                .ask(GetTopics)
                .await?
                .into_iter()
                .map(|topic| (topic.name.clone(), topic))
                .collect();
            let news = news(&told, &now, all);
            if !news.is_empty() {
                client.register(&self.header(), &self.body(counter, news)).await?;
                told = now;
                next_at = Instant::now() + BREATH;
            }
            if all {
                all_at = Instant::now() + PERIOD;
            }
            if is_first {
                tracing::info!(name_server = self.address, topics = told.len(), "registered");
            }
            tokio::select! {
                () = self.stop.cancelled() => {
                    client.unregister(&self.member()).await?;
                    return Ok(());
                }
                () = client.closed() => return Err(Lost::Closed),
                // The engine ends after this task: no more changes is no more than that.
                Ok(()) = self.changes.changed() => sleep_until(next_at).await,
                () = sleep_until(all_at) => {}
            }
        }
    }

    fn header(&self) -> Header {
        Header {
            name: self.ours.name.clone(),
            address: self.ours.address.to_string(),
            cluster: self.ours.cluster.clone(),
            // It has no slaves; RocketMQ wants the field all the same.
            ha_address: Some(String::new()),
            id: 0,
            ..Header::default()
        }
    }

    fn member(&self) -> OfMember {
        let Header { name, address, cluster, id, .. } = self.header();
        OfMember { name, address, cluster, id }
    }

    fn body(&self, counter: u64, topics: Vec<TopicConfig>) -> Body {
        let data_version =
            DataVersion { counter: counter as i64, state_version: 0, timestamp: self.ours.began_ms };
        let topic_config_table = topics.into_iter().map(|topic| (topic.topic_name.clone(), topic)).collect();
        let topic_config_serialize_wrapper = Topics { data_version, topic_config_table };
        Body { topic_config_serialize_wrapper, ..Body::default() }
    }
}

/// What a name server that was told `told` has to hear: what has changed or is gone, or all there is.
fn news(told: &BTreeMap<TopicName, Topic>, now: &BTreeMap<TopicName, Topic>, all: bool) -> Vec<TopicConfig> {
    let gone = |name: &TopicName| TopicConfig {
        topic_name: name.to_string(),
        perm: 0,
        read_queue_nums: 0,
        write_queue_nums: 0,
        ..TopicConfig::default()
    };
    let changed = now.iter().filter(|(name, topic)| all || told.get(name) != Some(topic));
    let deleted = told.keys().filter(|name| !now.contains_key(name));
    changed.map(|(_, topic)| remoting::topic_config(topic)).chain(deleted.map(gone)).collect()
}

#[cfg(test)]
mod tests;
