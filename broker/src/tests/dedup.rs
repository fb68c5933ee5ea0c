//! A key against doubles: the second message with it is the first.

use super::*;
use env::{Disk, Fault};
use wire::recall_handle::RecallHandle;

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// A checkpoint a minute, where anything came: keys lie in runs soon.
fn config() -> Config {
    Config { checkpoint_every: Duration::from_secs(60), ..super::config() }
}

fn keyed(to: &str, body: &str, key: &str, ms: i64) -> Send {
    let properties = [("TIMER_DELAY_MS", &*ms.to_string()), ("UNIQ_KEY", body), ("DUEMQ_DEDUP_KEY", key)];
    send(to, body, if ms > 0 { &properties } else { &properties[1..] })
}

fn recall(sent: &Sent) -> Recall {
    Recall { topic: topic("t"), handle: RecallHandle::decode(sent.recall_handle.as_ref().unwrap()).unwrap() }
}

fn due(sent: &Sent) -> i64 {
    recall(sent).handle.deliver_at.as_millis() - BEGIN
}

/// Sends with the key once more: it must be answered with that message, and stored nowhere.
fn again(rig: &mut Rig, key: &str) -> Sent {
    let sent = rig.send(keyed("t", "double", key, 7 * MINUTE));
    assert!(sent.duplicate, "{sent:?}");
    assert!(sent.remark.as_ref().unwrap().starts_with("duplicate=true: a message"), "{sent:?}");
    sent
}

fn first(rig: &mut Rig, body: &str, key: &str, ms: i64) -> Sent {
    let sent = rig.send(keyed("t", body, key, ms));
    assert!(!sent.duplicate, "{sent:?}");
    sent
}

/// Lets a checkpoint of all that came be written.
fn settle(rig: &mut Rig) {
    rig.pass(MINUTE + 500);
    assert!(rig.broker.stats().checkpoints > 0 && rig.broker.keys.is_empty());
}

#[test]
fn a_second_message_with_a_key_is_answered_with_the_first_until_its_window_is_over() {
    let mut rig = Rig::new();
    let sent = first(&mut rig, "first", "k", 5 * MINUTE);
    for _ in 0..2 {
        let double = again(&mut rig, "k");
        let told = format!(
            "duplicate=true: a message with this DUEMQ_DEDUP_KEY is there, due at {}",
            BEGIN + 5 * MINUTE
        );
        let queue_offset = QueueOffset(0);
        assert_eq!(double, Sent { duplicate: true, remark: Some(told), queue_offset, ..sent.clone() });
    }
    assert_eq!(rig.broker.stats().pending, 1);
    first(&mut rig, "other key", "K", 5 * MINUTE);
    assert!(!rig.send(keyed("u", "other topic", "k", 5 * MINUTE)).duplicate);
    rig.pass(5 * MINUTE);
    assert_eq!(rig.bodies("t"), ["first", "other key"]);

    // Delivered: for ten minutes more, and it is found where it lies now.
    let place = Stored::parse(&rig.pull("t", 0).messages[0]).unwrap().log_offset();
    let double = again(&mut rig, "k");
    assert_eq!((double.log_offset, double.queue_offset), (place, QueueOffset(0)));
    assert_eq!((double.unique_key.as_str(), &double.recall_handle), ("first", &sent.recall_handle));
    assert_eq!(rig.ask(recall(&double)), Ok(Recalled::TooLate));
    rig.pass(10 * MINUTE - 1);
    again(&mut rig, "k");
    rig.pass(1);
    first(&mut rig, "second", "k", MINUTE);
    rig.pass(8 * MINUTE);
    assert_eq!(rig.bodies("t"), ["first", "other key", "second"]);
}

