//! The front before the real engine, all on one thread and on virtual time: nothing sleeps, a long poll of
//! minutes passes in no time, and the same steps give the same answers.

mod admin;
mod client;
mod connection;
mod errors;
mod filter;
mod foreign;
mod message;
mod pending;
mod pop;
mod proxy;
mod reply;
mod tools;
mod transaction;

use crate::{Settings, serve_connection};
use broker::{Budget, Config, Stats, Work};
use bytes::{Bytes, BytesMut};
use crossbeam_channel::{Receiver, TryRecvError};
use env::{Disk, SimDisk};
use model::{Monotonic, Now, Timestamp};
use service::{Input, Local, Node};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use wire::property;
use wire::remoting::send::{Header, Spelling};
use wire::remoting::{Command, Fields, Language, RequestCode, ResponseCode, Serialize, frame, pull};
use wire::stored::{self, PlacedOwned};

/// The wall clock when a test begins.
const BEGIN_MS: i64 = 1_700_000_000_000;

/// A server: the engine, and what its connections share.
struct Server {
    service: Local,
    settings: Arc<Settings>,
    shutdown: CancellationToken,
    stats: Arc<Mutex<Stats>>,
}

fn store_host() -> SocketAddr {
    "10.0.0.1:10911".parse().unwrap()
}

impl Server {
    fn start() -> Self {
        Self::start_with(Settings::new(store_host()), |_| {})
    }

    fn start_with(settings: Settings, set: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config::new("broker-a", store_host());
        set(&mut config);
        let disk: Arc<dyn Disk> = Arc::new(SimDisk::new(1));
        let began = Instant::now();
        let (node, _) = Node::open(Arc::clone(&disk), config, now(began)).unwrap();
        let (service, inputs) = Local::new(4096);
        let stats = Arc::default();
        tokio::spawn(drive(node, disk, inputs, service.clone(), began, Arc::clone(&stats)));
        Self { service, settings: Arc::new(settings), shutdown: CancellationToken::new(), stats }
    }

    fn connect(&self) -> Client {
        self.connect_from("127.0.0.1:4000")
    }

    fn connect_from(&self, address: &str) -> Client {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let service = Arc::new(self.service.clone());
        let peer = address.parse().unwrap();
        tokio::spawn(serve_connection(
            theirs,
            peer,
            service,
            Arc::clone(&self.settings),
            self.shutdown.clone(),
        ));
        Client { stream: ours, inbox: BytesMut::new(), opaque: 0 }
    }

    fn stats(&self) -> Stats {
        *self.stats.lock().unwrap()
    }
}

fn now(began: Instant) -> Now {
    let passed = began.elapsed();
    Now {
        wall: Timestamp::from_millis(BEGIN_MS + passed.as_millis() as i64),
        wall_nanos: passed.subsec_nanos() % 1_000_000,
        monotonic: Monotonic::from_nanos(passed.as_nanos() as u64),
    }
}

/// The engine's driver: a turn each virtual millisecond.
async fn drive(
    mut node: Node,
    disk: Arc<dyn Disk>,
    inputs: Receiver<Input>,
    service: Local,
    began: Instant,
    stats: Arc<Mutex<Stats>>,
) {
    let mut asked = HashMap::new();
    loop {
        loop {
            match inputs.try_recv() {
                Ok(Input::Ask(id, request, answer)) => {
                    asked.extend(answer.map(|answer| (id, answer)));
                    node.handle(now(began), id, request);
                }
                Ok(Input::Done(done)) => node.done(now(began), done).unwrap(),
                Ok(Input::Stop) | Err(TryRecvError::Disconnected) => return,
                Err(TryRecvError::Empty) => break,
            }
        }
        node.tick(now(began), Budget::default());
        node.write();
        while let Some(work) = node.poll_work() {
            match work {
                Work::Notify(connection, notice) => service.notify(connection, notice),
                work => node.done(now(began), work.run(&*disk).expect("work on the disk")).unwrap(),
            }
        }
        while let Some((id, reply)) = node.poll_reply() {
            if let Some(answer) = asked.remove(&id) {
                let _ = answer.send(reply);
            }
        }
        *stats.lock().unwrap() = node.broker().stats();
        sleep(Duration::from_millis(1)).await;
    }
}

