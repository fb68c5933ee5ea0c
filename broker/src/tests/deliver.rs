use super::*;

#[test]
fn a_delayed_message_comes_at_its_millisecond_and_not_before() {
    let mut rig = Rig::new();
    rig.send(send("t", "level", &[("DELAY", "1")]));
    rig.send(send("t", "ms", &[("TIMER_DELAY_MS", "1500")]));
    rig.send(send("t", "at", &[("TIMER_DELIVER_MS", &(BEGIN + 2001).to_string())]));
    for (until, seen) in [(999, 0), (1000, 1), (1499, 1), (1500, 2), (2000, 2), (2001, 3)] {
        rig.pass(BEGIN + until - rig.now.wall.as_millis());
        assert_eq!(rig.bodies("t").len(), seen, "{until} ms after the sends");
    }
    assert_eq!(rig.broker.stats().lateness_max_ms, 0);
}

#[test]
fn a_delivered_message_is_the_sent_one_without_a_live_delay() {
    let mut rig = Rig::new();
    rig.topic("t", 4);
    let properties =
        [("TAGS", "tag"), ("KEYS", "k"), ("user", "值 = 1"), ("TIMER_DELAY_SEC", "2"), ("UNIQ_KEY", "ID")];
    let sent = rig.send(Send { queue_id: Some(QueueId(3)), ..send("t", "body", &properties) });
    assert_eq!(sent.queue_id, QueueId(3));
    rig.pass(2000);
    let pulled = rig.ask(Pull { queue_id: QueueId(3), ..pull("t", 0, None) }).unwrap();
    let bytes = &pulled.messages[0];
    let view = Stored::parse(bytes).unwrap();
    assert_eq!((view.topic(), view.queue_id(), view.body()), ("t", QueueId(3), b"body".as_slice()));
    assert_eq!((view.born_at(), view.stored_at()), (Timestamp::from_millis(BEGIN - 1), rig.now.wall));
    assert_ne!(view.log_offset(), sent.log_offset);
    let due = (BEGIN + 2000).to_string();
    for (name, value) in [
        ("TAGS", Some("tag")),
        ("KEYS", Some("k")),
        ("user", Some("值 = 1")),
        ("UNIQ_KEY", Some("ID")),
        ("REAL_TOPIC", Some("t")),
        ("REAL_QID", Some("3")),
        ("TIMER_DELIVER_MS", Some(&due)),
        ("TIMER_DEQUEUE_MS", Some(&due)),
        ("DELAY", None),
        ("TIMER_DELAY_SEC", None),
        ("TIMER_DELAY_MS", None),
    ] {
        assert_eq!(property(bytes, name).as_deref(), value, "{name}");
    }
    // Forwarded with all its properties, it is not delayed again.
    let all = view.properties();
    let all: Vec<_> = all.iter().collect();
    rig.send(send("other", "forwarded", &all));
    assert_eq!(rig.bodies("other"), ["forwarded"]);
}

#[test]
fn messages_due_together_come_in_the_order_of_acceptance() {
    let mut rig = Rig::new();
    let due = (BEGIN + 3000).to_string();
    let sent: Vec<String> = (0..100).map(|i| i.to_string()).collect();
    for body in &sent {
        rig.send(send("t", body, &[("TIMER_DELIVER_MS", &due)]));
        rig.pass(7);
    }
    rig.pass(3000);
    let mut got = Vec::new();
    for offset in [0, 32, 64, 96] {
        got.extend(rig.pull("t", offset).messages.iter().map(body));
    }
    assert_eq!(got, sent);
}

#[test]
fn what_was_wanted_earlier_than_now_comes_at_once() {
    let mut rig = Rig::new();
    for properties in
        [("TIMER_DELIVER_MS", "1"), ("TIMER_DELAY_MS", "0"), ("TIMER_DELAY_SEC", "-1"), ("DELAY", "0")]
    {
        let sent = rig.send(send("t", properties.0, &[properties]));
        assert_eq!(sent.recall_handle, None, "{properties:?}");
    }
    assert_eq!(rig.bodies("t").len(), 4);
}

