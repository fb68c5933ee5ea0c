use super::*;
use model::{ConnectionId, Monotonic, Permission, Topic, TopicId, TopicKind, TopicName};
use std::time::Duration;

const CONNECTION: ConnectionId = ConnectionId(7);

fn at(seconds: u64) -> Monotonic {
    Monotonic::from_nanos(seconds * 1_000_000_000)
}

fn own() -> NameServer {
    NameServer::beside(BrokerAddress {
        cluster: "c".into(),
        name: "own".into(),
        address: "127.0.0.1:10911".into(),
    })
}

fn name(name: &str) -> TopicName {
    TopicName::new(name).unwrap()
}

fn topic(topic: &str, queues: u32) -> Topic {
    Topic {
        name: name(topic),
        id: TopicId(1),
        read_queues: queues,
        write_queues: queues,
        permission: Permission::READ_WRITE,
        kind: TopicKind::Normal,
        order: false,
        sys_flag: 0,
    }
}

fn member(name: &str, id: i64, address: &str) -> Member {
    Member { cluster: "c".into(), name: name.into(), id, address: address.into() }
}

fn registration(member: Member, counter: i64, topics: &[(&str, u32)]) -> Registration {
    Registration {
        member,
        ha_address: "h:1".into(),
        silence_max: None,
        version: TopicsVersion { counter, ..TopicsVersion::default() },
        topics: topics
            .iter()
            .map(|(topic_name, queues)| (name(topic_name), (&topic(topic_name, *queues)).into()))
            .collect(),
    }
}

/// A foreign broker `b` at `b:1` that serves `one` (4 queues) and `two` (1 queue), heard of at 0 s.
fn with_foreign() -> NameServer {
    let mut names = own();
    let ask = registration(member("b", 0, "b:1"), 1, &[("one", 4), ("two", 1)]);
    assert_eq!(names.register(at(0), CONNECTION, ask), Ok(Registered { is_new: true, master: None }));
    names
}

/// The brokers of a topic and their write queues.
fn served(names: &NameServer, topic: &str) -> Vec<(String, u32)> {
    let route = names.route(&name(topic)).unwrap_or_default();
    route.queues.into_iter().map(|data| (data.broker, data.queues.write)).collect()
}

fn address(names: &NameServer, broker: &str, id: i64) -> Option<String> {
    names.broker(broker)?.addresses.get(&id).cloned()
}

#[test]
fn a_broker_taken_out_of_writing_is_still_read() {
    let mut names = own();
    names.update(&topic("one", 4));
    names.update(&topic("two", 1));
    assert_eq!(names.set_writable("own", false), 2);
    assert_eq!(names.set_writable("unknown", false), 0);
    let permission = |names: &NameServer| names.route(&name("one")).unwrap().queues[0].queues.permission;
    assert_eq!(permission(&names), Permission(4));
    names.update(&topic("one", 4));
    assert_eq!(permission(&names), Permission(4), "a change of the topic does not end it");
    assert_eq!(names.set_writable("own", true), 2);
    assert_eq!(permission(&names), Permission::READ_WRITE);
}

#[test]
fn a_deleted_topic_has_no_route() {
    let mut names = own();
    names.update(&topic("one", 4));
    names.update(&topic("two", 1));
    names.remove(&name("one"));
    assert_eq!(names.topics(None), [name("two")]);
    assert_eq!(names.route(&name("one")), None);
}

#[test]
fn a_topic_of_two_brokers_lies_on_both() {
    let mut names = with_foreign();
    names.update(&topic("one", 8));
    assert_eq!(served(&names, "one"), [("b".to_owned(), 4), ("own".to_owned(), 8)]);
    let route = names.route(&name("one")).unwrap();
    assert_eq!(route.brokers.iter().map(|broker| broker.local).collect::<Vec<_>>(), [false, true]);
    assert_eq!(route.queues.iter().map(|queues| queues.local).collect::<Vec<_>>(), [false, true]);
    assert_eq!(served(&names, "two"), [("b".to_owned(), 1)]);
    assert_eq!(names.topics(None), [name("one"), name("two")]);
    assert_eq!(names.topics(Some("c")), [name("one"), name("two")]);
    assert_eq!(names.topics(Some("d")), []);
}

