//! The node and its surroundings: disk, clock, work that is done late, crashes.

use crate::oracle::Oracle;
use crate::workload::Workload;
use broker::{Budget, Config, Flush, Reply, Request, RequestId, Verb, Work};
use env::{Disk, Fault, Seed, SimDisk};
use model::{Monotonic, Now, Timestamp};
use service::{Node, NodeReply, NodeRequest};
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

/// How a process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Downtime {
    /// At once; what was written stays.
    Kill,
    /// With the power; what was not synced may be gone, or torn.
    PowerLoss,
}

/// One node and what is around it.
pub struct World {
    node: Node,
    disk: SimDisk,
    config: Config,
    now: Now,
    next_id: u64,
    work: Vec<Work>,
    trace: Trace,
    crashes: u64,
    /// Of the lives before this one.
    counted: Counted,
}

/// What the node did behind its clients' backs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Checkpoints that stand or stood.
    pub checkpoints: u64,
    /// What they did to buckets.
    pub reshaped: timer::Reshaped,
    /// Segments of the log that were let go of.
    pub segments_expired: u64,
}

impl Counted {
    /// Counts another one in.
    pub fn add(&mut self, other: &Self) {
        self.checkpoints += other.checkpoints;
        self.reshaped.add(other.reshaped);
        self.segments_expired += other.segments_expired;
    }
}

/// A digest of what happened, in order (64-bit FNV-1a over its text).
struct Trace(u64);

impl Write for Trace {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Ok(())
    }
}

fn config(dice: &mut Seed) -> Config {
    let mut config = Config::new("sim", "127.0.0.1:10911".parse().expect("an address"));
    // Small numbers, so that every edge is met often.
    config.log = journal::Options { segment_bytes: 64 << 10, step_bytes: 16 << 10, tail_bytes: 8 << 10 };
    config.flush = if dice.chance(0.2) { Flush::Async } else { Flush::Sync };
    config.max_body_bytes = 4096;
    config.unsynced_bytes_max = 4096 << dice.below(6);
    if dice.chance(0.3) {
        config.retention = Duration::from_millis(10_u64.pow(1 + dice.below(6) as u32));
    }
    if dice.chance(0.1) {
        config.retention_bytes = Some(100_000 << dice.below(4));
    }
    config.buckets = timer::Shape {
        copy_ahead_ms: 10_i64.pow(2 + dice.below(5) as u32),
        chunks_max: 1 + dice.below(8) as u32,
        dead_bytes_min: 10_u64.pow(2 + dice.below(3) as u32),
    };
    if dice.chance(0.15) {
        config.pending_max = Some(1 + dice.below(60));
    }
    if dice.chance(0.15) {
        config.pending_per_topic_max = Some(1 + dice.below(60));
    }
    if dice.chance(0.15) {
        config.pending_per_second_max = Some(1 + dice.below(10));
    }
    config.dedup_window = Duration::from_millis(10_u64.pow(1 + dice.below(8) as u32));
    config.checkpoint_bytes = 2048 << dice.below(8);
    config.checkpoint_entries = 1 + dice.below(200) as usize;
    config.checkpoint_every = Duration::from_millis(1 + dice.below(100_000));
    config
}

impl World {
    /// A new node on an empty disk.
    pub fn new(seed: u64, dice: &mut Seed) -> Self {
        let config = config(dice);
        let disk = SimDisk::new(seed);
        let now = Now {
            wall: Timestamp::from_millis(1_800_000_000_000 + dice.below(1_000_000) as i64),
            wall_nanos: 0,
            monotonic: Monotonic::from_nanos(0),
        };
        let (node, _) = Node::open(Arc::new(disk.clone()), config.clone(), now).expect("an empty disk opens");
        let trace = Trace(0xcbf2_9ce4_8422_2325);
        Self {
            node,
            disk,
            config,
            now,
            next_id: 0,
            work: Vec::new(),
            trace,
            crashes: 0,
            counted: Counted::default(),
        }
    }

    /// The time.
    pub fn now(&self) -> Now {
        self.now
    }

