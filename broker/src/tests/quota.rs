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