#[test]
fn a_topic_that_is_coming_is_shown_beside_what_is_there() {
    let names = with_foreign();
    let mut route = names.route(&name("one")).unwrap();
    names.add_coming(&mut route, &topic("one", 8));
    let shown: Vec<(bool, u32)> = route.queues.iter().map(|data| (data.local, data.queues.write)).collect();
    assert_eq!((shown, route.brokers.len()), (vec![(false, 4), (true, 8)], 2));
}

#[test]
fn a_silent_broker_is_gone_at_its_limit_and_not_before() {
    let mut names = with_foreign();
    assert_eq!(names.next_expiry(), Some(at(120)));
    assert_eq!(names.heard(at(100), "c", "b:1").map(|version| version.counter), Some(1));
    assert_eq!(names.heard(at(100), "d", "b:1"), None, "another cluster's");
    assert_eq!(names.expire(at(219)), []);
    assert_eq!(names.next_expiry(), Some(at(220)));
    let gone = names.expire(at(220));
    assert_eq!(gone, [Departed { name: "b".into(), id: 0, address: "b:1".into() }]);
    assert_eq!((names.topics(None), names.broker("b"), names.next_expiry()), (vec![], None, None));
}

#[test]
fn a_broker_may_choose_how_long_it_is_silent_within_limits() {
    for (asked, seconds) in [(5, 5), (0, 1), (1_000_000, 3600)] {
        let mut names = own();
        let mut ask = registration(member("b", 0, "b:1"), 1, &[]);
        ask.silence_max = Some(Duration::from_secs(asked));
        names.register(at(10), CONNECTION, ask).unwrap();
        assert_eq!(names.next_expiry(), Some(at(10 + seconds)));
    }
}

#[test]
fn a_broker_is_gone_with_the_connection_it_registered_by_last() {
    let mut names = with_foreign();
    let again = registration(member("b", 0, "b:1"), 1, &[("one", 4), ("two", 1)]);
    assert_eq!(names.register(at(1), ConnectionId(8), again), Ok(Registered::default()));
    assert_eq!(names.disconnect(CONNECTION), []);
    assert_eq!(names.disconnect(ConnectionId(8)).len(), 1);
    assert_eq!(names.topics(None), []);
}

#[test]
fn a_broker_that_leaves_takes_its_topics_and_nobody_elses() {
    let mut names = with_foreign();
    names.update(&topic("one", 8));
    assert_eq!(names.unregister(&member("b", 0, "elsewhere:1")), None);
    assert!(names.unregister(&member("b", 0, "b:1")).is_some());
    assert_eq!(served(&names, "one"), [("own".to_owned(), 8)]);
    assert_eq!(names.unregister(&member("own", 0, "127.0.0.1:10911")), None);
    assert!(names.broker("own").is_some(), "the broker of this process is here as long as the process");
}

#[test]
fn a_name_and_id_that_lives_is_refused_to_another_address() {
    let mut names = with_foreign();
    let other = || registration(member("b", 0, "b:2"), 9, &[("one", 1), ("two", 1)]);
    let refused = names.register(at(1), ConnectionId(8), other()).unwrap_err();
    assert!(matches!(&refused, RegisterError::Taken { holder, .. } if holder == "b:1"), "{refused}");
    assert_eq!(served(&names, "one"), [("b".to_owned(), 4)]);
    assert_eq!(names.expire(at(119)), [], "a refused one is not heard of");

    let own = registration(member("own", 0, "b:2"), 1, &[("one", 1), ("two", 1)]);
    assert!(matches!(names.register(at(1), CONNECTION, own), Err(RegisterError::Taken { .. })));
    let slave_of_own = registration(member("own", 1, "b:2"), 1, &[("one", 1), ("two", 1)]);
    assert!(matches!(names.register(at(1), CONNECTION, slave_of_own), Err(RegisterError::Taken { .. })));

    names.disconnect(CONNECTION);
    assert!(names.register(at(2), ConnectionId(8), other()).is_ok(), "once it is gone its name is free");
}