#[test]
fn a_delayed_send_tells_its_real_queue_its_number_in_the_view_and_a_handle() {
    let mut rig = Rig::new();
    rig.topic("t", 2);
    let first = rig
        .send(Send { queue_id: Some(QueueId(1)), ..send("t", "x", &[("DELAY", "3"), ("UNIQ_KEY", "ID")]) });
    let second = rig.send(send("t", "x", &[("DELAY", "3")]));
    let timed = rig.send(send("t", "x", &[("TIMER_DELAY_MS", "5")]));
    assert_eq!(
        (first.queue_id, first.queue_offset, second.queue_offset),
        (QueueId(1), QueueOffset(0), QueueOffset(1))
    );
    assert_eq!(timed.queue_offset, QueueOffset(0));
    let handle = wire::recall_handle::RecallHandle::decode(&first.recall_handle.unwrap()).unwrap();
    assert_eq!(
        (handle.topic.as_str(), handle.broker.as_str(), handle.unique_key.as_str()),
        ("t", "broker-a", "ID")
    );
    assert_eq!(handle.deliver_at, Timestamp::from_millis(BEGIN + 10_000));
    let view =
        |rig: &mut Rig, name, queue| rig.ask(GetBounds { topic: topic(name), queue_id: QueueId(queue) });
    assert_eq!(view(&mut rig, "SCHEDULE_TOPIC_XXXX", 2), Bounds { min: QueueOffset(0), max: QueueOffset(2) });
    rig.pass(10_000);
    assert_eq!(view(&mut rig, "SCHEDULE_TOPIC_XXXX", 2), Bounds { min: QueueOffset(2), max: QueueOffset(2) });
    assert_eq!(view(&mut rig, "rmq_sys_wheel_timer", 0), Bounds { min: QueueOffset(1), max: QueueOffset(1) });
}

#[test]
fn a_level_above_the_last_is_taken_as_the_last_and_told() {
    let mut rig = Rig::new();
    let sent = rig.send(send("t", "x", &[("DELAY", "99")]));
    assert_eq!(sent.remark.unwrap(), "delay level 99 is above the last, taken as 18");
    rig.pass(7_199_999);
    assert!(rig.bodies("t").is_empty());
    rig.pass(1);
    assert_eq!(rig.bodies("t"), ["x"]);
}

#[test]
fn a_moment_taken_as_a_level_comes_with_it() {
    let mut rig = Rig::new();
    let moment = |body, ms: i64| {
        let moment = (BEGIN + ms).to_string();
        Send { as_level: true, ..send("t", body, &[("TIMER_DELIVER_MS", &moment)]) }
    };
    for (body, ms) in [("4s", 4000), ("5s", 5000), ("past", -60_000), ("3h", 3 * 3_600_000)] {
        rig.send(moment(body, ms));
    }
    let refused = rig.ask(moment("far", 3654 * 86_400_000)).unwrap_err().why;
    assert!(matches!(refused, SendRefusal::TooFar { .. }), "{refused}");
    let level = |of| rig.broker.views.bounds(of).1.0;
    assert_eq!([level(0), level(1), level(2), level(3), level(18)], [0, 1, 1, 1, 1]);
    let ends = [(1000, "past"), (5000, "4s"), (10_000, "5s"), (7_200_000, "3h")];
    for (came, (after, _)) in ends.into_iter().enumerate() {
        rig.pass(BEGIN + after - 1 - rig.now.wall.as_millis());
        assert_eq!(rig.bodies("t").len(), came, "{after} ms after the sends, but one");
        rig.pass(1);
        assert_eq!(rig.bodies("t").len(), came + 1, "{after} ms after the sends");
    }
    assert_eq!(rig.bodies("t"), ["past", "4s", "5s", "3h"]);
    let shown = property(&rig.pull("t", 1).messages[0], "TIMER_DELIVER_MS");
    assert_eq!(shown, Some((BEGIN + 5000).to_string()), "the moment it was delivered for");
}

#[test]
fn the_clock_going_back_makes_nothing_early_and_nothing_twice() {
    let mut rig = Rig::new();
    rig.send(send("t", "a", &[("TIMER_DELAY_MS", "1000")]));
    rig.send(send("t", "b", &[("TIMER_DELAY_MS", "5000")]));
    rig.pass(1000);
    rig.now.wall = Timestamp::from_millis(BEGIN - 60_000);
    rig.turn();
    rig.pass(64_999);
    assert_eq!(rig.bodies("t"), ["a"]);
    rig.pass(1);
    assert_eq!(rig.bodies("t"), ["a", "b"]);
}

#[test]
fn the_clock_going_forward_delivers_all_in_between_in_order() {
    let mut rig = Rig::new();
    for ms in [500_000_i64, 1000, 90_000_000, 31_536_000_000] {
        rig.send(send("t", &ms.to_string(), &[("TIMER_DELAY_MS", &ms.to_string())]));
    }
    rig.now.wall = Timestamp::from_millis(BEGIN + 40_000_000_000);
    rig.turn();
    assert_eq!(rig.bodies("t"), ["1000", "500000", "90000000", "31536000000"]);
}

#[test]
fn bytes_that_left_memory_are_read_ahead_of_their_moment() {
    let mut rig = Rig::new();
    let due = (BEGIN + 60_000).to_string();
    let body = "x".repeat(30_000);
    for i in 0..20 {
        rig.send(send("t", &format!("{i} {body}"), &[("TIMER_DELIVER_MS", &due)]));
    }
    for _ in 0..20 {
        rig.send(send("filler", &body, &[]));
    }
    rig.pass(60_000);
    assert_eq!(rig.broker.stats().delivered, 20);
    assert_eq!((rig.broker.stats().unstaged, rig.broker.stats().lateness_max_ms), (0, 0));
}

