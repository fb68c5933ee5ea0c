//! What clients invent has limits, and honest ones do not meet them.

use super::*;
use model::{ClientId, ConnectionId};

fn heartbeat(connection: u64, producers: &[String], consumers: Vec<Consumer>) -> Register {
    Register {
        connection: ConnectionId(connection),
        client: ClientId(format!("client {connection}").into()),
        language: "JAVA".into(),
        version: 479,
        address: "10.0.0.1:1".parse().unwrap(),
        producers: producers.to_vec(),
        consumers,
    }
}

fn groups(from: usize, count: usize) -> Vec<String> {
    (from..from + count).map(|n| format!("producers-{n:03}")).collect()
}

fn consumer(name: &str, topics: usize) -> Consumer {
    let subscription = |n| Subscription {
        topic: topic(&format!("t{n}")),
        filter: Filter::tags("A").unwrap(),
        expression: "A".into(),
        version: 1,
    };
    Consumer {
        group: GroupName::new(name).unwrap(),
        kind: model::ConsumeKind::Push,
        model: model::MessageModel::Clustering,
        from: model::ConsumeFrom::Last,
        subscriptions: (0..topics).map(subscription).collect(),
    }
}

fn produced(rig: &mut Rig) -> usize {
    rig.ask(GetProducers { group: None }).len()
}

/// What 30 producer groups fill, and not 31.
const THIRTY: usize = 30 * (256 + 13);

#[test]
fn one_connection_names_so_many_groups_and_no_more() {
    let mut rig = Rig::with(Config { client_bytes_max: THIRTY, ..config() });
    let error = rig.ask(heartbeat(1, &groups(0, 31), vec![])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the groups and subscriptions of this connection have 8339 bytes, the limit is 8070"
    );
    assert_eq!(produced(&mut rig), 0, "nothing of it is kept");

    rig.ask(heartbeat(1, &groups(0, 30), vec![])).unwrap();
    rig.ask(heartbeat(1, &groups(0, 30), vec![])).unwrap();
    let more = rig.ask(heartbeat(1, &groups(30, 1), vec![]));
    assert!(matches!(more, Err(RegisterError::TooMuch { .. })), "what came before counts: {more:?}");
    let more = rig.ask(heartbeat(1, &[], vec![consumer("g", 1)]));
    assert!(matches!(more, Err(RegisterError::TooMuch { .. })), "consumers count, too: {more:?}");
    rig.ask(heartbeat(2, &groups(0, 30), vec![])).unwrap();

    let (connection, client) = (ConnectionId(1), ClientId("client 1".into()));
    let producer = Some("producers-004".to_owned());
    rig.ask(Unregister { connection, client, producer, consumer: None });
    rig.ask(heartbeat(1, &groups(30, 1), vec![])).unwrap();
    assert_eq!(produced(&mut rig), 31);
}

#[test]
fn all_connections_name_so_many_groups_and_no_more() {
    let mut rig = Rig::with(Config { clients_bytes_max: THIRTY, ..config() });
    rig.ask(heartbeat(1, &groups(0, 20), vec![])).unwrap();
    let error = rig.ask(heartbeat(2, &groups(0, 11), vec![])).unwrap_err();
    assert!(matches!(error, RegisterError::Full { bytes: 8339, limit: THIRTY }), "{error:?}");
    rig.ask(heartbeat(2, &groups(0, 10), vec![])).unwrap();
    rig.ask(heartbeat(1, &groups(0, 20), vec![])).unwrap();
    rig.ask(Disconnect { connection: ConnectionId(1) });
    rig.ask(heartbeat(3, &groups(0, 20), vec![])).unwrap();
    assert!(rig.ask(heartbeat(3, &groups(20, 1), vec![])).is_err());
    rig.ask(Disconnect { connection: ConnectionId(3) });
    rig.ask(heartbeat(4, &groups(0, 5), vec![consumer("g", 5)])).unwrap();
    rig.ask(Disconnect { connection: ConnectionId(4) });
    rig.ask(heartbeat(5, &groups(0, 20), vec![])).unwrap();
}

