use super::*;
use env::Disk;
use wire::recall_handle::RecallHandle;

const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;

fn config() -> Config {
    let log = journal::Options { segment_bytes: 128 << 10, step_bytes: 64 << 10, tail_bytes: 16 << 10 };
    Config {
        log,
        max_body_bytes: 16 << 10,
        retention: Duration::from_hours(1),
        checkpoint_every: Duration::from_secs(60),
        ..super::config()
    }
}

/// Sends as much as fills some segments.
fn fill(rig: &mut Rig, name: &str) {
    for i in 0..60 {
        rig.send(send("t", &format!("{name} {i} {}", "x".repeat(10_000)), &[("KEYS", name)]));
    }
}

fn first_file(rig: &Rig) -> String {
    rig.disk.list().unwrap().into_iter().find(|name| name.starts_with("log-0")).unwrap()
}

fn found(rig: &mut Rig, key: &str) -> usize {
    let (begin, end) = (Timestamp::from_millis(0), Timestamp::from_millis(i64::MAX));
    let query = Query { topic: topic("t"), key: key.into(), unique: false, max: 64, begin, end };
    rig.ask(query).map_or(0, |found| found.len())
}

#[test]
fn what_is_old_goes_a_segment_at_a_time_and_what_waits_stays_until_it_is_delivered() {
    let mut rig = Rig::with(config());
    rig.topic("t", 1);
    let far = |rig: &mut Rig, id: &str, ms: i64| {
        let properties = [("TIMER_DELAY_MS", &*ms.to_string()), ("UNIQ_KEY", id), ("KEYS", "far")];
        let sent = rig.send(send("t", id, &properties));
        Recall { topic: topic("t"), handle: RecallHandle::decode(&sent.recall_handle.unwrap()).unwrap() }
    };
    let recalls =
        [far(&mut rig, "stays", 30 * DAY), far(&mut rig, "goes", 30 * DAY), far(&mut rig, "hours", 5 * HOUR)];
    far(&mut rig, "soon", 600_000);
    fill(&mut rig, "old");
    rig.pass(HOUR);
    assert_eq!(rig.pull("t", 0).outcome, PullOutcome::Found, "none of it is old enough");
    fill(&mut rig, "newer");
    rig.pass(120_000);
    let moved = rig.pull("t", 0);
    assert_eq!(moved.outcome, PullOutcome::OffsetMoved);
    assert!(moved.min_offset > QueueOffset(30), "{:?}", moved.min_offset);
    assert_eq!((moved.next_offset, moved.max_offset), (moved.min_offset, QueueOffset(121)));
    assert_ne!(first_file(&rig), "log-00000000000000000000");
    assert!(found(&mut rig, "old") < 30, "what is gone is not found");
    assert_eq!(found(&mut rig, "newer"), 60);
    for _ in 0..2 {
        assert_eq!(
            found(&mut rig, "far"),
            4,
            "what waits is found, wherever its body lies; one was delivered"
        );
        rig = rig.killed(10);
        let now = rig.pull("t", 0);
        assert_eq!((now.min_offset, now.max_offset), (moved.min_offset, moved.max_offset));
    }
    assert_eq!(rig.ask(recalls[1].clone()), Ok(Recalled::Recalled));
    rig.pass(4 * HOUR);
    let last = rig.pull("t", 121);
    assert_eq!(last.messages.iter().map(body).collect::<Vec<_>>(), ["hours"]);
    // Splits, chunks and files come and go; it is there in time.
    for day in 0..29 {
        rig.send(send("t", &format!("day {day}"), &[]));
        rig.pass(DAY);
    }
    let mut rig = rig.killed(10);
    rig.pass(2 * DAY);
    let max = rig.pull("t", 0).max_offset;
    let last = rig.pull("t", max.0 - 1);
    assert_eq!(last.messages.iter().map(body).collect::<Vec<_>>(), ["stays"]);
    assert_eq!(rig.ask(recalls[0].clone()), Ok(Recalled::TooLate));
    assert_eq!(rig.broker.stats().pending, 0);
}

#[test]
fn a_log_that_is_too_long_loses_its_beginning_whatever_its_age() {
    let mut rig = Rig::with(Config { retention_bytes: Some(400 << 10), ..config() });
    rig.topic("t", 1);
    fill(&mut rig, "old");
    rig.pass(120_000);
    let pulled = rig.pull("t", 0);
    assert_eq!(pulled.outcome, PullOutcome::OffsetMoved);
    assert!(pulled.max_offset.0 - pulled.min_offset.0 >= 25, "what fits stays");
}

#[test]
fn without_a_manifest_a_log_whose_beginning_is_gone_does_not_open() {
    let mut rig = Rig::with(config());
    rig.topic("t", 1);
    fill(&mut rig, "old");
    rig.pass(HOUR);
    fill(&mut rig, "newer");
    rig.pass(120_000);
    let disk = rig.disk.after_kill();
    let manifest = disk.list().unwrap().into_iter().find(|name| name.starts_with("manifest-")).unwrap();
    disk.remove(&manifest).unwrap();
    let error = Broker::open(std::sync::Arc::new(disk), config(), rig.now).err().unwrap();
    assert!(error.to_string().contains("a manifest"), "{error}");
}

