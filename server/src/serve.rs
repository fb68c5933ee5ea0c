//! `duemq serve`: the life of the server, from the first lock to the last sync.
//!
//! The order is one of trust. The folder's lock comes first, so that no second process touches the data; then
//! the ports, so that a server that cannot be reached changes nothing; then name, certificate and engine, which
//! reads the log; then the fronts. It ends the other way round: name servers elsewhere are told, nobody new comes in,
//! the fronts tell their clients and finish, the engine writes and syncs what it accepted.

use crate::engine::{Engine, StartError};
use crate::exit::{Exit, Failure};
use crate::listen::{self, Door, Listener, Place, Room};
use crate::process::ThisProcess;
use crate::registrar::{Ours, Registrar};
use crate::settings::{Raw, Settings, SettingsError};
use crate::signals::Signals;
use crate::tls::Tls;
use crate::{logging, name};
use anyhow::anyhow;
use broker::Recovered;
use env::{Clock as _, FileDisk, LockError, SystemClock};
use journal::OpenError;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use service::Service;
use std::fmt::Write as _;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Threads that serve connections. The engine, its sync and its worker have their own.
const FRONT_THREADS: usize = 2;

/// How long connections have to end by themselves, once the server stops.
const GRACE: Duration = Duration::from_secs(5);

/// Signals that come within so long are one wish: who stops a server often signals it and its group.
const ONE_WISH: Duration = Duration::from_millis(500);

/// gRPC connections that are open and not yet taken over by the front.
const HANDED_OVER: usize = 64;

/// Serves until a signal ends it. `began` is when the process did.
pub fn serve(settings: Result<(Settings, Raw), SettingsError>, began: Instant) -> Result<(), Failure> {
    let (settings, raw) = settings.map_err(|error| Failure::new(exit_of_settings(&error), error))?;
    logging::begin(settings.log_style).map_err(|error| Failure::new(Exit::Settings, error))?;
    raise_file_limit(settings.max_connections);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(FRONT_THREADS)
        .thread_name("front")
        .enable_all()
        .build()
        .map_err(|error| Failure::new(Exit::Io, error))?;
    let served = runtime.block_on(run(&settings, raw, began));
    runtime.shutdown_timeout(Duration::from_secs(1));
    served
}

/// Files that are open besides connections: the log's segments, the ports, the runtime's own.
const OTHER_FILES: u64 = 256;

/// Lets this process open as many files as it may: each connection is one, and shells start it with few.
fn raise_file_limit(max_connections: usize) {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let current = if setrlimit(Resource::Nofile, raised).is_ok() { raised.current } else { limit.current };
    let wanted = max_connections as u64 + OTHER_FILES;
    if let Some(files) = current.filter(|&files| files < wanted) {
        tracing::warn!(
            files,
            max_connections,
            "this process may open fewer files than max_connections needs"
        );
    }
}

