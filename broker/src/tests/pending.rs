use super::*;
use std::num::NonZeroU64;

const MINUTE: i64 = 60_000;
const DAY: i64 = 86_400_000;

fn config() -> Config {
    Config { checkpoint_every: Duration::from_secs(60), ..super::config() }
}

fn far(rig: &mut Rig, to: &str, id: &str, ms: i64) -> Sent {
    rig.send(send(to, id, &[("TIMER_DELAY_MS", &ms.to_string()), ("UNIQ_KEY", id), ("KEYS", "order other")]))
}

fn list(which: Which, max: u32) -> ListPending {
    let (from, until) = (Timestamp::from_millis(0), Timestamp::from_millis(i64::MAX));
    ListPending { which, from, until, after: None, max }
}

fn names(page: &PendingPage) -> Vec<String> {
    page.messages.iter().map(|message| body(&message.bytes)).collect()
}

/// All pages, one after the other.
fn all(rig: &mut Rig, mut ask: ListPending) -> Vec<String> {
    let mut all = Vec::new();
    loop {
        let page = rig.ask(ask.clone()).unwrap();
        all.extend(names(&page));
        ask.after = page.next;
        if page.next.is_none() {
            return all;
        }
    }
}

fn of(topic_name: &str) -> Which {
    Which::Topic(topic(topic_name))
}

fn of_key(topic_name: &str, key: &str) -> Which {
    Which::Key { topic: topic(topic_name), key: key.into() }
}

#[test]
fn what_waits_is_listed_in_its_order_wherever_it_lies() {
    let mut rig = Rig::with(config());
    rig.topic("t", 1);
    rig.topic("u", 1);
    // In buckets, then in memory; some in both.
    for (id, ms) in [("far", 9 * DAY), ("near", 5 * MINUTE), ("later", 3 * DAY), ("gone", 3 * DAY + 1)] {
        far(&mut rig, "t", id, ms);
    }
    far(&mut rig, "u", "of-u", 4 * DAY);
    rig.pass(70_000);
    assert!(rig.broker.stats().checkpoints > 0);
    let new = far(&mut rig, "t", "new", 3 * DAY);
    for max in [1, 2, 100] {
        assert_eq!(all(&mut rig, list(Which::All, max)), ["near", "later", "gone", "new", "of-u", "far"]);
        assert_eq!(all(&mut rig, list(of("t"), max)), ["near", "later", "gone", "new", "far"]);
        assert_eq!(all(&mut rig, list(of_key("t", "other"), max)), ["near", "later", "gone", "new", "far"]);
    }
    assert_eq!(all(&mut rig, list(of_key("u", "of-u"), 9)), ["of-u"]);
    assert!(all(&mut rig, list(of_key("t", "of-u"), 9)).is_empty());
    // A range holds both its ends.
    let at = |ms: i64| Timestamp::from_millis(BEGIN + ms);
    let range = |which, from, until| ListPending { from: at(from), until: at(until), ..list(which, 9) };
    assert_eq!(all(&mut rig, range(Which::All, 3 * DAY, 3 * DAY + 1)), ["later", "gone"]);
    assert_eq!(all(&mut rig, range(of_key("t", "order"), 3 * DAY, 3 * DAY)), ["later"]);
    assert!(all(&mut rig, range(Which::All, 9 * DAY, 3 * DAY)).is_empty());
    for id in ["gone", "new"] {
        let handle = wire::recall_handle::RecallHandle {
            topic: "t".into(),
            broker: "broker-a".into(),
            deliver_at: at(0),
            unique_key: id.into(),
        };
        assert_eq!(rig.ask(Recall { topic: topic("t"), handle }), Ok(Recalled::Recalled));
    }
    let mut rig = rig.killed(1);
    assert_eq!(new.unique_key, "new");
    for which in [of("t"), of_key("t", "order")] {
        assert_eq!(all(&mut rig, list(which, 9)), ["near", "later", "far"]);
    }
    rig.pass(5 * MINUTE);
    assert_eq!(all(&mut rig, list(of("t"), 9)), ["later", "far"], "what was delivered waits no longer");
    let nowhere = rig.ask(list(of("nowhere"), 9));
    assert_eq!(nowhere, Err(ListPendingError::TopicUnknown { topic: topic("nowhere") }));
}

