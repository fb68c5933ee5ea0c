//! Moments and spans of time, as the protocol writes them and as we do.

use prost_types::{Duration as WireDuration, Timestamp as WireTimestamp};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const MILLIS: i64 = 1000;
const NANOS_PER_MILLI: i64 = 1_000_000;

/// A moment in whole milliseconds since the Unix epoch, rounded down; the last or first there is where it lies
/// beyond. Nanoseconds outside their range count as what they add up to.
pub(crate) fn millis(at: WireTimestamp) -> i64 {
    let whole = i128::from(at.seconds) * i128::from(MILLIS);
    let part = i64::from(at.nanos).div_euclid(NANOS_PER_MILLI);
    let sum = whole + i128::from(part);
    i64::try_from(sum).unwrap_or(if sum < 0 { i64::MIN } else { i64::MAX })
}

/// The moment `ms` milliseconds after the Unix epoch.
pub(crate) fn timestamp(ms: i64) -> WireTimestamp {
    WireTimestamp { seconds: ms.div_euclid(MILLIS), nanos: (ms.rem_euclid(MILLIS) * NANOS_PER_MILLI) as i32 }
}

/// A span of time; `None` where it is negative. The longest there is where it is longer.
pub(crate) fn span(wire: WireDuration) -> Option<Duration> {
    let nanos = i128::from(wire.seconds) * 1_000_000_000 + i128::from(wire.nanos);
    let nanos = u128::try_from(nanos).ok()?;
    let seconds = u64::try_from(nanos / 1_000_000_000).unwrap_or(u64::MAX);
    Some(Duration::new(seconds, (nanos % 1_000_000_000) as u32))
}

/// A span of time for the wire.
pub(crate) fn duration(span: Duration) -> WireDuration {
    WireDuration {
        seconds: i64::try_from(span.as_secs()).unwrap_or(i64::MAX),
        nanos: span.subsec_nanos() as i32,
    }
}

/// Now, in milliseconds since the Unix epoch. For what clients are shown, never for what is due.
pub(crate) fn now_ms() -> i64 {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |ms| -ms),
    }
}

#[cfg(test)]
mod tests;
