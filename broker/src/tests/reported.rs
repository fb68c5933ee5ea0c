//! What goes wrong in systems like this one, by what their users report, each as what happens here instead.

use super::*;
use wire::recall_handle::RecallHandle;

const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;

/// All the messages of queue 0, in their order.
fn all(rig: &mut Rig, name: &str) -> Vec<Bytes> {
    let mut messages: Vec<Bytes> = Vec::new();
    while let Ok(pulled) = rig.ask(pull(name, messages.len() as i64, None)) {
        if pulled.messages.is_empty() {
            break;
        }
        messages.extend(pulled.messages);
    }
    messages
}

fn all_bodies(rig: &mut Rig, name: &str) -> Vec<String> {
    all(rig, name).iter().map(body).collect()
}

/// How late a delivered message was, by what it shows.
fn late_ms(message: &Bytes) -> i64 {
    let of = |name| property(message, name).unwrap().parse::<i64>().unwrap();
    of("TIMER_DEQUEUE_MS") - of("TIMER_DELIVER_MS")
}

fn send_in(rig: &mut Rig, body: &str, ms: i64) -> Sent {
    rig.send(send("t", body, &[("TIMER_DELAY_MS", &ms.to_string()), ("UNIQ_KEY", body)]))
}

fn recall(sent: &Sent) -> Recall {
    let handle = RecallHandle::decode(sent.recall_handle.as_deref().unwrap()).unwrap();
    Recall { topic: topic("t"), handle }
}

/// Moves the wall clock alone, as a jump does.
fn jump(rig: &mut Rig, ms: i64) {
    rig.now.wall = Timestamp::from_millis(rig.now.wall.as_millis() + ms);
    rig.turn();
}

#[test]
fn a_moment_is_kept_to_the_millisecond_wherever_in_a_second_it_lies() {
    let mut rig = Rig::new();
    let moments = [0, 1, 499, 500, 999].map(|phase| BEGIN + 3000 + phase);
    for moment in moments {
        rig.send(send("t", &moment.to_string(), &[("TIMER_DELIVER_MS", &moment.to_string())]));
    }
    rig.pass(5000);
    let delivered = all(&mut rig, "t");
    let stored = delivered.iter().map(|bytes| Stored::parse(bytes).unwrap().stored_at().as_millis());
    assert_eq!(stored.collect::<Vec<_>>(), moments);
}

#[test]
fn a_recall_holds_however_long_its_message_has_waited() {
    let mut rig = Rig::new();
    let stretch = 10 * 60_000;
    let sent: Vec<Sent> =
        (0..4).map(|i| send_in(&mut rig, &format!("after-{i}"), stretch * 5 / 2 + stretch)).collect();
    for sent in &sent[..3] {
        assert_eq!(rig.ask(recall(sent)), Ok(Recalled::Recalled));
        rig.pass(stretch);
    }
    rig.pass(stretch);
    assert_eq!(all_bodies(&mut rig, "t"), ["after-3"]);
}

#[test]
fn nine_days_without_a_server_lose_nothing_and_each_message_shows_how_late_it_came() {
    let mut rig = Rig::new();
    for hours in [20, 1, 8 * 24, 10] {
        send_in(&mut rig, &hours.to_string(), hours * HOUR);
    }
    let mut rig = rig.killed(9 * DAY);
    let delivered = all(&mut rig, "t");
    assert_eq!(delivered.iter().map(body).collect::<Vec<_>>(), ["1", "10", "20", "192"]);
    let late: Vec<i64> = delivered.iter().map(|message| late_ms(message) / HOUR).collect();
    assert_eq!(late, [9 * 24 - 1, 9 * 24 - 10, 9 * 24 - 20, 24]);
}

#[test]
fn a_limit_of_a_month_or_a_year_is_kept_to_the_millisecond_and_named() {
    for days in [30, 365] {
        let limit = days * DAY;
        let mut config = config();
        config.max_delay_ms = limit;
        let mut rig = Rig::with(config);
        send_in(&mut rig, "a day before", limit - DAY);
        send_in(&mut rig, "just", limit);
        let refused =
            rig.ask(send("t", "a minute past", &[("TIMER_DELAY_MS", &(limit + 60_000).to_string())]));
        let text = refused.unwrap_err().to_string();
        assert!(text.contains(&format!("the limit is {limit} ms ({days} days)")), "{text}");
    }
}

