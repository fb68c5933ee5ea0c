use super::*;
use env::{Disk, Fault};
use wire::recall_handle::RecallHandle;

const DAY: i64 = 86_400_000;

/// A checkpoint a second, where anything came.
fn config() -> Config {
    Config { checkpoint_every: Duration::from_secs(1), ..super::config() }
}

fn far(rig: &mut Rig, id: &str, ms: i64) -> Recall {
    let properties = [("TIMER_DELAY_MS", &*ms.to_string()), ("UNIQ_KEY", id), ("KEYS", "order")];
    let sent = rig.send(send("t", id, &properties));
    Recall { topic: topic("t"), handle: RecallHandle::decode(&sent.recall_handle.unwrap()).unwrap() }
}

fn everything() -> Query {
    Query {
        topic: topic("t"),
        key: "order".into(),
        unique: false,
        max: 64,
        begin: Timestamp::from_millis(0),
        end: Timestamp::from_millis(i64::MAX),
    }
}

fn by_key(rig: &mut Rig) -> Vec<(String, Option<String>)> {
    let found = rig.ask(everything()).unwrap_or_default();
    found.iter().map(|bytes| (body(bytes), property(bytes, "DUEMQ_STATE"))).collect()
}

/// Lets a checkpoint come and be written.
fn settle(rig: &mut Rig) {
    let before = rig.broker.stats().checkpoints;
    rig.pass(1500);
    assert!(rig.broker.stats().checkpoints > before, "there was something to write");
}

#[test]
fn a_message_in_a_bucket_on_disk_is_seen_by_its_place_and_so_is_that_it_was_called_back() {
    let mut rig = Rig::with(config());
    rig.topic("t", 1);
    let recall = far(&mut rig, "far", 40 * DAY);
    let sent = rig.send(send("t", "kept", &[("TIMER_DELAY_MS", &(40 * DAY).to_string()), ("KEYS", "order")]));
    settle(&mut rig);
    let mut rig = rig.killed(0);
    let view = Stored::parse(&rig.ask(View { log_offset: sent.log_offset }).unwrap()).map(|v| v.log_offset());
    assert_eq!(view, Ok(sent.log_offset));
    let found = rig.ask(Query { key: "far".into(), unique: true, ..everything() });
    let log_offset = Stored::parse(&found.unwrap()[0]).unwrap().log_offset();
    assert_eq!(body(&rig.ask(View { log_offset }).unwrap()), "far");
    assert_eq!(rig.ask(recall), Ok(Recalled::Recalled));
    assert_eq!(property(&rig.ask(View { log_offset }).unwrap(), "DUEMQ_STATE").as_deref(), Some("recalled"));
}

#[test]
fn a_start_reads_the_log_from_the_checkpoint_only() {
    let mut rig = Rig::with(config());
    rig.topic("t", 1);
    for i in 0..5 {
        rig.send(send("t", &i.to_string(), &[("KEYS", "order")]));
    }
    far(&mut rig, "far", 40 * DAY);
    rig.ask(CommitOffset {
        group: group(),
        topic: topic("t"),
        queue_id: QueueId(0),
        queue_offset: QueueOffset(3),
    })
    .unwrap();
    settle(&mut rig);
    rig.send(send("t", "behind", &[]));
    rig.pass(100);
    let outline = rig.broker.outline();
    // Nothing needs the first records any more: nobody looks at them.
    rig.disk.inject(Fault::FlipBit { file: "log-00000000000000000000".into(), byte: 100 });
    let disk = rig.disk.after_kill();
    let (broker, recovered) = Broker::open(std::sync::Arc::new(disk.copy()), config(), rig.now).unwrap();
    assert_eq!(broker.outline(), outline);
    assert_eq!((recovered.log.records, recovered.pending, recovered.overdue), (1, 1, 0));
    let mut rig = Rig::open(disk, config(), rig.now);
    assert_eq!(rig.bodies("t"), ["0", "1", "2", "3", "4", "behind"]);
    assert_eq!(by_key(&mut rig).len(), 6, "keys are found in runs");
    rig.pass(41 * DAY);
    assert_eq!(rig.bodies("t").last().unwrap(), "far");
}

#[test]
fn a_message_that_lies_in_a_bucket_is_found_and_called_back_and_stays_so() {
    let mut rig = Rig::with(config());
    let asks: Vec<Recall> = [("a", 3 * DAY), ("b", 3 * DAY), ("c", 3 * DAY), ("d", 1000)]
        .map(|(id, ms)| far(&mut rig, id, ms))
        .into();
    settle(&mut rig);
    for life in 0..3 {
        let pending = Some("pending".to_owned());
        assert!(by_key(&mut rig).contains(&("c".into(), pending)), "life {life}");
        assert_eq!(rig.ask(asks[life.min(1)].clone()), Ok(Recalled::Recalled), "life {life}");
        assert_eq!(rig.ask(asks[0].clone()), Ok(Recalled::Recalled), "again, life {life}");
        assert_eq!(rig.ask(asks[3].clone()), Ok(Recalled::TooLate), "life {life}");
        assert_eq!(rig.broker.stats().pending, if life == 0 { 2 } else { 1 });
        if life == 1 {
            // Now its tombstone is on disk.
            rig.pass(1500);
        }
        rig = rig.killed(10);
    }
    rig.pass(4 * DAY);
    assert_eq!(rig.bodies("t"), ["d", "c"]);
    assert_eq!(rig.ask(asks[2].clone()), Ok(Recalled::TooLate));
    let states: Vec<_> = by_key(&mut rig).into_iter().filter_map(|(_, state)| state).collect();
    assert!(states.is_empty(), "what was called back is not found, what was delivered is as it is");
}