#[test]
fn a_message_that_does_not_wait_has_its_key_for_the_window() {
    let mut rig = Rig::with(Config { dedup_window: Duration::from_secs(5), ..config() });
    let sent = first(&mut rig, "first", "k", 0);
    let double = again(&mut rig, "k");
    let told = format!("duplicate=true: a message with this DUEMQ_DEDUP_KEY is there, stored at {BEGIN}");
    assert_eq!(double, Sent { duplicate: true, remark: Some(told), ..sent });
    rig.pass(4999);
    assert_eq!(again(&mut rig, "k").recall_handle, None);
    rig.pass(1);
    first(&mut rig, "second", "k", 0);
    assert!(rig.send(keyed("t", "double", "k", 0)).duplicate);
    assert_eq!(rig.bodies("t"), ["first", "second"]);
}

#[test]
fn a_recall_sets_a_key_free_and_another_moment_does_not() {
    let mut rig = Rig::with(config());
    for far in [5 * MINUTE, 9 * DAY] {
        for settles in [false, true] {
            let sent = first(&mut rig, "gone", "k", far);
            if settles {
                settle(&mut rig);
                again(&mut rig, "k");
            }
            assert_eq!(rig.ask(recall(&sent)), Ok(Recalled::Recalled));
            let sent = first(&mut rig, "next", "k", far);
            assert_eq!(rig.ask(recall(&sent)), Ok(Recalled::Recalled));
            rig = rig.killed(10);
        }
    }
    first(&mut rig, "moves", "k", 9 * DAY);
    for moment in [8 * DAY, HOUR, 9 * DAY] {
        settle(&mut rig);
        let deliver_at = Timestamp::from_millis(BEGIN + moment);
        let (key, to) = ("moves".into(), NewMoment::At(deliver_at));
        let ask = Reschedule { topic: topic("t"), key, unique: true, to, before: None };
        assert_eq!(rig.ask(ask).unwrap().moved.len(), 1, "it waits");
        let double = again(&mut rig, "k");
        assert_eq!(due(&double), moment);
        let handle = RecallHandle::decode(&double.recall_handle.clone().unwrap()).unwrap();
        assert_eq!(handle.deliver_at, deliver_at);
        assert_eq!(double.unique_key, "moves");
        rig = rig.killed(10);
        assert_eq!(due(&again(&mut rig, "k")), moment);
    }
    rig.pass(9 * DAY);
    assert_eq!(rig.bodies("t"), ["moves"]);
}

#[test]
fn a_key_holds_wherever_its_message_lies_and_over_every_restart() {
    let log = journal::Options { segment_bytes: 128 << 10, step_bytes: 64 << 10, tail_bytes: 16 << 10 };
    let mut rig = Rig::with(Config { log, retention: Duration::from_mins(1), ..config() });
    let far = first(&mut rig, "far", "far", 9 * DAY);
    first(&mut rig, "soon", "soon", 30 * MINUTE);
    for _ in 0..40 {
        rig.send(send("t", &"x".repeat(10_000), &[]));
    }
    for hour in 0..4 {
        rig.pass(HOUR);
        rig.send(send("t", "something", &[]));
        settle(&mut rig);
        assert_eq!((due(&again(&mut rig, "far")), hour), (9 * DAY, hour));
        rig = rig.killed(10);
        assert_eq!(again(&mut rig, "far").log_offset, far.log_offset);
    }
    let has_first = |rig: &Rig| rig.disk.list().unwrap().contains(&"log-00000000000000000000".to_owned());
    assert!(!has_first(&rig), "its segment is gone");
    // Its bucket is split on the way.
    let splits = rig.broker.stats().reshaped.splits;
    for _ in 0..8 {
        rig.pass(DAY);
        rig.send(send("t", "something", &[]));
        settle(&mut rig);
        again(&mut rig, "far");
    }
    assert!(rig.broker.stats().reshaped.splits > splits);
    rig.pass(BEGIN + 9 * DAY - rig.now.wall.as_millis());
    assert!(again(&mut rig, "far").unique_key == "far", "delivered lately");
    settle(&mut rig);
    let mut rig = rig.killed(10);
    again(&mut rig, "far");
    rig.pass(10 * MINUTE);
    first(&mut rig, "free", "far", MINUTE);
}

