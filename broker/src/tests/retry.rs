use super::*;

#[test]
fn a_message_given_back_comes_by_the_levels_and_at_last_among_the_dead_letters() {
    let mut rig = Rig::new();
    rig.send(send("t", "fails", &[("TAGS", "tag"), ("KEYS", "k")]));
    let mut place = Stored::parse(&rig.pull("t", 0).messages[0]).unwrap().log_offset();
    for (attempt, wait) in [(1, 10_000), (2, 30_000)] {
        give_back(&mut rig, place, 0, Some(2)).unwrap();
        rig.pass(wait - 1);
        assert_eq!(rig.pull("%RETRY%g", attempt - 1).messages.len(), 0, "attempt {attempt} is early");
        rig.pass(1);
        let pulled = rig.pull("%RETRY%g", attempt - 1);
        let view = Stored::parse(&pulled.messages[0]).unwrap();
        assert_eq!(view.reconsume_times(), attempt as i32);
        assert_eq!(view.property("RETRY_TOPIC"), Some("t"));
        assert_eq!((view.property("TAGS"), view.property("KEYS")), (Some("tag"), Some("k")));
        assert_eq!(view.property("DELAY"), None);
        place = view.log_offset();
    }
    give_back(&mut rig, place, 0, Some(2)).unwrap();
    let dead = rig.pull("%DLQ%g", 0);
    assert_eq!(dead.messages.len(), 1, "at once");
    assert_eq!(property(&dead.messages[0], "RETRY_TOPIC").as_deref(), Some("t"));
}

pub(super) fn give_back(
    rig: &mut Rig,
    place: model::LogOffset,
    level: i32,
    max: Option<i32>,
) -> Result<(), SendBackError> {
    rig.ask(SendBack { group: group(), log_offset: place, delay_level: level, max_reconsume_times: max })
}

#[test]
fn a_chosen_level_is_taken_and_below_zero_means_dead() {
    let mut rig = Rig::new();
    rig.send(send("t", "x", &[]));
    let place = Stored::parse(&rig.pull("t", 0).messages[0]).unwrap().log_offset();
    give_back(&mut rig, place, 1, None).unwrap();
    rig.pass(1000);
    assert_eq!(rig.bodies("%RETRY%g"), ["x"]);
    give_back(&mut rig, place, -1, None).unwrap();
    assert_eq!(rig.bodies("%DLQ%g"), ["x"]);
    let nowhere = model::LogOffset(place.0 + 8);
    assert_eq!(
        give_back(&mut rig, nowhere, 0, None),
        Err(SendBackError::MessageUnknown { log_offset: nowhere })
    );
}

#[test]
fn what_no_queue_holds_is_not_given_back() {
    let mut rig = Rig::new();
    rig.topic("t", 1);
    let waits = rig.send(send("t", "waits", &[("DELAY", "5")]));
    let half = rig.send(send("t", "half", &[("TRAN_MSG", "true"), ("PGROUP", "p"), ("UNIQ_KEY", "k")]));
    for place in [waits.log_offset, half.log_offset] {
        let unknown = Err(SendBackError::MessageUnknown { log_offset: place });
        assert_eq!(give_back(&mut rig, place, 1, None), unknown);
        assert_eq!(give_back(&mut rig, place, -1, None), unknown);
    }
    assert!(rig.ask(GetTopic { name: topic("%DLQ%g") }).is_none());
}

#[test]
fn a_retry_that_the_client_sends_itself_ends_among_the_dead_letters() {
    let mut rig = Rig::new();
    rig.pull_makes_the_group("t");
    let mut ask = Send {
        max_reconsume_times: Some(2),
        auto_create: None,
        ..send("%RETRY%g", "x", &[("RETRY_TOPIC", "t")])
    };
    ask.messages[0].reconsume_times = 2;
    rig.send(ask.clone());
    assert_eq!(rig.bodies("%RETRY%g"), ["x"]);
    ask.messages[0].reconsume_times = 3;
    ask.messages[0].properties.set("DELAY", "3");
    rig.send(ask);
    let dead = rig.pull("%DLQ%g", 0);
    assert_eq!(dead.messages.len(), 1, "and is not delayed there");
    assert_eq!(property(&dead.messages[0], "RETRY_TOPIC").as_deref(), Some("t"));
}