#[test]
fn pages_go_on_where_the_last_one_ended_while_messages_come_and_go() {
    let mut rig = Rig::with(config());
    rig.topic("t", 1);
    for i in 1..=4 {
        far(&mut rig, "t", &format!("m{i}"), i * MINUTE);
    }
    let first = rig.ask(list(of("t"), 2)).unwrap();
    assert_eq!(names(&first), ["m1", "m2"]);
    // The last of the page is delivered, one comes before the place and one behind it.
    rig.pass(MINUTE * 2);
    far(&mut rig, "t", "before", 1000);
    far(&mut rig, "t", "behind", MINUTE + MINUTE / 2);
    let next = ListPending { after: first.next, ..list(of("t"), 9) };
    assert_eq!(all(&mut rig, next), ["before", "m3", "behind", "m4"]);
}

#[test]
fn what_is_due_and_has_not_left_is_listed_and_counted() {
    let mut rig = Rig::with(config());
    rig.topic("t", 1);
    far(&mut rig, "t", "held", 1000);
    let read_only = CreateTopic { permission: model::Permission(4), ..super::recover::create_topic() };
    rig.ask(read_only).unwrap();
    rig.pass(2000);
    assert_eq!(rig.broker.stats().held, 1);
    for which in [Which::All, of("t"), of_key("t", "held")] {
        assert_eq!(all(&mut rig, list(which, 9)), ["held"]);
    }
    assert_eq!(rig.ask(CountPending), BTreeMap::from([(topic("t"), 1)]));
    assert_eq!(histogram(&mut rig, None, DAY as u64).values().sum::<u64>(), 1);
}

fn histogram(rig: &mut Rig, topic: Option<TopicName>, width_ms: u64) -> BTreeMap<i64, u64> {
    let (from, until) = (Timestamp::from_millis(0), Timestamp::from_millis(i64::MAX));
    let width_ms = NonZeroU64::new(width_ms).unwrap();
    let histogram = rig.ask(GetHistogram { topic, from, until, width_ms, after: None }).unwrap();
    assert_eq!(histogram.next, None);
    histogram.counts.into_iter().map(|(begin, count)| (begin.as_millis(), count)).collect()
}

#[test]
fn counts_and_the_histogram_are_exact() {
    let mut rig = Rig::with(config());
    rig.topic("t", 1);
    rig.topic("u", 1);
    let day = BEGIN.div_euclid(DAY) * DAY;
    let at = |rig: &Rig, days: i64, ms: i64| day + days * DAY + ms - rig.now.wall.as_millis();
    for (to, id, days) in [("t", "a", 5), ("t", "b", 5), ("u", "c", 5), ("t", "d", 8)] {
        let ms = at(&rig, days, 0);
        far(&mut rig, to, id, ms);
    }
    rig.pass(70_000);
    let ms = at(&rig, 6, -1);
    far(&mut rig, "t", "e", ms);
    assert_eq!(rig.ask(CountPending), BTreeMap::from([(topic("t"), 4), (topic("u"), 1)]));
    let days = |days: &[(i64, u64)]| days.iter().map(|(d, count)| (day + d * DAY, *count)).collect();
    let expected: BTreeMap<i64, u64> = days(&[(5, 4), (8, 1)]);
    assert_eq!(histogram(&mut rig, None, DAY as u64), expected);
    let expected: BTreeMap<i64, u64> = days(&[(5, 3), (8, 1)]);
    assert_eq!(histogram(&mut rig, Some(topic("t")), DAY as u64), expected);
    // What has left its bucket since the file was written does not count.
    let recalled = rig.ask(RecallByKey { topic: topic("t"), key: "a".into(), unique: true }).unwrap();
    assert_eq!(recalled.recalled, ["a"]);
    let expected: BTreeMap<i64, u64> = days(&[(5, 2), (8, 1)]);
    assert_eq!(histogram(&mut rig, Some(topic("t")), DAY as u64), expected);
    rig.ask(DeleteTopic { name: topic("u") }).unwrap();
    rig.pass(70_000);
    assert_eq!(rig.ask(CountPending), BTreeMap::from([(topic("t"), 3)]));
    assert_eq!(histogram(&mut rig, None, DAY as u64), expected);
    assert_eq!(all(&mut rig, list(Which::All, 2)), ["b", "e", "d"]);
    rig.pass(9 * DAY);
    assert_eq!((rig.ask(CountPending), histogram(&mut rig, None, 1)), (BTreeMap::new(), BTreeMap::new()));
}

fn to_moment(key: &str, ms: i64) -> Reschedule {
    let to = NewMoment::At(Timestamp::from_millis(BEGIN + ms));
    Reschedule { topic: topic("t"), key: key.into(), unique: true, to, before: None }
}

fn reschedule(rig: &mut Rig, id: &str, ms: i64) -> Rescheduled {
    rig.ask(to_moment(id, ms)).unwrap()
}

