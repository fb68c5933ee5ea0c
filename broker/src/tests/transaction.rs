use super::*;

const PRODUCER: &str = "producers";

fn half(rig: &mut Rig, body: &str, delay: Option<(&str, &str)>) -> Sent {
    let mut properties =
        vec![("TRAN_MSG", "true"), ("PGROUP", PRODUCER), ("TAGS", "tag"), ("UNIQ_KEY", body)];
    properties.extend(delay);
    rig.send(send("t", body, &properties))
}

fn end(sent: &Sent, resolution: Resolution) -> EndTransaction {
    EndTransaction { half: HalfName::Place(sent.log_offset), group: Some(PRODUCER.into()), resolution }
}

fn register(rig: &mut Rig) {
    rig.ask(Register {
        connection: model::ConnectionId(5),
        client: model::ClientId("p".into()),
        language: "JAVA".into(),
        version: 479,
        address: "10.0.0.1:1".parse().unwrap(),
        producers: vec![PRODUCER.into()],
        consumers: vec![],
    })
    .unwrap();
}

fn asked(rig: &mut Rig) -> Vec<(String, u64)> {
    let notices = std::mem::take(&mut rig.notices).into_iter();
    notices
        .filter_map(|(_, notice)| match notice {
            Notice::CheckTransaction(check) => Some((check.unique_key, check.log_offset.0)),
            Notice::ConsumersChanged { .. } => None,
        })
        .collect()
}

#[test]
fn a_half_is_seen_once_committed_and_never_once_rolled_back() {
    let mut rig = Rig::new();
    let (yes, no) = (half(&mut rig, "yes", None), half(&mut rig, "no", None));
    assert_eq!((yes.queue_offset, no.queue_offset), (QueueOffset(0), QueueOffset(1)), "among the halves");
    assert!(rig.bodies("t").is_empty());
    rig.ask(end(&yes, Resolution::Commit)).unwrap();
    rig.ask(end(&no, Resolution::Rollback)).unwrap();
    assert_eq!(rig.bodies("t"), ["yes"]);
    let bytes = rig.pull("t", 0).messages.remove(0);
    let view = Stored::parse(&bytes).unwrap();
    assert_eq!(view.sys_flag() & 0xC, 8);
    assert_eq!(view.prepared_transaction_offset(), yes.log_offset.0 as i64);
    assert_eq!((property(&bytes, "TAGS").as_deref(), property(&bytes, "REAL_TOPIC")), (Some("tag"), None));
    for sent in [&yes, &no] {
        assert_eq!(
            rig.ask(end(sent, Resolution::Commit)),
            Err(EndTransactionError::HalfUnknown),
            "ended before"
        );
    }
    assert_eq!(rig.broker.stats().halves, 0);
}

#[test]
fn a_delayed_half_waits_from_its_commit_on_and_a_moment_stands() {
    let mut rig = Rig::new();
    let level = half(&mut rig, "level", Some(("DELAY", "2")));
    let moment = half(&mut rig, "moment", Some(("TIMER_DELIVER_MS", &(BEGIN + 6000).to_string())));
    let past = half(&mut rig, "past", Some(("TIMER_DELIVER_MS", &(BEGIN + 1000).to_string())));
    rig.pass(3000);
    for sent in [&level, &moment, &past] {
        rig.ask(end(sent, Resolution::Commit)).unwrap();
    }
    assert_eq!(rig.bodies("t"), ["past"]);
    rig.pass(3000);
    assert_eq!(rig.bodies("t"), ["past", "moment"]);
    rig.pass(1999);
    assert_eq!(rig.bodies("t").len(), 2);
    rig.pass(1);
    assert_eq!(rig.bodies("t"), ["past", "moment", "level"]);
    assert!(rig.ask(send("t", "x", &[("TRAN_MSG", "true"), ("DELAY", "soon")])).is_err());
}

#[test]
fn a_half_whose_moment_is_taken_as_a_level_waits_from_its_commit_on() {
    let mut rig = Rig::new();
    let moment = (BEGIN + 4000).to_string();
    let properties = [("TRAN_MSG", "true"), ("PGROUP", PRODUCER), ("TIMER_DELIVER_MS", &moment)];
    let sent = rig.send(Send { as_level: true, ..send("t", "x", &properties) });
    rig.pass(3000);
    rig.ask(end(&sent, Resolution::Commit)).unwrap();
    rig.pass(4999);
    assert!(rig.bodies("t").is_empty());
    rig.pass(1);
    assert_eq!(rig.bodies("t"), ["x"]);
}

#[test]
fn a_producer_that_does_not_say_is_asked_with_the_same_places_and_at_last_no_more() {
    let mut rig = Rig::new();
    register(&mut rig);
    let sent = half(&mut rig, "open", None);
    let question = ("open".to_owned(), sent.log_offset.0);
    rig.pass(5999);
    assert!(asked(&mut rig).is_empty());
    rig.pass(1);
    assert_eq!(asked(&mut rig), std::slice::from_ref(&question));
    rig.ask(end(&sent, Resolution::Unknown)).unwrap();
    for _ in 0..14 {
        rig.pass(30_000);
        assert_eq!(asked(&mut rig), std::slice::from_ref(&question));
    }
    rig.pass(60_000);
    assert!(asked(&mut rig).is_empty());
    assert_eq!(rig.broker.stats().halves, 0);
    assert_eq!(rig.bodies("TRANS_CHECK_MAX_TIME_TOPIC"), ["open"]);
}

