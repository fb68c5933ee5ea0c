//! What administrators change, and that it stays changed.

use super::*;
use wire::property::{DUEMQ_STATE, KEYS, TIMER_DELAY_MS, UNIQ_KEY};

fn commit(rig: &mut Rig, offset: i64) {
    let ask = CommitOffset {
        group: group(),
        topic: topic("T"),
        queue_id: QueueId(0),
        queue_offset: QueueOffset(offset),
    };
    rig.ask(ask).unwrap();
}

fn committed(rig: &mut Rig) -> Option<i64> {
    let ask = QueryOffset { group: group(), topic: topic("T"), queue_id: QueueId(0), zero_if_young: false };
    rig.ask(ask).ok().map(|offset| offset.0)
}

fn with_group() -> Rig {
    let mut rig = Rig::new();
    rig.topic("T", 1);
    rig.ask(CreateGroup { group: model::Group::new(group()) }).unwrap();
    rig
}

fn reset(rig: &mut Rig, to: ResetTo) -> Vec<(QueueId, QueueOffset)> {
    rig.ask(ResetOffset { group: group(), topic: topic("T"), queue_id: None, to, only_back: false }).unwrap()
}

#[test]
fn a_deleted_topic_takes_all_that_is_its_own_along_and_is_not_revived_by_its_name() {
    let mut rig = with_group();
    for body in ["one", "two"] {
        rig.send(send("T", body, &[]));
    }
    rig.send(send("T", "later", &[(TIMER_DELAY_MS, "5000"), (UNIQ_KEY, "u")]));
    rig.send(send("T", "level", &[("DELAY", "3")]));
    commit(&mut rig, 2);
    let waiting = rig.begin(pull("T", 2, Some(60_000)));
    let deleted = rig.ask(DeleteTopic { name: topic("T") }).unwrap();
    assert_eq!((deleted.messages, deleted.pending), (2, 2));
    assert!(matches!(rig.answer::<Pull>(waiting), Some(Err(PullError::TopicUnknown { .. }))));
    assert_eq!(rig.broker.take_deleted_topics(), [topic("T")]);

    for killed in [false, true] {
        if killed {
            rig = rig.killed(10);
        }
        assert_eq!(rig.broker.stats().pending, 0, "killed: {killed}");
        assert!(rig.ask(GetTopic { name: topic("T") }).is_none());
        let views = rig.ask(GetTopicStats { topic: topic("SCHEDULE_TOPIC_XXXX") }).unwrap();
        assert!(views.queues.iter().all(|queue| queue.min == queue.max), "nothing waits in a view");
    }
    rig.topic("T", 1);
    rig.pass(20_000);
    assert_eq!(rig.bodies("T"), Vec::<String>::new());
    assert_eq!(committed(&mut rig), None);
    rig.send(send("T", "new", &[]));
    rig = rig.killed(10);
    assert_eq!(rig.bodies("T"), ["new"]);
    assert_eq!(committed(&mut rig), None);
}

#[test]
fn a_topic_gets_an_id_that_no_topic_had() {
    let mut rig = Rig::new();
    rig.topic("A", 1);
    let first = rig.ask(GetTopic { name: topic("A") }).unwrap().id;
    rig.ask(DeleteTopic { name: topic("A") }).unwrap();
    rig.topic("B", 1);
    let second = rig.ask(GetTopic { name: topic("B") }).unwrap().id;
    rig.ask(DeleteTopic { name: topic("B") }).unwrap();
    let mut rig = rig.killed(1);
    rig.topic("C", 1);
    let third = rig.ask(GetTopic { name: topic("C") }).unwrap().id;
    assert!(first < second && second < third, "{first} {second} {third}");
}