/// Whether the message at that place, due in a minute from the beginning, was read ahead.
fn staged(rig: &Rig, log_offset: model::LogOffset) -> bool {
    rig.broker.due.staged.holds((at(60_000).wall, log_offset))
}

#[test]
fn a_burst_is_read_ahead_to_its_last_message() {
    let mut rig = Rig::new();
    let due = (BEGIN + 60_000).to_string();
    let sent: Vec<_> = (0..5000)
        .map(|i: u32| rig.send(send("t", &i.to_string(), &[("TIMER_DELIVER_MS", &due)])).log_offset)
        .collect();
    for _ in 0..20 {
        rig.send(send("filler", &"x".repeat(30_000), &[]));
    }
    rig.pass(59_000);
    assert!(sent.iter().all(|&at| staged(&rig, at)));
    rig.pass(1000);
    assert_eq!(rig.broker.stats().delivered, 5000);
    assert_eq!((rig.broker.stats().unstaged, rig.broker.stats().lateness_max_ms), (0, 0));
}

#[test]
fn what_leaves_memory_just_before_its_moment_is_at_hand_for_it() {
    let mut rig = Rig::new();
    let due = (BEGIN + 60_000).to_string();
    rig.pass(57_900);
    rig.send(send("t", "x", &[("TIMER_DELIVER_MS", &due)]));
    rig.pass(600);
    for _ in 0..20 {
        rig.send(send("filler", &"x".repeat(30_000), &[]));
    }
    rig.pass(1500);
    assert_eq!((rig.broker.stats().delivered, rig.broker.stats().unstaged), (1, 0));
    assert_eq!(rig.broker.due.staged.bytes(), 0);
}

#[test]
fn what_was_read_ahead_and_waits_no_longer_is_let_go_of_at_its_moment() {
    let mut rig = Rig::new();
    let (due, body) = ((BEGIN + 60_000).to_string(), "x".repeat(30_000));
    let sent = rig.send(send("t", &body, &[("TIMER_DELIVER_MS", &due), ("UNIQ_KEY", "u")]));
    rig.send(send("gone", &body, &[("TIMER_DELIVER_MS", &due)]));
    for _ in 0..20 {
        rig.send(send("filler", &body, &[]));
    }
    rig.pass(59_000);
    assert!(staged(&rig, sent.log_offset));
    rig.ask(DeleteTopic { name: topic("gone") }).unwrap();
    let handle = wire::recall_handle::RecallHandle::decode(&sent.recall_handle.unwrap()).unwrap();
    assert_eq!(rig.ask(Recall { topic: topic("t"), handle }), Ok(Recalled::Recalled));
    let later = (BEGIN + 61_000).to_string();
    rig.send(send("t", "later", &[("TIMER_DELIVER_MS", &later)]));
    rig.pass(1_500);
    assert_eq!(rig.broker.due.staged.bytes(), 0);
    rig.pass(1_000);
    assert_eq!((rig.broker.stats().delivered, rig.broker.stats().unstaged), (1, 0));
}

#[test]
fn a_disk_that_refuses_holds_deliveries_until_it_takes_them_again() {
    let mut rig = Rig::new();
    rig.send(send("t", "x", &[("TIMER_DELAY_MS", "1000")]));
    rig.disk.inject(env::Fault::FailWrites(u32::MAX));
    rig.pass(5000);
    assert!(rig.ask_refused(send("t", "y", &[])).contains("cannot be written"));
    rig.disk.inject(env::Fault::FailWrites(0));
    rig.pass(6000);
    assert_eq!(rig.bodies("t"), ["x"], "delivered once, late, by itself");
    rig.send(send("t", "z", &[]));
}

impl Rig {
    fn ask_refused(&mut self, ask: Send) -> String {
        self.ask(ask).unwrap_err().to_string()
    }
}

#[test]
fn deliveries_wait_while_too_much_is_not_yet_durable() {
    let mut config = config();
    config.unsynced_bytes_max = 2000;
    let mut rig = Rig::with(config);
    for i in 0..20 {
        rig.send(send("t", &format!("{i} {}", "x".repeat(500)), &[("TIMER_DELAY_MS", "1000")]));
    }
    rig.sync = false;
    rig.pass(1000);
    let seen = rig.bodies("t").len();
    assert!((1..20).contains(&seen), "{seen} delivered while nothing became durable");
    rig.sync = true;
    for job in std::mem::take(&mut rig.held) {
        rig.work(job);
    }
    rig.turn();
    assert_eq!(rig.bodies("t").len(), 20);
}
