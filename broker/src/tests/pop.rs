//! Pop beyond a message's first lease: names of retry topics, peeks, notifications, assignments.

use super::*;

/// A pop by a group of one's own, that keeps what it takes for `invisible_ms`.
fn pop_as(who: &str, from: &str, invisible_ms: u64) -> Pop {
    Pop { group: named(who), ..pop(from, invisible_ms, 0) }
}

fn named(group: &str) -> GroupName {
    GroupName::new(group).unwrap()
}

fn bodies(popped: &[PoppedMessage]) -> Vec<String> {
    popped.iter().map(|message| body(&message.bytes)).collect()
}

impl Rig {
    fn popped(&mut self, ask: Pop) -> Vec<PoppedMessage> {
        self.ask(ask).unwrap().messages
    }

    fn is_topic(&mut self, name: &str) -> bool {
        self.ask(GetTopic { name: topic(name) }).is_some()
    }
}

#[test]
fn two_pairs_of_one_plain_name_get_their_own_messages_again_also_over_a_restart() {
    let mut rig = Rig::new();
    rig.send(send("b_c", "one's", &[]));
    rig.send(send("c", "other's", &[]));
    let lapse = |rig: &mut Rig| {
        assert_eq!(rig.popped(pop_as("a", "b_c", 1000)).len(), 1);
        assert_eq!(rig.popped(pop_as("a_b", "c", 1000)).len(), 1);
        rig.pass(1000);
    };
    lapse(&mut rig);
    assert!(rig.is_topic("%RETRY%a_b_c") && rig.is_topic("%RETRY%a_b+c"));
    let mut rig = rig.killed(0);
    lapse(&mut rig);
    let (one, other) = (rig.popped(pop_as("a", "b_c", 9000)), rig.popped(pop_as("a_b", "c", 9000)));
    assert_eq!((bodies(&one), bodies(&other)), (vec!["one's".to_owned()], vec!["other's".to_owned()]));
    assert_eq!((one[0].attempt, other[0].attempt), (3, 3));
    let signs = [&one, &other].map(|popped| popped[0].handle.retry.as_str());
    assert_eq!(signs, ["1", "2"]);

    // By the name of the topic that was popped, and by that of its retry topic.
    let ack =
        |who: &str, from: &str, popped: &[PoppedMessage]| Ack { group: named(who), ..ack(from, popped) };
    let unknown = AckError::OffsetUnknown { topic: topic("c"), queue_id: 0, offset: 1 };
    assert_eq!(rig.ask(ack("a_b", "c", &one)), [Err(unknown)], "another pair's handle");
    assert_eq!(rig.ask(ack("a", "b_c", &one)), [Ok(())]);
    assert_eq!(rig.ask(ack("a_b", "%RETRY%a_b+c", &other)), [Ok(())]);
    rig.pass(60_000);
    assert!(
        rig.popped(pop_as("a", "b_c", 1000)).is_empty() && rig.popped(pop_as("a_b", "c", 1000)).is_empty()
    );

    rig.ask(DeleteTopic { name: topic("b_c") }).unwrap();
    assert!(
        !rig.is_topic("%RETRY%a_b_c") && rig.is_topic("%RETRY%a_b+c"),
        "a pair's topic goes with the pair"
    );
    rig.ask(DeleteGroup { name: named("a_b") }).unwrap();
    assert!(!rig.is_topic("%RETRY%a_b+c"));
}

#[test]
fn a_pop_does_not_retry_in_the_retry_topic_of_a_group_that_pulls() {
    let mut rig = Rig::new();
    rig.ask(CreateGroup { group: model::Group::new(named("g_t")) }).unwrap();
    rig.send(send("t", "x", &[]));
    assert_eq!(rig.pop("t", 1000).len(), 1);
    rig.pass(1000);
    assert!(rig.pull("%RETRY%g_t", 0).messages.is_empty());
    assert_eq!(rig.pop("t", 1000)[0].handle.retry.as_str(), "2");
}