#[test]
fn a_half_with_a_delay_of_any_kind_is_delivered_once_or_never_as_its_producer_says() {
    for delay in [("DELAY", "3"), ("TIMER_DELAY_MS", "3000")] {
        let mut rig = Rig::new();
        let mut half = |body: &str| {
            rig.send(send("t", body, &[("TRAN_MSG", "true"), ("PGROUP", "p"), ("UNIQ_KEY", body), delay]))
        };
        let (yes, no) = (half("yes"), half("no"));
        let end = |sent: &Sent, resolution| EndTransaction {
            half: HalfName::Place(sent.log_offset),
            group: Some("p".into()),
            resolution,
        };
        rig.ask(end(&yes, Resolution::Commit)).unwrap();
        rig.ask(end(&no, Resolution::Rollback)).unwrap();
        rig.pass(2999);
        assert!(all(&mut rig, "t").is_empty(), "{delay:?}");
        rig.pass(HOUR);
        assert_eq!(all_bodies(&mut rig, "t"), ["yes"], "{delay:?}");
        assert!(rig.notices.is_empty(), "nobody is asked about what has ended");
    }
}

#[test]
fn a_kill_while_it_starts_neither_repeats_nor_loses_a_delivery() {
    let mut rig = Rig::new();
    for i in 0..200 {
        send_in(&mut rig, &format!("{i:03}"), 1000 + i % 5);
    }
    send_in(&mut rig, "later", 60_000);
    rig.pass(1002);
    let now = rig.now;
    for _ in 0..3 {
        // Opened, and ended before its first turn.
        let disk = rig.disk.after_kill();
        drop(Broker::open(std::sync::Arc::new(disk.clone()), config(), now).unwrap());
        rig.disk = disk;
    }
    let mut rig = rig.killed(1);
    rig.pass(60_000);
    let mut got = all_bodies(&mut rig, "t");
    assert_eq!(got.len(), 201, "a message was lost or came twice");
    got.sort_unstable();
    got.dedup();
    assert_eq!(got.len(), 201);
}

#[test]
fn twenty_stops_while_messages_fall_due_each_millisecond_lose_and_repeat_nothing() {
    let mut rig = Rig::new();
    for i in 0..400 {
        send_in(&mut rig, &i.to_string(), 100 + i);
    }
    for stop in 0..20 {
        rig.pass(20 + stop % 3);
        while let Some(Work::Log(job)) = rig.broker.shutdown_work() {
            rig.broker.done(rig.now, Done::Log(job.run(&rig.disk))).unwrap();
        }
        let now = Now { wall: Timestamp::from_millis(rig.now.wall.as_millis() + 1), ..rig.now };
        rig = Rig::open(rig.disk.clone(), config(), now);
    }
    rig.pass(1000);
    assert_eq!(all_bodies(&mut rig, "t"), (0..400).map(|i| i.to_string()).collect::<Vec<_>>());
}

#[test]
fn a_topic_that_nobody_may_write_to_holds_its_deliveries_and_no_others() {
    let permit = |rig: &mut Rig, permission| {
        rig.ask(CreateTopic {
            name: topic("t"),
            read_queues: 1,
            write_queues: 1,
            permission,
            kind: Some(TopicKind::Mixed),
            order: false,
            sys_flag: 0,
        })
        .unwrap();
    };
    let mut rig = Rig::new();
    rig.topic("t", 1);
    let held = send_in(&mut rig, "held", 1500);
    for i in 0..3 {
        send_in(&mut rig, &i.to_string(), 1000 + i);
    }
    rig.send(send("other", "not held up", &[("TIMER_DELAY_MS", "2000")]));
    permit(&mut rig, model::Permission(4));
    rig.pass(60_000);
    assert!(all(&mut rig, "t").is_empty());
    assert_eq!(all_bodies(&mut rig, "other"), ["not held up"]);
    assert_eq!((rig.broker.stats().held, rig.broker.stats().pending), (4, 4));
    let mut rig = rig.killed(1);
    assert_eq!(rig.broker.stats().held, 4, "over a restart too");
    assert_eq!(rig.ask(recall(&held)), Ok(Recalled::Recalled), "it has not left");
    permit(&mut rig, model::Permission::READ_WRITE);
    rig.turn();
    assert_eq!(all_bodies(&mut rig, "t"), ["0", "1", "2"]);
    assert_eq!((rig.broker.stats().held, rig.broker.stats().pending), (0, 0));
    rig.pass(60_000);
    assert_eq!(all(&mut rig, "t").len(), 3, "once");
}

