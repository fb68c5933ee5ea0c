//! What becomes of messages that were popped: acked, given back, forgotten, or gone with their topic.

use super::*;

fn fill(rig: &mut Rig, name: &str, count: usize) {
    rig.topic(name, 1);
    for i in 0..count {
        rig.send(send(name, &i.to_string(), &[]));
    }
}

fn bodies(popped: &[PoppedMessage]) -> Vec<String> {
    let mut all: Vec<String> = popped.iter().map(|message| body(&message.bytes)).collect();
    all.sort();
    all
}

/// The group, with so many retries before the dead letters.
fn retries(rig: &mut Rig, retry_max: u32, ordered: bool) {
    rig.ask(CreateGroup { group: model::Group { retry_max, ordered, ..model::Group::new(group()) } })
        .unwrap();
}

fn committed(rig: &mut Rig, name: &str) -> QueueOffset {
    let query =
        QueryOffset { group: group(), topic: topic(name), queue_id: QueueId(0), zero_if_young: false };
    rig.ask(query).unwrap()
}

#[test]
fn the_handle_of_a_changed_lease_acks_for_good_and_the_one_before_it_does_not() {
    let mut rig = Rig::new();
    fill(&mut rig, "t", 10);
    let popped = rig.pop("t", 60_000);
    let change = |message: &PoppedMessage| ChangeInvisible {
        group: group(),
        topic: topic("t"),
        handle: message.handle.clone(),
        invisible: Duration::from_secs(10),
    };
    let [fifth, sixth] = [&popped[4], &popped[5]];
    let handle = rig.ask(change(fifth)).unwrap();
    rig.ask(change(sixth)).unwrap();
    let by_handle = Ack { group: group(), topic: topic("t"), handles: vec![handle] };
    assert_eq!(rig.ask(by_handle), [Ok(())]);
    assert_eq!(rig.ask(ack("t", std::slice::from_ref(sixth))), [Err(AckError::LeaseOver)]);
    rig.pass(12_000);
    assert_eq!(
        bodies(&rig.pop("t", 60_000)),
        ["5"],
        "the one that was acked by its old handle, and no other"
    );
}

#[test]
fn only_what_was_not_acked_comes_again_whoever_acked_the_rest() {
    let mut rig = Rig::new();
    fill(&mut rig, "t", 10);
    let pop =
        |rig: &mut Rig, max_messages| rig.ask(Pop { max_messages, ..pop("t", 5000, 0) }).unwrap().messages;
    let left = pop(&mut rig, 3);
    let others = pop(&mut rig, 32);
    assert_eq!((left.len(), others.len()), (3, 7));
    assert!(rig.ask(ack("t", &others)).iter().all(Result::is_ok));
    assert_eq!(committed(&mut rig, "t"), QueueOffset(0), "three are not finished");
    let mut rig = rig.killed(0);
    rig.pass(5000);
    let again = rig.pop("t", 5000);
    assert_eq!(bodies(&again), bodies(&left));
    assert!(rig.ask(ack("t", &again)).iter().all(Result::is_ok));
    assert_eq!(committed(&mut rig, "t"), QueueOffset(10));
    rig.pass(60_000);
    assert!(rig.pop("t", 5000).is_empty());
}

#[test]
fn a_group_with_one_attempt_gets_a_message_once_and_it_is_a_dead_letter_once() {
    let mut rig = Rig::new();
    retries(&mut rig, 0, false);
    fill(&mut rig, "t", 1);
    let popped = rig.pop("t", 5000);
    assert_eq!((popped.len(), popped[0].attempt), (1, 1));
    let waits = rig.begin(pop("t", 5000, 20_000));
    rig.pass(4999);
    assert!(rig.ask(GetTopic { name: topic("%DLQ%g") }).is_none(), "not while it may yet be acked");
    rig.pass(1);
    assert_eq!(rig.bodies("%DLQ%g"), ["0"]);
    rig.pass(19_000);
    assert!(rig.answer::<Pop>(waits).unwrap().unwrap().messages.is_empty());
    assert_eq!(rig.bodies("%DLQ%g"), ["0"], "once");
    assert!(rig.ask(GetTopic { name: topic("%RETRY%g_t") }).is_none(), "it was never tried again");
    let mut rig = rig.killed(0);
    rig.pass(20_000);
    assert!(rig.pop("t", 5000).is_empty());
    assert_eq!(rig.bodies("%DLQ%g"), ["0"]);
}

