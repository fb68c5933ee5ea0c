use super::*;
use crate::config::CHOOSE_FROM_MAX;

fn sql(text: &str) -> Filter {
    Filter::sql(text).unwrap()
}

/// A pull of those of whose properties `text` holds.
fn ask(text: &str, offset: i64, wait_ms: Option<u64>) -> Pull {
    Pull { filter: Some(sql(text)), ..pull("t", offset, wait_ms) }
}

/// Sends messages that are their own numbers, as bodies and as property `n`.
fn send_numbers(rig: &mut Rig, numbers: std::ops::Range<i32>) {
    for n in numbers {
        let n = n.to_string();
        rig.send(send("t", &n, &[("n", &n), ("TAGS", "A")]));
    }
}

fn bodies<'a>(messages: impl IntoIterator<Item = &'a Bytes>) -> Vec<String> {
    messages.into_iter().map(body).collect()
}

#[test]
fn a_pull_gives_only_what_its_condition_wants_and_goes_on_behind_all_that_it_saw() {
    let mut rig = Rig::new();
    send_numbers(&mut rig, 0..10);
    rig.send(send("t", "none", &[]));
    let pulled = rig.ask(ask("n BETWEEN 3 AND 5 OR n = 8", 0, None)).unwrap();
    assert_eq!(bodies(&pulled.messages), ["3", "4", "5", "8"]);
    assert_eq!(
        (pulled.outcome, pulled.next_offset, pulled.max_offset.0),
        (PullOutcome::Found, QueueOffset(11), 11)
    );
    let nothing = rig.ask(ask("n > 99", 2, None)).unwrap();
    assert_eq!((nothing.outcome, nothing.next_offset), (PullOutcome::NothingMatched, QueueOffset(11)));
    assert!(nothing.messages.is_empty());
    assert_eq!(rig.ask(ask("n > 99", 11, None)).unwrap().outcome, PullOutcome::NotFound);
    assert_eq!(bodies(&rig.ask(ask("n IS NULL AND TAGS IS NULL", 0, None)).unwrap().messages), ["none"]);
}

#[test]
fn an_answer_holds_no_more_than_was_asked_for_and_nothing_wanted_is_passed_over() {
    let mut rig = Rig::new();
    send_numbers(&mut rig, 0..40);
    let few = |offset| Pull { max_messages: 3, ..ask("n >= 10", offset, None) };
    let pulled = rig.ask(few(0)).unwrap();
    assert_eq!((bodies(&pulled.messages).join(" "), pulled.next_offset.0), ("10 11 12".into(), 13));
    assert_eq!(bodies(&rig.ask(few(13)).unwrap().messages), ["13", "14", "15"]);
    let small = Pull { max_bytes: Some(1), ..ask("n >= 10", 0, None) };
    let pulled = rig.ask(small).unwrap();
    assert_eq!((bodies(&pulled.messages).join(" "), pulled.next_offset.0), ("10".into(), 11));
}

#[test]
fn what_is_on_disk_is_chosen_from_as_well() {
    let mut rig = Rig::new();
    send_numbers(&mut rig, 0..4);
    let filler = "x".repeat(60_000);
    for _ in 0..10 {
        rig.send(send("t", &filler, &[]));
    }
    assert_eq!(bodies(&rig.ask(ask("n > 1 AND n < 3", 0, None)).unwrap().messages), ["2"]);
    let nothing = rig.ask(ask("n > 9", 0, None)).unwrap();
    assert_eq!(nothing.outcome, PullOutcome::NothingMatched);
    let again = rig.ask(ask("n > 9", nothing.next_offset.0, None)).unwrap();
    assert!(again.next_offset > nothing.next_offset, "each look goes on, whatever the bytes");
}