#[test]
fn a_subscription_counts_until_another_takes_its_place_or_its_consumer_leaves() {
    let fits = |topics: usize| (256 + 1) + topics * (256 + 2 + 1 + 33);
    let mut rig = Rig::with(Config { client_bytes_max: fits(4), ..config() });
    assert!(rig.ask(heartbeat(1, &[], vec![consumer("g", 5)])).is_err());
    assert!(matches!(
        rig.ask(Consumers { group: group(), member: None }),
        Err(ConsumersError::NoneOnline { .. })
    ));
    rig.ask(heartbeat(1, &[], vec![consumer("g", 4)])).unwrap();
    assert!(rig.ask(heartbeat(1, &[], vec![consumer("h", 0)])).is_err());
    rig.ask(heartbeat(1, &[], vec![consumer("g", 2)])).unwrap();
    rig.ask(heartbeat(1, &[], vec![consumer("h", 0)])).unwrap();
    assert!(rig.ask(heartbeat(1, &[], vec![consumer("h", 2)])).is_err());
    let (connection, client) = (ConnectionId(1), ClientId("client 1".into()));
    rig.ask(Unregister { connection, client, producer: None, consumer: Some(group()) });
    rig.ask(heartbeat(1, &[], vec![consumer("h", 4)])).unwrap();
}

#[test]
fn a_client_with_too_long_a_name_is_refused() {
    let mut rig = Rig::new();
    let named = |length: usize| Register {
        client: ClientId("x".repeat(length).into()),
        ..heartbeat(1, &groups(0, 1), vec![])
    };
    rig.ask(named(1024)).unwrap();
    let error = rig.ask(named(1025)).unwrap_err();
    assert_eq!(error.to_string(), "the client's id has 1025 bytes, the limit is 1024");
}

#[test]
fn only_queues_that_there_are_are_locked_and_for_groups_that_there_are() {
    let mut rig = Rig::new();
    rig.topic("T", 2);
    let queues = vec![(topic("T"), QueueId(1)), (topic("T"), QueueId(2)), (topic("U"), QueueId(0))];
    let lock =
        |client: &str| Lock { group: group(), client: ClientId(client.into()), queues: queues.clone() };
    assert_eq!(rig.ask(lock("c")), Err(LockError::GroupUnknown { group: group() }));
    rig.ask(CreateGroup { group: model::Group::new(group()) }).unwrap();
    assert_eq!(rig.ask(lock("c")), Ok(vec![(topic("T"), QueueId(1))]));
    assert_eq!(rig.ask(lock("other")), Ok(vec![]));
    let error = rig.ask(lock(&"x".repeat(1025))).unwrap_err();
    assert_eq!(error, LockError::ClientIdTooLong { length: 1025, limit: 1024 });
}

#[test]
fn so_many_queues_are_locked_and_no_more_until_some_are_over() {
    let mut rig = Rig::with(Config { locks_max: 3, ..config() });
    rig.topic("T", 4);
    rig.ask(CreateGroup { group: model::Group::new(group()) }).unwrap();
    let queues = |ids: &[u32]| ids.iter().map(|&id| (topic("T"), QueueId(id))).collect::<Vec<_>>();
    let mut lock = |ids: &[u32]| {
        rig.pass(20_000);
        rig.ask(Lock { group: group(), client: ClientId("c".into()), queues: queues(ids) })
    };
    assert_eq!(lock(&[0, 1, 2]), Ok(queues(&[0, 1, 2])));
    assert_eq!(lock(&[0, 1, 2]), Ok(queues(&[0, 1, 2])), "what is held is held on");
    assert_eq!(lock(&[3]), Err(LockError::Full { locks: 4, limit: 3 }));
    assert_eq!(lock(&[0, 1]), Ok(queues(&[0, 1])));
    assert_eq!(lock(&[3]), Ok(queues(&[3])), "the third one was over by then");
}

#[test]
fn naming_a_group_makes_it_only_while_there_are_not_too_many() {
    let mut rig = Rig::with(Config { groups_max: 2, ..config() });
    rig.topic("T", 1);
    rig.send(send("T", "one", &[]));
    rig.ask(pull("T", 0, None)).unwrap();
    rig.ask(heartbeat(1, &[], vec![consumer("second", 1)])).unwrap();

    let third = GroupName::new("third").unwrap();
    let told = "group third does not exist, and naming it makes none: there are 2 groups, the limit is 2";
    let pulled = rig.ask(Pull { group: third.clone(), ..pull("T", 0, None) }).unwrap_err();
    assert_eq!(pulled.to_string(), told);
    let popped = rig.ask(Pop { group: third.clone(), ..pop("T", 10_000, 0) }).unwrap_err();
    assert_eq!(popped.to_string(), told);
    let (queue_id, queue_offset) = (QueueId(0), QueueOffset(1));
    let commit = CommitOffset { group: third.clone(), topic: topic("T"), queue_id, queue_offset };
    assert_eq!(rig.ask(commit.clone()).unwrap_err().to_string(), told);
    let log_offset = Stored::parse(&rig.pull("T", 0).messages[0]).unwrap().log_offset();
    let back = SendBack { group: third.clone(), log_offset, delay_level: 0, max_reconsume_times: None };
    assert_eq!(rig.ask(back).unwrap_err().to_string(), told);
    rig.ask(heartbeat(1, &[], vec![consumer("third", 1)])).unwrap();
    assert!(
        rig.ask(Consumers { group: third.clone(), member: None }).is_err(),
        "it is no member of what is not"
    );
    assert_eq!(rig.ask(GetGroups).len(), 2);

    rig.ask(CreateGroup { group: model::Group::new(third) }).unwrap();
    rig.ask(commit).unwrap();
    assert_eq!(rig.pull("T", 0).messages.len(), 1, "those that are there go on");
}