/// What was promised of far messages: by body, and whether it was called back; `None` where that is not known.
type Promised = BTreeMap<String, Option<bool>>;

/// A life in which bodies are copied, moved and called back, buckets merged and split, and the log they came from goes.
fn far_life(rig: &mut Rig, promised: &mut Promised) -> Option<()> {
    rig.try_ask(super::recover::create_topic())?.ok()?;
    for round in 0..3 {
        let mut handles = Vec::new();
        for i in 0..if round == 0 { 6 } else { 3 } {
            let body = format!("far-{round}-{i}");
            // Most of the second day's are called back.
            let delay = ((5 + i / 3) * DAY + round).to_string();
            let sent =
                rig.try_ask(send("t", &body, &[("TIMER_DELAY_MS", &delay), ("UNIQ_KEY", &body)]))?.ok()?;
            handles.push((RecallHandle::decode(&sent[0].recall_handle.clone()?).ok()?, body.clone()));
            promised.insert(body, Some(false));
        }
        for i in 0..5 {
            rig.try_ask(send("t", &format!("{i} {}", "x".repeat(15_000)), &[]))?.ok()?;
        }
        rig.try_pass(70_000)?;
        handles.pop();
        for (handle, body) in handles.into_iter().skip(1) {
            promised.insert(body.clone(), None);
            let recalled = rig.try_ask(Recall { topic: topic("t"), handle })?.ok()?;
            assert_eq!(recalled, Recalled::Recalled, "{body}");
            promised.insert(body, Some(true));
        }
        let (key, to) = (format!("far-{round}-0"), NewMoment::At(at(5 * DAY + HOUR + round).wall));
        let ask = Reschedule { topic: topic("t"), key, unique: true, to, before: None };
        let done = rig.try_ask(ask)?.ok()?;
        assert_eq!(done.moved.len(), 1, "{done:?}");
    }
    rig.try_pass(3 * DAY + HOUR)?;
    rig.try_pass(70_000)
}

#[test]
fn keeps_every_promise_through_a_crash_at_any_disk_operation_while_buckets_and_log_are_cut() {
    let log = journal::Options { segment_bytes: 64 << 10, step_bytes: 16 << 10, tail_bytes: 16 << 10 };
    let buckets = timer::Shape { copy_ahead_ms: 1000, chunks_max: 1, dead_bytes_min: 100 };
    let config = Config { log, buckets, retention: Duration::from_secs(60), ..config() };
    for operation in 0.. {
        let disk = SimDisk::crashing_at(operation);
        let (mut promised, mut reshaped, mut expired) = (Promised::new(), timer::Reshaped::default(), 0);
        if let Ok((broker, _)) = Broker::open(std::sync::Arc::new(disk.clone()), config.clone(), at(0)) {
            let mut rig = Rig::of(broker, disk.clone(), at(0));
            far_life(&mut rig, &mut promised);
            Stats { reshaped, segments_expired: expired, .. } = rig.broker.stats();
        }
        let crashed = disk.crashed();
        let kept = Config { retention: Duration::MAX, ..config.clone() };
        let mut rig = Rig::open(disk.after_crash(), kept, at(7 * DAY));
        let mut seen: Vec<String> = Vec::new();
        if rig.ask(GetTopic { name: topic("t") }).is_some() {
            let mut offset = rig.pull("t", 0).min_offset;
            loop {
                let pulled = rig.pull("t", offset.0);
                seen.extend(pulled.messages.iter().map(body));
                if pulled.messages.is_empty() {
                    break;
                }
                offset = pulled.next_offset;
            }
        }
        for (body, recalled) in &promised {
            let times = seen.iter().filter(|seen| *seen == body).count();
            let fits = recalled.map_or(times <= 1, |recalled| times == usize::from(!recalled));
            assert!(fits, "{body}, called back {recalled:?}, comes {times} times; crash at {operation}");
        }
        if !crashed {
            let timer::Reshaped { splits, merges, rewrites, bodies } = reshaped;
            assert!(splits > 0 && merges > 0 && rewrites > 0 && bodies > 0, "{reshaped:?}");
            assert!(expired > 1, "{expired} segments went");
            return; // untouched: every operation has had its turn
        }
    }
}

#[test]
fn a_stop_lets_go_of_what_is_old_by_then() {
    let mut rig = Rig::with(Config { checkpoint_every: Duration::from_hours(9), ..config() });
    rig.topic("t", 1);
    fill(&mut rig, "old");
    rig.broker.begin_checkpoint();
    rig.turn();
    rig.pass(2 * HOUR);
    fill(&mut rig, "newer");
    assert_eq!(first_file(&rig), "log-00000000000000000000");
    while let Some(work) = rig.broker.shutdown_work() {
        rig.work(work);
    }
    assert_ne!(first_file(&rig), "log-00000000000000000000");
    let mut rig = rig.killed(0);
    assert_eq!(found(&mut rig, "newer"), 60);
}
