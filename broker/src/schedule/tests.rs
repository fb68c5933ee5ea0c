use super::*;
use model::LevelTable;

const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);

fn now() -> Now {
    Now { wall: NOW, ..Now::default() }
}

fn check(properties: &[(&str, &str)]) -> Result<Wanted, SendRefusal> {
    let mut config = Config::new("b", "127.0.0.1:10911".parse().unwrap());
    config.max_delay_ms = 86_400_000;
    config.levels = LevelTable::default();
    wanted(&properties.iter().copied().collect(), now(), &config)
}

#[expect(clippy::unnecessary_wraps, reason = "it is compared with an answer")]
fn at(ms: i64, level: u8) -> Result<Wanted, SendRefusal> {
    Ok(Wanted::At { deliver_at: Timestamp::from_millis(NOW.as_millis() + ms), level, clamped_from: None })
}

#[test]
fn a_level_wins_over_seconds_over_milliseconds_over_a_moment() {
    let moment = (NOW.as_millis() + 4000).to_string();
    let all =
        [("DELAY", "3"), ("TIMER_DELAY_SEC", "2"), ("TIMER_DELAY_MS", "3000"), ("TIMER_DELIVER_MS", &moment)];
    assert_eq!(check(&all), at(10_000, 3));
    assert_eq!(check(&all[1..]), at(2000, 0));
    assert_eq!(check(&all[2..]), at(3000, 0));
    assert_eq!(check(&all[3..]), at(4000, 0));
    assert_eq!(check(&[]), Ok(Wanted::Now));
}

#[test]
fn a_level_or_moment_that_is_not_ahead_is_now() {
    for (name, value) in [
        ("DELAY", "0"),
        ("DELAY", "-1"),
        ("TIMER_DELAY_SEC", "0"),
        ("TIMER_DELAY_MS", "-5"),
        ("TIMER_DELAY_SEC", "-9223372036854775808"),
        ("TIMER_DELIVER_MS", "0"),
        ("TIMER_DELIVER_MS", "-9223372036854775808"),
        ("TIMER_DELIVER_MS", "1700000000000"),
    ] {
        assert_eq!(check(&[(name, value)]), Ok(Wanted::Now), "{name}={value}");
    }
}

#[test]
fn a_level_above_the_last_is_the_last_and_says_so() {
    let deliver_at = Timestamp::from_millis(NOW.as_millis() + 7_200_000);
    for level in [19, 1_000_000, i32::MAX] {
        let expected = Wanted::At { deliver_at, level: 18, clamped_from: Some(level) };
        assert_eq!(check(&[("DELAY", &level.to_string())]), Ok(expected));
    }
}

#[test]
fn what_is_no_number_is_refused_by_name() {
    for name in ["DELAY", "TIMER_DELAY_SEC", "TIMER_DELAY_MS", "TIMER_DELIVER_MS"] {
        for value in ["abc", "1.5", " 1", "9223372036854775808", "1e3"] {
            let refusal = check(&[(name, value)]).unwrap_err();
            assert_eq!(refusal, SendRefusal::DelayNotANumber { property: name, value: value.to_owned() });
        }
    }
}

#[test]
fn a_moment_past_the_limit_is_refused_with_the_limit() {
    let limit = 86_400_000;
    assert_eq!(check(&[("TIMER_DELAY_MS", &limit.to_string())]), at(limit, 0));
    for (name, value) in [
        ("TIMER_DELAY_MS", (limit + 1).to_string()),
        ("TIMER_DELAY_SEC", "9223372036854775807".to_owned()),
        ("TIMER_DELAY_SEC", "86401".to_owned()),
        ("TIMER_DELIVER_MS", i64::MAX.to_string()),
    ] {
        let refusal = check(&[(name, &value)]).unwrap_err();
        assert!(
            matches!(refusal, SendRefusal::TooFar { property, limit_ms, .. } if property == name && limit_ms == limit)
        );
        assert!(refusal.to_string().contains("86400000 ms"), "{refusal}");
    }
}

