use super::*;

#[test]
fn a_message_is_visible_at_once_and_whole() {
    let mut rig = Rig::new();
    let sent = rig.send(send("t", "hello", &[("TAGS", "a"), ("KEYS", "k1 k2"), ("user", "值")]));
    assert_eq!((sent.queue_id, sent.queue_offset, sent.recall_handle), (QueueId(0), QueueOffset(0), None));
    let pulled = rig.pull("t", 0);
    assert_eq!(
        (pulled.outcome, pulled.next_offset, pulled.max_offset),
        (PullOutcome::Found, QueueOffset(1), QueueOffset(1))
    );
    let bytes = &pulled.messages[0];
    let view = Stored::parse(bytes).unwrap();
    assert_eq!((view.topic(), view.body(), view.log_offset()), ("t", b"hello".as_slice(), sent.log_offset));
    assert_eq!(view.stored_at(), rig.now.wall);
    assert_eq!(property(bytes, "user").as_deref(), Some("值"));
    assert_eq!(property(bytes, "UNIQ_KEY"), Some(sent.unique_key));
}

#[test]
fn a_sync_send_is_answered_once_it_is_durable_and_seen_once_it_is_written() {
    let mut rig = Rig::new();
    rig.topic("t", 1);
    rig.sync = false;
    let id = rig.begin(send("t", "x", &[]));
    rig.turn();
    assert!(rig.answer::<Send>(id).is_none(), "answered before it was durable");
    assert_eq!(rig.bodies("t"), ["x"]);
    let job = rig.held.pop().unwrap();
    rig.sync = true;
    rig.work(job);
    rig.turn();
    assert!(rig.answer::<Send>(id).unwrap().is_ok());
}

#[test]
fn an_async_send_is_answered_once_it_is_written() {
    let mut config = config();
    config.flush = Flush::Async;
    let mut rig = Rig::with(config);
    rig.sync = false;
    rig.send(send("t", "x", &[]));
}

type Check = fn(&SendRefusal) -> bool;

#[test]
fn a_refused_send_leaves_nothing_behind() {
    let mut rig = Rig::new();
    rig.topic("t", 2);
    let before = rig.broker.log.appended();
    let big = "x".repeat((64 << 10) + 1);
    let long = "v".repeat(40_000);
    let cases: [(Send, Check); 11] = [
        (send("t", "", &[]), |r| matches!(r, SendRefusal::EmptyBody)),
        (send("t", &big, &[]), |r| matches!(r, SendRefusal::BodyTooLarge { length: 65_537, limit: 65_536 })),
        (send("t", "x", &[("k", &long)]), |r| matches!(r, SendRefusal::PropertiesTooLarge { .. })),
        (send("t", "x", &[("DELAY", "soon")]), |r| matches!(r, SendRefusal::DelayNotANumber { .. })),
        (send("t", "x", &[("TIMER_DELIVER_MS", "9223372036854775807")]), |r| {
            matches!(r, SendRefusal::TooFar { .. })
        }),
        (Send { batch: true, ..send("t", "x", &[("TRAN_MSG", "true")]) }, |r| {
            matches!(r, SendRefusal::TransactionInBatch)
        }),
        (Send { queue_id: Some(QueueId(2)), ..send("t", "x", &[]) }, |r| {
            matches!(r, SendRefusal::QueueUnknown { queues: 2, .. })
        }),
        (Send { auto_create: None, ..send("none", "x", &[]) }, |r| {
            matches!(r, SendRefusal::TopicUnknown { .. })
        }),
        (send("SCHEDULE_TOPIC_XXXX", "x", &[]), |r| matches!(r, SendRefusal::SystemTopic { .. })),
        (send("rmq_sys_wheel_timer", "x", &[]), |r| matches!(r, SendRefusal::SystemTopic { .. })),
        (send("%RETRY%nobody", "x", &[]), |r| matches!(r, SendRefusal::GroupUnknown { .. })),
    ];
    for (ask, fits) in cases {
        let shown = format!("{:?}", ask.topic);
        let error = rig.ask(ask).unwrap_err();
        assert!(fits(&error.why), "{shown}: {error}");
    }
    let error = rig.ask(send("new", "x", &[("DELAY", "soon")])).unwrap_err();
    assert!(matches!(error.why, SendRefusal::DelayNotANumber { .. }));
    assert!(rig.ask(GetTopic { name: topic("new") }).is_none(), "its topic was made all the same");
    assert_eq!(rig.broker.log.appended(), before, "a refused send was written");
    assert!(rig.bodies("t").is_empty());
}

#[test]
fn all_messages_of_a_send_are_stored_or_none() {
    let mut rig = Rig::new();
    rig.topic("t", 1);
    let mut ask = send("t", "good", &[]);
    ask.messages.push(message("bad", &[("DELAY", "x")]));
    assert_eq!(rig.ask(ask).unwrap_err().index, 1);
    assert!(rig.bodies("t").is_empty());
}

#[test]
fn a_batch_with_a_delay_is_refused_by_its_place() {
    let mut rig = Rig::new();
    let mut ask = Send { batch: true, ..send("t", "a", &[]) };
    ask.messages.push(message("b", &[("TIMER_DELAY_MS", "5")]));
    let error = rig.ask(ask).unwrap_err();
    assert_eq!((error.index, error.why), (1, SendRefusal::DelayInBatch { property: "TIMER_DELAY_MS" }));
}

