//! How many messages may wait: counted exactly, kept at the door, and nothing that is accepted is lost to it.

use super::*;
use wire::recall_handle::RecallHandle;

const MINUTE: i64 = 60_000;

fn limits(all: u64, of_topic: u64) -> Config {
    let limit = |most| Some(most).filter(|most| *most > 0);
    let (pending_max, pending_per_topic_max) = (limit(all), limit(of_topic));
    Config { pending_max, pending_per_topic_max, checkpoint_every: Duration::from_secs(60), ..config() }
}

fn later(to: &str, body: &str, ms: i64) -> Send {
    send(to, body, &[("TIMER_DELAY_MS", &ms.to_string()), ("UNIQ_KEY", body)])
}

fn refused(rig: &mut Rig, ask: Send) -> String {
    let SendError { why, .. } = rig.ask(ask).unwrap_err();
    assert!(
        matches!(why, SendRefusal::TooManyPending { .. } | SendRefusal::TooManyPendingOfTopic { .. }),
        "{why}"
    );
    why.to_string()
}

#[test]
fn so_many_messages_wait_and_no_more_until_one_has_left() {
    let mut rig = Rig::with(limits(3, 0));
    let first = rig.send(later("t", "first", MINUTE));
    rig.send(later("u", "second", 2 * MINUTE));
    rig.send(send("u", "level", &[("DELAY", "18")]));
    let told = "timer message is under flow control: 3 pending, the limit pending_max is 3";
    assert_eq!(refused(&mut rig, later("t", "x", MINUTE)), told);
    assert_eq!(refused(&mut rig, send("v", "x", &[("DELAY", "1")])), told);
    assert!(rig.ask(GetTopic { name: topic("v") }).is_none(), "nothing of it is kept");
    rig.send(send("t", "at once", &[]));
    rig.send(later("t", "past", -1));
    assert_eq!(rig.broker.stats().pending, 3);

    let handle = RecallHandle::decode(&first.recall_handle.unwrap()).unwrap();
    assert_eq!(rig.ask(Recall { topic: topic("t"), handle }), Ok(Recalled::Recalled));
    rig.send(later("t", "in its place", MINUTE));
    refused(&mut rig, later("t", "x", MINUTE));
    rig.pass(MINUTE);
    assert_eq!(rig.bodies("t"), ["at once", "past", "in its place"]);
    rig.send(later("t", "again", MINUTE));
    refused(&mut rig, later("t", "x", MINUTE));
}

#[test]
fn so_many_messages_of_a_topic_wait_also_after_a_kill_and_wherever_they_lie() {
    let mut rig = Rig::with(limits(0, 2));
    rig.send(later("t", "far", 9 * 86_400_000));
    rig.send(later("t", "near", 5 * MINUTE));
    let told =
        "timer message is under flow control: 2 of topic t pending, the limit pending_per_topic_max is 2";
    assert_eq!(refused(&mut rig, later("t", "x", MINUTE)), told);
    rig.send(later("u", "of another", 9 * 86_400_000));
    rig.pass(2 * MINUTE);
    assert!(rig.broker.stats().checkpoints > 0, "they lie in buckets");
    assert_eq!(refused(&mut rig, later("t", "x", MINUTE)), told);
    let mut rig = rig.killed(10);
    assert_eq!(refused(&mut rig, later("t", "x", MINUTE)), told);
    rig.pass(3 * MINUTE);
    assert_eq!(rig.bodies("t"), ["near"]);
    rig.send(later("t", "one more", MINUTE));
    assert_eq!(refused(&mut rig, later("t", "x", MINUTE)), told);
    rig.ask(DeleteTopic { name: topic("t") }).unwrap();
    rig.topic("t", 1);
    rig.send(later("t", "of the new one", MINUTE));
}

#[test]
fn what_is_due_and_held_waits_all_the_same() {
    let mut rig = Rig::with(limits(0, 2));
    rig.topic("t", 1);
    rig.send(later("t", "held", 1000));
    let permission = |permission| CreateTopic { permission, ..super::recover::create_topic() };
    rig.ask(permission(model::Permission(4))).unwrap();
    rig.pass(2000);
    assert_eq!(rig.broker.stats().held, 1);
    // It may be written to again, and what was held has not left yet.
    let (held, more) = (rig.begin(permission(model::Permission::READ_WRITE)), later("t", "second", MINUTE));
    let (second, third) = (rig.begin(more), rig.begin(later("t", "third", MINUTE)));
    rig.turn();
    rig.answer::<CreateTopic>(held).unwrap().unwrap();
    rig.answer::<Send>(second).unwrap().unwrap();
    let why = rig.answer::<Send>(third).unwrap().unwrap_err().why;
    assert_eq!(why, SendRefusal::TooManyPendingOfTopic { topic: topic("t"), pending: 2, limit: 2 });
}