    /// Whether an acknowledged send is durable rather than written.
    pub fn is_sync(&self) -> bool {
        self.config.flush == Flush::Sync
    }

    /// How long a message can be read at least, in ms; 0 where it may go at any time.
    pub fn kept_ms(&self) -> i64 {
        let by_time = i64::try_from(self.config.retention.as_millis()).unwrap_or(i64::MAX);
        if self.config.retention_bytes.is_some() { 0 } else { by_time }
    }

    /// How long a message keeps its key against doubles after its delivery, in ms.
    pub fn window_ms(&self) -> i64 {
        i64::try_from(self.config.dedup_window.as_millis()).unwrap_or(i64::MAX)
    }

    /// Messages the node says are pending.
    pub fn pending(&self) -> u64 {
        self.node.broker().stats().pending
    }

    /// Whether nothing is under way but requests that wait for messages.
    pub fn is_settled(&self) -> bool {
        let busy = self.node.next_wakeup(self.now) == Some(Duration::ZERO);
        self.work.is_empty() && self.node.broker().is_settled() && !busy
    }

    /// A digest of all that happened.
    pub fn trace(&self) -> u64 {
        self.trace.0
    }

    /// What the node did behind its clients' backs, in all its lives.
    pub fn counted(&self) -> Counted {
        let broker::Stats { checkpoints, reshaped, segments_expired, .. } = self.node.broker().stats();
        let mut counted = self.counted;
        counted.add(&Counted { checkpoints, reshaped, segments_expired });
        counted
    }

    /// How often the process or the power ended.
    pub fn crashes(&self) -> u64 {
        self.crashes
    }

    /// Hands a request in; its answer goes to the workload.
    pub fn ask<V: Verb>(&mut self, verb: V) -> RequestId {
        self.next_id += 1;
        let id = RequestId(self.next_id);
        let request: Request = verb.into();
        let _ = write!(self.trace, "{id:?}{request:?}");
        self.node.handle(self.now, id, NodeRequest::Broker(request));
        id
    }

    /// One turn of the driver. Of the work that is out, some is done, in any order.
    pub fn turn(&mut self, dice: &mut Seed, oracle: &mut Oracle, workload: &mut Workload) {
        oracle.at(self.now.wall);
        self.node.tick(self.now, Budget { messages: 1 + dice.below(20) as usize, bytes: 8 << 10 });
        self.node.write();
        while let Some(work) = self.node.poll_work() {
            if !matches!(work, Work::Notify(..)) {
                self.work.push(work);
            }
        }
        self.answers(oracle, workload);
        while !self.work.is_empty() && dice.chance(0.6) {
            let work = self.work.swap_remove(dice.below(self.work.len() as u64) as usize);
            let done = work.run(&self.disk).expect("what is not done on the disk is kept out above");
            self.node.done(self.now, done).expect("no sync fails here");
        }
        self.answers(oracle, workload);
        // One topic is delayed in, and nobody gives back with a delay.
        let limits = [self.config.pending_max, self.config.pending_per_topic_max];
        let limit = limits.into_iter().flatten().min().unwrap_or(u64::MAX);
        assert!(self.pending() <= limit, "{}: {} are pending of {limit}", oracle.seed(), self.pending());
        if self.node.broker().is_settled() {
            oracle.all_durable();
        }
    }

    fn answers(&mut self, oracle: &mut Oracle, workload: &mut Workload) {
        while let Some((id, reply)) = self.node.poll_reply() {
            let _ = write!(self.trace, "{id:?}{reply:?}");
            match reply {
                NodeReply::Broker(reply) => self.answered(id, reply, oracle, workload),
                other => unreachable!("only the broker is asked, not for {other:?}"),
            }
        }
    }

    fn answered(&mut self, id: RequestId, reply: Reply, oracle: &mut Oracle, workload: &mut Workload) {
        let durable = self.is_sync() || self.node.broker().is_settled();
        if let Some(next) = workload.answered(id, reply, oracle, durable) {
            let id = self.ask(next);
            workload.asks_page(id);
        }
    }