#[test]
fn leases_of_a_deleted_topic_end_with_it() {
    let mut rig = with_group();
    rig.send(send("T", "one", &[]));
    assert_eq!(rig.pop("T", 1000).len(), 1);
    rig.pass(1500);
    assert!(rig.ask(GetTopic { name: topic("%RETRY%g_T") }).is_some(), "it came again");
    rig.send(send("T", "two", &[]));
    assert_eq!(rig.pop("T", 1000).len(), 2);
    rig.ask(DeleteTopic { name: topic("T") }).unwrap();
    assert!(rig.ask(GetTopic { name: topic("%RETRY%g_T") }).is_none());
    rig.pass(200);
    let rests = |rig: &Rig| rig.broker.next_wakeup(rig.now).is_none_or(|wait| wait > Duration::from_secs(60));
    assert!(rests(&rig), "no lease is left to end");
    let mut rig = rig.killed(10);
    assert!(rests(&rig), "nor after a restart");
    rig.topic("T", 1);
    rig.pass(5000);
    assert_eq!(rig.pop("T", 1000).len(), 0);
    let mut rig = rig.killed(5000);
    rig.pass(5000);
    assert_eq!(rig.pop("T", 1000).len(), 0);
}

#[test]
fn the_servers_own_topics_are_not_deleted() {
    let mut rig = Rig::new();
    for name in ["SCHEDULE_TOPIC_XXXX", "rmq_sys_wheel_timer", "TBW102", "DefaultCluster", "broker-a"] {
        let refused = rig.ask(DeleteTopic { name: topic(name) });
        assert!(matches!(refused, Err(DeleteTopicError::SystemTopic { .. })), "{name}");
    }
    assert_eq!(rig.ask(DeleteTopic { name: topic("unknown") }), Ok(Deleted::default()));
}

#[test]
fn a_deleted_group_loses_its_places_and_retries_and_keeps_its_dead_letters() {
    let mut rig = with_group();
    let sent = rig.send(send("T", "one", &[]));
    let log_offset = sent.log_offset;
    let back = |delay_level| SendBack { group: group(), log_offset, delay_level, max_reconsume_times: None };
    rig.ask(back(3)).unwrap();
    rig.ask(back(-1)).unwrap();
    commit(&mut rig, 1);
    rig.pass(200);
    assert_eq!(rig.broker.stats().pending, 1);
    rig.ask(DeleteGroup { name: group() }).unwrap();
    for killed in [false, true] {
        if killed {
            rig = rig.killed(10);
        }
        assert_eq!(rig.broker.stats().pending, 0);
        assert!(rig.ask(GetGroup { name: group() }).is_none());
        assert_eq!(committed(&mut rig), None);
        assert!(rig.ask(GetTopic { name: topic("%RETRY%g") }).is_none());
        let dead = rig.ask(GetTopicStats { topic: topic("%DLQ%g") }).unwrap();
        assert_eq!(dead.queues[0].max, QueueOffset(1), "its dead letters stay");
    }
}

#[test]
fn a_reader_hears_of_a_reset_once_and_what_it_commits_before_is_not_taken() {
    let mut rig = with_group();
    for body in ["one", "two", "three"] {
        rig.send(send("T", body, &[]));
    }
    commit(&mut rig, 3);
    let waiting = rig.begin(pull("T", 3, Some(60_000)));
    rig.turn();
    assert_eq!(reset(&mut rig, ResetTo::Stored(Timestamp::from_millis(0))), [(QueueId(0), QueueOffset(0))]);
    let told = rig.answer::<Pull>(waiting).expect("whoever waits hears of it").unwrap();
    assert_eq!((told.outcome, told.next_offset), (PullOutcome::OffsetMoved, QueueOffset(0)));
    commit(&mut rig, 0);
    assert_eq!(rig.bodies("T"), ["one", "two", "three"]);
    commit(&mut rig, 2);
    assert_eq!(committed(&mut rig), Some(2), "once it has heard of it, it commits again");

    reset(&mut rig, ResetTo::Offset(QueueOffset(1)));
    commit(&mut rig, 3);
    assert_eq!(committed(&mut rig), Some(1), "it has not heard of it");
}