#[test]
fn all_messages_of_a_send_have_room_or_none_is_stored() {
    let mut rig = Rig::with(limits(3, 0));
    rig.send(later("t", "there", MINUTE));
    let messages = |count: usize| {
        let delayed = message("x", &[("DELAY", "5")]);
        let mut messages = vec![message("at once", &[]); count];
        messages.extend(vec![delayed; count]);
        Send { messages, queue_id: None, ..send("t", "", &[]) }
    };
    let error = rig.ask(messages(3)).unwrap_err();
    assert_eq!(error, SendError { index: 5, why: SendRefusal::TooManyPending { pending: 3, limit: 3 } });
    assert_eq!((rig.broker.stats().pending, rig.broker.stats().stored), (1, 0));
    assert_eq!(rig.ask(messages(2)).unwrap().len(), 4);
    assert_eq!(rig.broker.stats().pending, 3);
}

#[test]
fn what_was_accepted_before_is_never_lost_to_a_limit() {
    let mut rig = Rig::with(limits(2, 2));
    rig.send(send("t", "fails", &[]));
    let half =
        |id: &str| send("t", id, &[("TRAN_MSG", "true"), ("PGROUP", "p"), ("UNIQ_KEY", id), ("DELAY", "4")]);
    let halves = [rig.send(half("half")), rig.send(half("other"))];
    rig.send(later("t", "first", MINUTE));
    rig.send(later("t", "moves", MINUTE));
    refused(&mut rig, later("t", "x", MINUTE));
    refused(&mut rig, half("too late"));

    let place = Stored::parse(&rig.pull("t", 0).messages[0]).unwrap().log_offset();
    super::retry::give_back(&mut rig, place, 0, None).unwrap();
    let back = send("%RETRY%g", "by itself", &[("DELAY", "3"), ("RETRY_TOPIC", "t")]);
    rig.send(Send { queue_id: None, ..back });
    for sent in &halves {
        let end = EndTransaction {
            half: HalfName::Place(sent.log_offset),
            group: Some("p".into()),
            resolution: Resolution::Commit,
        };
        rig.ask(end).unwrap();
    }
    let deliver_at = Timestamp::from_millis(BEGIN + 90_000);
    let (key, to) = ("moves".into(), NewMoment::At(deliver_at));
    let moves = Reschedule { topic: topic("t"), key, unique: true, to, before: None };
    assert_eq!(rig.ask(moves).unwrap().moved.len(), 1, "it waits already");
    assert_eq!(rig.broker.stats().pending, 6, "they count all the same");
    refused(&mut rig, later("u", "x", MINUTE));
    let mut rig = rig.killed(1);
    refused(&mut rig, later("u", "x", MINUTE));
    rig.pass(2 * MINUTE);
    assert_eq!(rig.bodies("t"), ["fails", "half", "other", "first", "moves"]);
    assert_eq!(rig.bodies("%RETRY%g").len(), 2);
    rig.send(later("u", "there is room again", MINUTE));
}

const DAY: i64 = 86_400_000;

fn of_second(limit: u64) -> Config {
    let checkpoint_every = Duration::from_secs(60);
    Config { pending_per_second_max: Some(limit), checkpoint_every, ..config() }
}

/// A message due so long after the beginning.
fn due(to: &str, body: &str, ms: i64) -> Send {
    send(to, body, &[("TIMER_DELIVER_MS", &(BEGIN + ms).to_string()), ("UNIQ_KEY", body)])
}

/// The settings that can be changed, as they are.
fn as_it_is(config: &Config) -> Configure {
    Configure {
        flush: config.flush,
        max_delay_ms: config.max_delay_ms,
        levels: config.levels.clone(),
        timer_enabled: config.timer_enabled,
        max_body_bytes: config.max_body_bytes,
        auto_create_topics: config.auto_create_topics,
        auto_create_groups: config.auto_create_groups,
        default_queues: config.default_queues,
        pending_max: config.pending_max,
        pending_per_topic_max: config.pending_per_topic_max,
        pending_per_second_max: config.pending_per_second_max,
        dedup_window: config.dedup_window,
    }
}

