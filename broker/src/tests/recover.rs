use super::*;

#[test]
fn after_a_kill_everything_is_as_it_was() {
    let mut rig = Rig::new();
    rig.topic("t", 2);
    rig.send(send("t", "now", &[("KEYS", "k")]));
    rig.send(send("t", "soon", &[("TIMER_DELAY_MS", "1000")]));
    rig.send(send("t", "later", &[("DELAY", "4")]));
    rig.pass(1000);
    rig.ask(CommitOffset {
        group: group(),
        topic: topic("t"),
        queue_id: QueueId(0),
        queue_offset: QueueOffset(1),
    })
    .unwrap();
    rig.pass(100);
    let before = rig.ask(GetTopic { name: topic("t") });
    let mut rig = rig.killed(1);
    assert_eq!(rig.ask(GetTopic { name: topic("t") }), before);
    assert_eq!(rig.bodies("t"), ["now", "soon"], "delivered once");
    let query = QueryOffset { group: group(), topic: topic("t"), queue_id: QueueId(0), zero_if_young: false };
    assert_eq!(rig.ask(query), Ok(QueueOffset(1)));
    assert_eq!(rig.broker.stats().pending, 1);
    rig.pass(30_000);
    assert_eq!(rig.bodies("t"), ["now", "soon", "later"]);
    let view = rig.ask(GetBounds { topic: topic("SCHEDULE_TOPIC_XXXX"), queue_id: QueueId(3) });
    assert_eq!(view, Bounds { min: QueueOffset(1), max: QueueOffset(1) });
}

#[test]
fn what_fell_due_while_nobody_was_there_comes_at_once_oldest_first() {
    let mut rig = Rig::new();
    for ms in [3000, 1000, 2000] {
        rig.send(send("t", &ms.to_string(), &[("TIMER_DELAY_MS", &ms.to_string())]));
    }
    let mut rig = rig.killed(9 * 86_400_000);
    assert_eq!(rig.bodies("t"), ["1000", "2000", "3000"]);
}

#[test]
fn a_lease_goes_on_over_a_restart_with_what_was_left_of_it() {
    let mut rig = Rig::new();
    rig.topic("t", 1);
    for i in 0..3 {
        rig.send(send("t", &i.to_string(), &[]));
    }
    let popped = rig.pop("t", 10_000);
    rig.ask(ack("t", &popped[..1]));
    rig.pass(4000);
    let mut rig = rig.killed(1000);
    assert!(rig.pop("t", 10_000).is_empty(), "still leased");
    assert!(rig.ask(ack("t", &popped[1..2]))[0].is_ok(), "the handle is still good");
    rig.pass(4999);
    assert!(rig.pop("t", 10_000).is_empty());
    rig.pass(1);
    let again = rig.pop("t", 10_000);
    assert_eq!(again.iter().map(|m| (body(&m.bytes), m.attempt)).collect::<Vec<_>>(), [("2".to_owned(), 2)]);
}

#[test]
fn a_restart_with_the_clock_set_back_delivers_late_and_never_early() {
    let mut rig = Rig::new();
    rig.send(send("t", "x", &[("TIMER_DELAY_MS", "1000")]));
    let mut rig = rig.killed(-3_600_000);
    rig.pass(3_600_999);
    assert!(rig.bodies("t").is_empty());
    rig.pass(1);
    assert_eq!(rig.bodies("t"), ["x"]);
}

#[test]
fn a_start_tells_by_how_much_its_clock_is_behind_the_last_checkpoint() {
    let mut rig = Rig::new();
    rig.send(send("t", "x", &[("TIMER_DELAY_MS", "1000")]));
    rig.broker.begin_checkpoint();
    rig.turn();
    let behind = |ms| {
        let now = Now { wall: Timestamp::from_millis(BEGIN + ms), ..rig.now };
        let opened = Broker::open(std::sync::Arc::new(rig.disk.after_kill()), config(), now);
        opened.unwrap().1.clock_behind
    };
    assert_eq!(behind(-3_600_000), Some(Duration::from_hours(1)));
    assert_eq!(behind(0), None);
    assert_eq!(behind(5), None);
}