#[test]
fn a_reset_outlives_the_process_until_the_reader_has_heard_of_it() {
    let mut rig = with_group();
    for body in ["one", "two", "three"] {
        rig.send(send("T", body, &[]));
    }
    commit(&mut rig, 3);
    reset(&mut rig, ResetTo::Offset(QueueOffset(1)));
    rig.pass(200);
    let mut rig = rig.killed(10);
    assert_eq!(committed(&mut rig), Some(1));
    commit(&mut rig, 3);
    assert_eq!(committed(&mut rig), Some(1), "the old reader still does not know");
    let told = rig.pull("T", 3);
    assert_eq!((told.outcome, told.next_offset), (PullOutcome::OffsetMoved, QueueOffset(1)));
    commit(&mut rig, 2);
    rig.pass(200);
    let mut rig = rig.killed(10);
    assert_eq!(committed(&mut rig), Some(2));
    assert_eq!(rig.pull("T", 2).outcome, PullOutcome::Found, "it is told once");
}

#[test]
fn a_reset_moves_a_group_that_pops_and_ends_its_leases() {
    let mut rig = with_group();
    for body in ["one", "two"] {
        rig.send(send("T", body, &[]));
    }
    let popped = rig.pop("T", 10_000);
    rig.ask(ack("T", &popped[..1]));
    reset(&mut rig, ResetTo::Offset(QueueOffset(0)));
    let again = rig.pop("T", 10_000);
    assert_eq!(again.iter().map(|m| body(&m.bytes)).collect::<Vec<_>>(), ["one", "two"]);
    let late = rig.ask(ack("T", &popped[1..]));
    assert_eq!(late, [Err(AckError::LeaseOver)]);
    let mut rig = rig.killed(10);
    assert_eq!(rig.pop("T", 1000).len(), 0, "the leases of the second pop go on");
    reset(&mut rig, ResetTo::End);
    rig.pass(20_000);
    assert_eq!(rig.pop("T", 1000).len(), 0, "nothing comes again behind the end");
}

#[test]
fn progress_tells_what_is_finished_and_what_is_taken() {
    let mut rig = with_group();
    for body in ["one", "two", "three"] {
        rig.send(send("T", body, &[]));
    }
    let popped = rig.ask(Pop { max_messages: 2, ..pop("T", 10_000, 0) }).unwrap().messages;
    rig.ask(ack("T", &popped[..1]));
    let progress = rig.ask(GetProgress { group: group(), topics: vec![topic("T")] });
    let queue = &progress.queues[0];
    assert_eq!((queue.finished.0, queue.taken.0, queue.max.0), (1, 2, 3));
    assert!(progress.got_per_second > 0.0);
    assert_eq!(rig.ask(GetGroupsOf { topic: topic("T") }), [group()]);
    assert_eq!(rig.ask(GetTopicsOf { group: group() }), [topic("T")]);
    let put = rig.ask(GetTraffic { of: Counted::Put(topic("T")) }).unwrap();
    let got = rig.ask(GetTraffic { of: Counted::Got(topic("T"), group()) }).unwrap();
    assert_eq!((put.minute.messages, got.minute.messages), (3, 2));
}

#[test]
fn a_group_gets_the_places_of_another() {
    let mut rig = with_group();
    rig.send(send("T", "one", &[]));
    commit(&mut rig, 1);
    let other = GroupName::new("other").unwrap();
    rig.ask(CloneOffsets { from: group(), to: other.clone(), topic: Some(topic("T")) });
    rig.pass(200);
    let mut rig = rig.killed(10);
    let ask = QueryOffset { group: other, topic: topic("T"), queue_id: QueueId(0), zero_if_young: false };
    assert_eq!(rig.ask(ask), Ok(QueueOffset(1)));
}