fn refused_in_second(rig: &mut Rig, ask: Send) -> String {
    let SendError { why, .. } = rig.ask(ask).unwrap_err();
    assert!(matches!(why, SendRefusal::TooManyPendingInSecond { .. }), "{why}");
    why.to_string()
}

#[test]
fn so_many_messages_are_due_in_a_second_and_no_more_until_one_has_left() {
    let mut rig = Rig::with(of_second(3));
    let first = rig.send(due("t", "first", 60_000));
    rig.send(due("u", "second", 60_999));
    let level = rig.send(send("t", "level", &[("DELAY", "5")]));
    assert!(level.recall_handle.is_some());
    let told = format!(
        "timer message is under flow control: 3 due in the second from {}, the limit pending_per_second_max is 3",
        BEGIN + 60_000
    );
    assert_eq!(refused_in_second(&mut rig, due("t", "x", 60_500)), told);
    assert_eq!(refused_in_second(&mut rig, send("v", "x", &[("DELAY", "5")])), told);
    assert!(rig.ask(GetTopic { name: topic("v") }).is_none(), "nothing of it is kept");
    for (body, ms) in [("before", 59_999), ("behind", 61_000)] {
        rig.send(due("t", body, ms));
    }
    let handle = RecallHandle::decode(&first.recall_handle.unwrap()).unwrap();
    assert_eq!(rig.ask(Recall { topic: topic("t"), handle }), Ok(Recalled::Recalled));
    rig.send(due("t", "in its place", 60_001));
    refused_in_second(&mut rig, due("t", "x", 60_999));
    rig.pass(60_000);
    rig.send(due("t", "one has left", 60_900));
    refused_in_second(&mut rig, due("t", "x", 60_901));
    rig.pass(2000);
    assert_eq!(rig.bodies("t"), ["before", "level", "in its place", "one has left", "behind"]);
}

#[test]
fn messages_of_a_second_are_counted_wherever_they_lie_and_over_every_kill() {
    let mut rig = Rig::with(of_second(4));
    let moment = 9 * DAY + 500;
    for i in 0..6 {
        rig.send(due("t", &format!("same day {i}"), moment + 2000 + i * 1000));
    }
    let recalled = rig.send(due("t", "a", moment));
    rig.send(due("t", "b", moment + 1));
    rig.pass(2 * MINUTE);
    assert!(rig.broker.stats().checkpoints > 0, "they lie in buckets");
    rig.send(due("t", "c", moment + 2));
    for life in 0..3 {
        rig = rig.killed(10);
        if life == 0 {
            rig.send(due("t", "d", moment + 3));
        }
        let told = refused_in_second(&mut rig, due("t", "x", moment));
        assert!(told.contains("4 due in the second"), "{told}, life {life}");
        rig.send(due("t", &format!("next second {life}"), moment + 1000));
        if life == 1 {
            rig.pass(2 * MINUTE);
            let told = refused_in_second(&mut rig, due("t", "x", moment));
            assert!(told.contains("4 due in the second"), "after a checkpoint: {told}");
        }
    }
    let handle = RecallHandle::decode(&recalled.recall_handle.unwrap()).unwrap();
    assert_eq!(rig.ask(Recall { topic: topic("t"), handle }), Ok(Recalled::Recalled));
    // Two that come together for one place, while it is counted in the file.
    let mut rig = rig.killed(10);
    let asks = [("e", 10), ("x", 11)].map(|(body, ms)| rig.begin(due("t", body, moment + ms)));
    rig.turn();
    let [taken, refused] = asks.map(|id| rig.answer::<Send>(id).unwrap());
    taken.unwrap();
    assert!(matches!(refused.unwrap_err().why, SendRefusal::TooManyPendingInSecond { pending: 4, .. }));
    rig.pass(moment + 1000 - (rig.now.wall.as_millis() - BEGIN) - 1);
    assert_eq!(rig.bodies("t"), ["b", "c", "d", "e"]);
}

