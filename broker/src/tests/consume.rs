use super::*;

#[test]
fn a_pull_tells_where_it_stands_at_every_edge() {
    let mut rig = Rig::new();
    rig.topic("t", 1);
    let outcome = |rig: &mut Rig, offset| {
        let p = rig.pull("t", offset);
        (p.outcome, p.next_offset.0, p.max_offset.0)
    };
    assert_eq!(outcome(&mut rig, 0), (PullOutcome::NotFound, 0, 0));
    assert_eq!(outcome(&mut rig, 5), (PullOutcome::OffsetMoved, 0, 0));
    for i in 0..40 {
        rig.send(send("t", &i.to_string(), &[]));
    }
    assert_eq!(outcome(&mut rig, 0), (PullOutcome::Found, 32, 40));
    assert_eq!(outcome(&mut rig, 32), (PullOutcome::Found, 40, 40));
    assert_eq!(outcome(&mut rig, 40), (PullOutcome::NotFound, 40, 40));
    assert_eq!(outcome(&mut rig, 41), (PullOutcome::OffsetMoved, 40, 40));
    assert_eq!(outcome(&mut rig, -1), (PullOutcome::OffsetMoved, 0, 40));
}

#[test]
fn a_pull_is_refused_with_the_reason() {
    let mut rig = Rig::new();
    rig.topic("t", 1);
    assert!(matches!(rig.ask(pull("none", 0, None)), Err(PullError::TopicUnknown { .. })));
    let far = Pull { queue_id: QueueId(1), ..pull("t", 0, None) };
    assert!(matches!(rig.ask(far), Err(PullError::QueueUnknown { queues: 1, .. })));
    let text = rig.ask(pull("SCHEDULE_TOPIC_XXXX", 0, None)).unwrap_err().to_string();
    assert!(text.contains("duemq pending list"), "{text}");
}

#[test]
fn a_parked_pull_is_answered_by_what_arrives_and_by_what_falls_due() {
    let mut rig = Rig::new();
    rig.topic("t", 1);
    let now = rig.begin(pull("t", 0, Some(15_000)));
    rig.turn();
    assert!(rig.answer::<Pull>(now).is_none());
    rig.send(send("t", "now", &[]));
    assert_eq!(rig.answer::<Pull>(now).unwrap().unwrap().messages.len(), 1);
    let due = rig.begin(pull("t", 1, Some(15_000)));
    rig.send(send("t", "due", &[("TIMER_DELAY_MS", "2000")]));
    rig.pass(1999);
    assert!(rig.answer::<Pull>(due).is_none());
    rig.pass(1);
    assert_eq!(body(&rig.answer::<Pull>(due).unwrap().unwrap().messages[0]), "due");
}

#[test]
fn a_parked_pull_ends_empty_when_its_time_is_over_or_it_is_cancelled() {
    let mut rig = Rig::new();
    rig.topic("t", 1);
    let waits = rig.begin(pull("t", 0, Some(3000)));
    let gone = rig.begin(pull("t", 0, Some(3000)));
    rig.ask(Cancel { request: gone });
    rig.pass(2999);
    assert!(rig.answer::<Pull>(waits).is_none());
    rig.pass(1);
    assert_eq!(rig.answer::<Pull>(waits).unwrap().unwrap().outcome, PullOutcome::NotFound);
    assert!(rig.answer::<Pull>(gone).is_none());
    assert_eq!(rig.broker.stats().parked, 0);
}