#[test]
fn what_is_held_goes_with_its_topic() {
    let mut rig = Rig::new();
    rig.topic("t", 1);
    send_in(&mut rig, "held", 1000);
    rig.ask(CreateTopic {
        name: topic("t"),
        read_queues: 1,
        write_queues: 1,
        permission: model::Permission(4),
        kind: None,
        order: false,
        sys_flag: 0,
    })
    .unwrap();
    rig.pass(2000);
    rig.ask(DeleteTopic { name: topic("t") }).unwrap();
    assert_eq!((rig.broker.stats().held, rig.broker.stats().pending), (0, 0));
    let view = rig.ask(GetBounds { topic: topic("rmq_sys_wheel_timer"), queue_id: QueueId(0) });
    assert_eq!(view.min, view.max);
}

#[test]
fn what_belongs_to_the_server_or_to_a_group_is_not_made_written_or_deleted_by_clients() {
    let mut rig = Rig::new();
    let make = |name: &str| CreateTopic {
        name: topic(name),
        read_queues: 1,
        write_queues: 1,
        permission: model::Permission::READ_WRITE,
        kind: None,
        order: false,
        sys_flag: 0,
    };
    let before = rig.ask(GetTopics).len();
    for name in [
        "SCHEDULE_TOPIC_XXXX",
        "rmq_sys_wheel_timer",
        "RMQ_SYS_TRANS_HALF_TOPIC",
        "rmq_sys_of_tomorrow",
        "DefaultCluster",
    ] {
        assert!(matches!(rig.ask(make(name)), Err(CreateTopicError::SystemTopic { .. })), "{name}");
        assert!(
            matches!(rig.ask(DeleteTopic { name: topic(name) }), Err(DeleteTopicError::SystemTopic { .. })),
            "{name}"
        );
        if name != "DefaultCluster" {
            let refused = rig.ask(send(name, "x", &[("TIMER_DELAY_MS", "1000")])).unwrap_err();
            assert!(matches!(refused.why, SendRefusal::SystemTopic { .. }), "{name}");
        }
    }
    for name in ["%RETRY%g", "%DLQ%g"] {
        assert!(matches!(rig.ask(make(name)), Err(CreateTopicError::NoGroup { .. })), "{name}");
        assert!(rig.ask(send(name, "x", &[])).is_err(), "{name}");
    }
    assert_eq!(rig.ask(GetTopics).len(), before);
    rig.ask(CreateGroup { group: model::Group::new(group()) }).unwrap();
    rig.ask(make("%RETRY%g")).unwrap();
    let refused = rig.ask(DeleteTopic { name: topic("%RETRY%g") }).unwrap_err();
    assert_eq!(refused.to_string(), "topic %RETRY%g belongs to group g, and goes when that is deleted");
    rig.ask(DeleteGroup { name: group() }).unwrap();
    rig.ask(DeleteTopic { name: topic("%RETRY%g") }).unwrap();
    send_in(&mut rig, "unaffected", 1000);
    rig.pass(1000);
    assert_eq!(all_bodies(&mut rig, "t"), ["unaffected"]);
}

#[test]
fn far_messages_come_once_however_unevenly_the_clock_moves_and_cost_nothing_while_they_wait() {
    let mut rig = Rig::new();
    for i in 0..1000 {
        send_in(&mut rig, &format!("{i:03}"), 50 * 60_000 + i);
    }
    let written = |rig: &mut Rig| rig.ask(GetRuntime).log_end.0;
    let before = written(&mut rig);
    for step in [1, 61_000, 7, 599_999, 600_001, 13 * 60_000, 3] {
        jump(&mut rig, step);
        rig = rig.killed(1);
    }
    assert!(
        written(&mut rig) < before + 1000,
        "nothing is written anew while it waits, but what each start notes"
    );
    jump(&mut rig, HOUR);
    jump(&mut rig, DAY);
    let got = all_bodies(&mut rig, "t");
    assert_eq!(got, (0..1000).map(|i| format!("{i:03}")).collect::<Vec<_>>());
    assert!(written(&mut rig) < before * 3, "one copy each");
}