#[test]
fn values_are_kept_over_a_restart_and_bounded() {
    let mut rig = Rig::new();
    let put = |key: &str, value: Option<&str>| PutValue {
        namespace: "n".into(),
        key: key.into(),
        value: value.map(str::to_owned),
    };
    rig.ask(put("a", Some("1"))).unwrap();
    rig.ask(put("b", Some("2"))).unwrap();
    rig.ask(put("a", None)).unwrap();
    let long = "x".repeat(70_000);
    assert!(matches!(rig.ask(put("c", Some(&long))), Err(PutValueError::Length { field: "value", .. })));
    assert!(matches!(rig.ask(put("", Some("1"))), Err(PutValueError::Length { field: "key", .. })));
    let mut rig = rig.killed(1);
    let values = rig.ask(GetValues { namespace: "n".into() });
    assert_eq!(values, [("b".to_owned(), "2".to_owned())].into());
}

#[test]
fn a_message_that_waits_is_found_by_its_keys_and_says_so() {
    let mut rig = Rig::new();
    rig.topic("T", 1);
    rig.send(send("T", "now", &[]));
    let later = [(TIMER_DELAY_MS, "5000"), (UNIQ_KEY, "u"), (KEYS, "k")];
    let sent = rig.send(send("T", "later", &later));
    let query = |key: &str, unique| Query {
        topic: topic("T"),
        key: key.into(),
        unique,
        max: 32,
        begin: Timestamp::from_millis(0),
        end: Timestamp::from_millis(i64::MAX),
    };
    for (key, unique) in [("k", false), ("u", true)] {
        let found = rig.ask(query(key, unique)).unwrap();
        let view = Stored::parse(&found[0]).unwrap();
        assert_eq!((found.len(), view.topic(), view.queue_offset().0), (1, "T", 1));
        assert_eq!(property(&found[0], DUEMQ_STATE).as_deref(), Some("pending"));
        assert_eq!(body(&found[0]), "later");
    }
    rig.pass(6000);
    let found = rig.ask(query("k", false)).unwrap();
    assert_eq!(
        (found.len(), property(&found[0], DUEMQ_STATE)),
        (1, None),
        "only what was delivered is shown"
    );
    let parked = rig.ask(View { log_offset: sent.log_offset }).unwrap();
    assert_eq!(property(&parked, DUEMQ_STATE).as_deref(), Some("delivered"));
}

#[test]
fn changed_settings_hold_from_then_on() {
    let mut rig = Rig::new();
    rig.topic("T", 1);
    let config = rig.broker.config().clone();
    rig.ask(Configure {
        flush: config.flush,
        max_delay_ms: 1000,
        levels: model::LevelTable::parse("1s 2s").unwrap(),
        timer_enabled: true,
        max_body_bytes: 2000,
        auto_create_topics: false,
        auto_create_groups: false,
        default_queues: 4,
        pending_max: None,
        pending_per_topic_max: None,
        pending_per_second_max: None,
        dedup_window: config.dedup_window,
    });
    let refused = |sent: Result<Vec<Sent>, SendError>| sent.is_err();
    assert!(refused(rig.ask(send("T", &"x".repeat(3000), &[]))));
    assert!(refused(rig.ask(send("T", "far", &[(TIMER_DELAY_MS, "5000")]))));
    assert!(refused(rig.ask(send("unknown", "x", &[]))));
    let views = rig.ask(GetTopic { name: topic("SCHEDULE_TOPIC_XXXX") }).unwrap();
    assert_eq!(views.read_queues, 2);
}

fn forbid(rig: &mut Rig, forbidden: Option<bool>) -> Result<bool, ForbidError> {
    rig.ask(Forbid { group: group(), topic: topic("T"), forbidden })
}