#[test]
fn a_parked_pull_waits_on_behind_what_it_does_not_want() {
    let mut rig = Rig::new();
    rig.topic("t", 1);
    let id = rig.begin(ask("n >= 3", 0, Some(15_000)));
    send_numbers(&mut rig, 0..3);
    assert!(rig.answer::<Pull>(id).is_none(), "woken by what it does not want");
    assert_eq!(rig.broker.stats().parked, 1);
    rig.pass(5000);
    send_numbers(&mut rig, 3..4);
    let pulled = rig.answer::<Pull>(id).unwrap().unwrap();
    assert_eq!((bodies(&pulled.messages).join(" "), pulled.next_offset.0), ("3".into(), 4));
    let ends = rig.begin(ask("n >= 30", 0, Some(15_000)));
    rig.turn();
    assert_eq!(
        rig.answer::<Pull>(ends).unwrap().unwrap().outcome,
        PullOutcome::NothingMatched,
        "it may go on"
    );
    let ends = rig.begin(ask("n >= 30", 4, Some(3000)));
    send_numbers(&mut rig, 4..6);
    rig.pass(2999);
    assert!(rig.answer::<Pull>(ends).is_none());
    rig.pass(1);
    let pulled = rig.answer::<Pull>(ends).unwrap().unwrap();
    assert_eq!((pulled.outcome, pulled.next_offset), (PullOutcome::NotFound, QueueOffset(6)));
    assert_eq!(rig.broker.stats().parked, 0);
}

#[test]
fn a_parked_pull_looks_through_more_than_it_reads_at_once() {
    let mut rig = Rig::new();
    rig.topic("t", 1);
    let id = rig.begin(ask("wanted = 'yes'", 0, Some(15_000)));
    rig.turn();
    let mut burst = send("t", "no", &[]);
    burst.messages = vec![message("no", &[]); 3 * CHOOSE_FROM_MAX];
    burst.messages.push(message("yes", &[("wanted", "yes")]));
    rig.begin(burst);
    rig.broker.write();
    assert_eq!(rig.broker.next_wakeup(rig.now), Some(Duration::ZERO), "it has more to look at");
    rig.turn();
    let pulled = rig.answer::<Pull>(id).expect("found before any time passes").unwrap();
    assert_eq!(bodies(&pulled.messages), ["yes"]);
    assert_eq!(pulled.next_offset.0 as usize, 3 * CHOOSE_FROM_MAX + 1);
    let one_look = rig.ask(ask("n = 1", 0, None)).unwrap();
    assert_eq!(one_look.next_offset.0 as usize, CHOOSE_FROM_MAX);
}

#[test]
fn a_message_larger_than_an_answer_is_looked_at_and_given() {
    let mut rig = Rig::with(Config { max_body_bytes: 400_000, ..config() });
    let large = "x".repeat(300_000);
    for n in ["1", "2"] {
        rig.send(send("t", &large, &[("n", n)]));
    }
    let pulled = rig.ask(ask("n = 2", 0, None)).unwrap();
    assert_eq!((pulled.outcome, pulled.next_offset.0), (PullOutcome::NothingMatched, 1));
    let pulled = rig.ask(ask("n = 2", 1, None)).unwrap();
    assert_eq!((pulled.messages.len(), pulled.next_offset.0), (1, 2));
}

#[test]
fn a_pull_that_was_parked_goes_on_at_once_where_its_place_was_taken_while_it_read() {
    let mut rig = Rig::with(Config { parked_max: 1, ..config() });
    rig.topic("t", 1);
    rig.topic("u", 1);
    let reads = rig.begin(ask("n > 1", 0, Some(15_000)));
    for _ in 0..20 {
        rig.begin(send("t", &"x".repeat(30_000), &[]));
    }
    // What it looks at first is still in memory, what it looks at then is not.
    rig.broker.write();
    rig.broker.write();
    let work: Vec<Work> = std::iter::from_fn(|| rig.broker.poll_work()).collect();
    assert!(work.iter().any(|work| matches!(work, Work::Read(_))), "no longer in memory");
    let waits = rig.begin(pull("u", 0, Some(15_000)));
    for work in work {
        rig.work(work);
    }
    rig.turn();
    let pulled = rig.answer::<Pull>(reads).unwrap().unwrap();
    assert_eq!((pulled.outcome, pulled.next_offset.0 > 0), (PullOutcome::NothingMatched, true));
    assert!(rig.answer::<Pull>(waits).is_none());
    assert_eq!(rig.broker.stats().parked, 1);
}