#[test]
fn a_retry_topic_that_was_made_for_nobody_named_serves_who_asks_first() {
    let mut rig = Rig::new();
    // As the log of an earlier version may have it.
    rig.broker.topic_or_make(topic("%RETRY%a_b_c"), 1);
    for (who, from, sign) in [("a_b", "c", "1"), ("a", "b_c", "2")] {
        rig.send(send(from, "x", &[]));
        assert_eq!(rig.popped(pop_as(who, from, 1000)).len(), 1);
        rig.pass(1000);
        assert_eq!(rig.popped(pop_as(who, from, 1000))[0].handle.retry.as_str(), sign);
    }
}

#[test]
fn nobody_but_the_server_writes_where_pops_retry() {
    let mut rig = Rig::new();
    let refused = |rig: &mut Rig, to| rig.ask(send(to, "x", &[])).unwrap_err().why;
    assert!(matches!(refused(&mut rig, "%RETRY%g+t"), SendRefusal::SystemTopic { .. }));
    assert!(matches!(refused(&mut rig, "%RETRY%g_t"), SendRefusal::GroupUnknown { .. }));
    assert!(!rig.is_topic("%RETRY%g+t"));
}

#[test]
fn all_that_one_pop_takes_has_one_pop_time_that_grows_in_each_queue() {
    let mut rig = Rig::new();
    rig.topic("t", 3);
    let fill = |rig: &mut Rig| {
        for queue in 0..3 {
            rig.send(Send { queue_id: Some(QueueId(queue)), ..send("t", "x", &[]) });
        }
    };
    // Within one millisecond.
    fill(&mut rig);
    let first = rig.popped(Pop { queue_id: Some(QueueId(1)), ..pop("t", 9000, 0) });
    fill(&mut rig);
    let second = rig.popped(pop("t", 9000, 0));
    assert_eq!((first.len(), second.len()), (1, 5));
    assert!(second.iter().all(|message| message.handle.pop_time == first[0].handle.pop_time + 1));
    assert!(rig.ask(ack("t", &second)).iter().all(Result::is_ok));
}

#[test]
fn what_comes_again_in_order_lies_behind_where_its_pop_says_that_it_read() {
    let mut rig = Rig::new();
    for i in 0..4 {
        rig.send(send("t", &i.to_string(), &[]));
    }
    let ask = |max| Pop { ordered: true, max_messages: max, ..pop("t", 1000, 0) };
    assert_eq!(rig.popped(ask(3)).len(), 3);
    rig.pass(1000);
    let again = rig.popped(ask(9));
    assert_eq!(bodies(&again), ["0", "1", "2", "3"]);
    assert!(again.iter().all(|message| message.handle.start_offset == 0), "clients count offsets from there");
}

#[test]
fn what_a_group_has_pulled_it_does_not_pop() {
    let mut rig = Rig::new();
    for i in 0..6 {
        rig.send(send("t", &i.to_string(), &[]));
    }
    let popped = rig.popped(Pop { max_messages: 2, ..pop("t", 60_000, 0) });
    rig.ask(CommitOffset {
        group: group(),
        topic: topic("t"),
        queue_id: QueueId(0),
        queue_offset: QueueOffset(4),
    })
    .unwrap();
    assert!(rig.ask(ack("t", &popped[..1]))[0].is_ok());
    let query = QueryOffset { group: group(), topic: topic("t"), queue_id: QueueId(0), zero_if_young: false };
    assert_eq!(rig.ask(query), Ok(QueueOffset(4)), "an ack takes back nothing that was committed");
    assert_eq!(bodies(&rig.pop("t", 60_000)), ["4", "5"]);
}

#[test]
fn a_lease_past_the_limit_is_refused_with_the_limit() {
    let mut rig = Rig::new();
    rig.send(send("t", "x", &[]));
    let too_long = 12 * 3_600_000 + 1;
    let refused = rig.ask(pop("t", too_long, 0)).unwrap_err();
    assert_eq!(refused.to_string(), "the invisible time is 43200001 ms, the limit is 43200000 ms");
    let handle = rig.pop("t", too_long - 1).remove(0).handle;
    let change = |ms| ChangeInvisible {
        group: group(),
        topic: topic("t"),
        handle: handle.clone(),
        invisible: Duration::from_millis(ms),
    };
    let refused = rig.ask(change(too_long)).unwrap_err();
    assert_eq!(refused.to_string(), "the invisible time is 43200001 ms, the limit is 43200000 ms");
    assert!(rig.ask(change(too_long - 1)).is_ok());
}

