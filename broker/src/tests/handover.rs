use super::*;
use model::ConnectionId;

/// A queue with `count` messages, and member 1 of the group.
fn consumed_by_one(count: usize) -> Rig {
    let mut rig = Rig::new();
    rig.topic("t", 1);
    for i in 0..count {
        rig.send(send("t", &i.to_string(), &[]));
    }
    join(&mut rig, 1);
    rig
}

fn join(rig: &mut Rig, connection: u64) {
    subscribe(rig, connection, &["t"], 1);
}

fn subscribe(rig: &mut Rig, connection: u64, topics: &[&str], version: i64) {
    let subscription = |name: &&str| Subscription {
        topic: topic(name),
        filter: Filter::All,
        expression: "*".into(),
        version,
    };
    rig.ask(Register {
        connection: ConnectionId(connection),
        client: model::ClientId(format!("c{connection}").into()),
        language: "JAVA".into(),
        version: 479,
        address: "10.0.0.1:1".parse().unwrap(),
        producers: vec![],
        consumers: vec![Consumer {
            group: group(),
            kind: model::ConsumeKind::Push,
            model: model::MessageModel::Clustering,
            from: model::ConsumeFrom::Last,
            subscriptions: topics.iter().map(subscription).collect(),
        }],
    })
    .unwrap();
}

/// A pull of a member that has handled all before `handled`.
fn pull_by(member: u64, offset: i64, handled: Option<i64>) -> Pull {
    Pull {
        member: Some(ConnectionId(member)),
        commit_offset: handled.map(QueueOffset),
        ..pull("t", offset, Some(15_000))
    }
}

/// Who has been told since the last call.
fn told(rig: &mut Rig) -> Vec<u64> {
    std::mem::take(&mut rig.notices).into_iter().map(|(connection, _)| connection.0).collect()
}

fn asks_for_members(rig: &mut Rig, member: u64) {
    let clients = rig.ask(Consumers { group: group(), member: Some(ConnectionId(member)) });
    assert!(!clients.unwrap().is_empty());
}

#[test]
fn members_hear_of_a_new_one_once_what_they_were_given_is_handled() {
    let mut rig = consumed_by_one(3);
    assert_eq!(told(&mut rig), [1]);
    assert_eq!(rig.ask(pull_by(1, 0, None)).unwrap().messages.len(), 3);
    let waits = rig.begin(pull_by(1, 3, Some(1)));
    rig.turn();
    join(&mut rig, 2);
    assert_eq!(told(&mut rig), [0; 0], "two messages are being handled");
    let empty = rig.answer::<Pull>(waits).expect("asked at once how far it is").unwrap();
    assert_eq!((empty.outcome, empty.next_offset), (PullOutcome::NotFound, QueueOffset(3)));
    let waits = rig.begin(pull_by(1, 3, Some(2)));
    rig.pass(19);
    assert!(rig.answer::<Pull>(waits).is_none());
    rig.pass(1);
    assert!(rig.answer::<Pull>(waits).is_some(), "asked again after 20 ms");
    rig.begin(pull_by(1, 3, Some(3)));
    rig.turn();
    assert_eq!(told(&mut rig), [1, 2]);
    let committed =
        rig.ask(QueryOffset { group: group(), topic: topic("t"), queue_id: QueueId(0), zero_if_young: true });
    assert_eq!(committed.unwrap(), QueueOffset(3), "whoever gets the queue begins behind what was handled");
}

#[test]
fn nothing_is_given_until_members_have_asked_who_the_others_are() {
    let mut rig = consumed_by_one(0);
    let first = rig.begin(pull_by(1, 0, None));
    join(&mut rig, 2);
    assert_eq!(told(&mut rig), [1, 1, 2], "nothing was in its hands");
    rig.send(send("t", "comes meanwhile", &[]));
    asks_for_members(&mut rig, 2);
    rig.pass(60);
    assert!(rig.answer::<Pull>(first).is_none(), "member 1 may be about to let go");
    asks_for_members(&mut rig, 1);
    let second = rig.begin(pull_by(2, 0, None));
    rig.pass(49);
    assert!(rig.answer::<Pull>(second).is_none());
    rig.pass(1);
    assert_eq!(rig.answer::<Pull>(second).unwrap().unwrap().messages.len(), 1);
}