fn moved_to(rescheduled: &Rescheduled) -> i64 {
    assert_eq!((rescheduled.moved.len(), rescheduled.visible, rescheduled.older), (1, 0, None));
    rescheduled.deliver_at.as_millis() - BEGIN
}

/// How many moved, how many can be read already, and whether it was called back.
fn outcome(rescheduled: &Rescheduled) -> (usize, u64, bool) {
    (rescheduled.moved.len(), rescheduled.visible, rescheduled.recalled)
}

#[test]
fn a_message_that_waits_is_given_another_moment_and_stays_the_same_message() {
    let mut rig = Rig::with(config());
    rig.topic("t", 1);
    let handle = far(&mut rig, "t", "earlier", 9 * DAY).recall_handle.unwrap();
    for id in ["later", "now", "twice"] {
        far(&mut rig, "t", id, 3 * DAY);
    }
    rig.pass(70_000);
    far(&mut rig, "t", "new", 3 * DAY);
    assert_eq!(moved_to(&reschedule(&mut rig, "earlier", 2 * MINUTE)), 2 * MINUTE);
    assert_eq!(moved_to(&reschedule(&mut rig, "later", 20 * DAY)), 20 * DAY);
    assert_eq!(moved_to(&reschedule(&mut rig, "twice", DAY)), DAY);
    assert_eq!(moved_to(&reschedule(&mut rig, "twice", 2 * DAY)), 2 * DAY);
    assert_eq!(moved_to(&reschedule(&mut rig, "now", -5)), 70_000, "a moment that has passed is now");
    assert_eq!(moved_to(&reschedule(&mut rig, "new", 4 * DAY)), 4 * DAY);
    let views =
        |rig: &mut Rig| rig.ask(GetBounds { topic: topic("rmq_sys_wheel_timer"), queue_id: QueueId(0) });
    for round in 0..3 {
        rig.pass(1);
        assert_eq!(rig.bodies("t"), ["now"], "round {round}");
        for which in [of("t"), of_key("t", "order")] {
            assert_eq!(all(&mut rig, list(which, 9)), ["earlier", "twice", "new", "later"]);
        }
        assert_eq!(rig.broker.stats().pending, 4);
        let bounds = views(&mut rig);
        assert_eq!((bounds.min, bounds.max), (QueueOffset(1), QueueOffset(5)));
        match round {
            0 => rig = rig.killed(1),
            _ => rig.pass(9_000),
        }
    }
    rig.pass(MINUTE);
    assert_eq!(rig.bodies("t"), ["now", "earlier"]);
    // The checkpoints tell it as the log does.
    let mut rig = rig.killed(1);
    assert_eq!(outcome(&reschedule(&mut rig, "earlier", DAY)), (0, 1, false));
    let handle = wire::recall_handle::RecallHandle::decode(&handle).unwrap();
    assert_eq!(rig.ask(Recall { topic: topic("t"), handle: handle.clone() }), Ok(Recalled::TooLate));
    let old = wire::recall_handle::RecallHandle { unique_key: "later".into(), ..handle };
    assert_eq!(rig.ask(Recall { topic: topic("t"), handle: old }), Ok(Recalled::Recalled), "an old handle");
    assert_eq!(outcome(&reschedule(&mut rig, "later", DAY)), (0, 0, true));
    assert_eq!(outcome(&reschedule(&mut rig, "nobody", DAY)), (0, 0, false));
    rig.pass(30 * DAY);
    assert_eq!(rig.bodies("t"), ["now", "earlier", "twice", "new"]);
    let late = rig.pull("t", 2).messages[0].clone();
    let view = Stored::parse(&late).unwrap();
    assert_eq!(view.property("TIMER_DELIVER_MS"), Some(&*(BEGIN + 2 * DAY).to_string()));
    assert_eq!(rig.broker.stats().pending, 0);
}

#[test]
fn a_moment_past_the_limit_or_of_no_topic_is_refused_and_nothing_moves() {
    let mut rig = Rig::with(config());
    far(&mut rig, "t", "stays", 1000);
    let limit_ms = rig.broker.config().max_delay_ms;
    for (to, ahead_ms) in [
        (NewMoment::At(Timestamp::from_millis(BEGIN + limit_ms + 1)), limit_ms + 1),
        (NewMoment::At(Timestamp::from_millis(i64::MAX)), i64::MAX - BEGIN),
        (NewMoment::In(i64::MAX), i64::MAX),
    ] {
        let ask = Reschedule { to, ..to_moment("stays", 1) };
        assert_eq!(rig.ask(ask), Err(RescheduleError::TooFar { ahead_ms, limit_ms }));
    }
    let ask = Reschedule { topic: topic("v"), ..to_moment("stays", 1) };
    assert_eq!(rig.ask(ask), Err(RescheduleError::TopicUnknown { topic: topic("v") }));
    rig.pass(1000);
    assert_eq!(rig.bodies("t"), ["stays"]);
}