#[test]
fn the_limit_of_a_second_counts_what_it_does_not_refuse_and_begins_when_it_is_set() {
    let mut rig = Rig::with(Config { checkpoint_every: Duration::from_secs(60), ..config() });
    rig.send(send("t", "fails", &[]));
    for i in 0..3 {
        rig.send(due("t", &format!("{i}"), 600_000));
    }
    rig.send(due("t", "moves", 700_000));
    let half = [("TRAN_MSG", "true"), ("PGROUP", "p"), ("UNIQ_KEY", "half"), ("TIMER_DELIVER_MS", "")];
    let moment = (BEGIN + 600_000).to_string();
    let half = half.map(|(name, value)| (name, if value.is_empty() { &*moment } else { value }));
    let half = rig.send(send("t", "half", &half));
    rig.pass(2 * MINUTE);
    let configure = |limit| Configure { pending_per_second_max: limit, ..as_it_is(&config()) };
    rig.ask(configure(Some(3)));
    assert!(refused_in_second(&mut rig, due("t", "x", 600_001)).contains("3 due"));
    let end = EndTransaction {
        half: HalfName::Place(half.log_offset),
        group: Some("p".into()),
        resolution: Resolution::Commit,
    };
    rig.ask(end).unwrap();
    let to = NewMoment::At(Timestamp::from_millis(BEGIN + 600_002));
    let moves = Reschedule { topic: topic("t"), key: "moves".into(), unique: true, to, before: None };
    assert_eq!(rig.ask(moves).unwrap().moved.len(), 1, "it was accepted before");
    assert!(refused_in_second(&mut rig, due("t", "x", 600_001)).contains("5 due"));
    // A retry of a client's own, due in the same second.
    let place = Stored::parse(&rig.pull("t", 0).messages[0]).unwrap().log_offset();
    super::retry::give_back(&mut rig, place, 0, None).unwrap();
    let back = send("%RETRY%g", "by itself", &[("TIMER_DELIVER_MS", &moment), ("RETRY_TOPIC", "t")]);
    rig.send(Send { queue_id: None, ..back });
    assert!(refused_in_second(&mut rig, due("t", "x", 600_001)).contains("6 due"));
    rig.ask(configure(None));
    rig.send(due("t", "no limit", 600_003));
    rig.ask(configure(Some(7)));
    assert!(refused_in_second(&mut rig, due("t", "x", 600_001)).contains("7 due"));
    rig.pass(10 * MINUTE);
    assert_eq!(rig.bodies("t"), ["fails", "0", "1", "2", "half", "moves", "no limit"]);
}

#[test]
fn a_send_of_several_for_one_second_has_room_for_all_or_none_is_stored() {
    let mut rig = Rig::with(of_second(3));
    rig.topic("t", 1);
    let several = |moments: &[i64]| {
        let messages = moments.iter().map(|ms| due("t", "x", *ms).messages.remove(0)).collect();
        Send { messages, ..send("t", "", &[]) }
    };
    let error = rig.ask(several(&[60_000, 61_000, 60_001, 60_002, 60_003])).unwrap_err();
    assert_eq!(error.index, 4);
    assert!(matches!(error.why, SendRefusal::TooManyPendingInSecond { pending: 3, limit: 3, .. }));
    assert_eq!(rig.broker.stats().pending, 0);
    assert_eq!(rig.ask(several(&[60_000, 61_000, 60_001, 60_002])).unwrap().len(), 4);
    refused_in_second(&mut rig, due("t", "x", 60_999));
}

#[test]
fn a_second_that_cannot_be_counted_refuses_and_the_next_send_counts_again() {
    let mut rig = Rig::with(of_second(2));
    rig.send(due("t", "a", 9 * DAY));
    rig.send(due("t", "b", 9 * DAY + 5000));
    rig.pass(2 * MINUTE);
    rig.disk.inject(env::Fault::FailReads(1));
    let error = rig.ask(due("t", "c", 9 * DAY)).unwrap_err();
    assert!(matches!(error.why, SendRefusal::SecondUncounted { .. }), "{error}");
    rig.send(due("t", "c", 9 * DAY));
    refused_in_second(&mut rig, due("t", "d", 9 * DAY));
}

#[test]
fn a_delay_counts_from_when_the_send_came_though_its_second_was_counted_first() {
    let mut rig = Rig::with(of_second(2));
    rig.send(due("t", "a", 9 * DAY));
    rig.send(due("t", "b", 9 * DAY + 5000));
    rig.pass(2 * MINUTE);
    let now = rig.now.wall.as_millis();
    let asked = rig.begin(later("t", "c", 9 * DAY - 2 * MINUTE));
    rig.now.wall = Timestamp::from_millis(now + 1500);
    rig.turn();
    let sent = rig.answer::<Send>(asked).unwrap().unwrap().remove(0);
    let handle = RecallHandle::decode(&sent.recall_handle.unwrap()).unwrap();
    assert_eq!(handle.deliver_at, Timestamp::from_millis(now + 9 * DAY - 2 * MINUTE));
}
