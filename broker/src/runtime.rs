//! Runtime: what the broker can tell of itself, and the settings it takes while it runs.

use crate::traffic::Figures;
use crate::{Broker, Flush, Reply, RequestId, Stats};
use model::{LevelTable, LogOffset, QueueOffset, Timestamp, TopicName};
use std::time::Duration;

/// A question for how the broker does.
#[derive(Clone, Copy, Debug)]
pub struct GetRuntime;

/// How the broker does.
#[derive(Clone, Debug)]
pub struct Runtime {
    /// When it was opened.
    pub opened_at: Timestamp,
    /// Now.
    pub now: Timestamp,
    /// Its counts.
    pub stats: Stats,
    /// Its traffic.
    pub traffic: Figures,
    /// The log's first byte that is kept.
    pub log_first: LogOffset,
    /// The log's end.
    pub log_end: LogOffset,
    /// All before it is written.
    pub log_written: LogOffset,
    /// All before it is on disk.
    pub log_durable: LogOffset,
    /// When the oldest message that can be read was stored; 0 for none.
    pub earliest_stored_at: Timestamp,
    /// The earliest moment that a pending message is due at.
    pub next_due: Option<Timestamp>,
    /// Of each delay level: what has left its view, and what was ever accepted.
    pub levels: Vec<(QueueOffset, QueueOffset)>,
    /// The same of messages that wait for a moment of their own.
    pub timed: (QueueOffset, QueueOffset),
    /// Pending messages of each topic that has any.
    pub pending_by_topic: Vec<(TopicName, u64)>,
}

/// The settings that can be changed while the broker runs, as they shall be.
#[derive(Clone, Debug)]
pub struct Configure {
    /// When an acknowledged message is safe.
    pub flush: Flush,
    /// How far ahead a message may be wanted, in ms.
    pub max_delay_ms: i64,
    /// The delay levels; what is pending keeps its moment.
    pub levels: LevelTable,
    /// Whether messages may be wanted at any moment.
    pub timer_enabled: bool,
    /// Bytes of a body at most.
    pub max_body_bytes: usize,
    /// Whether a send by remoting makes the topic it names.
    pub auto_create_topics: bool,
    /// Whether a client makes the group it names.
    pub auto_create_groups: bool,
    /// Queues of a topic made by a send, at most.
    pub default_queues: u32,
    /// Messages that may wait for their moment; `None` for no limit. Those that do go on.
    pub pending_max: Option<u64>,
    /// Messages of one topic that may.
    pub pending_per_topic_max: Option<u64>,
    /// Messages that may be due within one second of the wall clock.
    pub pending_per_second_max: Option<u64>,
    /// How long a message keeps its `DUEMQ_DEDUP_KEY` after its delivery.
    pub dedup_window: Duration,
}

impl Broker {
    pub(crate) fn get_runtime(&mut self, id: RequestId) {
        let levels = 1..=u8::try_from(self.config.levels.max()).unwrap_or(u8::MAX);
        let earliest = self.store.queues().filter_map(|(.., queue)| queue.get(queue.min()));
        let due = self.due.counts();
        let pending = self.topics.iter().map(|topic| {
            let due = due.get(&topic.id).copied().unwrap_or(0);
            (topic.name.clone(), self.timer.count(topic.id) + due)
        });
        let runtime = Runtime {
            opened_at: self.opened_at,
            now: self.now.wall,
            stats: self.stats(),
            traffic: self.traffic.figures(self.now.monotonic),
            log_first: self.log.first(),
            log_end: self.log.appended(),
            log_written: self.log.written(),
            log_durable: self.log.durable(),
            earliest_stored_at: earliest.map(|entry| entry.stored_at).min().unwrap_or_default(),
            next_due: self.timer.due_within(self.now.wall, 1).first().map(|entry| entry.deliver_at),
            levels: levels.map(|level| self.views.bounds(level)).collect(),
            timed: self.views.bounds(0),
            pending_by_topic: pending.filter(|(_, count)| *count > 0).collect(),
        };
        self.reply(id, Reply::GetRuntime(Box::new(runtime)));
    }

    pub(crate) fn configure(&mut self, id: RequestId, ask: Configure) {
        let Configure {
            flush,
            max_delay_ms,
            levels,
            timer_enabled,
            max_body_bytes,
            auto_create_topics,
            auto_create_groups,
            default_queues,
            pending_max,
            pending_per_topic_max,
            pending_per_second_max,
            dedup_window,
        } = ask;
        self.config.flush = flush;
        self.config.max_delay_ms = max_delay_ms;
        self.config.levels = levels;
        self.config.timer_enabled = timer_enabled;
        self.config.max_body_bytes = max_body_bytes;
        self.config.auto_create_topics = auto_create_topics;
        self.config.auto_create_groups = auto_create_groups;
        self.config.default_queues = default_queues;
        self.config.pending_max = pending_max;
        self.config.pending_per_topic_max = pending_per_topic_max;
        self.config.pending_per_second_max = pending_per_second_max;
        self.timer.count_seconds(pending_per_second_max.is_some());
        self.config.dedup_window = dedup_window;
        // The views of the levels and the template of new topics follow.
        if self.unwritable().is_none() {
            self.make_system_topics();
        }
        self.reply_safe(id, Reply::Configure(()));
    }
}
