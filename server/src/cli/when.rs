//! Durations and moments as people write them, and as they read them.

use jiff::civil::DateTime;
use jiff::fmt::temporal::{DateTimeParser, Pieces, PiecesOffset};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, ZonedDateTime};
use std::time::Duration;

/// No place on earth is farther from UTC; a larger offset is a slip.
const OFFSET_MAX_SECONDS: i32 = 18 * 3600;

/// A delay: not negative, with a unit.
pub fn delay(text: &str) -> Result<Span, String> {
    if text.trim().parse::<f64>().is_ok() {
        return Err(format!("{text} of what? Write a unit: {text}s, {text}m, {text}h or {text}d"));
    }
    let span: Span = text.trim().parse().map_err(|error: jiff::Error| {
        if error.is_range() {
            "it is longer than any duration there can be".to_owned()
        } else {
            "it is no duration such as 500ms, 10s, 15m, 2h30m or '1 week'".to_owned()
        }
    })?;
    if span.is_negative() {
        return Err("a delay cannot be negative".to_owned());
    }
    Ok(span)
}

/// How long to wait: a delay with units up to hours, since a day's length hangs on a calendar.
pub fn timeout(text: &str) -> Result<Duration, String> {
    let span = delay(text)?;
    let exact = jiff::SignedDuration::try_from(span)
        .map_err(|_| "write it in hours or smaller units, such as 48h")?;
    Duration::try_from(exact).map_err(|error| error.to_string())
}

/// A moment: with an offset, with a zone in brackets, or else of this machine's zone.
pub fn moment(text: &str) -> Result<ZonedDateTime, String> {
    moment_in(text, &TimeZone::system())
}

fn moment_in(text: &str, here: &TimeZone) -> Result<ZonedDateTime, String> {
    let text = text.trim();
    let unread = |_| {
        "it is no moment such as 2026-12-25T00:00:00+08:00, '2026-12-25 18:30' or '2026-12-25 18:30[Asia/Shanghai]'".to_owned()
    };
    let beyond = |_| "it is outside of the years there can be".to_owned();
    let pieces = Pieces::parse(text).map_err(unread)?;
    if let Some(PiecesOffset::Numeric(offset)) = pieces.offset()
        && offset.offset().seconds().abs() > OFFSET_MAX_SECONDS
    {
        return Err("its offset is too large: they lie between -18:00 and +18:00".to_owned());
    }
    if pieces.time_zone_annotation().is_some() {
        return text
            .parse::<ZonedDateTime>()
            .map_err(|_| "there is no such time zone here, or it has no such moment or offset".to_owned());
    }
    if pieces.offset().is_some() {
        let moment: Timestamp = DateTimeParser::new().parse_timestamp(text).map_err(|_| {
            "a moment with an offset needs a time as well, such as 2026-12-25T00:00:00+08:00".to_owned()
        })?;
        return Ok(moment.to_zoned_datetime(here.clone()));
    }
    let local: DateTime = text.parse().map_err(unread)?;
    here.to_zoned_datetime(local).map_err(beyond)
}

/// `delay` from `now` on, in milliseconds. A day is a day of the calendar, as long as it is in that zone.
pub fn delay_ms(delay: &Span, now: &ZonedDateTime) -> Result<i64, String> {
    let then =
        now.checked_add(*delay).map_err(|_| format!("{delay:#} from now is past the last year there is"))?;
    Ok(then.timestamp().as_millisecond() - now.timestamp().as_millisecond())
}

/// A duration, in days where it has one.
pub fn days(ms: i64) -> String {
    match ms / 86_400_000 {
        0 => format!("{ms} ms"),
        1 => "1 day".to_owned(),
        days => format!("{days} days"),
    }
}

/// A moment in this machine's zone, to the millisecond.
pub fn shown(ms: i64) -> String {
    shown_in(ms, TimeZone::system())
}

fn shown_in(ms: i64, zone: TimeZone) -> String {
    match Timestamp::from_millisecond(ms) {
        Ok(moment) => moment.to_zoned_datetime(zone).strftime("%Y-%m-%d %H:%M:%S%.3f%:z").to_string(),
        Err(_) => format!("{ms} ms since 1970"),
    }
}

#[cfg(test)]
mod tests;