async fn run(settings: &Settings, raw: Raw, began: Instant) -> Result<(), Failure> {
    let mut signals = Signals::listen().map_err(|error| Failure::new(Exit::Io, error))?;
    let disk = FileDisk::open(&settings.data).map_err(not_locked)?;
    let listeners = listen::bind(settings).map_err(|error| Failure::new(Exit::Port, error))?;
    let broker_name = name::broker_name(settings).map_err(|error| Failure::new(Exit::Io, error))?;
    let tls = Tls::load(settings).map_err(|error| Failure::new(Exit::Settings, error))?;
    let store_host = SocketAddr::new(settings.advertise, port_of(&listeners, Door::Broker));
    let name_server = SocketAddr::new(settings.advertise, port_of(&listeners, Door::NameServer));
    let config = settings.broker(broker_name.clone(), store_host);
    let engine = Engine::start(Arc::new(disk), config, settings.realtime);
    let engine = engine.map_err(|error| not_started(error, &settings.data))?;

    if let Some(behind) = engine.recovered().clock_behind {
        let behind_ms = u64::try_from(behind.as_millis()).unwrap_or(u64::MAX);
        tracing::warn!(
            behind_ms,
            "the clock is behind that of the last run: what waits is delivered by the clock there is, late and never early"
        );
    }
    let told = announcement(settings, &listeners, &tls, engine.recovered(), &raw);
    let ours = Ours {
        cluster: settings.cluster.clone(),
        name: broker_name.clone(),
        address: store_host,
        began_ms: SystemClock.now().wall.as_millis(),
    };
    let process = ThisProcess::new(settings.data.clone(), broker_name, store_host, name_server, raw);
    engine.service().set_process(Arc::new(process));
    let fronts = Fronts::open(listeners, engine.service(), settings, store_host, &tls);
    let watching = tokio::spawn(tls.watch());
    let service: Arc<dyn Service> = engine.service();
    let registrar = Registrar::start(&settings.name_servers, &ours, &service, &engine.topic_changes());
    // Nobody may be there to read it; the server serves all the same.
    let _ = writeln!(std::io::stdout(), "{told}ready in {} ms", began.elapsed().as_millis());
    if !settings.listen.is_loopback() {
        tracing::warn!(listen = %settings.listen, "whoever reaches these ports may send and receive: there are no passwords");
    } else if !settings.advertise.is_loopback() {
        tracing::warn!(
            listen = %settings.listen,
            advertise = %settings.advertise,
            "clients are told an address on which nobody listens: set listen as well, to it or to 0.0.0.0"
        );
    }

    let mut failed = engine.failed();
    let mut stopping = began;
    let ended = tokio::select! {
        name = signals.next() => {
            tracing::info!(signal = name, "stopping: a second signal ends at once");
            stopping = Instant::now();
            Ok(())
        }
        failed = failed.wait_for(Option::is_some) => Err(EngineEnded(failed.ok().and_then(|reason| reason.clone()))),
    };
    tokio::spawn(async move {
        signals.next().await;
        while stopping.elapsed() < ONE_WISH {
            signals.next().await;
        }
        tracing::error!("stopped by a second signal: what was not yet acknowledged may be lost");
        std::process::exit(i32::from(Exit::Signal as u8));
    });
    watching.abort();
    registrar.stop().await;
    fronts.close().await;
    log_counts(&engine.stats());
    // Blocking: it writes and syncs. Nothing else is left for this thread to do.
    tokio::task::block_in_place(|| engine.stop());
    match ended {
        Ok(()) => {
            tracing::info!("stopped: all that was accepted is saved");
            Ok(())
        }
        Err(ended) => Err(Failure::new(Exit::Engine, ended)),
    }
}

fn log_counts(stats: &broker::Stats) {
    tracing::info!(
        stored = stats.stored,
        scheduled = stats.scheduled,
        delivered = stats.delivered,
        recalled = stats.recalled,
        redelivered = stats.redelivered,
        dead_letters = stats.dead_letters,
        lateness_max_ms = stats.lateness_max_ms,
        read_errors = stats.read_errors,
        write_errors = stats.write_errors,
        pending = stats.pending,
        "counted since the start"
    );
}

/// The engine ended by itself: what is on disk is good, what is in memory is not trusted any more.
#[derive(Debug, thiserror::Error)]
#[error("the engine ended: {}; start again to continue from what is on disk", .0.as_deref().unwrap_or("for no reason it could tell"))]
struct EngineEnded(Option<String>);

/// What a person wants to know once the server runs: where the data lies, and what is behind each port.
fn announcement(
    settings: &Settings,
    listeners: &[Listener],
    tls: &Tls,
    recovered: &Recovered,
    raw: &Raw,
) -> String {
    let mut text = format!("DueMQ {}, data in {}\n", env!("CARGO_PKG_VERSION"), shown(&settings.data));
    let mut line = |words: std::fmt::Arguments<'_>| {
        writeln!(text, "{words}").expect("writing to a string does not fail");
    };
    for listener in listeners {
        let port = listener.address.port();
        match listener.door {
            Door::NameServer => line(format_args!(
                "{port:>6}  name server: RocketMQ clients are given {}:{port}",
                settings.advertise
            )),
            Door::Broker => line(format_args!(
                "{port:>6}  broker: clients find it by themselves, at {}:{port}",
                settings.advertise
            )),
            Door::BrokerSecond => {
                line(format_args!("{port:>6}  broker once more, where some clients look for it"));
            }
            Door::Proxy => line(format_args!(
                "{port:>6}  proxy: remoting clients that are given {}:{port} alone need no other port",
                settings.advertise
            )),
            Door::Grpc => line(format_args!(
                "{port:>6}  gRPC: plaintext, or TLS with the certificate {}",
                shown(&tls.cert)
            )),
        }
    }
    for (name, value) in raw.changes() {
        line(format_args!("changed at run time: {name} = {value:?}"));
    }
    for address in &settings.name_servers {
        line(format_args!("registers with the name server {address} as well"));
    }
    line(format_args!(
        "found {} messages waiting for their time, in a log of {} records",
        recovered.pending, recovered.log.records
    ));
    text
}

