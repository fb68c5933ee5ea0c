use super::*;

#[test]
fn a_lease_may_be_changed_to_end_at_once_and_at_the_latest_in_twelve_hours() {
    let of = |seconds, nanos| invisible(Some(WireDuration { seconds, nanos }), &Settings::default());
    assert_eq!(of(0, 0), Ok(Duration::ZERO));
    assert_eq!(invisible(None, &Settings::default()), Ok(Duration::ZERO));
    assert_eq!(of(43_200, 0), Ok(Duration::from_hours(12)));
    for (seconds, nanos) in [(43_200, 1), (-1, 0), (i64::MAX, 0), (i64::MIN, i32::MIN)] {
        assert_eq!(
            of(seconds, nanos).unwrap_err().code,
            Code::IllegalInvisibleTime,
            "{seconds} s {nanos} ns"
        );
    }
}