#[test]
fn a_moment_within_the_limit_has_a_level_and_what_is_none_is_refused() {
    let mut config = Config::new("b", "127.0.0.1:10911".parse().unwrap());
    config.max_delay_ms = 86_400_000;
    // Levels are there without the timer as well.
    config.timer_enabled = false;
    let level = |name, value: &str| as_level(&[(name, value)].into_iter().collect(), now(), &config);
    let moment = |ms: i64| level("TIMER_DELIVER_MS", &(NOW.as_millis() + ms).to_string());
    for (ms, expected) in [(999, 1), (1000, 2), (86_400_000, 18), (0, 1), (-60_000, 1)] {
        assert_eq!(moment(ms), Ok(Some(expected)), "{ms} ms ahead");
    }
    for value in ["0", "-1", "-9223372036854775808"] {
        assert_eq!(level("TIMER_DELIVER_MS", value), Ok(Some(1)), "{value} has passed");
    }
    assert!(matches!(moment(86_400_001), Err(SendRefusal::TooFar { limit_ms: 86_400_000, .. })));
    assert!(matches!(
        level("TIMER_DELIVER_MS", &i64::MAX.to_string()),
        Err(SendRefusal::TooFar { property: "TIMER_DELIVER_MS", .. })
    ));
    assert!(matches!(level("TIMER_DELIVER_MS", "soon"), Err(SendRefusal::DelayNotANumber { .. })));
    for name in ["TIMER_DELAY_SEC", "TIMER_DELAY_MS", "DELAY", "K"] {
        assert_eq!(level(name, "5"), Ok(None), "{name} is no moment");
    }
}

#[test]
fn a_moment_is_refused_while_the_timer_is_off() {
    let mut config = Config::new("b", "127.0.0.1:10911".parse().unwrap());
    config.timer_enabled = false;
    let off = |name, value: &str| wanted(&[(name, value)].into_iter().collect(), now(), &config);
    let moment = (NOW.as_millis() + 5000).to_string();
    for (name, value) in
        [("TIMER_DELAY_SEC", "5"), ("TIMER_DELAY_MS", "5000"), ("TIMER_DELIVER_MS", moment.as_str())]
    {
        assert_eq!(off(name, value), Err(SendRefusal::TimerDisabled), "{name}");
    }
    assert_eq!(off("DELAY", "2"), at(5000, 2), "levels are taken all the same");
}

#[test]
fn a_delay_is_never_too_short_by_a_finer_clock_and_a_moment_is_as_it_was_asked_for() {
    let config = Config::new("b", "127.0.0.1:10911".parse().unwrap());
    let moment = (NOW.as_millis() + 5000).to_string();
    let due = |name, value: &str, wall_nanos| {
        let properties = [(name, value)].into_iter().collect();
        match wanted(&properties, Now { wall_nanos, ..now() }, &config) {
            Ok(Wanted::At { deliver_at, .. }) => deliver_at.as_millis() - NOW.as_millis(),
            other => panic!("{other:?}"),
        }
    };
    for (nanos, more) in [(0, 0), (1, 1), (999_999, 1)] {
        assert_eq!(due("DELAY", "2", nanos), 5000 + more);
        assert_eq!(due("TIMER_DELAY_SEC", "5", nanos), 5000 + more);
        assert_eq!(due("TIMER_DELAY_MS", "5000", nanos), 5000 + more);
        assert_eq!(due("TIMER_DELIVER_MS", &moment, nanos), 5000);
    }
}

#[test]
fn a_settled_message_carries_no_live_instruction() {
    let mut properties: Properties =
        [("DELAY", "3"), ("TIMER_DELAY_SEC", "1"), ("TIMER_DELAY_MS", "1"), ("K", "v")].into_iter().collect();
    settle(&mut properties, Some(NOW));
    let left: Vec<_> = properties.iter().collect();
    assert_eq!(left, [("K", "v"), ("TIMER_DELIVER_MS", "1700000000000")]);
    assert_eq!(
        wanted(&properties, now(), &Config::new("b", "127.0.0.1:1".parse().unwrap())),
        Ok(Wanted::Now)
    );
}