fn shown(path: &Path) -> String {
    path.canonicalize().unwrap_or_else(|_| path.to_owned()).display().to_string()
}

impl Settings {
    /// What the broker is told of them.
    fn broker(&self, broker_name: String, store_host: SocketAddr) -> broker::Config {
        broker::Config {
            cluster: self.cluster.clone(),
            flush: self.flush,
            max_delay_ms: self.max_delay_ms,
            levels: self.levels.clone(),
            timer_enabled: self.timer_enabled,
            max_body_bytes: self.max_body_bytes,
            auto_create_topics: self.auto_create_topics,
            auto_create_groups: self.auto_create_groups,
            default_queues: self.default_queues,
            pending_max: self.pending_max,
            pending_per_topic_max: self.pending_per_topic_max,
            pending_per_second_max: self.pending_per_second_max,
            dedup_window: self.dedup_window,
            log: self.log_files.clone(),
            retention: self.retention,
            retention_bytes: self.retention_bytes,
            ..broker::Config::new(broker_name, store_host)
        }
    }

    /// What the broker is told of those that can be changed while it runs.
    pub fn configure(&self) -> broker::Configure {
        broker::Configure {
            flush: self.flush,
            max_delay_ms: self.max_delay_ms,
            levels: self.levels.clone(),
            timer_enabled: self.timer_enabled,
            max_body_bytes: self.max_body_bytes,
            auto_create_topics: self.auto_create_topics,
            auto_create_groups: self.auto_create_groups,
            default_queues: self.default_queues,
            pending_max: self.pending_max,
            pending_per_topic_max: self.pending_per_topic_max,
            pending_per_second_max: self.pending_per_second_max,
            dedup_window: self.dedup_window,
        }
    }

    /// What the remoting front is told of them. Whether a send makes its topic, and how large, is the broker's to
    /// say, since it can be changed while the server runs.
    fn remoting(&self, store_host: SocketAddr) -> remoting::Settings {
        remoting::Settings {
            auto_create_topics: true,
            default_topic_queues: 1024,
            admin_networks: self.admin_networks.clone(),
            ..remoting::Settings::new(store_host)
        }
    }

    /// The same, for the proxy's port at `proxy`: clients come to no other, and what they send must be of its topic's kind.
    fn remoting_proxy(&self, store_host: SocketAddr, proxy: SocketAddr) -> remoting::Settings {
        remoting::Settings {
            route_host: proxy,
            check_kind: self.check_message_types,
            ..self.remoting(store_host)
        }
    }

    /// What the gRPC front is told of them.
    fn proxy(&self) -> proxy::Settings {
        proxy::Settings {
            body_max: self.max_body_bytes,
            check_kind: self.check_message_types,
            use_delay_level: self.use_delay_level,
            clients_max: self.max_connections,
            ..proxy::Settings::default()
        }
    }
}

fn port_of(listeners: &[Listener], door: Door) -> u16 {
    let found = listeners.iter().find(|listener| listener.door == door);
    found.expect("every door was opened").address.port()
}

fn exit_of_settings(error: &SettingsError) -> Exit {
    if matches!(error, SettingsError::Read { .. }) { Exit::Io } else { Exit::Settings }
}

fn not_locked(error: LockError) -> Failure {
    match error {
        LockError::Held { .. } => {
            let next = "stop that one first, or give this one a folder of its own with --data";
            Failure::new(Exit::Locked, anyhow!("{error}; {next}"))
        }
        LockError::Io { .. } => Failure::new(Exit::Io, error),
    }
}

fn not_started(error: StartError, data: &Path) -> Failure {
    let exit = exit_of_start(&error);
    Failure::new(exit, anyhow::Error::new(error).context(format!("starting on data folder {}", shown(data))))
}

fn exit_of_start(error: &StartError) -> Exit {
    match error {
        StartError::Log(OpenError::Corrupt { .. } | OpenError::NewerFormat { .. }) => Exit::Data,
        StartError::Log(OpenError::Io { .. }) | StartError::Thread(_) => Exit::Io,
        StartError::RealTime(_) => Exit::Settings,
    }
}

/// Where the gRPC front takes connections over.
type HandOver = mpsc::Sender<std::io::Result<proxy::Accepted<listen::Io>>>;

/// The remoting front behind one port.
#[derive(Clone)]
struct Remoting {
    service: Arc<dyn Service>,
    settings: Arc<remoting::Settings>,
}