#[test]
fn a_master_chosen_later_takes_the_place_of_the_one_before() {
    let mut names = with_foreign();
    let mut chosen = registration(member("b", 0, "b:2"), 1, &[("one", 4), ("two", 1)]);
    chosen.version.state = 1;
    names.register(at(1), ConnectionId(8), chosen).unwrap();
    assert_eq!(address(&names, "b", 0).as_deref(), Some("b:2"));
    let before = registration(member("b", 0, "b:1"), 5, &[("one", 4), ("two", 1)]);
    assert!(names.register(at(2), CONNECTION, before).is_err());
}

#[test]
fn the_broker_of_this_process_says_nothing_new() {
    let mut names = own();
    let ask = registration(member("own", 0, "127.0.0.1:10911"), 1, &[("one", 4), ("two", 1)]);
    assert_eq!(names.register(at(0), CONNECTION, ask), Ok(Registered::default()));
    assert_eq!(names.topics(None), []);
    names.disconnect(CONNECTION);
    assert!(names.broker("own").is_some());
}

#[test]
fn a_name_is_in_one_cluster() {
    let mut names = with_foreign();
    let mut other = registration(member("b", 1, "b:2"), 1, &[]);
    other.member.cluster = "d".into();
    assert!(matches!(names.register(at(1), CONNECTION, other), Err(RegisterError::OtherCluster { .. })));
}

#[test]
fn a_single_topic_is_taken_only_of_a_broker_that_told_them_all() {
    let mut names = own();
    let single = || registration(member("b", 0, "b:1"), 2, &[("three", 3)]);
    assert!(matches!(names.register(at(0), CONNECTION, single()), Err(RegisterError::NotWhole { .. })));
    assert_eq!(names.brokers().len(), 1);

    let mut names = with_foreign();
    names.register(at(1), CONNECTION, single()).unwrap();
    assert_eq!(names.topics(None), [name("one"), name("three"), name("two")], "the others stay as they are");
    assert_eq!(names.heard(at(1), "c", "b:1").map(|version| version.counter), Some(2));
}

#[test]
fn a_whole_table_is_looked_at_again_where_only_a_part_of_its_version_was_told() {
    let mut names = with_foreign();
    names.register(at(1), CONNECTION, registration(member("b", 0, "b:1"), 3, &[("three", 3)])).unwrap();
    let whole = || registration(member("b", 0, "b:1"), 3, &[("one", 4), ("two", 2), ("three", 3)]);
    names.register(at(2), CONNECTION, whole()).unwrap();
    assert_eq!(served(&names, "two"), [("b".to_owned(), 2)]);

    names.remove_foreign(&name("two"), Some("other"));
    assert_eq!(served(&names, "two"), [("b".to_owned(), 2)]);
    names.remove_foreign(&name("two"), Some("c"));
    assert_eq!(served(&names, "two"), []);
    names.register(at(3), CONNECTION, whole()).unwrap();
    assert_eq!(served(&names, "two"), [("b".to_owned(), 2)], "the broker says that it still serves it");
}

#[test]
fn a_topic_without_queues_is_no_longer_served() {
    let mut names = with_foreign();
    names.register(at(1), CONNECTION, registration(member("b", 0, "b:1"), 2, &[("one", 0)])).unwrap();
    assert_eq!(names.topics(None), [name("two")]);
    names.update_foreign("b", name("two"), (&topic("two", 0)).into()).unwrap();
    assert_eq!(names.topics(None), []);
    names.update_foreign("b", name("two"), (&topic("two", 5)).into()).unwrap();
    names.update_foreign("nobody", name("three"), (&topic("three", 5)).into()).unwrap();
    assert_eq!((served(&names, "two"), names.route(&name("three"))), (vec![("b".to_owned(), 5)], None));
}