/// The client's end of a connection.
struct Client {
    stream: DuplexStream,
    inbox: BytesMut,
    opaque: i32,
}

impl Client {
    /// Sends a request without waiting; gives its number.
    async fn tell(&mut self, mut request: Command) -> i32 {
        self.opaque += 1;
        request.opaque = self.opaque;
        let mut bytes = BytesMut::new();
        request.encode(&mut bytes);
        self.send_bytes(&bytes).await;
        self.opaque
    }

    async fn send_bytes(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
    }

    /// The next command; `None` once the server has closed.
    async fn hear(&mut self) -> Option<Command> {
        loop {
            if let Some(command) = frame::decode(&mut self.inbox, frame::MAX_BYTES).unwrap() {
                return Some(command);
            }
            if self.stream.read_buf(&mut self.inbox).await.unwrap_or(0) == 0 {
                return None;
            }
        }
    }

    /// Sends a request and waits for its answer.
    async fn ask(&mut self, request: Command) -> Command {
        let opaque = self.tell(request).await;
        let answer = self.hear().await.expect("the server answers");
        assert!(answer.is_answer(), "{answer:?}");
        assert_eq!(answer.opaque, opaque);
        answer
    }

    /// Sends a request whose answer must have that code; gives the answer.
    async fn ask_for(&mut self, code: ResponseCode, request: Command) -> Command {
        let answer = self.ask(request).await;
        assert_eq!(answer.code, code.number(), "{answer:?}");
        answer
    }
}

fn request(code: RequestCode, fields: &[(&str, &str)]) -> Command {
    Command::request(code, fields.iter().copied().collect(), Bytes::new())
}

/// A send as Java's producer makes it.
fn send(topic: &str, body: &'static [u8], properties: &[(&str, &str)]) -> Command {
    let header = Header {
        producer_group: "producers".into(),
        topic: topic.into(),
        default_topic: "TBW102".into(),
        default_topic_queues: 4,
        queue_id: 0,
        sys_flag: 0,
        born_at: BEGIN_MS - 5,
        flag: 7,
        properties: Some(encoded(properties)),
        reconsume_times: Some(0),
        ..Header::default()
    };
    let mut ext = Fields::new();
    header.write(&mut ext, Spelling::V2);
    let mut command = Command::request(RequestCode::SendMessageV2, ext, Bytes::from_static(body));
    command.language = Language::Java;
    command
}

fn encoded(properties: &[(&str, &str)]) -> String {
    let mut bytes = Vec::new();
    property::encode(&properties.iter().copied().collect(), &mut bytes);
    String::from_utf8(bytes).unwrap()
}

/// A pull of queue 0 with the subscription `*`, waiting so many milliseconds.
fn pull(topic: &str, offset: i64, wait_ms: i64) -> Command {
    let header = pull::Header {
        group: "consumers".into(),
        topic: topic.into(),
        queue_id: 0,
        queue_offset: offset,
        max_messages: 32,
        sys_flag: pull::SUBSCRIPTION | if wait_ms > 0 { pull::SUSPEND } else { 0 },
        commit_offset: Some(0),
        suspend_ms: Some(wait_ms),
        subscription: Some("*".into()),
        subscription_version: Some(0),
        expression_type: Some("TAG".into()),
        max_bytes: None,
    };
    let mut ext = Fields::new();
    header.write(&mut ext);
    Command::request(RequestCode::PullMessage, ext, Bytes::new())
}

/// The messages in an answer's body.
fn messages(answer: &Command) -> Vec<(model::Message, PlacedOwned)> {
    let mut body = answer.body.clone();
    let mut messages = Vec::new();
    while !body.is_empty() {
        let size = stored::View::parse(&body).unwrap().total_size();
        messages.push(stored::decode(&body.split_to(size)).unwrap());
    }
    messages
}

fn field(answer: &Command, name: &str) -> i64 {
    answer.ext.get(name).unwrap_or_else(|| panic!("{name} in {answer:?}")).parse().unwrap()
}

fn remark(answer: &Command) -> &str {
    answer.remark.as_deref().unwrap_or_default()
}