#[test]
fn a_pull_skips_what_its_tags_do_not_want() {
    let mut rig = Rig::new();
    for tag in ["A", "B", "C", "A", "D"] {
        rig.send(send("t", tag, &[("TAGS", tag)]));
    }
    let wanted = Pull { filter: Some(Filter::tags("A || C").unwrap()), ..pull("t", 0, None) };
    let pulled = rig.ask(wanted.clone()).unwrap();
    assert_eq!(pulled.messages.iter().map(body).collect::<Vec<_>>(), ["A", "C", "A"]);
    assert_eq!(pulled.next_offset, QueueOffset(5));
    let nothing = Pull { queue_offset: QueueOffset(4), ..wanted.clone() };
    assert_eq!(rig.ask(nothing).unwrap().outcome, PullOutcome::NothingMatched);
    let parked =
        rig.begin(Pull { queue_offset: QueueOffset(5), wait: Some(Duration::from_secs(9)), ..wanted });
    rig.send(send("t", "D", &[("TAGS", "D")]));
    assert!(rig.answer::<Pull>(parked).is_none(), "woken by what it does not want");
    rig.send(send("t", "C", &[("TAGS", "C")]));
    assert_eq!(rig.answer::<Pull>(parked).unwrap().unwrap().messages.len(), 1);
}

#[test]
fn a_pull_without_a_filter_takes_the_heartbeats_unless_the_client_has_a_newer_one() {
    let mut rig = Rig::new();
    for tag in ["A", "B"] {
        rig.send(send("t", tag, &[("TAGS", tag)]));
    }
    register(&mut rig, 1, "c1", 10);
    let ask = |sub_version| Pull { filter: None, sub_version, ..pull("t", 0, None) };
    assert_eq!(rig.ask(ask(10)).unwrap().messages.len(), 1);
    assert_eq!(rig.ask(ask(11)).unwrap().messages.len(), 2, "clients check tags again themselves");
}

fn register(rig: &mut Rig, connection: u64, client: &str, version: i64) {
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
            subscriptions: vec![Subscription {
                topic: topic("t"),
                filter: Filter::tags("A").unwrap(),
                expression: "A".into(),
                version,
            }],
        }],
    })
    .unwrap();
}

#[test]
fn members_of_a_group_hear_of_each_change_and_are_listed() {
    let mut rig = Rig::new();
    let told =
        |rig: &mut Rig| std::mem::take(&mut rig.notices).into_iter().map(|(c, _)| c.0).collect::<Vec<_>>();
    register(&mut rig, 1, "c1", 1);
    assert_eq!(told(&mut rig), [1]);
    register(&mut rig, 2, "c2", 1);
    assert_eq!(told(&mut rig), [1, 2]);
    register(&mut rig, 2, "c2", 1);
    assert_eq!(told(&mut rig), [0; 0], "nothing changed");
    assert_eq!(rig.ask(Consumers { group: group(), member: None }).unwrap().len(), 2);
    assert!(rig.ask(GetTopic { name: topic("%RETRY%g") }).is_some(), "its retry topic is there at once");
    rig.ask(Disconnect { connection: model::ConnectionId(1) });
    assert_eq!(told(&mut rig), [2]);
    rig.ask(Unregister {
        connection: model::ConnectionId(2),
        client: model::ClientId("c2".into()),
        producer: None,
        consumer: Some(group()),
    });
    assert!(rig.ask(Consumers { group: group(), member: None }).is_err());
}

#[test]
fn offsets_are_committed_within_the_queue_and_asked_for() {
    let mut rig = Rig::new();
    rig.send(send("t", "x", &[]));
    let query = |zero_if_young| QueryOffset {
        group: group(),
        topic: topic("t"),
        queue_id: QueueId(0),
        zero_if_young,
    };
    assert!(rig.ask(query(false)).is_err());
    assert_eq!(
        rig.ask(query(true)),
        Ok(QueueOffset(0)),
        "a new group begins with a young queue's first message"
    );
    let commit = |offset| CommitOffset {
        group: group(),
        topic: topic("t"),
        queue_id: QueueId(0),
        queue_offset: QueueOffset(offset),
    };
    rig.ask(commit(99)).unwrap();
    assert_eq!(rig.ask(query(false)), Ok(QueueOffset(1)), "no further than the queue reaches");
    assert!(rig.ask(CommitOffset { queue_id: QueueId(9), ..commit(0) }).is_err());
    assert!(rig.ask(CommitOffset { topic: topic("none"), ..commit(0) }).is_err());
}