#[test]
fn sends_of_a_key_that_come_together_are_one_message_while_it_is_looked_for() {
    let mut rig = Rig::with(config());
    rig.topic("t", 1);
    first(&mut rig, "there", "there", DAY);
    settle(&mut rig);
    // Now files are read before the answer.
    let bodies = ["a", "b", "c"].map(|body| rig.begin(keyed("t", body, "new", HOUR)));
    let others = [rig.begin(keyed("t", "x", "there", HOUR)), rig.begin(keyed("t", "y", "y", HOUR))];
    assert_eq!(rig.broker.stats().scheduled, 1, "nothing is decided yet");
    rig.turn();
    let mut answer = |id| rig.answer::<Send>(id).unwrap().unwrap().remove(0);
    let [a, b, c] = bodies.map(&mut answer);
    assert_eq!([&a, &b, &c].map(|sent| sent.duplicate), [false, true, true]);
    assert_eq!([&a, &b, &c].map(|sent| &*sent.unique_key), ["a"; 3], "in their order");
    assert_eq!((b.log_offset, b.recall_handle), (a.log_offset, a.recall_handle.clone()));
    let [there, other] = others.map(&mut answer);
    assert_eq!((&*there.unique_key, there.duplicate), ("there", true));
    assert_eq!((&*other.unique_key, other.duplicate), ("y", false));
    assert_eq!(again(&mut rig, "new").recall_handle, a.recall_handle);
    rig.pass(2 * DAY);
    assert_eq!(rig.bodies("t"), ["a", "y", "there"]);
}

#[test]
fn what_changes_while_a_key_is_looked_for_is_seen() {
    let mut rig = Rig::with(config());
    rig.topic("t", 1);
    for (body, ms) in [("soon", 5 * MINUTE), ("goes", DAY), ("stays", DAY)] {
        first(&mut rig, body, body, ms);
    }
    settle(&mut rig);
    let goes = Recall {
        topic: topic("t"),
        handle: RecallHandle {
            topic: "t".into(),
            broker: "broker-a".into(),
            deliver_at: Timestamp::from_millis(BEGIN + DAY),
            unique_key: "goes".into(),
        },
    };
    rig.now.wall = Timestamp::from_millis(BEGIN + 5 * MINUTE - 1);
    rig.turn();
    let soon = rig.begin(keyed("t", "double", "soon", HOUR));
    // It is read as one that waits, and then delivered before the answer comes.
    let work: Vec<Work> = std::iter::from_fn(|| rig.broker.poll_work()).collect();
    let done: Vec<Done> = work.into_iter().filter_map(|work| work.run(&rig.disk)).collect();
    rig.now.wall = Timestamp::from_millis(BEGIN + 5 * MINUTE);
    rig.broker.tick(rig.now, Budget::default());
    for one in done {
        rig.broker.done(rig.now, one).unwrap();
    }
    rig.turn();
    let double = rig.answer::<Send>(soon).unwrap().unwrap().remove(0);
    let place = Stored::parse(&rig.pull("t", 0).messages[0]).unwrap().log_offset();
    assert_eq!((double.duplicate, double.log_offset), (true, place));

    let recalled = rig.begin(goes);
    let free = rig.begin(keyed("t", "in its place", "goes", HOUR));
    rig.turn();
    assert_eq!(rig.answer::<Recall>(recalled).unwrap(), Ok(Recalled::Recalled));
    assert!(!rig.answer::<Send>(free).unwrap().unwrap()[0].duplicate);

    // The topic goes, or another checkpoint comes, before the answer does.
    let late = rig.begin(keyed("t", "double", "stays", HOUR));
    rig.broker.begin_checkpoint();
    rig.turn();
    assert!(rig.answer::<Send>(late).unwrap().unwrap()[0].duplicate);
    let late = rig.begin(keyed("t", "late", "another", HOUR));
    let deleted = rig.begin(DeleteTopic { name: topic("t") });
    rig.turn();
    rig.answer::<DeleteTopic>(deleted).unwrap().unwrap();
    let why = rig.answer::<Send>(late).unwrap().unwrap_err().why;
    assert_eq!(why, SendRefusal::TopicUnknown { topic: topic("t") });
    rig.topic("t", 1);
    first(&mut rig, "of the new topic", "stays", HOUR);
}

