//! Notices that the wall clock was set: it then goes another way than the clock that never steps.

use model::Now;

/// Less than this is taken for the clock being slewed, or for a thread that did not run between two looks at clocks.
const STEP_MS: i64 = 200;

/// What the difference of the two clocks was.
#[derive(Debug)]
pub struct ClockWatch {
    offset_ms: i64,
    /// How often the clock was set.
    steps: u64,
}

impl ClockWatch {
    /// From now on.
    pub fn new(now: Now) -> Self {
        Self { offset_ms: offset_ms(now), steps: 0 }
    }

    /// By how many milliseconds the clock was set since the last look, below zero for back; `None` where it was not. Says
    /// so in the log.
    pub fn look(&mut self, now: Now) -> Option<i64> {
        let offset_ms = offset_ms(now);
        let by_ms = offset_ms - std::mem::replace(&mut self.offset_ms, offset_ms);
        if by_ms.abs() < STEP_MS {
            return None;
        }
        self.steps += 1;
        if by_ms > 0 {
            tracing::warn!(by_ms, "the clock was set forward: what is due by it now is delivered now");
        } else {
            tracing::warn!(by_ms, "the clock was set back: what waits is delivered by it, later than before");
        }
        Some(by_ms)
    }

    /// How often the clock was set.
    pub fn steps(&self) -> u64 {
        self.steps
    }
}

fn offset_ms(now: Now) -> i64 {
    let monotonic_ms = i64::try_from(now.monotonic.as_nanos() / 1_000_000).unwrap_or(i64::MAX);
    now.wall.as_millis().saturating_sub(monotonic_ms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Monotonic, Timestamp};

    #[test]
    fn a_clock_that_was_set_is_noticed_once_and_one_that_runs_is_not() {
        let at = |wall_ms, monotonic_ms: u64| Now {
            wall: Timestamp::from_millis(wall_ms),
            wall_nanos: 0,
            monotonic: Monotonic::from_nanos(monotonic_ms * 1_000_000),
        };
        let mut watch = ClockWatch::new(at(1_000_000, 50));
        assert_eq!(watch.look(at(1_003_600, 3650)), None, "time went on");
        assert_eq!(watch.look(at(1_003_650, 3600)), None, "slewed");
        assert_eq!(watch.look(at(4_603_650, 3600)), Some(3_600_000));
        assert_eq!(watch.look(at(4_603_700, 3650)), None);
        assert_eq!(watch.look(at(1_003_700, 3650)), Some(-3_600_000));
        assert_eq!(watch.steps(), 2);
    }
}