#[test]
fn who_looks_for_a_message_while_it_is_moved_finds_it() {
    let mut rig = Rig::with(config());
    let handle = far(&mut rig, "t", "moves", 3 * DAY).recall_handle.unwrap();
    rig.pass(70_000);
    let handle = wire::recall_handle::RecallHandle::decode(&handle).unwrap();
    let first = rig.begin(to_moment("moves", 4 * DAY));
    let second = rig.begin(Recall { topic: topic("t"), handle });
    rig.turn();
    assert_eq!(outcome(&rig.answer::<Reschedule>(first).unwrap().unwrap()), (1, 0, false));
    assert_eq!(rig.answer::<Recall>(second), Some(Ok(Recalled::Recalled)));
    assert_eq!(rig.broker.stats().pending, 0);
}

#[test]
fn a_search_for_a_key_is_answered_while_messages_of_it_keep_coming() {
    let mut rig = Rig::with(config());
    far(&mut rig, "t", "waits", 3 * DAY);
    rig.pass(70_000);
    let search = rig.begin(list(of_key("t", "order"), 9));
    for round in 0..3 {
        let Some(look @ Work::Read(_)) = rig.broker.poll_work() else { break };
        assert!(round < 2, "the same search begins again and again");
        rig.begin(send("t", "another", &[("KEYS", "order")]));
        rig.work(look);
    }
    rig.turn();
    let page = rig.answer::<ListPending>(search).unwrap().unwrap();
    assert_eq!(names(&page), ["waits"]);
}

#[test]
fn what_waits_under_a_key_is_found_and_called_back_however_much_of_it_can_be_read() {
    for on_disk in [true, false] {
        let mut rig = Rig::with(config());
        rig.topic("t", 1);
        far(&mut rig, "t", "waits", 3 * DAY);
        for _ in 0..1100 {
            rig.send(send("t", "read", &[("KEYS", "order")]));
        }
        if on_disk {
            rig.pass(70_000);
        }
        let page = rig.ask(list(of_key("t", "order"), 9)).unwrap();
        assert_eq!((names(&page), page.next, page.is_cut), (vec!["waits".to_owned()], None, false));
        let ask = RecallByKey { topic: topic("t"), key: "order".into(), unique: false };
        let done = rig.ask(ask).unwrap();
        assert_eq!((&done.recalled[..], done.visible, done.more), (&["waits".to_owned()][..], 1024, false));
        let ask = RecallByKey { topic: topic("t"), key: "waits".into(), unique: true };
        let again = rig.ask(ask).unwrap();
        assert_eq!((again.recalled.len(), again.before), (0, true));
    }
}

#[test]
fn of_a_key_that_very_many_wait_under_all_are_listed_and_called_back() {
    const COUNT: usize = 2500;
    for on_disk in [true, false] {
        let mut rig = Rig::with(config());
        for i in 0..COUNT {
            let ms = (5 * MINUTE * 60 - i as i64).to_string();
            rig.send(send("t", &i.to_string(), &[("TIMER_DELAY_MS", &ms), ("KEYS", "order")]));
        }
        if on_disk {
            rig.pass(70_000);
        }
        let latest_first: Vec<String> = (0..COUNT).rev().map(|i| i.to_string()).collect();
        assert_eq!(all(&mut rig, list(of_key("t", "order"), 200)), latest_first);
        let ask = RecallByKey { topic: topic("t"), key: "order".into(), unique: false };
        let mut recalled = 0;
        for round in 0.. {
            assert!(round < 4, "each round calls back about a thousand");
            let done = rig.ask(ask.clone()).unwrap();
            recalled += done.recalled.len();
            if !done.more {
                break;
            }
        }
        assert_eq!((recalled, rig.broker.stats().pending), (COUNT, 0));
        rig.pass(70_000);
        assert!(all(&mut rig, list(of_key("t", "order"), 200)).is_empty());
        rig.pass(DAY);
        assert!(rig.bodies("t").is_empty());
    }
}

