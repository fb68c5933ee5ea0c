//! The broker driven as the server drives it, on a simulated disk, with a clock that the test moves.

mod admin;
mod checkpoint;
mod consume;
mod dedup;
mod deliver;
mod filter;
mod forged;
mod handover;
mod lease;
mod limits;
mod members;
mod pending;
mod pop;
mod quota;
mod recall;
mod recover;
mod reported;
mod retain;
mod retry;
mod send;
mod transaction;
mod written;

use crate::*;
use bytes::Bytes;
use env::SimDisk;
use model::{
    GroupName, Message, Monotonic, Properties, QueueId, QueueOffset, Timestamp, TopicKind, TopicName,
};
use std::collections::BTreeMap;
use wire::stored::View as Stored;

/// The wall clock when a test begins.
const BEGIN: i64 = 1_700_000_000_000;

/// A broker and its world.
struct Rig {
    broker: Broker,
    disk: SimDisk,
    /// What the broker and its work see of the disk.
    world: std::sync::Arc<dyn env::Disk>,
    now: Now,
    next_id: u64,
    replies: BTreeMap<RequestId, Reply>,
    notices: Vec<(model::ConnectionId, Notice)>,
    /// Whether syncs are done as they come; else they wait.
    sync: bool,
    held: Vec<Work>,
}

fn config() -> Config {
    let mut config = Config::new("broker-a", "127.0.0.1:10911".parse().unwrap());
    config.log = journal::Options { segment_bytes: 1 << 20, step_bytes: 64 << 10, tail_bytes: 256 << 10 };
    config.max_body_bytes = 64 << 10;
    config
}

fn at(ms: i64) -> Now {
    Now {
        wall: Timestamp::from_millis(BEGIN + ms),
        wall_nanos: 0,
        monotonic: Monotonic::from_nanos(ms as u64 * 1_000_000),
    }
}

impl Rig {
    fn new() -> Self {
        Self::with(config())
    }

    fn with(config: Config) -> Self {
        Self::open(SimDisk::new(7), config, at(0))
    }

    fn open(disk: SimDisk, config: Config, now: Now) -> Self {
        Self::open_on(std::sync::Arc::new(disk.clone()), disk, config, now)
    }

    /// A broker that sees `disk` through `world`.
    fn open_on(world: std::sync::Arc<dyn env::Disk>, disk: SimDisk, config: Config, now: Now) -> Self {
        let (broker, _) = Broker::open(std::sync::Arc::clone(&world), config, now).unwrap();
        let mut rig = Self { world, ..Self::of(broker, disk, now) };
        rig.turn();
        rig
    }

    fn of(broker: Broker, disk: SimDisk, now: Now) -> Self {
        let (replies, notices, held) = (BTreeMap::new(), Vec::new(), Vec::new());
        let world = std::sync::Arc::new(disk.clone());
        Self { broker, disk, world, now, next_id: 0, replies, notices, sync: true, held }
    }

    /// The process ends at once, and starts again `ms` later.
    fn killed(self, ms: i64) -> Self {
        let now = Now { wall: Timestamp::from_millis(self.now.wall.as_millis() + ms), ..self.now };
        let config = self.broker.config().clone();
        Self::open(self.disk.after_kill(), config, now)
    }

    /// Hands a request in, without waiting for its answer.
    fn begin<V: Verb>(&mut self, verb: V) -> RequestId {
        self.next_id += 1;
        let id = RequestId(self.next_id);
        self.broker.handle(self.now, id, verb.into());
        id
    }

    /// One turn: time, write, work, replies; until nothing moves any more.
    fn turn(&mut self) {
        loop {
            self.broker.tick(self.now, Budget::default());
            self.broker.write();
            let mut moved = false;
            while let Some(work) = self.broker.poll_work() {
                moved = true;
                self.work(work);
            }
            while let Some((id, reply)) = self.broker.poll_reply() {
                assert!(self.replies.insert(id, reply).is_none(), "{id:?} was answered twice");
            }
            if !moved && self.broker.next_wakeup(self.now) != Some(Duration::ZERO) {
                return;
            }
        }
    }

    fn work(&mut self, work: Work) {
        let done = match work {
            Work::Log(journal::Job::Sync(_)) if !self.sync => return self.held.push(work),
            Work::Notify(connection, notice) => return self.notices.push((connection, notice)),
            work => work.run(&*self.world),
        };
        self.broker.done(self.now, done.expect("work on the disk")).unwrap();
    }

