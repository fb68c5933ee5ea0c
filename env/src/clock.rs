//! The time, for the driver only: the engine is told it.

use model::{Monotonic, Now, Timestamp};
use rustix::time::{ClockId, clock_gettime};

/// Something that knows what time it is.
pub trait Clock: Send + Sync {
    /// The time now.
    fn now(&self) -> Now;
}

/// The machine's own clocks: `CLOCK_REALTIME` for what is due, `CLOCK_MONOTONIC` for what runs out.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Now {
        let monotonic = clock_gettime(ClockId::Monotonic);
        let wall = clock_gettime(ClockId::Realtime);
        let (wall, wall_nanos) = split(wall.tv_sec, wall.tv_nsec);
        let nanos = monotonic.tv_sec as u64 * 1_000_000_000 + monotonic.tv_nsec as u64;
        Now { wall, wall_nanos, monotonic: Monotonic::from_nanos(nanos) }
    }
}

/// A moment rounded down to the millisecond, and the nanoseconds that were cut off. The kernel counts
/// nanoseconds upwards before the epoch too, so rounding down is right on both sides of it.
const fn split(seconds: i64, nanos: i64) -> (Timestamp, u32) {
    (Timestamp::from_millis(seconds * 1000 + nanos / 1_000_000), (nanos % 1_000_000) as u32)
}

#[cfg(test)]
mod tests {
    use super::{Clock, SystemClock, split};
    use model::Timestamp;

    #[test]
    fn wall_time_is_rounded_down_never_up() {
        assert_eq!(split(5, 999_999_999), (Timestamp::from_millis(5_999), 999_999));
        assert_eq!(split(5, 0), (Timestamp::from_millis(5_000), 0));
        assert_eq!(split(-1, 1_500_000), (Timestamp::from_millis(-999), 500_000));
    }

    #[test]
    fn monotonic_time_never_goes_back() {
        let (one, two) = (SystemClock.now(), SystemClock.now());
        assert!(one.monotonic <= two.monotonic);
        assert!(one.wall_nanos < 1_000_000);
    }
}