#[test]
fn a_life_with_the_clock_years_ahead_holds_up_nothing_in_the_next() {
    let mut rig = Rig::new();
    jump(&mut rig, 24 * 365 * DAY);
    send_in(&mut rig, "years ahead", 1000);
    rig.pass(1000);
    assert_eq!(rig.pop("t", 5000).len(), 1);
    send_in(&mut rig, "waits for years", 60_000);
    let mut rig = rig.killed(-24 * 365 * DAY);
    rig.send(send("u", "at once", &[]));
    assert_eq!(all_bodies(&mut rig, "u"), ["at once"]);
    rig.send(send("u", "soon", &[("TIMER_DELAY_MS", "1000")]));
    rig.pass(999);
    assert_eq!(all(&mut rig, "u").len(), 1);
    rig.pass(1);
    assert_eq!(all_bodies(&mut rig, "u"), ["at once", "soon"]);
    rig.pass(4000);
    assert_eq!(rig.pop("t", 5000)[0].attempt, 2, "its lease lasted no longer than it was for");
    rig.pass(5000);
    assert_eq!(rig.pop("t", 5000)[0].attempt, 3);
    assert_eq!(rig.broker.stats().pending, 1, "what was wanted in years is for then");
}

#[test]
fn what_is_sent_after_a_moment_comes_behind_what_was_due_then() {
    let mut rig = Rig::new();
    let due = (BEGIN + 5000).to_string();
    for i in 0..500 {
        rig.send(send("t", &format!("{i:03}"), &[("TIMER_DELIVER_MS", &due)]));
        rig.pass(20);
        let seen = rig.broker.stats().delivered + rig.broker.stats().stored;
        assert_eq!(seen == 0, rig.now.wall.as_millis() < BEGIN + 5000, "message {i}");
    }
    assert_eq!(all_bodies(&mut rig, "t"), (0..500).map(|i| format!("{i:03}")).collect::<Vec<_>>());
}

#[test]
fn fifty_kills_while_messages_are_sent_lose_nothing_acknowledged() {
    let mut rig = Rig::new();
    let mut acknowledged = Vec::new();
    for life in 0..50 {
        for i in 0..8 {
            let body = format!("{life} {i}");
            send_in(&mut rig, &body, 5 + (life * 7 + i * 13) % 90);
            acknowledged.push(body);
            rig.pass(2);
        }
        // One more that is written and not yet acknowledged when it ends.
        rig.sync = false;
        let ask = send("t", "unacknowledged", &[("TIMER_DELAY_MS", "10")]);
        rig.begin(ask);
        rig.turn();
        rig = rig.killed(1);
    }
    rig.pass(1000);
    let got = all_bodies(&mut rig, "t");
    for body in &acknowledged {
        assert_eq!(got.iter().filter(|got| *got == body).count(), 1, "{body}");
    }
}

#[test]
fn a_read_that_fails_at_the_moment_is_made_again_by_itself() {
    let mut rig = Rig::new();
    let filler = "x".repeat(30_000);
    send_in(&mut rig, "due", 10_000);
    for _ in 0..20 {
        rig.send(send("filler", &filler, &[]));
    }
    rig.pass(7000);
    rig.disk.inject(env::Fault::FailReads(u32::MAX));
    rig.pass(6000);
    assert_eq!(rig.broker.stats().delivered, 0);
    assert!(rig.broker.stats().read_errors > 0);
    rig.disk.inject(env::Fault::FailReads(0));
    rig.pass(5001);
    assert_eq!(rig.broker.stats().delivered, 1, "nothing was sent meanwhile");
}