    /// Lets time pass on both clocks, a millisecond at a time, as far as something happens there.
    fn pass(&mut self, ms: i64) {
        let end = self.now.wall.as_millis() + ms;
        while self.now.wall.as_millis() < end {
            let left = end - self.now.wall.as_millis();
            let step = self
                .broker
                .next_wakeup(self.now)
                .map_or(left, |wait| (wait.as_millis() as i64).clamp(1, left));
            self.now.wall = Timestamp::from_millis(self.now.wall.as_millis() + step);
            self.now.monotonic = self.now.monotonic.after(Duration::from_millis(step as u64));
            self.turn();
        }
    }

    /// Asks, and gives the answer, which must come without any time passing.
    fn ask<V: Verb>(&mut self, verb: V) -> V::Answer {
        let id = self.begin(verb);
        self.turn();
        self.answer::<V>(id).expect("an answer at once")
    }

    /// The answer to an earlier request, where it has come.
    fn answer<V: Verb>(&mut self, id: RequestId) -> Option<V::Answer> {
        self.replies.remove(&id).map(|reply| V::answer(reply).expect("an answer to what was asked"))
    }

    fn topic(&mut self, name: &str, queues: u32) {
        self.ask(CreateTopic {
            name: topic(name),
            read_queues: queues,
            write_queues: queues,
            permission: model::Permission::READ_WRITE,
            kind: Some(TopicKind::Mixed),
            order: false,
            sys_flag: 0,
        })
        .unwrap();
    }

    fn send(&mut self, send: Send) -> Sent {
        self.ask(send).unwrap().remove(0)
    }

    fn pull(&mut self, topic: &str, offset: i64) -> Pulled {
        self.ask(pull(topic, offset, None)).unwrap()
    }

    fn bodies(&mut self, topic: &str) -> Vec<String> {
        self.pull(topic, 0).messages.iter().map(body).collect()
    }

    fn pop(&mut self, topic: &str, invisible_ms: u64) -> Vec<PoppedMessage> {
        self.ask(pop(topic, invisible_ms, 0)).unwrap().messages
    }
}

fn topic(name: &str) -> TopicName {
    TopicName::new(name).unwrap()
}

fn group() -> GroupName {
    GroupName::new("g").unwrap()
}

fn message(body: &str, properties: &[(&str, &str)]) -> Message {
    Message {
        flag: 0,
        sys_flag: 0,
        born_at: Timestamp::from_millis(BEGIN - 1),
        born_host: "10.0.0.1:5000".parse().unwrap(),
        reconsume_times: 0,
        prepared_transaction_offset: 0,
        properties: properties.iter().copied().collect::<Properties>(),
        body: Bytes::copy_from_slice(body.as_bytes()),
    }
}

/// A send of one message to queue 0, as remoting does.
fn send(to: &str, body: &str, properties: &[(&str, &str)]) -> Send {
    Send {
        topic: topic(to),
        queue_id: Some(QueueId(0)),
        messages: vec![message(body, properties)],
        auto_create: Some(AutoCreate { queues: 4 }),
        check_kind: false,
        as_level: false,
        batch: false,
        max_reconsume_times: None,
    }
}

fn pull(from: &str, offset: i64, wait_ms: Option<u64>) -> Pull {
    Pull {
        group: group(),
        topic: topic(from),
        queue_id: QueueId(0),
        queue_offset: QueueOffset(offset),
        max_messages: 32,
        max_bytes: None,
        filter: Some(Filter::All),
        sub_version: 0,
        rechecks: true,
        commit_offset: None,
        wait: wait_ms.map(Duration::from_millis),
        member: None,
    }
}

fn pop(from: &str, invisible_ms: u64, wait_ms: u64) -> Pop {
    Pop {
        group: group(),
        topic: topic(from),
        queue_id: None,
        max_messages: 32,
        invisible: Duration::from_millis(invisible_ms),
        wait: Duration::from_millis(wait_ms),
        from_end: true,
        filter: Filter::All,
        ordered: false,
        attempt_id: None,
        renewed_for: None,
    }
}

fn ack(from: &str, messages: &[PoppedMessage]) -> Ack {
    Ack { group: group(), topic: topic(from), handles: messages.iter().map(|m| m.handle.clone()).collect() }
}

fn body(bytes: &Bytes) -> String {
    String::from_utf8(Stored::parse(bytes).unwrap().body().to_vec()).unwrap()
}

fn property(bytes: &Bytes, name: &str) -> Option<String> {
    Stored::parse(bytes).unwrap().property(name).map(str::to_owned)
}