#[test]
fn a_deleted_topic_does_not_come_back_from_a_bucket() {
    let mut rig = Rig::with(config());
    rig.topic("t", 1);
    let before = rig.ask(GetTopic { name: topic("t") }).unwrap().id;
    for i in 0..4 {
        far(&mut rig, &i.to_string(), 2000 + i * DAY);
    }
    settle(&mut rig);
    let deleted = rig.ask(DeleteTopic { name: topic("t") }).unwrap();
    assert_eq!(deleted.pending, 4);
    settle(&mut rig);
    let mut rig = rig.killed(10);
    rig.topic("t", 1);
    assert_ne!(rig.ask(GetTopic { name: topic("t") }).unwrap().id, before, "its id is not given again");
    far(&mut rig, "new", DAY);
    rig.pass(10 * DAY);
    assert_eq!(rig.bodies("t"), ["new"]);
    assert_eq!(rig.broker.stats().pending, 0);
}

#[test]
fn a_checkpoint_keeps_for_whom_leases_are_renewed() {
    let mut rig = Rig::with(config());
    rig.send(send("t", "renewed", &[]));
    let take = Pop { renewed_for: Some(model::ClientId("c".into())), ..pop("t", 60_000, 0) };
    let popped = rig.ask(take).unwrap().messages;
    rig.send(send("t", "own time", &[]));
    rig.pop("t", 60_000);
    settle(&mut rig);
    let mut rig = rig.killed(3_600_000);
    let told = rig.ask(GetRenewed);
    let [renewed] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!((&*renewed.client.0, renewed.left), ("c", Duration::from_secs(30)));
    let handle = &popped[0].handle;
    assert_eq!(
        (renewed.handle.pop_time, renewed.handle.queue_offset),
        (handle.pop_time, handle.queue_offset)
    );
    rig.pass(29_999);
    assert_eq!(rig.pop("t", 60_000).len(), 1, "that of its own time has ended");
    assert!(rig.ask(ack("t", &popped))[0].is_ok());
}

#[test]
fn a_checkpoint_that_fails_is_tried_again_and_loses_nothing() {
    let mut rig = Rig::with(config());
    rig.topic("t", 1);
    for i in 0..4 {
        far(&mut rig, &i.to_string(), (1 + i) * DAY);
    }
    let free = rig.disk.free_bytes().unwrap();
    rig.disk.inject(Fault::FreeBytes(0));
    rig.pass(5000);
    assert_eq!(rig.broker.stats().checkpoints, 0);
    assert!(rig.broker.stats().write_errors > 0);
    rig.disk.inject(Fault::FreeBytes(free));
    rig.pass(120_000);
    assert!(rig.broker.stats().checkpoints > 0);
    let mut rig = rig.killed(10);
    rig.pass(5 * DAY);
    assert_eq!(rig.bodies("t"), ["0", "1", "2", "3"]);
}

#[test]
fn a_stop_ends_where_its_checkpoint_cannot_be_written_and_says_why() {
    let mut rig = Rig::with(Config { checkpoint_every: Duration::from_secs(3600), ..config() });
    for _ in 0..5 {
        rig.send(send("t", &"x".repeat(60_000), &[("TIMER_DELAY_MS", "100000000")]));
    }
    assert_eq!(rig.broker.checkpoint_failure(), None);
    let free = rig.disk.free_bytes().unwrap();
    rig.disk.inject(Fault::FreeBytes(0));
    for round in 0.. {
        assert!(round < 5, "the same checkpoint is begun again and again");
        let Some(work) = rig.broker.shutdown_work() else { break };
        rig.work(work);
    }
    let why = rig.broker.checkpoint_failure().expect("it failed");
    assert!(why.contains("the simulated disk is full"), "{why}");
    rig.disk.inject(Fault::FreeBytes(free));
    rig.pass(2 * 3_600_000);
    assert_eq!(rig.broker.checkpoint_failure(), None, "written again");
}

#[test]
fn a_damaged_file_of_a_checkpoint_stops_the_start_and_is_named() {
    let mut rig = Rig::with(config());
    rig.send(send("t", "x", &[]));
    settle(&mut rig);
    let disk = rig.disk.after_kill();
    let files = disk.list().unwrap();
    for kind in ["manifest-", "state-", "queues-"] {
        let file = files.iter().find(|file| file.starts_with(kind)).unwrap();
        let disk = disk.copy();
        disk.inject(Fault::FlipBit { file: file.clone(), byte: 20 });
        let error = Broker::open(std::sync::Arc::new(disk), config(), rig.now).err().unwrap();
        assert!(error.to_string().contains(file), "{error}");
    }
}