#[test]
fn only_the_broker_itself_says_what_the_broker_of_this_process_serves() {
    let mut names = own();
    names.update(&topic("one", 8));
    names.update_foreign("own", name("one"), (&topic("one", 1)).into()).unwrap();
    names.remove_foreign(&name("one"), None);
    assert_eq!(served(&names, "one"), [("own".to_owned(), 8)]);
}

#[test]
fn a_slave_is_told_its_master_and_keeps_the_topics_when_that_dies() {
    let mut names = with_foreign();
    let slave = || registration(member("b", 1, "b:2"), 4, &[("one", 4), ("two", 1), ("three", 1)]);
    let master = Some(("b:1".to_owned(), "h:1".to_owned()));
    assert_eq!(names.register(at(1), ConnectionId(8), slave()), Ok(Registered { is_new: true, master }));
    assert_eq!(served(&names, "three"), [], "the master speaks for both");
    names.disconnect(CONNECTION);
    assert_eq!((address(&names, "b", 0), address(&names, "b", 1).as_deref()), (None, Some("b:2")));
    assert_eq!(served(&names, "one"), [("b".to_owned(), 4)]);
    names.register(at(2), ConnectionId(8), slave()).unwrap();
    assert_eq!(served(&names, "three"), [("b".to_owned(), 1)], "without a master the slave speaks");
}

#[test]
fn a_slave_that_becomes_the_master_is_one_member() {
    let mut names = own();
    names.register(at(0), CONNECTION, registration(member("b", 1, "b:2"), 1, &[])).unwrap();
    names.register(at(1), CONNECTION, registration(member("b", 0, "b:2"), 1, &[])).unwrap();
    assert_eq!((address(&names, "b", 0).as_deref(), address(&names, "b", 1)), (Some("b:2"), None));
}

#[test]
fn what_could_not_be_told_to_clients_is_refused() {
    for (bad, field) in [
        (member("", 0, "b:1"), "brokerName"),
        (member("a b", 0, "b:1"), "brokerName"),
        (member("b", 0, "b:1,c:1"), "brokerAddr"),
        (member(&"b".repeat(256), 0, "b:1"), "brokerName"),
        (Member { cluster: "ü".into(), ..member("b", 0, "b:1") }, "clusterName"),
    ] {
        let refused = own().register(at(0), CONNECTION, registration(bad, 1, &[])).unwrap_err();
        assert!(matches!(&refused, RegisterError::Word { field: told, .. } if *told == field), "{refused}");
    }
    let refused = own().register(at(0), CONNECTION, registration(member("b", -1, "b:1"), 1, &[]));
    assert_eq!(refused, Err(RegisterError::Id { id: -1 }));
}

#[test]
fn what_foreign_brokers_can_make_it_hold_is_limited() {
    let mut names = own();
    for number in 0..1000 {
        let ask = registration(member(&format!("b{number}"), 0, &format!("b:{number}")), 1, &[]);
        names.register(at(0), CONNECTION, ask).unwrap();
    }
    let ask = registration(member("one-more", 0, "b:1"), 1, &[]);
    assert_eq!(names.register(at(0), CONNECTION, ask), Err(RegisterError::TooManyMembers));

    let queues = Queues::from(&topic("t", 1));
    let mut full = registration(member("b0", 0, "b:0"), 2, &[]);
    full.topics = (0..100_000).map(|number| (name(&format!("t{number}")), queues)).collect();
    names.register(at(1), CONNECTION, full).unwrap();
    let more = registration(member("b1", 0, "b:1"), 2, &[("t0", 1)]);
    assert_eq!(names.register(at(1), CONNECTION, more), Err(RegisterError::TooManyTopics { more: 1 }));
    assert!(names.update_foreign("b1", name("t0"), queues).is_err());
    assert!(names.update_foreign("b0", name("t0"), queues).is_ok());
    names.disconnect(CONNECTION);
    names
        .register(at(2), CONNECTION, registration(member("b1", 0, "b:1"), 1, &[("a", 1), ("b", 1)]))
        .unwrap();
}