#[test]
fn the_last_attempt_of_a_message_in_order_makes_it_a_dead_letter_and_those_behind_it_follow_in_order() {
    let mut rig = Rig::new();
    retries(&mut rig, 2, true);
    fill(&mut rig, "t", 6);
    let one = |rig: &mut Rig| {
        let ask = Pop { ordered: true, max_messages: 1, ..pop("t", 1000, 20_000) };
        let id = rig.begin(ask);
        rig.turn();
        let answer = rig.answer::<Pop>(id).unwrap_or_else(|| {
            rig.pass(1000);
            rig.answer::<Pop>(id).expect("a message once the lease of the one before is over")
        });
        answer.unwrap().messages.remove(0)
    };
    for attempt in 1..=3 {
        let poison = one(&mut rig);
        assert_eq!((body(&poison.bytes).as_str(), poison.attempt), ("0", attempt));
    }
    for good in 1..6 {
        let message = one(&mut rig);
        assert_eq!((body(&message.bytes), message.attempt), (good.to_string(), 1));
        assert_eq!(rig.bodies("%DLQ%g"), ["0"]);
        assert_eq!(rig.ask(ack("t", &[message]))[0], Ok(()));
    }
    assert_eq!(committed(&mut rig, "t"), QueueOffset(6));
}

#[test]
fn acks_that_come_slowly_within_the_lease_are_all_taken() {
    let mut rig = Rig::new();
    fill(&mut rig, "t", 32);
    let popped = rig.pop("t", 60_000);
    assert_eq!(popped.len(), 32);
    for message in &popped {
        rig.pass(500);
        assert_eq!(rig.ask(ack("t", std::slice::from_ref(message))), [Ok(())]);
    }
    rig.pass(120_000);
    assert!(rig.pop("t", 60_000).is_empty());
    assert_eq!((rig.broker.stats().redelivered, committed(&mut rig, "t")), (0, QueueOffset(32)));
}

#[test]
fn a_topic_made_again_has_nothing_of_the_old_one_not_even_what_was_popped() {
    let mut rig = Rig::new();
    fill(&mut rig, "t", 10);
    // Half of them wait in the retry topic, half are leased.
    let early = rig.ask(Pop { max_messages: 5, ..pop("t", 1000, 0) }).unwrap().messages;
    rig.pass(1000);
    let late = rig.ask(Pop { queue_id: Some(QueueId(0)), ..pop("t", 5000, 0) }).unwrap().messages;
    assert!(early.len() == 5 && late.len() >= 5, "{} {}", early.len(), late.len());
    rig.ask(DeleteTopic { name: topic("t") }).unwrap();
    rig.topic("t", 1);
    for i in 0..5 {
        rig.send(send("t", &format!("new {i}"), &[]));
    }
    let mut rig = rig.killed(0);
    let fresh = rig.pop("t", 5000);
    assert_eq!(bodies(&fresh), ["new 0", "new 1", "new 2", "new 3", "new 4"]);
    assert!(
        rig.ask(ack("t", &late)).iter().all(Result::is_err),
        "handles of the old topic are worth nothing"
    );
    assert!(rig.ask(ack("t", &fresh)).iter().all(Result::is_ok));
    rig.pass(60_000);
    assert!(rig.pop("t", 5000).is_empty());
    assert_eq!(committed(&mut rig, "t"), QueueOffset(5), "nothing is left behind");
    assert_eq!(rig.broker.stats().redelivered, 0);
}