#[test]
fn a_popped_message_is_invisible_until_acked_or_over() {
    let mut rig = Rig::new();
    rig.topic("t", 2);
    for i in 0..3 {
        rig.send(Send { queue_id: Some(QueueId(i % 2)), ..send("t", &i.to_string(), &[]) });
    }
    let popped = rig.pop("t", 10_000);
    assert_eq!(popped.len(), 3);
    assert!(popped.iter().all(|m| m.attempt == 1));
    assert!(rig.pop("t", 10_000).is_empty());
    assert!(rig.ask(ack("t", &popped[..2])).iter().all(Result::is_ok));
    rig.pass(9999);
    assert!(rig.pop("t", 10_000).is_empty());
    rig.pass(1);
    let again = rig.pop("t", 10_000);
    assert_eq!((again.len(), again[0].attempt), (1, 2));
    assert_eq!(body(&again[0].bytes), body(&popped[2].bytes));
    assert_eq!(
        rig.ask(ack("t", &popped[2..])),
        [Err(AckError::LeaseOver)],
        "the old handle is worth nothing"
    );
    assert!(rig.ask(ack("t", &again))[0].is_ok());
    assert!(rig.ask(ack("t", &again))[0].is_ok(), "an ack may be repeated");
    rig.pass(60_000);
    assert!(rig.pop("t", 10_000).is_empty());
}

#[test]
fn a_parked_pop_is_answered_at_the_due_moment() {
    let mut rig = Rig::new();
    rig.topic("t", 4);
    let id = rig.begin(pop("t", 10_000, 20_000));
    rig.send(send("t", "x", &[("TIMER_DELAY_MS", "4300")]));
    rig.pass(4299);
    assert!(rig.answer::<Pop>(id).is_none());
    rig.pass(1);
    assert_eq!(rig.answer::<Pop>(id).unwrap().unwrap().messages.len(), 1);
    let empty = rig.begin(pop("t", 10_000, 5000));
    rig.pass(5000);
    assert!(rig.answer::<Pop>(empty).unwrap().unwrap().messages.is_empty());
}

#[test]
fn a_parked_pop_is_woken_by_what_comes_back() {
    let mut rig = Rig::new();
    rig.send(send("t", "x", &[]));
    assert_eq!(rig.pop("t", 3000).len(), 1);
    let id = rig.begin(pop("t", 10_000, 20_000));
    rig.pass(3000);
    let again = rig.answer::<Pop>(id).expect("woken by the retry topic").unwrap();
    assert_eq!(again.messages[0].attempt, 2);
}

#[test]
fn a_changed_lease_ends_then_and_has_another_handle() {
    let mut rig = Rig::new();
    rig.send(send("t", "x", &[]));
    let popped = rig.pop("t", 300_000);
    let change = |handle: &wire::ReceiptHandle, ms| ChangeInvisible {
        group: group(),
        topic: topic("t"),
        handle: handle.clone(),
        invisible: Duration::from_millis(ms),
    };
    let handle = rig.ask(change(&popped[0].handle, 12_000)).unwrap();
    assert!(handle.pop_time > popped[0].handle.pop_time);
    assert_eq!(rig.ask(ack("t", &popped)), [Err(AckError::LeaseOver)]);
    assert_eq!(rig.ask(change(&popped[0].handle, 1)), Err(AckError::LeaseOver));
    rig.pass(11_999);
    assert!(rig.pop("t", 1000).is_empty());
    rig.pass(1);
    assert_eq!(rig.pop("t", 60_000)[0].attempt, 2);
    assert_eq!(rig.ask(ack("t", &popped)), [Err(AckError::LeaseOver)], "nor after the changed lease is over");
}

#[test]
fn a_lease_given_back_is_visible_at_once() {
    let mut rig = Rig::new();
    rig.send(send("t", "x", &[]));
    let handle = rig.pop("t", 60_000).remove(0).handle;
    rig.ask(ChangeInvisible { group: group(), topic: topic("t"), handle, invisible: Duration::ZERO })
        .unwrap();
    assert_eq!(rig.pop("t", 60_000).len(), 1);
}