#[test]
fn a_send_makes_its_topic_only_while_there_are_not_too_many() {
    let mut rig = Rig::new();
    let there = rig.ask(GetTopics).len();
    let mut rig = Rig::with(Config { topics_max: there + 1, ..config() });
    rig.send(send("T", "one", &[]));
    let error = rig.ask(send("U", "two", &[])).unwrap_err();
    let (topics, limit) = (there + 1, there + 1);
    let told = format!(
        "topic U does not exist, and a send makes none: there are {topics} topics, the limit is {limit}"
    );
    assert_eq!(error.why.to_string(), told);
    rig.send(send("T", "three", &[]));
    rig.topic("U", 1);
    rig.send(send("U", "four", &[]));
    let back = rig.pull("T", 0).messages.remove(0);
    let log_offset = Stored::parse(&back).unwrap().log_offset();
    rig.ask(SendBack { group: group(), log_offset, delay_level: -1, max_reconsume_times: None }).unwrap();
    assert_eq!(rig.bodies("%DLQ%g"), ["one"], "what the server needs for messages that it has is made");
}

#[test]
fn requests_wait_only_while_what_they_want_has_room() {
    let tags = |count: usize| vec!["tag"; count].join("||");
    let waiting =
        |count| Pull { filter: Some(Filter::tags(&tags(count)).unwrap()), ..pull("T", 0, Some(10_000)) };
    let mut rig = Rig::with(Config { parked_bytes_max: 100 * 35, ..config() });
    rig.topic("T", 1);
    let first = rig.begin(waiting(60));
    let refused = rig.ask(waiting(41)).unwrap_err();
    assert_eq!(refused.to_string(), "2100 bytes of requests wait already, the limit is 3500");
    let refused = rig.ask(Pop { filter: Filter::tags(&tags(41)).unwrap(), ..pop("T", 10_000, 10_000) });
    assert!(matches!(refused, Err(PopError::TooManyParked { .. })), "{refused:?}");
    let second = rig.begin(waiting(40));
    rig.pass(10_000);
    for id in [first, second] {
        assert_eq!(rig.answer::<Pull>(id).unwrap().unwrap().outcome, PullOutcome::NotFound);
    }
    let third = rig.begin(waiting(100));
    rig.send(send("T", "x", &[("TAGS", "tag")]));
    assert_eq!(rig.answer::<Pull>(third).unwrap().unwrap().messages.len(), 1, "what is answered makes room");
}

#[test]
fn what_is_popped_again_comes_from_its_own_queue_where_a_retry_topic_were_one_too_many() {
    let mut rig = Rig::new();
    rig.ask(CreateGroup { group: model::Group { retry_max: 2, ..model::Group::new(group()) } }).unwrap();
    let there = rig.ask(GetTopics).len();
    let mut rig = Rig::with(Config { topics_max: there + 1, ..config() });
    rig.ask(CreateGroup { group: model::Group { retry_max: 2, ..model::Group::new(group()) } }).unwrap();
    rig.topic("T", 1);
    rig.send(send("T", "one", &[]));
    rig.send(send("T", "two", &[]));
    for attempt in 1..=3 {
        let popped = rig.pop("T", 5000);
        let popped: Vec<_> = popped.iter().map(|message| (body(&message.bytes), message.attempt)).collect();
        assert_eq!(popped, [("one".to_owned(), attempt), ("two".to_owned(), attempt)]);
        assert_eq!(rig.ask(GetTopics).len(), there + 1);
        rig.pass(5000);
    }
    assert!(rig.pop("T", 5000).is_empty());
    assert_eq!(rig.bodies("%DLQ%g"), ["one", "two"], "after the last of their attempts");

    rig.send(send("T", "three", &[]));
    assert_eq!(rig.pop("T", 5000).len(), 1);
    let mut rig = rig.killed(0);
    rig.pass(5000);
    assert_eq!(rig.pop("T", 5000).len(), 1, "also after a restart");
}