#[test]
fn a_peek_shows_what_a_pop_would_take_and_takes_nothing() {
    let mut rig = Rig::new();
    for i in 0..3 {
        rig.send(send("t", &i.to_string(), &[]));
    }
    let ask = |max_messages| Peek { group: group(), topic: topic("t"), queue_id: None, max_messages };
    let shown = |rig: &mut Rig, max| {
        let peeked = rig.ask(ask(max)).unwrap();
        (peeked.messages.iter().map(body).collect::<Vec<_>>(), peeked.rest)
    };
    assert_eq!(shown(&mut rig, 2), (vec!["0".to_owned(), "1".to_owned()], 3));
    assert_eq!(rig.popped(Pop { max_messages: 2, ..pop("t", 1000, 0) }).len(), 2);
    assert_eq!(shown(&mut rig, 9), (vec!["2".to_owned()], 1));
    rig.pass(1000);
    let again = shown(&mut rig, 9);
    assert_eq!((again.0.len(), again.1), (3, 3), "what comes again is shown too");
    assert!(matches!(rig.ask(ask(33)), Err(PopError::TooMany { .. })));
    let none = Peek { topic: topic("none"), ..ask(1) };
    assert!(matches!(rig.ask(none), Err(PopError::TopicUnknown { .. })));
}

fn notification(from: &str, wait_ms: u64) -> Notification {
    Notification {
        group: group(),
        topic: topic(from),
        queue_id: None,
        wait: Duration::from_millis(wait_ms),
        ordered: false,
        attempt_id: None,
    }
}

#[test]
fn who_waits_to_hear_of_messages_hears_at_once_and_takes_none() {
    let mut rig = Rig::new();
    rig.topic("t", 2);
    assert_eq!(rig.ask(notification("t", 0)), Ok(false));
    let waits = rig.begin(notification("t", 9000));
    rig.send(send("t", "x", &[("TIMER_DELAY_MS", "2000")]));
    rig.pass(1999);
    assert!(rig.answer::<Notification>(waits).is_none());
    rig.pass(1);
    assert_eq!(rig.answer::<Notification>(waits), Some(Ok(true)));
    assert_eq!(rig.ask(notification("t", 9000)), Ok(true));
    assert_eq!(rig.pop("t", 3000).len(), 1);

    let again = rig.begin(notification("t", 9000));
    rig.pass(3000);
    assert_eq!(rig.answer::<Notification>(again), Some(Ok(true)), "what comes again is heard of");
    let popped = rig.pop("t", 60_000);
    let nothing = rig.begin(notification("t", 9000));
    rig.pass(9000);
    assert_eq!(rig.answer::<Notification>(nothing), Some(Ok(false)));
    assert!(rig.ask(ack("t", &popped))[0].is_ok());
    let gone = rig.begin(notification("t", 9000));
    rig.ask(DeleteTopic { name: topic("t") }).unwrap();
    assert!(matches!(rig.answer::<Notification>(gone), Some(Err(PopError::TopicUnknown { .. }))));
}

#[test]
fn an_ordered_queue_in_use_is_told_to_its_own_attempt_only() {
    let mut rig = Rig::new();
    for i in 0..2 {
        rig.send(send("t", &i.to_string(), &[]));
    }
    let taken = rig.popped(Pop {
        ordered: true,
        attempt_id: Some("x".into()),
        max_messages: 1,
        ..pop("t", 60_000, 0)
    });
    let ask = |attempt: &str, wait_ms| Notification {
        ordered: true,
        attempt_id: Some(attempt.into()),
        ..notification("t", wait_ms)
    };
    assert_eq!(rig.ask(ask("x", 0)), Ok(true));
    let other = rig.begin(ask("y", 9000));
    rig.turn();
    assert!(rig.answer::<Notification>(other).is_none());
    rig.ask(ack("t", &taken));
    assert_eq!(rig.answer::<Notification>(other), Some(Ok(true)), "the queue is free again");
}