#[test]
fn a_double_is_told_only_once_the_first_is_durable() {
    let mut rig = Rig::new();
    rig.topic("t", 1);
    rig.sync = false;
    let (a, b) = (rig.begin(keyed("t", "a", "k", HOUR)), rig.begin(keyed("t", "b", "k", HOUR)));
    rig.turn();
    assert!(rig.answer::<Send>(a).is_none() && rig.answer::<Send>(b).is_none());
    rig.sync = true;
    for work in std::mem::take(&mut rig.held) {
        rig.work(work);
    }
    rig.turn();
    assert!(!rig.answer::<Send>(a).unwrap().unwrap()[0].duplicate);
    assert!(rig.answer::<Send>(b).unwrap().unwrap()[0].duplicate);
}

#[test]
fn a_key_is_refused_where_it_would_not_hold_and_where_it_is_no_key() {
    let mut rig = Rig::new();
    rig.topic("t", 1);
    let refused = |rig: &mut Rig, ask: Send| {
        let error = rig.ask(ask).unwrap_err();
        (error.index, error.why.to_string())
    };
    let several = |batch| Send {
        messages: vec![message("one", &[]), message("two", &[("DUEMQ_DEDUP_KEY", "k")])],
        batch,
        ..send("t", "", &[])
    };
    for batch in [true, false] {
        let (index, told) = refused(&mut rig, several(batch));
        assert_eq!(index, 1);
        assert!(told.starts_with("property DUEMQ_DEDUP_KEY") && told.contains("batch"), "{told}");
    }
    let alone = Send { batch: true, ..keyed("t", "x", "k", 0) };
    assert_eq!(rig.ask(alone).unwrap_err().why, SendRefusal::DedupKeyInBatch);
    let half = send("t", "half", &[("TRAN_MSG", "true"), ("PGROUP", "p"), ("DUEMQ_DEDUP_KEY", "k")]);
    assert_eq!(rig.ask(half).unwrap_err().why, SendRefusal::DedupKeyInTransaction);
    for length in [0, 256] {
        let (_, told) = refused(&mut rig, keyed("t", "x", &"k".repeat(length), 0));
        assert_eq!(told, format!("property DUEMQ_DEDUP_KEY has {length} bytes, it must have 1 to 255"));
    }
    assert!(rig.bodies("t").is_empty());
    first(&mut rig, "fits", &"k".repeat(255), 0);
    assert_eq!(
        refused(&mut rig, keyed("t", "x", &"k".repeat(255), DAY * 4000)).0,
        0,
        "checked before it is looked for"
    );
}

#[test]
fn a_key_is_no_id_and_no_word_of_keys() {
    let mut rig = Rig::with(config());
    rig.send(send("t", "a", &[("KEYS", "k other"), ("UNIQ_KEY", "id"), ("TIMER_DELAY_MS", "60000")]));
    for key in ["k", "id"] {
        first(&mut rig, key, key, DAY);
    }
    settle(&mut rig);
    let ask = RecallByKey { topic: topic("t"), key: "k".into(), unique: false };
    let recalled = rig.ask(ask).unwrap();
    assert_eq!((recalled.recalled.len(), recalled.visible), (0, 1));
    for key in ["k", "id"] {
        assert_eq!(again(&mut rig, key).unique_key, key);
    }
}

#[test]
fn what_comes_again_to_a_consumer_is_no_double() {
    let mut rig = Rig::new();
    first(&mut rig, "fails", "k", 0);
    for attempt in 0..3 {
        let from = if attempt == 0 { "t" } else { "%RETRY%g" };
        let last = rig.pull(from, 0).messages.pop().unwrap();
        super::retry::give_back(&mut rig, Stored::parse(&last).unwrap().log_offset(), 1, None).unwrap();
        rig.pass(1000);
    }
    // A client may give back by itself, with all properties of the message.
    for _ in 0..2 {
        let back = Send { queue_id: None, ..keyed("%RETRY%g", "by itself", "k", 1000) };
        assert!(!rig.send(back).duplicate);
    }
    rig.pass(2000);
    assert_eq!(rig.bodies("%RETRY%g").len(), 5);
    for _ in 0..17 {
        let popped = rig.pop("t", 1000);
        assert_eq!(popped.len(), 1);
        rig.pass(1000);
    }
    assert_eq!(rig.bodies("%DLQ%g"), ["fails"]);
    again(&mut rig, "k");
}