#[test]
fn a_group_that_is_kept_away_from_a_topic_gets_nothing_of_it_until_it_may_again() {
    let mut rig = with_group();
    rig.topic("U", 1);
    rig.send(send("T", "one", &[]));
    rig.send(send("U", "two", &[]));
    assert_eq!(forbid(&mut rig, None), Ok(false));
    assert_eq!(forbid(&mut rig, Some(true)), Ok(true));
    for killed in [false, true] {
        if killed {
            rig = rig.killed(10);
        }
        assert_eq!(forbid(&mut rig, None), Ok(true), "killed: {killed}");
        assert_eq!(rig.ask(GetForbidden), [(group(), topic("T"))]);
        let (pulled, popped) = (rig.ask(pull("T", 0, None)), rig.ask(pop("T", 10_000, 0)));
        assert!(matches!(pulled, Err(PullError::TopicForbidden { .. })), "{pulled:?}");
        assert!(matches!(popped, Err(PopError::TopicForbidden { .. })), "{popped:?}");
        assert_eq!(rig.bodies("U"), ["two"], "other topics it may read");
        let other = Pull { group: GroupName::new("other").unwrap(), ..pull("T", 0, None) };
        assert_eq!(rig.ask(other).unwrap().messages.len(), 1, "other groups may read it");
    }
    assert_eq!(forbid(&mut rig, Some(false)), Ok(false));
    let mut rig = rig.killed(10);
    assert_eq!(rig.bodies("T"), ["one"]);
}

#[test]
fn what_a_group_may_not_read_goes_with_the_topic_and_with_the_group() {
    let mut rig = with_group();
    let nobody =
        rig.ask(Forbid { group: GroupName::new("x").unwrap(), topic: topic("T"), forbidden: Some(true) });
    assert!(matches!(nobody, Err(ForbidError::GroupUnknown { .. })));
    let nothing = rig.ask(Forbid { group: group(), topic: topic("X"), forbidden: Some(true) });
    assert!(matches!(nothing, Err(ForbidError::TopicUnknown { .. })));
    for killed in [false, true] {
        for deletes_topic in [true, false] {
            forbid(&mut rig, Some(true)).unwrap();
            match deletes_topic {
                true => drop(rig.ask(DeleteTopic { name: topic("T") }).unwrap()),
                false => rig.ask(DeleteGroup { name: group() }).unwrap(),
            }
            if killed {
                rig = rig.killed(10);
            }
            assert_eq!(rig.ask(GetForbidden), []);
            rig.topic("T", 1);
            rig.ask(CreateGroup { group: model::Group::new(group()) }).unwrap();
            assert_eq!(forbid(&mut rig, None), Ok(false), "made again, killed: {killed}");
        }
    }
}

#[test]
fn the_least_offsets_are_those_of_the_groups_that_count() {
    let mut rig = with_group();
    rig.topic("T", 2);
    for name in ["g", "far", "near"] {
        for queue in 0..2 {
            let send = Send { queue_id: Some(QueueId(queue)), ..send("T", name, &[]) };
            rig.send(send);
        }
    }
    for (name, queue, offset) in [("g", 0, 2), ("far", 0, 3), ("near", 0, 1), ("far", 1, 2)] {
        let group = GroupName::new(name).unwrap();
        let queue_offset = QueueOffset(offset);
        rig.ask(CommitOffset { group, topic: topic("T"), queue_id: QueueId(queue), queue_offset }).unwrap();
    }
    let mut least = |without: &[&str], compare: &str| {
        let without = without.iter().map(|name| GroupName::new(name).unwrap()).collect();
        let compare = GroupName::new(compare).unwrap();
        let least = rig.ask(GetLeastOffsets { topic: topic("T"), without, compare });
        least.into_iter().map(|(queue_id, offset)| (queue_id.0, offset.0)).collect::<Vec<_>>()
    };
    assert_eq!(least(&[], "g"), [(0, 1), (1, 2)]);
    assert_eq!(least(&["near"], "far"), [(0, 2), (1, 2)]);
    assert_eq!(least(&["near"], "near"), [(0, i64::MAX), (1, 2)], "it lags behind the others");
    assert_eq!(least(&["near"], "g"), [(0, 2), (1, 2)], "as it was: nothing is forgotten by asking");
}