#[test]
fn pops_that_wait_are_counted_by_group_and_queue() {
    let mut rig = Rig::new();
    rig.topic("t", 2);
    for (who, queue_id) in [("g", None), ("g", None), ("g", Some(QueueId(1))), ("h", None)] {
        rig.begin(Pop { queue_id, ..Pop { wait: Duration::from_secs(9), ..pop_as(who, "t", 1000) } });
    }
    rig.begin(notification("t", 9000));
    let counted = |rig: &mut Rig, who, queue_id| {
        rig.ask(CountParked { group: named(who), topic: topic("t"), queue_id }).unwrap()
    };
    assert_eq!(counted(&mut rig, "g", None), 2);
    assert_eq!(counted(&mut rig, "g", Some(QueueId(1))), 1);
    assert_eq!(counted(&mut rig, "g", Some(QueueId(0))), 0);
    assert_eq!(counted(&mut rig, "h", None), 1);
    let far = CountParked { group: named("g"), topic: topic("t"), queue_id: Some(QueueId(2)) };
    assert!(matches!(rig.ask(far), Err(PopError::QueueUnknown { .. })));
}

fn join(rig: &mut Rig, connection: u64, client: &str) {
    rig.ask(Register {
        connection: model::ConnectionId(connection),
        client: model::ClientId(client.into()),
        language: "JAVA".into(),
        version: 479,
        address: "10.0.0.1:1".parse().unwrap(),
        producers: vec![],
        consumers: vec![Consumer {
            group: group(),
            kind: model::ConsumeKind::Push,
            model: model::MessageModel::Clustering,
            from: model::ConsumeFrom::Last,
            subscriptions: vec![],
        }],
    })
    .unwrap();
    rig.notices.clear();
}

fn assignment(client: &str) -> GetAssignment {
    GetAssignment {
        group: group(),
        topic: topic("t"),
        client: model::ClientId(client.into()),
        model: model::MessageModel::Clustering,
        strategy: Strategy::Runs,
    }
}

#[test]
fn members_are_told_their_queues_and_by_which_mode_they_read_them() {
    let mut rig = Rig::new();
    rig.topic("t", 4);
    assert_eq!(rig.ask(assignment("c1")), None, "not a member");
    join(&mut rig, 1, "c1");
    join(&mut rig, 2, "c2");
    let queues = |all: &[u32]| all.iter().map(|&id| Some(QueueId(id))).collect::<Vec<_>>();
    let is = |pop, queues| Some(Assignment { pop, queues });
    assert_eq!(rig.ask(assignment("c2")), is(false, queues(&[2, 3])));
    let all = GetAssignment { model: model::MessageModel::Broadcasting, ..assignment("c2") };
    assert_eq!(rig.ask(all), is(false, queues(&[0, 1, 2, 3])));
    assert_eq!(rig.ask(GetAssignment { topic: topic("none"), ..assignment("c2") }), None);

    let mode = |pop, share| SetConsumeMode {
        group: group(),
        topic: topic("t"),
        mode: model::ConsumeMode { pop, share },
    };
    rig.ask(mode(true, 0)).unwrap();
    assert_eq!(rig.notices.len(), 2, "members hear of it");
    assert_eq!(rig.ask(assignment("c2")), is(true, vec![None]));
    join(&mut rig, 3, "c3");
    rig.ask(mode(true, 1)).unwrap();
    assert_eq!(rig.ask(assignment("c3")), is(true, queues(&[3, 0, 1])), "its own and those of the next");
    let retry = SetConsumeMode { topic: topic("%RETRY%g"), ..mode(true, 0) };
    assert!(matches!(rig.ask(retry), Err(SetConsumeModeError::RetryTopic { .. })));
    let none = SetConsumeMode { topic: topic("none"), ..mode(true, 0) };
    assert!(matches!(rig.ask(none), Err(SetConsumeModeError::TopicUnknown { .. })));

    let mut rig = rig.killed(0);
    join(&mut rig, 1, "c1");
    assert_eq!(rig.ask(assignment("c1")), is(true, vec![None]), "the mode is kept");
    rig.ask(DeleteTopic { name: topic("t") }).unwrap();
    rig.topic("t", 4);
    assert_eq!(rig.ask(assignment("c1")), is(false, queues(&[0, 1, 2, 3])), "it goes with the topic");
}
