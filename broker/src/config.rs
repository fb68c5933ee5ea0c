//! What the broker is set to. Checked where it is read; the broker takes it as it is.

use model::LevelTable;
use std::net::SocketAddr;
use std::time::Duration;

/// When an acknowledged message is safe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flush {
    /// Once it is on disk: it survives a power loss.
    #[default]
    Sync,
    /// Once it is written: it survives the end of the process, not of the power.
    Async,
}

/// The broker's settings.
#[derive(Clone, Debug)]
pub struct Config {
    /// The cluster's name.
    pub cluster: String,
    /// The broker's name; handles hold it.
    pub broker_name: String,
    /// The address that clients reach the broker at; message ids hold it.
    pub store_host: SocketAddr,
    /// When an acknowledged message is safe.
    pub flush: Flush,
    /// How far ahead a message may be wanted, in ms; the same for every protocol.
    pub max_delay_ms: i64,
    /// The delay levels.
    pub levels: LevelTable,
    /// Whether messages may be wanted at any moment (levels are always served).
    pub timer_enabled: bool,
    /// Bytes of a body at most.
    pub max_body_bytes: usize,
    /// Whether a send by remoting makes the topic it names.
    pub auto_create_topics: bool,
    /// Whether a client makes the group it names.
    pub auto_create_groups: bool,
    /// Queues of a topic made by a send, at most.
    pub default_queues: u32,
    /// Messages that may wait for their moment; `None` for no limit.
    pub pending_max: Option<u64>,
    /// Messages of one topic that may.
    pub pending_per_topic_max: Option<u64>,
    /// Messages that may be due within one second of the wall clock.
    pub pending_per_second_max: Option<u64>,
    /// How long a message keeps its `DUEMQ_DEDUP_KEY` after its delivery, or after it was stored to be delivered at once.
    pub dedup_window: Duration,
    /// Bytes written and not yet synced, beyond which deliveries pause.
    pub unsynced_bytes_max: u64,
    /// Topics beyond which no send makes one, nor a pop a retry topic: its messages come again from their own queue.
    pub topics_max: usize,
    /// Groups beyond which none is made by being named.
    pub groups_max: usize,
    /// Queues that may be locked at one time, by all groups together.
    pub locks_max: usize,
    /// Bytes of what one connection's client says that it produces and consumes.
    pub client_bytes_max: usize,
    /// Bytes of what all clients say that they produce and consume.
    pub clients_bytes_max: usize,
    /// Requests that may wait for messages at one time.
    pub parked_max: usize,
    /// Bytes that these requests may fill with what they want.
    pub parked_bytes_max: usize,
    /// Leases that a group may hold in one queue.
    pub leases_max: usize,
    /// How long a message can be read at least, from its delivery or send on. One that waits is kept until it is
    /// delivered.
    pub retention: Duration,
    /// Bytes of log beyond which messages go earlier; `None` for no such limit.
    pub retention_bytes: Option<u64>,
    /// From what on the timer's buckets get another shape.
    pub buckets: timer::Shape,
    /// Bytes of log after which a checkpoint is written.
    pub checkpoint_bytes: u64,
    /// Pending messages that came or left, after which a checkpoint is written: so many are held in memory.
    pub checkpoint_entries: usize,
    /// How long after the last one a checkpoint is written at the latest, where anything came at all.
    pub checkpoint_every: Duration,
    /// How the log is kept.
    pub log: journal::Options,
}

impl Config {
    /// The defaults, for a broker of that name at that address.
    pub fn new(broker_name: impl Into<String>, store_host: SocketAddr) -> Self {
        Self {
            cluster: "DefaultCluster".to_owned(),
            broker_name: broker_name.into(),
            store_host,
            flush: Flush::Sync,
            // Ten years, with as many leap days as ten years can have.
            max_delay_ms: 3653 * 86_400_000,
            levels: LevelTable::default(),
            timer_enabled: true,
            max_body_bytes: 4 << 20,
            auto_create_topics: true,
            auto_create_groups: true,
            default_queues: 8,
            pending_max: None,
            pending_per_topic_max: None,
            pending_per_second_max: None,
            dedup_window: Duration::from_mins(10),
            unsynced_bytes_max: 4 << 20,
            topics_max: 100_000,
            groups_max: 50_000,
            locks_max: 1_000_000,
            client_bytes_max: 4 << 20,
            clients_bytes_max: 512 << 20,
            parked_max: 100_000,
            parked_bytes_max: 512 << 20,
            leases_max: 20_000,
            retention: Duration::from_hours(72),
            retention_bytes: None,
            buckets: timer::Shape::default(),
            checkpoint_bytes: 256 << 20,
            checkpoint_entries: 500_000,
            checkpoint_every: Duration::from_secs(600),
            log: journal::Options::default(),
        }
    }
}

/// Bytes of a client's id, at most.
pub(crate) const CLIENT_ID_MAX: usize = 1024;
/// Messages in one answer, at most. Peer: `maxTransferCountOnMessageInMemory`.
pub(crate) const MESSAGES_MAX: u32 = 32;
/// Bytes in one answer, at most; one message always fits. Peer: `maxTransferBytesOnMessageInMemory`.
pub(crate) const ANSWER_BYTES_MAX: u32 = 256 << 10;
/// Queue entries that one pull or pop looks at before it gives way to others.
pub(crate) const SCAN_MAX: usize = 4096;
/// Messages that one pull reads where it must see them to know which are wanted, at most.
pub(crate) const CHOOSE_FROM_MAX: usize = 256;
/// The most queues of a topic.
pub(crate) const QUEUES_MAX: u32 = 1024;
/// The longest a pull or pop may wait.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(60);
/// The longest a lease may be. Peer: `maxInvisibleTimeMills`, of the proxy.
pub(crate) const INVISIBLE_MAX: Duration = Duration::from_hours(12);
/// How long a lease that is renewed lasts at least after a restart: its client has yet to come back.
pub(crate) const RENEWED_MIN: Duration = Duration::from_secs(30);
/// How often committed offsets are written to the log, at most.
pub(crate) const OFFSETS_EVERY: Duration = Duration::from_millis(100);
/// How far ahead of their moment the bytes of due messages are read, in ms.
pub(crate) const STAGE_AHEAD_MS: i64 = 2000;
/// Messages whose bytes are read ahead at one time, at most.
pub(crate) const STAGE_MAX: usize = 4096;
/// Bytes read ahead at one time, at most; one message always fits.
pub(crate) const STAGE_BYTES: usize = 8 << 20;
/// Bytes read ahead and not yet delivered, beyond which no more are.
pub(crate) const STAGED_BYTES_MAX: usize = 128 << 20;
/// How often, in ms, it is looked at what falls due soon.
pub(crate) const STAGE_STEP_MS: i64 = 100;
/// Leases that one tick ends, at most.
pub(crate) const LEASES_ENDED_MAX: usize = 512;
/// Entries of one record of leases, acks or offsets, at most: it must fit a segment.
pub(crate) const RECORD_ENTRIES_MAX: usize = 256;
/// How young a queue's first message must be, in bytes of the log, for a new group to begin with it.
pub(crate) const YOUNG_BYTES: u64 = 256 << 20;