#[test]
fn what_a_client_forges_changes_no_message_that_waits() {
    let mut rig = Rig::new();
    let victim = send_in(&mut rig, "victim", 5000);
    let place = victim.log_offset.0.to_string();
    let due = (BEGIN + 5000).to_string();
    let forged: Vec<(&str, &str)> = vec![
        ("TIMER_OUT_MS", "1"),
        ("TIMER_ENQUEUE_MS", "1"),
        ("TIMER_DEQUEUE_MS", "1"),
        ("TIMER_ROLL_TIMES", "99"),
        ("REAL_TOPIC", "t"),
        ("REAL_QID", "0"),
        ("POP_CK", &place),
        ("RETRY_TOPIC", "t"),
        ("ORIGIN_MESSAGE_ID", &place),
        ("TRAN_PREPARED_QUEUE_OFFSET", "0"),
        ("TRANSACTION_CHECK_TIMES", "15"),
        ("DUEMQ_STATE", "delivered"),
        ("__transactionId__", "victim"),
        ("UNIQ_KEY", "victim"),
        ("TIMER_DELIVER_MS", &due),
    ];
    let ordinary = forged.iter().filter(|(name, _)| *name != "TIMER_DELIVER_MS").copied().collect::<Vec<_>>();
    rig.send(send("u", "forged", &ordinary));
    rig.send(send("u", "forged and delayed", &forged));
    assert_eq!(all_bodies(&mut rig, "u"), ["forged"], "an ordinary message");
    assert!(all(&mut rig, "t").is_empty());
    rig.pass(4999);
    assert!(all(&mut rig, "t").is_empty());
    rig.pass(1);
    assert_eq!(all_bodies(&mut rig, "t"), ["victim"]);
    assert_eq!(all_bodies(&mut rig, "u"), ["forged", "forged and delayed"]);
}

#[test]
fn what_is_pending_is_counted_exactly_whatever_is_recalled() {
    let mut rig = Rig::new();
    let count = |rig: &mut Rig| {
        let runtime = rig.ask(GetRuntime);
        let of_topic = runtime.pending_by_topic.iter().find(|(name, _)| name.as_str() == "t");
        let counts = [runtime.stats.pending, of_topic.map_or(0, |(_, count)| *count)];
        assert_eq!(counts[0], counts[1]);
        let (left, accepted) = runtime.timed;
        assert_eq!(counts[0] as i64, accepted.0 - left.0, "as the view shows it");
        counts[0]
    };
    for i in 0..1000 {
        send_in(&mut rig, &format!("soon-{i}"), 3 + i % 3);
        if i % 100 == 0 {
            count(&mut rig);
            rig.pass(1);
        }
    }
    let later: Vec<Sent> = (0..1000).map(|i| send_in(&mut rig, &format!("later-{i}"), 5000)).collect();
    for sent in &later[..500] {
        assert_eq!(rig.ask(recall(sent)), Ok(Recalled::Recalled));
        assert_eq!(rig.ask(recall(sent)), Ok(Recalled::Recalled));
    }
    for i in 0..100 {
        let mut unknown = recall(&later[0]);
        unknown.handle.unique_key = format!("nobody {i}");
        assert_eq!(rig.ask(unknown), Ok(Recalled::Unknown));
    }
    rig.pass(10);
    assert_eq!(count(&mut rig), 500);
    let mut rig = rig.killed(1);
    assert_eq!(count(&mut rig), 500);
    rig.pass(10_000);
    assert_eq!(count(&mut rig), 0);
    assert_eq!(all(&mut rig, "t").len(), 1500);
    let mut rig = rig.killed(1);
    assert_eq!(count(&mut rig), 0);
}

#[test]
fn four_thousand_at_one_level_follow_the_clock_through_every_jump() {
    let mut rig = Rig::new();
    let (count, level_ms) = (4000_i64, 2 * HOUR);
    let begin = rig.now.wall.as_millis();
    for second in 0..count / 40 {
        for i in 0..40 {
            rig.begin(send("t", &(second * 40 + i).to_string(), &[("DELAY", "18")]));
        }
        rig.turn();
        rig.pass(1000);
    }
    for step in [level_ms - 100_001, 1, 1500, 7, 30_000, 5 * HOUR] {
        jump(&mut rig, step);
        let passed = rig.now.wall.as_millis() - begin - level_ms;
        let due = if passed < 0 { 0 } else { (passed / 1000 + 1) * 40 };
        assert_eq!(
            rig.broker.stats().delivered as i64,
            due.min(count),
            "{passed} ms after the first was due"
        );
    }
    assert_eq!(rig.broker.stats().pending, 0);
    assert_eq!(all_bodies(&mut rig, "t"), (0..count).map(|i| i.to_string()).collect::<Vec<_>>());
}
