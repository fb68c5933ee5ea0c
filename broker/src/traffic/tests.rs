use super::*;

fn at(seconds: u64) -> Monotonic {
    Monotonic::from_nanos(seconds * 1_000_000_000)
}

#[test]
fn a_minute_forgets_what_is_older_and_a_day_does_not() {
    let mut meter = Meter::default();
    meter.add(at(7), 3, 30);
    meter.add(at(50), 1, 10);
    let windows = meter.windows(at(58));
    assert_eq!(windows.minute, Count { times: 2, messages: 4, bytes: 40 });
    let windows = meter.windows(at(70));
    assert_eq!((windows.minute.messages, windows.hour.messages, windows.day.messages), (1, 4, 4));
    let windows = meter.windows(at(100_000));
    assert_eq!((windows.minute.messages, windows.hour.messages, windows.day.messages), (0, 0, 0));
    meter.add(at(100_000), 1, 1);
    assert_eq!(meter.windows(at(100_000)).day.messages, 1, "the old slots are empty after a long rest");
    assert_eq!(meter.total, 5);
}

#[test]
fn a_rate_is_of_the_last_ten_seconds() {
    let mut meter = Meter::default();
    for second in 100..110 {
        meter.add(at(second), 20, 0);
    }
    let [ten, minute, _] = meter.rates(at(109));
    assert!((ten - 20.0).abs() < 1e-9 && (minute - 200.0 / 60.0).abs() < 1e-9, "{ten} {minute}");
}

#[test]
fn a_new_day_notes_what_was_counted_before() {
    let mut traffic = Traffic::default();
    let now = |ms| Now { wall: Timestamp::from_millis(ms), wall_nanos: 0, monotonic: at(1) };
    traffic.turn_day(now(0).wall);
    traffic.put(TopicId(1), 10, now(0));
    traffic.turn_day(now(DAY_MS).wall);
    traffic.put(TopicId(1), 10, now(DAY_MS));
    let total = traffic.figures(at(1)).put_total;
    assert_eq!(total, DayTotals { yesterday_morning: 0, today_morning: 1, now: 2 });
}
