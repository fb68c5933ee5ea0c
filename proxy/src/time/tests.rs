use super::*;

#[test]
fn a_moment_is_rounded_down_to_the_millisecond_and_never_overflows() {
    for (seconds, nanos, ms) in [
        (1_700_000_000, 123_999_999, 1_700_000_000_123),
        (0, 0, 0),
        (0, 999_999, 0),
        (-1, 999_000_000, -1),
        (-1, 999_999_999, -1),
        (0, -1, -1),
        (1, i32::MAX, 3147),
        (i64::MAX, i32::MAX, i64::MAX),
        (i64::MIN, i32::MIN, i64::MIN),
    ] {
        assert_eq!(millis(WireTimestamp { seconds, nanos }), ms, "{seconds} s {nanos} ns");
    }
}

#[test]
fn moments_before_the_epoch_have_nanoseconds_of_their_range() {
    assert_eq!(timestamp(-1), WireTimestamp { seconds: -1, nanos: 999_000_000 });
    for ms in [0, 1, 1_700_000_000_123, -1500, i64::MAX, i64::MIN] {
        assert_eq!(millis(timestamp(ms)), ms);
    }
}

#[test]
fn a_negative_span_is_none_and_the_longest_does_not_overflow() {
    assert_eq!(span(WireDuration { seconds: -1, nanos: 0 }), None);
    assert_eq!(span(WireDuration { seconds: 0, nanos: -1 }), None);
    assert_eq!(span(WireDuration { seconds: 1, nanos: -1 }), Some(Duration::from_nanos(999_999_999)));
    assert_eq!(
        span(WireDuration { seconds: i64::MAX, nanos: i32::MAX }).map(|s| s.as_secs()),
        Some((1 << 63) + 1)
    );
    assert_eq!(duration(Duration::MAX).seconds, i64::MAX);
}
