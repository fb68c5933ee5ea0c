use super::*;
use wire::recall_handle::RecallHandle;

fn recall(handle: &str) -> Recall {
    Recall { topic: topic("t"), handle: RecallHandle::decode(handle).unwrap() }
}

fn delayed(rig: &mut Rig, id: &str, ms: i64) -> String {
    let sent =
        rig.send(send("t", id, &[("TIMER_DELAY_MS", &ms.to_string()), ("UNIQ_KEY", id), ("KEYS", "order")]));
    sent.recall_handle.unwrap()
}

#[test]
fn recalled_message_is_never_delivered_nor_found() {
    let mut rig = Rig::new();
    let (stays, goes) = (delayed(&mut rig, "stays", 5000), delayed(&mut rig, "goes", 5000));
    assert_eq!(rig.ask(recall(&goes)), Ok(Recalled::Recalled));
    assert_eq!(rig.ask(recall(&goes)), Ok(Recalled::Recalled), "again is no error");
    assert_eq!(rig.broker.stats().pending, 1);
    rig.pass(20_000);
    assert_eq!(rig.bodies("t"), ["stays"]);
    assert_eq!(rig.ask(recall(&stays)), Ok(Recalled::TooLate));
    assert_eq!(rig.ask(recall(&goes)), Ok(Recalled::TooLate), "its moment has passed");
    let query = Query {
        topic: topic("t"),
        key: "order".into(),
        unique: false,
        max: 9,
        begin: Timestamp::from_millis(0),
        end: Timestamp::from_millis(i64::MAX),
    };
    assert_eq!(rig.ask(query).unwrap().iter().map(body).collect::<Vec<_>>(), ["stays"]);
}

#[test]
fn a_recall_of_nothing_says_so() {
    let mut rig = Rig::new();
    let handle = delayed(&mut rig, "a", 5000);
    let of = |id: &str, at: i64| Recall {
        topic: topic("t"),
        handle: RecallHandle {
            topic: "t".into(),
            broker: "broker-a".into(),
            deliver_at: Timestamp::from_millis(at),
            unique_key: id.into(),
        },
    };
    assert_eq!(rig.ask(of("other", BEGIN + 5000)), Ok(Recalled::Unknown));
    assert_eq!(rig.ask(of("other", BEGIN - 1)), Ok(Recalled::TooLate));
    let mut ask = recall(&handle);
    ask.handle.broker = "broker-b".into();
    assert!(matches!(rig.ask(ask), Err(RecallError::WrongBroker { .. })));
    rig.topic("u", 1);
    assert!(matches!(
        rig.ask(Recall { topic: topic("u"), ..recall(&handle) }),
        Err(RecallError::WrongTopic { .. })
    ));
    assert!(matches!(
        rig.ask(Recall { topic: topic("v"), ..recall(&handle) }),
        Err(RecallError::TopicUnknown { .. })
    ));
    rig.pass(5000);
    assert_eq!(rig.bodies("t"), ["a"]);
}

#[test]
fn every_pending_copy_of_an_id_goes_and_equal_ids_of_another_topic_stay() {
    let mut rig = Rig::new();
    let handle = delayed(&mut rig, "same", 5000);
    delayed(&mut rig, "same", 9000);
    rig.send(send("other", "same", &[("TIMER_DELAY_MS", "5000"), ("UNIQ_KEY", "same")]));
    assert_eq!(rig.ask(recall(&handle)), Ok(Recalled::Recalled));
    rig.pass(20_000);
    assert!(rig.bodies("t").is_empty());
    assert_eq!(rig.bodies("other"), ["same"]);
}

#[test]
fn where_one_copy_was_delivered_it_is_too_late_and_the_other_goes_all_the_same() {
    let mut rig = Rig::new();
    delayed(&mut rig, "same", 1000);
    let handle = delayed(&mut rig, "same", 9000);
    rig.pass(1000);
    assert_eq!(rig.ask(recall(&handle)), Ok(Recalled::TooLate));
    rig.pass(20_000);
    assert_eq!(rig.bodies("t").len(), 1);
}

#[test]
fn a_recall_holds_over_a_kill_and_is_remembered() {
    let mut rig = Rig::new();
    let handle = delayed(&mut rig, "goes", 5000);
    assert_eq!(rig.ask(recall(&handle)), Ok(Recalled::Recalled));
    let mut rig = rig.killed(1);
    assert_eq!(rig.broker.stats().pending, 0);
    assert_eq!(rig.ask(recall(&handle)), Ok(Recalled::Recalled));
    rig.pass(20_000);
    assert!(rig.bodies("t").is_empty());
}