#[test]
fn what_only_the_server_sets_takes_no_effect_from_a_client() {
    let mut rig = Rig::new();
    let forged = [
        ("REAL_TOPIC", "other"),
        ("REAL_QID", "9"),
        ("TIMER_OUT_MS", "1"),
        ("POP_CK", "x"),
        ("RETRY_TOPIC", "other"),
        ("TIMER_DELAY_MS", "1000"),
    ];
    rig.send(send("t", "x", &forged));
    assert!(rig.bodies("t").is_empty(), "TIMER_OUT_MS of a client ended its delay");
    rig.pass(1000);
    let bytes = rig.pull("t", 0).messages.remove(0);
    assert_eq!(property(&bytes, "REAL_TOPIC").as_deref(), Some("t"));
    assert_eq!(property(&bytes, "REAL_QID").as_deref(), Some("0"));
    for name in ["TIMER_OUT_MS", "POP_CK", "RETRY_TOPIC"] {
        assert_eq!(property(&bytes, name), None, "{name}");
    }
}

#[test]
fn the_kind_of_a_message_is_checked_where_asked() {
    let mut rig = Rig::new();
    for (kind, good) in [(TopicKind::Normal, 0), (TopicKind::Fifo, 1), (TopicKind::Delay, 2)] {
        let name = kind.as_str();
        rig.topic(name, 1);
        rig.ask(CreateTopic {
            name: topic(name),
            read_queues: 1,
            write_queues: 1,
            permission: model::Permission::READ_WRITE,
            kind: Some(kind),
            order: false,
            sys_flag: 0,
        })
        .unwrap();
        let asks: [&[(&str, &str)]; 6] = [
            &[],
            &[("__SHARDINGKEY", "g")],
            &[("DELAY", "1")],
            &[("TIMER_DELAY_SEC", "1")],
            &[("TIMER_DELAY_MS", "1")],
            &[("TIMER_DELIVER_MS", "1")],
        ];
        for (i, properties) in asks.into_iter().enumerate() {
            let answer = rig.ask(Send { check_kind: true, ..send(name, "x", properties) });
            assert_eq!(answer.is_ok(), i.min(2) == good, "{properties:?} on {name}: {answer:?}");
            assert!(rig.ask(send(name, "x", properties)).is_ok(), "remoting takes any kind");
        }
    }
}

#[test]
fn queues_without_a_wish_take_turns_and_a_message_group_keeps_to_one() {
    let mut rig = Rig::new();
    rig.topic("t", 4);
    let any = |properties: &[(&str, &str)]| Send { queue_id: None, ..send("t", "x", properties) };
    let mut queues: Vec<_> = (0..8).map(|_| rig.send(any(&[])).queue_id.0).collect();
    queues.sort_unstable();
    assert_eq!(queues, [0, 0, 1, 1, 2, 2, 3, 3]);
    let first = rig.send(any(&[("__SHARDINGKEY", "order-1")])).queue_id;
    assert!((0..5).all(|_| rig.send(any(&[("__SHARDINGKEY", "order-1")])).queue_id == first));
}

#[test]
fn an_auto_created_topic_has_the_wished_queues_up_to_the_servers_number() {
    let mut rig = Rig::new();
    rig.send(send("four", "x", &[]));
    rig.send(Send { auto_create: Some(AutoCreate { queues: 99 }), ..send("many", "x", &[]) });
    let queues = |rig: &mut Rig, name| rig.ask(GetTopic { name: topic(name) }).unwrap().write_queues;
    assert_eq!((queues(&mut rig, "four"), queues(&mut rig, "many")), (4, 8));
    assert_eq!(rig.ask(GetTopic { name: topic("four") }).unwrap().kind, TopicKind::Mixed);
}

#[test]
fn messages_are_found_by_key_by_id_and_by_place() {
    let mut rig = Rig::new();
    let now = rig.send(send("t", "now", &[("KEYS", "kNow kBoth"), ("UNIQ_KEY", "ID1")]));
    let later = rig.send(send("t", "later", &[("KEYS", "kBoth"), ("UNIQ_KEY", "ID2"), ("DELAY", "1")]));
    let query = |key: &str, unique| Query {
        topic: topic("t"),
        key: key.into(),
        unique,
        max: 32,
        begin: Timestamp::from_millis(0),
        end: Timestamp::from_millis(i64::MAX),
    };
    let found = |rig: &mut Rig, key: &str, unique| -> Vec<String> {
        rig.ask(query(key, unique)).map(|all| all.iter().map(body).collect()).unwrap_or_default()
    };
    assert_eq!(found(&mut rig, "kNow", false), ["now"]);
    assert_eq!(found(&mut rig, "ID2", true), ["later"], "one that is pending is found too");
    assert_eq!(found(&mut rig, "none", false), [""; 0]);
    rig.pass(1000);
    let mut both = found(&mut rig, "kBoth", false);
    both.sort_unstable();
    assert_eq!(both, ["later", "now"], "once each, also after the delivery");
    assert_eq!(body(&rig.ask(View { log_offset: now.log_offset }).unwrap()), "now");
    assert_eq!(body(&rig.ask(View { log_offset: later.log_offset }).unwrap()), "later");
    for wrong in [0, 1, now.log_offset.0 + 8, u64::MAX] {
        assert!(rig.ask(View { log_offset: model::LogOffset(wrong) }).is_err(), "{wrong}");
    }
}