impl Rig {
    fn pull_makes_the_group(&mut self, name: &str) {
        self.topic(name, 1);
        self.pull(name, 0);
    }
}

#[test]
fn attempts_are_counted_and_the_last_goes_to_the_dead_letters() {
    for max in [0, 2] {
        let mut rig = Rig::new();
        let mut settings = model::Group::new(group());
        settings.retry_max = max;
        rig.ask(CreateGroup { group: settings }).unwrap();
        rig.send(send("t", "x", &[]));
        for attempt in 1..=max + 1 {
            let popped = rig.pop("t", 5000);
            assert_eq!(popped.iter().map(|m| m.attempt).collect::<Vec<_>>(), [attempt]);
            rig.pass(5000);
        }
        assert!(rig.pop("t", 5000).is_empty());
        rig.pass(60_000);
        assert!(rig.pop("t", 5000).is_empty());
        let dead = rig.pull("%DLQ%g", 0).messages;
        assert_eq!(dead.len(), 1, "once");
        assert_eq!(property(&dead[0], "DLQ_ORIGIN_TOPIC").as_deref(), Some("t"));
    }
}

#[test]
fn a_delayed_message_that_comes_again_is_not_delayed_again() {
    let mut rig = Rig::new();
    rig.send(send("t", "x", &[("DELAY", "1")]));
    rig.pass(1000);
    assert_eq!(rig.pop("t", 5000).len(), 1);
    rig.pass(5000);
    let again = rig.pop("t", 5000);
    assert_eq!(again.len(), 1);
    assert_eq!(property(&again[0].bytes, "TIMER_DELIVER_MS"), Some((BEGIN + 1000).to_string()));
}

#[test]
fn a_message_with_full_properties_is_given_back_redelivered_and_committed_all_the_same() {
    let mut rig = Rig::new();
    let pair = |name: &str, bytes: usize| (name.to_owned(), "v".repeat(bytes));
    let full: Vec<_> = (0..8).map(|i| pair(&format!("p{i}"), 4050)).collect();
    let mut properties: Vec<(&str, &str)> = full.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    properties.push(("UNIQ_KEY", "ID"));
    let sent = rig.send(send("t", "x", &properties));
    give_back(&mut rig, sent.log_offset, 1, None).unwrap();
    give_back(&mut rig, sent.log_offset, -1, None).unwrap();
    assert_eq!(rig.pop("t", 1000).len(), 1);
    rig.pass(2000);
    assert_eq!(rig.pop("t", 1000)[0].attempt, 2);
    assert_eq!(rig.bodies("%RETRY%g"), ["x"]);
    assert_eq!(rig.bodies("%DLQ%g"), ["x"]);
    let long = "k".repeat(256);
    let error = rig.ask(send("t", "x", &[("UNIQ_KEY", &long)])).unwrap_err();
    assert_eq!(error.why, SendRefusal::UniqueKeyTooLong { length: 256, limit: 255 });
}

#[test]
fn a_group_and_a_topic_whose_names_make_none_together_are_refused() {
    let mut rig = Rig::new();
    // As the log of an earlier version may have it.
    let name = format!("%DLQ%{}", "x".repeat(200));
    rig.broker.topic_or_make(topic(&name), 1);
    let group = GroupName::new(&"g".repeat(100)).unwrap();
    let answer = rig.ask(Pop { group, ..pop(&name, 1000, 0) });
    assert!(matches!(answer, Err(PopError::NamesTooLong(_))), "{answer:?}");
}

#[test]
fn a_refused_pull_or_send_back_makes_no_group() {
    let mut rig = Rig::new();
    assert!(rig.ask(pull("none", 0, None)).is_err());
    assert!(give_back(&mut rig, model::LogOffset(99), 0, None).is_err());
    assert!(rig.ask(GetGroup { name: group() }).is_none());
}

#[test]
fn a_delayed_message_to_the_dead_letters_is_delayed() {
    let mut rig = Rig::new();
    rig.ask(CreateGroup { group: model::Group::new(group()) }).unwrap();
    rig.topic("%DLQ%g", 1);
    rig.send(send("%DLQ%g", "x", &[("TIMER_DELAY_MS", "1000")]));
    assert!(rig.bodies("%DLQ%g").is_empty());
    rig.pass(1000);
    assert_eq!(rig.bodies("%DLQ%g"), ["x"]);
}
