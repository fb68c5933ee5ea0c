use super::*;

fn shanghai() -> TimeZone {
    TimeZone::fixed(jiff::tz::offset(8))
}

#[test]
fn delays_are_read_as_people_write_them() {
    let now: ZonedDateTime = "2026-01-31T12:00:00+00:00[UTC]".parse().unwrap();
    let cases = [
        ("500ms", 500),
        ("10s", 10_000),
        ("1.5s", 1500),
        ("15m", 900_000),
        ("2h30m", 9_000_000),
        ("2 hours, 30 minutes", 9_000_000),
        ("1d", 86_400_000),
        ("1 week", 604_800_000),
        ("1mo", 28 * 86_400_000),
        ("PT10S", 10_000),
        ("0s", 0),
    ];
    for (text, ms) in cases {
        assert_eq!(delay_ms(&delay(text).unwrap(), &now), Ok(ms), "{text}");
    }
}

#[test]
fn a_delay_without_a_unit_or_a_meaning_is_refused_in_words() {
    assert!(delay("10").unwrap_err().contains("10s"));
    assert!(delay("-5s").unwrap_err().contains("negative"));
    for text in ["", "soon", "10 parsecs", "1h 1h"] {
        assert!(delay(text).unwrap_err().contains("no duration"), "{text}");
    }
    let now = ZonedDateTime::new(Timestamp::UNIX_EPOCH, TimeZone::UTC);
    assert!(delay_ms(&delay("9999 years").unwrap(), &now).unwrap_err().contains("last year"));
}

#[test]
fn moments_are_read_with_offset_with_zone_and_in_the_local_zone() {
    let midnight = 1_798_128_000_000; // 2026-12-24T16:00:00Z
    for text in [
        "2026-12-25T00:00:00+08:00",
        "2026-12-24T16:00:00Z",
        "2026-12-25 00:00[Asia/Shanghai]",
        "2026-12-25T00:00:00+08:00[Asia/Shanghai]",
        "2026-12-25T00:00",
        "2026-12-25 00:00:00.000",
        "2026-12-25",
    ] {
        let read = moment_in(text, &shanghai()).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(read.timestamp().as_millisecond(), midnight, "{text}");
    }
}

#[test]
fn what_is_no_moment_is_refused_in_words() {
    for text in ["", "tomorrow", "2026-13-01", "25.12.2026", "10s"] {
        assert!(moment_in(text, &shanghai()).unwrap_err().contains("no moment"), "{text}");
    }
    assert!(moment_in("2026-12-25 00:00[Mars/Olympus]", &shanghai()).is_err());
}

#[test]
fn moments_are_shown_with_their_offset() {
    assert_eq!(shown_in(1_798_128_000_007, shanghai()), "2026-12-25 00:00:00.007+08:00");
    assert_eq!(shown_in(i64::MAX, shanghai()), format!("{} ms since 1970", i64::MAX));
}

#[test]
fn timeouts_reach_to_hours() {
    assert_eq!(timeout("30s"), Ok(Duration::from_secs(30)));
    assert_eq!(timeout("48h"), Ok(Duration::from_secs(48 * 3600)));
    assert!(timeout("2d").unwrap_err().contains("48h"));
}