#[test]
fn a_member_that_asks_for_its_queues_has_asked_as_well() {
    let mut rig = consumed_by_one(0);
    rig.begin(pull_by(1, 0, None));
    join(&mut rig, 2);
    rig.send(send("t", "m", &[]));
    rig.ask(GetAssignment {
        group: group(),
        topic: topic("t"),
        client: model::ClientId("c1".into()),
        model: model::MessageModel::Clustering,
        strategy: Strategy::Runs,
    });
    rig.pass(50);
    assert_eq!(rig.ask(pull_by(2, 0, None)).unwrap().messages.len(), 1);
}

#[test]
fn a_slow_member_delays_the_others_for_two_seconds_at_most() {
    let mut rig = consumed_by_one(2);
    told(&mut rig);
    rig.ask(pull_by(1, 0, None)).unwrap();
    join(&mut rig, 2);
    rig.pass(499);
    assert_eq!(told(&mut rig), [0; 0]);
    rig.pass(1);
    assert_eq!(told(&mut rig), [1, 2], "told though member 1 has said nothing");
    let waits = rig.begin(pull_by(2, 0, None));
    rig.pass(1499);
    assert!(rig.answer::<Pull>(waits).is_none());
    rig.pass(1);
    assert_eq!(rig.answer::<Pull>(waits).unwrap().unwrap().messages.len(), 2);
}

#[test]
fn however_many_come_and_go_messages_are_given_within_three_seconds() {
    let mut rig = consumed_by_one(0);
    let waits = rig.begin(pull_by(1, 0, None));
    join(&mut rig, 2);
    rig.send(send("t", "m", &[]));
    for newcomer in 3..=9 {
        rig.pass(400);
        join(&mut rig, newcomer);
    }
    assert!(rig.answer::<Pull>(waits).is_none());
    rig.pass(200);
    assert!(rig.answer::<Pull>(waits).is_some());
}

#[test]
fn who_leaves_is_not_waited_for() {
    let mut rig = consumed_by_one(2);
    join(&mut rig, 2);
    told(&mut rig);
    rig.ask(pull_by(1, 0, None)).unwrap();
    rig.ask(Disconnect { connection: ConnectionId(1) });
    assert_eq!(told(&mut rig), [2]);
    assert_eq!(rig.ask(pull_by(2, 0, None)).unwrap().messages.len(), 2);
}

#[test]
fn an_offset_that_moved_is_told_while_a_group_hands_over() {
    let mut rig = consumed_by_one(2);
    rig.ask(pull_by(1, 0, None)).unwrap();
    join(&mut rig, 2);
    assert_eq!(rig.ask(pull_by(1, 7, None)).unwrap().outcome, PullOutcome::OffsetMoved);
}

#[test]
fn members_hear_of_other_topics_and_not_of_another_version() {
    let mut rig = consumed_by_one(0);
    told(&mut rig);
    subscribe(&mut rig, 1, &["t"], 2);
    assert_eq!(told(&mut rig), [0; 0]);
    subscribe(&mut rig, 1, &["t", "u"], 2);
    assert_eq!(told(&mut rig), [1]);
}

#[test]
fn a_group_that_wants_no_notices_gets_none() {
    let mut rig = consumed_by_one(0);
    told(&mut rig);
    let mut settings = rig.ask(GetGroup { name: group() }).unwrap();
    settings.notify_changes = false;
    rig.ask(CreateGroup { group: settings }).unwrap();
    join(&mut rig, 2);
    rig.ask(Disconnect { connection: ConnectionId(2) });
    assert_eq!(told(&mut rig), [0; 0]);
}