impl Remoting {
    async fn serve(self, io: listen::Io, peer: SocketAddr, leaving: CancellationToken) {
        remoting::serve_connection(io, peer, self.service, self.settings, leaving).await;
    }
}

/// The fronts, each behind its ports.
struct Fronts {
    /// No new clients.
    closing: CancellationToken,
    /// Clients that are here end what they do.
    leaving: CancellationToken,
    tasks: TaskTracker,
}

impl Fronts {
    fn open(
        listeners: Vec<Listener>,
        service: Arc<dyn Service>,
        settings: &Settings,
        store_host: SocketAddr,
        tls: &Tls,
    ) -> Self {
        let fronts = Self {
            closing: CancellationToken::new(),
            leaving: CancellationToken::new(),
            tasks: TaskTracker::new(),
        };
        let room = Room::new(settings.max_connections);
        let proxy = SocketAddr::new(settings.advertise, port_of(&listeners, Door::Proxy));
        let remoting =
            Remoting { service: Arc::clone(&service), settings: Arc::new(settings.remoting(store_host)) };
        let remoting_proxy =
            Remoting { settings: Arc::new(settings.remoting_proxy(store_host, proxy)), ..remoting.clone() };
        let (hand_over, handed_over) = mpsc::channel(HANDED_OVER);
        for listener in listeners {
            let hand_over = || hand_over.clone();
            let (remoting, grpc, tls) = match listener.door {
                Door::Grpc => (None, Some(hand_over()), &tls.grpc),
                Door::Proxy => (Some(remoting_proxy.clone()), Some(hand_over()), &tls.grpc),
                Door::NameServer | Door::Broker | Door::BrokerSecond => {
                    (Some(remoting.clone()), None, &tls.remoting)
                }
            };
            fronts.door(listener, &room, Arc::clone(tls), remoting, grpc);
        }
        let proxy = proxy::Proxy::new(service, settings.proxy());
        let serving = proxy.serve(ReceiverStream::new(handed_over), fronts.leaving.clone());
        fronts.tasks.spawn(async move {
            if let Err(error) = serving.await {
                tracing::error!(error = &error as &dyn std::error::Error, "the gRPC front ended");
            }
        });
        fronts
    }

    /// Lets clients in by a port, each to the front whose protocol it speaks; one of the two is there.
    fn door(
        &self,
        listener: Listener,
        room: &Room,
        tls: Arc<rustls::ServerConfig>,
        remoting: Option<Remoting>,
        grpc: Option<HandOver>,
    ) {
        let (tasks, leaving) = (self.tasks.clone(), self.leaving.clone());
        let greet = move |stream: TcpStream, peer: SocketAddr, place: Place| {
            let (tls, leaving) = (Arc::clone(&tls), leaving.clone());
            let (remoting, grpc) = (remoting.clone(), grpc.clone());
            tasks.spawn(async move {
                let Ok(local) = stream.local_addr() else { return };
                let Some(io) = opened(stream, peer, place, tls, &leaving).await else { return };
                match (remoting, grpc) {
                    (Some(remoting), None) => remoting.serve(io, peer, leaving).await,
                    (Some(remoting), Some(_)) if !io.speaks_http2() => {
                        remoting.serve(io, peer, leaving).await;
                    }
                    // An error means that the front has ended; its clients have nowhere to go.
                    (_, Some(grpc)) => drop(grpc.send(Ok(proxy::Accepted { io, peer, local })).await),
                    (None, None) => unreachable!("a port has a front behind it"),
                }
            });
        };
        self.tasks.spawn(listen::accept(listener, room.clone(), self.closing.clone(), greet));
    }

    /// Lets nobody in, tells everybody, and waits for them, not for ever.
    async fn close(self) {
        self.closing.cancel();
        self.leaving.cancel();
        self.tasks.close();
        if tokio::time::timeout(GRACE, self.tasks.wait()).await.is_err() {
            tracing::warn!(connections = self.tasks.len(), "clients that did not leave are cut off");
        }
    }
}

/// The client's connection, once it is known whether it speaks TLS; nothing where it did not come in.
async fn opened(
    stream: TcpStream,
    peer: SocketAddr,
    place: Place,
    tls: Arc<rustls::ServerConfig>,
    leaving: &CancellationToken,
) -> Option<listen::Io> {
    match leaving.run_until_cancelled(listen::open(stream, place, tls)).await? {
        Ok(io) => Some(io),
        Err(error) => {
            tracing::debug!(%peer, error = &error as &dyn std::error::Error, "a client did not come in");
            None
        }
    }
}