#[test]
fn a_parked_pull_finds_what_falls_due() {
    let mut rig = Rig::new();
    rig.topic("t", 1);
    let id = rig.begin(ask("n > 1 AND TAGS <> 'C'", 0, Some(15_000)));
    for (n, tag) in [("1", "A"), ("2", "C"), ("3", "B")] {
        rig.send(send("t", n, &[("n", n), ("TAGS", tag), ("TIMER_DELAY_MS", "2000")]));
    }
    rig.pass(1999);
    assert!(rig.answer::<Pull>(id).is_none());
    rig.pass(1);
    assert_eq!(bodies(&rig.answer::<Pull>(id).unwrap().unwrap().messages), ["3"]);
}

fn register(rig: &mut Rig, filter: &Filter, version: i64) {
    rig.ask(Register {
        connection: model::ConnectionId(1),
        client: model::ClientId("c".into()),
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
                filter: filter.clone(),
                expression: String::new(),
                version,
            }],
        }],
    })
    .unwrap();
}

#[test]
fn only_a_client_that_looks_again_is_answered_before_its_subscription_is_known() {
    let mut rig = Rig::new();
    send_numbers(&mut rig, 0..4);
    let ask = |rechecks, sub_version| Pull { filter: None, sub_version, rechecks, ..pull("t", 0, None) };
    assert!(matches!(rig.ask(ask(false, 0)), Err(PullError::NotSubscribed { .. })), "nothing is known");
    assert_eq!(rig.ask(ask(true, 0)).unwrap().messages.len(), 4);

    register(&mut rig, &sql("n > 2"), 10);
    for rechecks in [false, true] {
        assert_eq!(bodies(&rig.ask(ask(rechecks, 10)).unwrap().messages), ["3"], "by its heartbeat");
        let newer = rig.ask(ask(rechecks, 11));
        assert!(matches!(newer, Err(PullError::SubscriptionNotLatest { version: 11, .. })), "{newer:?}");
    }
    register(&mut rig, &Filter::tags("B").unwrap(), 12);
    assert!(matches!(rig.ask(ask(false, 13)), Err(PullError::SubscriptionNotLatest { .. })));
    assert_eq!(rig.ask(ask(true, 13)).unwrap().messages.len(), 4);
}

#[test]
fn a_pop_hands_out_only_what_its_condition_wants_and_finishes_the_rest() {
    let mut rig = Rig::new();
    send_numbers(&mut rig, 0..5);
    let ask = |wait_ms| Pop { filter: sql("n IN ('1', '4')"), ..pop("t", 10_000, wait_ms) };
    let popped = rig.ask(ask(0)).unwrap().messages;
    assert_eq!(bodies(popped.iter().map(|message| &message.bytes)), ["1", "4"]);
    rig.ask(ack("t", &popped[..1]));
    rig.pass(10_000);
    let again = rig.ask(ask(0)).unwrap().messages;
    assert_eq!((bodies(again.iter().map(|message| &message.bytes)), again[0].attempt), (vec!["4".into()], 2));
    rig.ask(ack("t", &again));
    let query = QueryOffset { group: group(), topic: topic("t"), queue_id: QueueId(0), zero_if_young: false };
    assert_eq!(rig.ask(query), Ok(QueueOffset(5)), "tools see that all is consumed");
    let waits = rig.begin(ask(20_000));
    send_numbers(&mut rig, 5..100);
    assert!(rig.answer::<Pop>(waits).is_none());
    rig.send(send("t", "4", &[("n", "4")]));
    assert_eq!(rig.answer::<Pop>(waits).unwrap().unwrap().messages.len(), 1);
}