/// What a client was promised, and what it may find after a crash.
#[derive(Default)]
struct Promises {
    sent: Vec<String>,
    acked: Vec<String>,
}

pub(super) fn create_topic() -> CreateTopic {
    CreateTopic {
        name: topic("t"),
        read_queues: 1,
        write_queues: 1,
        permission: model::Permission::READ_WRITE,
        kind: None,
        order: false,
        sys_flag: 0,
    }
}

/// A little life: sends, delays, deliveries, pops, acks. Gives up at the first error of the disk.
fn live(rig: &mut Rig, promises: &mut Promises) -> Option<()> {
    rig.try_ask(create_topic())?.ok()?;
    for i in 0..6 {
        let delay = (i % 3 * 400).to_string();
        let body = format!("{i}");
        rig.try_ask(send("t", &body, &[("TIMER_DELAY_MS", &delay)]))?.ok()?;
        promises.sent.push(body);
        rig.try_pass(150)?;
    }
    let popped = rig.try_ask(pop("t", 60_000, 0))?.ok()?.messages;
    let half = &popped[..popped.len() / 2];
    if rig.try_ask(ack("t", half))?.iter().all(Result::is_ok) {
        rig.settle()?;
        promises.acked.extend(half.iter().map(|m| body(&m.bytes)));
    }
    rig.try_pass(900)
}

impl Rig {
    pub(super) fn try_ask<V: Verb>(&mut self, verb: V) -> Option<V::Answer> {
        let id = self.begin(verb);
        self.try_turn()?;
        self.answer::<V>(id)
    }

    pub(super) fn try_pass(&mut self, ms: i64) -> Option<()> {
        self.now.wall = Timestamp::from_millis(self.now.wall.as_millis() + ms);
        self.now.monotonic = self.now.monotonic.after(Duration::from_millis(ms as u64));
        self.try_turn()
    }

    /// A turn that ends with the disk's life.
    fn try_turn(&mut self) -> Option<()> {
        for _ in 0..20 {
            self.broker.tick(self.now, Budget::default());
            self.broker.write();
            while let Some(work) = self.broker.poll_work() {
                let Some(done) = work.run(&self.disk) else { continue };
                self.broker.done(self.now, done).ok()?;
            }
            while let Some((id, reply)) = self.broker.poll_reply() {
                self.replies.insert(id, reply);
            }
            if self.disk.crashed() {
                return None;
            }
        }
        Some(())
    }

    /// Whether all that was written is durable.
    fn settle(&mut self) -> Option<()> {
        self.try_turn()?;
        self.broker.is_settled().then_some(()).or_else(|| self.try_pass(100))
    }
}

#[test]
fn keeps_every_promise_through_a_crash_at_any_disk_operation() {
    crash_at_each_operation(&config());
}

#[test]
fn keeps_every_promise_through_a_crash_at_any_disk_operation_of_checkpoints_too() {
    crash_at_each_operation(&Config { checkpoint_bytes: 1500, ..config() });
}

fn crash_at_each_operation(config: &Config) {
    for operation in 0.. {
        let disk = SimDisk::crashing_at(operation);
        let mut promises = Promises::default();
        let opened = Broker::open(std::sync::Arc::new(disk.clone()), config.clone(), at(0));
        if let Ok((broker, _)) = opened {
            let mut rig = Rig::of(broker, disk.clone(), at(0));
            live(&mut rig, &mut promises);
        }
        let crashed = disk.crashed();
        let mut rig = Rig::open(disk.after_crash(), config.clone(), at(120_000));
        let mut seen: Vec<String> = Vec::new();
        if rig.ask(GetTopic { name: topic("t") }).is_some() {
            seen.extend(rig.bodies("t"));
            for message in rig.pop("t", 1000) {
                assert!(
                    !promises.acked.contains(&body(&message.bytes)),
                    "acked and again; crash at {operation}"
                );
            }
        }
        for body in &promises.sent {
            let times = seen.iter().filter(|seen| *seen == body).count();
            assert_eq!(times, 1, "message {body}; crash at {operation}; seen {seen:?}");
        }
        if !crashed {
            assert_eq!(promises.sent.len(), 6);
            return; // untouched: every operation has had its turn
        }
    }
}
