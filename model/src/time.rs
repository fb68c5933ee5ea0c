//! Moments: wall time, on which messages are due, and monotonic time, by which requests run out.

use std::fmt;
use std::time::Duration;

/// A wall-clock moment in milliseconds since the Unix epoch, rounded down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The moment `ms` milliseconds after the Unix epoch (before it where negative).
    pub const fn from_millis(ms: i64) -> Self {
        Self(ms)
    }

    /// Milliseconds since the Unix epoch.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// The moment `ms` milliseconds later, or `None` where that is past what 64 bits hold.
    pub const fn checked_add_millis(self, ms: i64) -> Option<Self> {
        match self.0.checked_add(ms) {
            Some(ms) => Some(Self(ms)),
            None => None,
        }
    }

    /// Milliseconds from `earlier` to this moment; negative where it is later.
    pub const fn millis_since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A moment on a clock that never steps: nanoseconds since some fixed start, for timeouts only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Monotonic(u64);

impl Monotonic {
    /// The moment `ns` nanoseconds after the clock's start.
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }

    /// Nanoseconds since the clock's start.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The moment `wait` later; the last one there is where that overflows.
    #[must_use]
    pub fn after(self, wait: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX)))
    }

    /// The time from `earlier` to this moment; zero where it is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// What the engine is told of the time at each call.
///
/// `wall` decides what is due; `monotonic` decides what has run out (leases, long polls). The two are
/// different types, so that a step of the wall clock can never end a lease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// Wall time, rounded down to the millisecond, so that nothing is ever due early.
    pub wall: Timestamp,
    /// The part of the current millisecond that has passed, in nanoseconds: how long until the next one.
    pub wall_nanos: u32,
    /// Time on the clock that never steps.
    pub monotonic: Monotonic,
}

impl Now {
    /// Wall time, rounded up to the millisecond: a span that begins now has not passed before its end is counted from here.
    pub fn wall_up(&self) -> Timestamp {
        let up = i64::from(self.wall_nanos > 0);
        self.wall.checked_add_millis(up).unwrap_or(self.wall)
    }

    /// How long until the wall clock shows `at`, as it runs now; zero where it already does.
    pub fn until(&self, at: Timestamp) -> Duration {
        let ms = at.millis_since(self.wall);
        if ms <= 0 {
            return Duration::ZERO;
        }
        Duration::from_millis(ms as u64).saturating_sub(Duration::from_nanos(u64::from(self.wall_nanos)))
    }
}
