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

fn give_back(
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