#[test]
fn a_clock_that_is_set_sets_no_key_free_too_early_nor_holds_one_for_good() {
    let mut rig = Rig::with(config());
    first(&mut rig, "first", "k", 0);
    rig.now.wall = Timestamp::from_millis(BEGIN - HOUR);
    rig.pass(1000);
    again(&mut rig, "k");
    // It was there when a checkpoint began, and since that a window has passed.
    settle(&mut rig);
    rig.pass(9 * MINUTE);
    again(&mut rig, "k");
    rig.pass(MINUTE);
    first(&mut rig, "second", "k", 2 * HOUR);
    rig.now.wall = Timestamp::from_millis(BEGIN + HOUR - 1);
    rig.turn();
    again(&mut rig, "k");
}

#[test]
fn files_that_are_too_old_to_tell_are_not_read_and_a_damaged_one_refuses_only_who_asks() {
    let mut rig = Rig::with(config());
    first(&mut rig, "old", "old", 0);
    settle(&mut rig);
    let keys = |rig: &Rig| -> Vec<String> {
        rig.disk.list().unwrap().into_iter().filter(|name| name.starts_with("keys-")).collect()
    };
    let [old] = keys(&rig).try_into().unwrap();
    rig.pass(5 * MINUTE);
    first(&mut rig, "young", "young", 0);
    settle(&mut rig);
    let young = keys(&rig).pop().unwrap();
    assert_ne!(old, young);
    rig.disk.remove(&old).unwrap();
    let error = rig.ask(keyed("t", "x", "new", HOUR)).unwrap_err();
    assert!(matches!(error.why, SendRefusal::DedupKeyUnreadable { .. }), "{error}");
    assert!(error.to_string().contains(&old), "{error}");
    rig.send(send("t", "without a key", &[]));
    rig.pass(4 * MINUTE);
    first(&mut rig, "new", "new", HOUR);
    again(&mut rig, "young");
    again(&mut rig, "new");

    rig.disk.inject(Fault::FailReads(1));
    let error = rig.ask(keyed("t", "x", "newer", HOUR)).unwrap_err();
    assert!(matches!(error.why, SendRefusal::DedupKeyUnreadable { .. }), "{error}");
    first(&mut rig, "newer", "newer", HOUR);
    assert_eq!(rig.bodies("t"), ["old", "young", "without a key"]);
}

#[test]
fn a_double_needs_no_room_among_what_waits() {
    let mut rig = Rig::with(Config { pending_max: Some(2), ..config() });
    first(&mut rig, "a", "a", HOUR);
    first(&mut rig, "b", "b", HOUR);
    again(&mut rig, "a");
    let error = rig.ask(keyed("t", "c", "c", HOUR)).unwrap_err();
    assert_eq!(error.why, SendRefusal::TooManyPending { pending: 2, limit: 2 });
    first(&mut rig, "c", "c", 0);
}

#[test]
fn so_many_sends_with_keys_wait_to_be_looked_for_and_no_more() {
    let mut rig = Rig::with(config());
    rig.topic("t", 1);
    first(&mut rig, "there", "there", DAY);
    settle(&mut rig);
    let ids: Vec<RequestId> = (0..16_385).map(|_| rig.begin(keyed("t", "x", "k", HOUR))).collect();
    rig.turn();
    let answers: Vec<_> = ids.into_iter().map(|id| rig.answer::<Send>(id).unwrap()).collect();
    let (last, others) = answers.split_last().unwrap();
    assert!(matches!(last, Err(SendError { why: SendRefusal::Busy { .. }, .. })), "{last:?}");
    assert_eq!(others.iter().filter(|sent| !sent.as_ref().unwrap()[0].duplicate).count(), 1);
    again(&mut rig, "k");
}