#[test]
fn a_pop_hands_out_only_what_its_tags_want_and_finishes_the_rest() {
    let mut rig = Rig::new();
    // "Aa" and "BB" have the same code.
    for tag in ["Aa", "BB", "C"] {
        rig.send(send("t", tag, &[("TAGS", tag)]));
    }
    let popped = rig.ask(Pop { filter: Filter::tags("Aa").unwrap(), ..pop("t", 10_000, 0) }).unwrap();
    assert_eq!(popped.messages.iter().map(|m| body(&m.bytes)).collect::<Vec<_>>(), ["Aa"]);
    rig.ask(ack("t", &popped.messages));
    rig.pass(30_000);
    assert!(rig.pop("t", 10_000).is_empty());
    let query = QueryOffset { group: group(), topic: topic("t"), queue_id: QueueId(0), zero_if_young: false };
    assert_eq!(rig.ask(query), Ok(QueueOffset(3)), "tools see that all is consumed");
}

#[test]
fn an_ordered_group_gets_a_queue_one_batch_at_a_time() {
    let mut rig = Rig::new();
    rig.topic("t", 1);
    for i in 0..6 {
        rig.send(send("t", &i.to_string(), &[]));
    }
    let ask = |attempt: &str, max| Pop {
        ordered: true,
        attempt_id: Some(attempt.into()),
        max_messages: max,
        ..pop("t", 10_000, 0)
    };
    let bodies = |popped: &[PoppedMessage]| popped.iter().map(|m| body(&m.bytes)).collect::<String>();
    let first = rig.ask(ask("x", 3)).unwrap().messages;
    assert_eq!(bodies(&first), "012");
    assert!(rig.ask(ask("y", 3)).unwrap().messages.is_empty(), "the queue is locked");
    let same = rig.ask(ask("x", 3)).unwrap().messages;
    assert_eq!(bodies(&same), "012", "the same attempt gets the same messages");
    rig.ask(ack("t", &same[..1]));
    assert!(rig.ask(ask("y", 3)).unwrap().messages.is_empty(), "two are not finished");
    rig.pass(10_000);
    let again = rig.ask(ask("z", 3)).unwrap().messages;
    assert_eq!(bodies(&again), "123");
    assert_eq!(again.iter().map(|m| m.attempt).collect::<Vec<_>>(), [2, 2, 1]);
    rig.ask(ack("t", &again));
    assert_eq!(bodies(&rig.ask(ask("w", 9)).unwrap().messages), "45");
}

#[test]
fn every_popped_message_is_acked_in_the_end_and_acked_ones_never_come_again() {
    let mut rig = Rig::new();
    rig.topic("t", 4);
    let mut seed = env::Seed::new(3);
    let (mut sent, mut acked) = (0, BTreeMap::new());
    while acked.len() < 600 {
        for _ in 0..seed.below(20) {
            if sent < 600 {
                rig.send(Send { queue_id: None, ..send("t", &sent.to_string(), &[]) });
                sent += 1;
            }
        }
        let popped =
            rig.ask(Pop { max_messages: 1 + seed.below(32) as u32, ..pop("t", 5000, 0) }).unwrap().messages;
        for message in popped {
            let body = body(&message.bytes);
            assert!(!acked.contains_key(&body), "{body} came again after its ack");
            if seed.chance(0.7) || message.attempt > 5 {
                assert!(rig.ask(ack("t", std::slice::from_ref(&message)))[0].is_ok());
                acked.insert(body, message.attempt);
            }
        }
        rig.pass(seed.below(2000) as i64);
    }
    rig.pass(60_000);
    assert!(rig.pop("t", 5000).is_empty());
    assert!(acked.values().any(|attempt| *attempt > 1));
}