#[test]
fn a_half_that_was_put_aside_can_be_asked_for_again() {
    let mut rig = Rig::new();
    register(&mut rig);
    let first = half(&mut rig, "open", None);
    rig.pass(6000 + 15 * 30_000);
    let aside = Stored::parse(&rig.pull("TRANS_CHECK_MAX_TIME_TOPIC", 0).messages[0]).unwrap().log_offset();
    asked(&mut rig);

    for nowhere in [first.log_offset, model::LogOffset(aside.0 + 8), model::LogOffset(u64::MAX)] {
        let refused = rig.ask(ResumeHalf { log_offset: nowhere });
        assert_eq!(refused, Err(ResumeHalfError::NotAside { log_offset: nowhere }));
    }
    rig.ask(ResumeHalf { log_offset: aside }).unwrap();
    assert_eq!(
        rig.ask(ResumeHalf { log_offset: aside }),
        Err(ResumeHalfError::Waits),
        "it is asked for already"
    );
    let mut rig = rig.killed(1);
    register(&mut rig);
    rig.pass(36_000);
    let (key, place) = asked(&mut rig).remove(0);
    assert_eq!(key, "open");
    assert!(place > aside.0, "it lies anew");
    let half = HalfName::Place(model::LogOffset(place));
    rig.ask(EndTransaction { half, group: Some(PRODUCER.into()), resolution: Resolution::Commit }).unwrap();
    let bytes = rig.pull("t", 0).messages.remove(0);
    assert_eq!((body(&bytes), property(&bytes, "TAGS")), ("open".into(), Some("tag".into())));

    rig.ask(DeleteTopic { name: topic("t") }).unwrap();
    let gone = rig.ask(ResumeHalf { log_offset: aside });
    assert_eq!(gone, Err(ResumeHalfError::TopicUnknown { topic: "t".into() }));
}

#[test]
fn nobody_is_asked_while_no_producer_is_there_and_the_half_is_kept() {
    let mut rig = Rig::new();
    let sent = half(&mut rig, "open", None);
    rig.pass(3_600_000);
    let mut rig = rig.killed(1000);
    register(&mut rig);
    rig.pass(36_000);
    assert_eq!(asked(&mut rig)[0], ("open".to_owned(), sent.log_offset.0));
    rig.ask(end(&sent, Resolution::Commit)).unwrap();
    assert_eq!(rig.bodies("t"), ["open"]);
}

#[test]
fn another_group_may_not_end_a_half_and_a_key_names_it_too() {
    let mut rig = Rig::new();
    let sent = half(&mut rig, "ID", None);
    let wrong = EndTransaction { group: Some("other".into()), ..end(&sent, Resolution::Commit) };
    assert!(matches!(rig.ask(wrong), Err(EndTransactionError::WrongGroup { .. })));
    let by_key = |topic_name: &str| EndTransaction {
        half: HalfName::Key(topic(topic_name), "ID".into()),
        group: None,
        resolution: Resolution::Commit,
    };
    assert_eq!(rig.ask(by_key("other")), Err(EndTransactionError::HalfUnknown));
    rig.ask(by_key("t")).unwrap();
    assert_eq!(rig.bodies("t"), ["ID"]);
}

#[test]
fn what_has_ended_has_ended_after_a_kill() {
    let mut rig = Rig::new();
    let (yes, no, later) = (
        half(&mut rig, "yes", None),
        half(&mut rig, "no", None),
        half(&mut rig, "later", Some(("DELAY", "1"))),
    );
    rig.ask(end(&yes, Resolution::Commit)).unwrap();
    rig.ask(end(&no, Resolution::Rollback)).unwrap();
    rig.ask(end(&later, Resolution::Commit)).unwrap();
    let mut rig = rig.killed(1000);
    assert_eq!(rig.broker.stats().halves, 0);
    rig.pass(1000);
    assert_eq!(rig.bodies("t"), ["yes", "later"]);
}

#[test]
fn a_limit_that_is_new_at_the_commit_makes_nothing_early() {
    let mut rig = Rig::new();
    let due = BEGIN + 20 * 86_400_000;
    let sent = half(&mut rig, "far", Some(("TIMER_DELIVER_MS", &due.to_string())));
    let mut limited = config();
    limited.max_delay_ms = 7 * 86_400_000;
    limited.timer_enabled = false;
    let mut rig = Rig::open(rig.disk.after_kill(), limited, rig.now);
    rig.ask(end(&sent, Resolution::Commit)).unwrap();
    assert!(rig.bodies("t").is_empty());
    assert_eq!(rig.broker.stats().pending, 1);
}