#[test]
fn all_that_waits_under_a_key_moves_once_and_keeps_its_order_and_its_level() {
    const COUNT: usize = 1100;
    for on_disk in [true, false] {
        let mut rig = Rig::with(config());
        rig.topic("t", 1);
        rig.send(send("t", "seen", &[("KEYS", "order")]));
        rig.send(send("t", "level", &[("DELAY", "18"), ("KEYS", "order")]));
        for i in 0..COUNT {
            let ms = (5 * DAY + i as i64).to_string();
            rig.send(send("t", &i.to_string(), &[("TIMER_DELAY_MS", &ms), ("KEYS", "order")]));
        }
        far(&mut rig, "t", "alone", 9 * DAY);
        if on_disk {
            rig.pass(70_000);
        }
        let mut ask = Reschedule { unique: false, to: NewMoment::In(DAY), ..to_moment("order", 0) };
        let mut moved = Vec::new();
        loop {
            let done = rig.ask(ask.clone()).unwrap();
            assert!(!done.recalled);
            moved.extend(done.moved.iter().map(|moved| moved.from.as_millis()));
            (ask.to, ask.before) = (NewMoment::At(done.deliver_at), done.older);
            if done.older.is_none() {
                break;
            }
        }
        assert_eq!((moved.len(), rig.broker.stats().pending), (COUNT + 2, COUNT as u64 + 2));
        assert!(moved.contains(&(BEGIN + 2 * 60 * MINUTE)) && moved.contains(&(BEGIN + 5 * DAY)));
        let levels = |page: PendingPage| page.messages.iter().filter(|one| one.level == 18).count();
        let of_level = Which::Key { topic: topic("t"), key: "order".into() };
        let mut pages = Vec::new();
        let mut next = list(of_level, 256);
        loop {
            let page = rig.ask(next.clone()).unwrap();
            next.after = page.next;
            pages.push(page);
            if next.after.is_none() {
                break;
            }
        }
        assert_eq!(pages.into_iter().map(levels).sum::<usize>(), 1);
        rig.pass(DAY + 70_000);
        assert_eq!(rig.broker.stats().pending, 0);
    }
}

#[test]
fn a_page_of_a_key_has_a_limit_of_bytes() {
    let mut rig = Rig::with(config());
    let body = "x".repeat(65_000);
    for i in 0..260 {
        let ms = (3 * DAY + i).to_string();
        rig.send(send("t", &body, &[("TIMER_DELAY_MS", &ms), ("KEYS", "order")]));
    }
    let mut ask = list(of_key("t", "order"), 256);
    let first = rig.ask(ask.clone()).unwrap();
    let bytes: usize = first.messages.iter().map(|message| message.bytes.len()).sum();
    assert!((14 << 20..=15 << 20).contains(&bytes), "{bytes}");
    ask.after = first.next;
    let rest = rig.ask(ask).unwrap();
    assert_eq!((first.messages.len() + rest.messages.len(), rest.next), (260, None));
}

/// One message of the key `k` can be read and is out of memory, another waits and is in it; reads fail once.
fn with_a_read_that_fails() -> Rig {
    let mut rig = Rig::new();
    rig.send(send("t", "x", &[("KEYS", "k")]));
    for _ in 0..20 {
        rig.send(send("filler", &"x".repeat(30_000), &[]));
    }
    rig.send(send("t", "waits", &[("TIMER_DELAY_MS", "60000"), ("UNIQ_KEY", "u"), ("KEYS", "k")]));
    rig.disk.inject(env::Fault::FailReads(1));
    rig
}

#[test]
fn what_has_moved_is_told_though_a_read_fails_after_it() {
    let mut rig = with_a_read_that_fails();
    let ask = Reschedule { unique: false, ..to_moment("k", 90_000) };
    let told = rig.ask(ask.clone()).unwrap();
    let moved = |told: &Rescheduled| told.moved.iter().map(|one| one.unique_key.clone()).collect::<Vec<_>>();
    assert_eq!((moved(&told), told.visible), (vec!["u".to_owned()], 0));
    let rest = rig.ask(Reschedule { before: Some(told.older.unwrap()), ..ask }).unwrap();
    assert_eq!((moved(&rest), rest.visible, rest.older), (vec![], 1, None));
}

#[test]
fn what_was_called_back_is_told_though_a_read_fails_after_it() {
    let mut rig = with_a_read_that_fails();
    let ask = RecallByKey { topic: topic("t"), key: "k".into(), unique: false };
    let told = rig.ask(ask.clone()).unwrap();
    assert_eq!((told.recalled, told.visible, told.more), (vec!["u".to_owned()], 0, true));
    let rest = rig.ask(ask).unwrap();
    assert_eq!((rest.recalled, rest.visible, rest.more), (vec![], 1, false));
}