#[test]
fn a_renewed_lease_keeps_its_first_handle_also_over_a_restart() {
    let mut rig = Rig::new();
    rig.send(send("t", "x", &[]));
    let popped = rig.pop("t", 60_000);
    let handle = popped[0].handle.clone();
    let renew = |invisible_ms| Renew {
        group: group(),
        topic: topic("t"),
        handle: handle.clone(),
        invisible: Duration::from_millis(invisible_ms),
    };
    for _ in 0..3 {
        rig.pass(55_000);
        rig.ask(renew(60_000)).unwrap();
        assert!(rig.pop("t", 1000).is_empty());
    }
    rig.ask(renew(1)).unwrap();
    rig.pass(50_000);
    assert!(rig.pop("t", 1000).is_empty(), "it is never made shorter");
    let mut rig = rig.killed(5000);
    rig.ask(renew(60_000)).unwrap();
    rig.pass(59_999);
    assert!(rig.pop("t", 1000).is_empty());
    assert!(rig.ask(ack("t", &popped))[0].is_ok(), "the first handle still acks");
    assert_eq!(rig.ask(renew(60_000)), Err(AckError::LeaseOver));
    rig.pass(600_000);
    assert!(rig.pop("t", 1000).is_empty());
}

#[test]
fn a_lease_that_is_renewed_is_told_of_after_a_restart_and_waits_for_its_client() {
    let mut rig = Rig::new();
    let client = model::ClientId("c".into());
    rig.send(send("t", "retried", &[]));
    rig.pop("t", 1000);
    rig.pass(1000);
    rig.send(send("t", "first", &[]));
    let take = || Pop { renewed_for: Some(client.clone()), ..pop("t", 60_000, 0) };
    let popped = rig.ask(take()).unwrap().messages;
    assert_eq!(popped.len(), 2);
    rig.send(send("t", "own time", &[]));
    assert_eq!(rig.pop("t", 60_000).len(), 1);
    rig.pass(50_000);
    let renew = |handle: &wire::ReceiptHandle| Renew {
        group: group(),
        topic: topic("t"),
        handle: handle.clone(),
        invisible: Duration::from_secs(60),
    };
    rig.ask(renew(&popped[0].handle)).unwrap();

    // Far longer than what was left of either.
    let mut rig = rig.killed(3_600_000);
    let held = Duration::from_secs(50 + 3600);
    let told = rig.ask(GetRenewed);
    assert_eq!(told.len(), 2, "{told:?}");
    for renewed in &told {
        assert_eq!((&renewed.client, &renewed.group, &renewed.topic), (&client, &group(), &topic("t")));
        assert_eq!((renewed.held, renewed.left), (held, Duration::from_secs(30)));
        rig.ask(renew(&renewed.handle)).unwrap();
    }
    let of = |message: &PoppedMessage| {
        let wire::ReceiptHandle { retry, queue_id, queue_offset, pop_time, log_offset, .. } =
            message.handle.clone();
        told.iter().any(|renewed| {
            let handle = &renewed.handle;
            (handle.retry, handle.queue_id, handle.queue_offset) == (retry, queue_id, queue_offset)
                && (handle.pop_time, handle.log_offset) == (pop_time, log_offset)
        })
    };
    assert!(popped.iter().all(of), "each names its lease, in the topic and in its retry topic");
    rig.pass(30_000);
    assert_eq!(rig.pop("t", 60_000).len(), 1, "that of its own time has ended");
    assert!(rig.ask(ack("t", &popped)).iter().all(Result::is_ok), "the first handles still ack");
    assert!(rig.ask(GetRenewed).is_empty());
}

#[test]
fn a_lease_whose_client_named_a_time_is_renewed_no_more() {
    let mut rig = Rig::new();
    rig.send(send("t", "x", &[]));
    let take = Pop { renewed_for: Some(model::ClientId("c".into())), ..pop("t", 60_000, 0) };
    let handle = rig.ask(take).unwrap().messages[0].handle.clone();
    let change =
        ChangeInvisible { group: group(), topic: topic("t"), handle, invisible: Duration::from_secs(40) };
    rig.ask(change).unwrap();
    assert!(rig.ask(GetRenewed).is_empty());
    let mut rig = rig.killed(1000);
    assert!(rig.ask(GetRenewed).is_empty());
    // The lease's name is a moment after that of the one before it, and so is its end.
    rig.pass(39_001);
    assert_eq!(rig.pop("t", 1000).len(), 1);
}