#[test]
fn a_level_is_recalled_as_well() {
    let mut rig = Rig::new();
    let sent = rig.send(send("t", "x", &[("DELAY", "4")]));
    assert_eq!(rig.ask(recall(&sent.recall_handle.unwrap())), Ok(Recalled::Recalled));
    rig.pass(60_000);
    assert!(rig.bodies("t").is_empty());
}

#[test]
fn a_message_that_marks_another_calls_it_back_and_is_never_stored() {
    for named in ["a", "t+a"] {
        let mut rig = Rig::new();
        delayed(&mut rig, "a", 5000);
        let due = (BEGIN + 5000).to_string();
        let mark = send("t", "0", &[("TIMER_DEL_UNIQKEY", named), ("TIMER_DELIVER_MS", &due)]);
        rig.send(mark.clone());
        rig.send(mark.clone());
        assert_eq!(rig.broker.stats().pending, 0);
        rig.pass(10_000);
        assert!(rig.bodies("t").is_empty());
        assert_eq!(
            rig.ask(mark.clone()).unwrap_err().why,
            SendRefusal::RecallIllegal,
            "its moment has passed"
        );
        let batch = Send { batch: true, ..mark };
        assert_eq!(rig.ask(batch).unwrap_err().why, SendRefusal::RecallIllegal);
        let nowhere = send("new", "0", &[("TIMER_DEL_UNIQKEY", named), ("TIMER_DELAY_MS", "9000")]);
        assert!(rig.ask(nowhere).is_err());
        assert!(rig.ask(GetTopic { name: topic("new") }).is_none());
    }
}

#[test]
fn queues_are_locked_by_one_member_until_it_lets_go_or_a_minute_is_over() {
    let mut rig = Rig::new();
    rig.topic("t", 2);
    rig.ask(CreateGroup { group: model::Group::new(group()) }).unwrap();
    let queues = vec![(topic("t"), QueueId(0)), (topic("t"), QueueId(1))];
    let client = |name: &str| model::ClientId(name.into());
    let lock = |name: &str| Lock { group: group(), client: client(name), queues: queues.clone() };
    assert_eq!(rig.ask(lock("a")).unwrap(), queues);
    assert_eq!(rig.ask(lock("b")).unwrap(), []);
    rig.pass(59_999);
    assert_eq!(rig.ask(lock("a")).unwrap(), queues, "and again for a minute");
    rig.pass(59_999);
    assert_eq!(rig.ask(lock("b")).unwrap(), []);
    rig.pass(1);
    assert_eq!(rig.ask(lock("b")).unwrap(), queues);
    rig.ask(Unlock { group: group(), client: client("a"), queues: queues.clone() });
    assert_eq!(rig.ask(lock("a")).unwrap(), [], "only the holder lets go");
    rig.ask(Unlock { group: group(), client: client("b"), queues: queues[..1].to_vec() });
    assert_eq!(rig.ask(lock("a")).unwrap(), queues[..1]);
}

fn by_key(of: &str, key: &str, unique: bool) -> RecallByKey {
    RecallByKey { topic: topic(of), key: key.into(), unique }
}

fn sorted(mut recalled: RecalledByKey) -> (Vec<String>, u64) {
    assert!(!recalled.more);
    recalled.recalled.sort_unstable();
    (recalled.recalled, recalled.visible)
}

#[test]
fn what_waits_under_a_key_is_called_back_without_a_handle_wherever_it_lies() {
    let config = Config { checkpoint_every: Duration::from_secs(60), ..config() };
    let mut rig = Rig::with(config);
    delayed(&mut rig, "seen", 1000);
    delayed(&mut rig, "far", 9 * 86_400_000);
    delayed(&mut rig, "near", 300_000);
    rig.pass(70_000);
    assert_eq!(rig.broker.stats().checkpoints, 1);
    delayed(&mut rig, "new", 300_000);
    let ask = |rig: &mut Rig, ask: RecallByKey| sorted(rig.ask(ask).unwrap());
    assert_eq!(ask(&mut rig, by_key("t", "nothing", false)), (vec![], 0));
    assert_eq!(ask(&mut rig, by_key("t", "order", true)), (vec![], 0), "that is nobody's id");
    assert_eq!(ask(&mut rig, by_key("t", "near", true)), (vec!["near".to_owned()], 0));
    assert_eq!(ask(&mut rig, by_key("t", "near", true)), (vec![], 0), "once");
    assert_eq!(ask(&mut rig, by_key("t", "order", false)), (vec!["far".to_owned(), "new".to_owned()], 1));
    let mut rig = rig.killed(10);
    assert_eq!(ask(&mut rig, by_key("t", "order", false)), (vec![], 1));
    assert_eq!(rig.broker.stats().pending, 0);
    rig.pass(10 * 86_400_000);
    assert_eq!(rig.bodies("t"), ["seen"]);
    assert!(matches!(rig.ask(by_key("v", "order", false)), Err(RecallError::TopicUnknown { .. })));
}