    /// A start that reads the whole log knows the same as one that began with a checkpoint.
    fn compare(&self, oracle: &Oracle) {
        let disk = self.disk.copy();
        if disk.len("log-00000000000000000000").is_err() {
            return; // its beginning is gone
        }
        let kept = |name: &String| name.starts_with("log-");
        for name in disk.list().expect("it fails nowhere").into_iter().filter(|name| !kept(name)) {
            disk.remove(&name).expect("it fails nowhere");
        }
        let (node, _) = Node::open(Arc::new(disk), self.config.clone(), self.now)
            .unwrap_or_else(|error| panic!("{}: the log alone does not open: {error}", oracle.seed()));
        let same = node.broker().outline() == self.node.broker().outline();
        assert!(same, "{}: a checkpoint tells another story than the log", oracle.seed());
    }

    /// Time passes: mostly a little, sometimes up to when something is to happen.
    pub fn pass(&mut self, dice: &mut Seed) {
        let ms = match dice.below(10) {
            0..=5 => dice.below(3),
            6..=8 => dice.below(50),
            _ => self.node.next_wakeup(self.now).map_or(100, |wait| wait.as_millis().min(30_000) as u64),
        };
        self.advance(ms);
    }

    /// Both clocks go on.
    pub fn advance(&mut self, ms: u64) {
        self.now.wall = Timestamp::from_millis(self.now.wall.as_millis() + ms as i64);
        self.now.monotonic = self.now.monotonic.after(Duration::from_millis(ms));
    }

    /// The wall clock is set, to any side.
    pub fn jump(&mut self, dice: &mut Seed) {
        let far = 10_u64.pow(dice.below(11) as u32);
        let ms = dice.below(far) as i64 - (far / 2) as i64;
        self.now.wall = Timestamp::from_millis(self.now.wall.as_millis() + ms);
    }

    /// The disk refuses the next few writes.
    pub fn refuse_writes(&mut self, dice: &mut Seed) {
        self.disk.inject(Fault::FailWrites(1 + dice.below(4) as u32));
    }

    /// The disk refuses nothing any more.
    pub fn heal(&mut self) {
        self.disk.inject(Fault::FailWrites(0));
    }

    /// The server is started anew, and keeps its whole log from now on.
    pub fn keep_all(&mut self, dice: &mut Seed, oracle: &mut Oracle, workload: &mut Workload) {
        self.config.retention = Duration::MAX;
        self.config.retention_bytes = None;
        self.crash(Downtime::Kill, dice, oracle, workload);
        oracle.all_is_kept();
    }

    /// The process ends, and starts again after a while, perhaps with its clock set back.
    pub fn crash(&mut self, how: Downtime, dice: &mut Seed, oracle: &mut Oracle, workload: &mut Workload) {
        self.crashes += 1;
        self.counted = self.counted();
        let _ = write!(self.trace, "{how:?}");
        self.heal();
        // Some of what was under way reached the disk, a checkpoint in part.
        let (checkpoints, others): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.work).into_iter().partition(|work| matches!(work, Work::Checkpoint(_)));
        for work in others {
            if how == Downtime::PowerLoss && matches!(work, Work::Log(_)) && dice.chance(0.5) {
                work.run(&self.disk);
            }
        }
        for work in checkpoints {
            self.disk.crash_at(self.disk.operations() + dice.below(25));
            work.run(&self.disk);
        }
        self.disk = match how {
            Downtime::Kill => self.disk.after_kill(),
            Downtime::PowerLoss => self.disk.after_crash(),
        };
        let wall = self.now.wall.as_millis() + dice.below(20_000) as i64 - 2000;
        self.now = Now { wall: Timestamp::from_millis(wall), wall_nanos: 0, monotonic: self.now.monotonic };
        let (node, _) = Node::open(Arc::new(self.disk.clone()), self.config.clone(), self.now)
            .unwrap_or_else(|error| {
                panic!("{}: the log does not open after {how:?}: {error}", oracle.seed())
            });
        self.node = node;
        self.compare(oracle);
        oracle.crashed(how);
        workload.crashed(oracle);
    }
}
