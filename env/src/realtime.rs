//! The real-time class of the system's scheduler, for the thread that calls.
//!
//! A thread of that class runs before all others of the machine as soon as it is to run, so what it wakes up for is not
//! late because others are busy. What it may cost them, [`Guard`] bounds.
//!
//! The one place of the house where anything is `unsafe`: no crate here has a safe call for it that goes both ways.

#![expect(unsafe_code, reason = "one system call, of which no safe form is to be had")]

use std::io;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Puts the calling thread into the real-time class (`SCHED_FIFO`), at its lowest priority.
///
/// # Errors
/// Most often [`io::ErrorKind::PermissionDenied`]: it takes `CAP_SYS_NICE` or a limit `RLIMIT_RTPRIO`.
pub fn enter() -> io::Result<()> {
    set(libc::SCHED_FIFO, 1)
}

/// Puts the calling thread back into the class it is in mostly.
///
/// # Errors
/// What the system says.
pub fn leave() -> io::Result<()> {
    set(libc::SCHED_OTHER, 0)
}

fn set(policy: libc::c_int, priority: libc::c_int) -> io::Result<()> {
    // SAFETY: all fields of the plain C structure are numbers, for which zero is a value.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = priority;
    // SAFETY: the calling thread's own handle is valid while it runs, and the structure lives until the call returns, which
    // keeps no pointer to it.
    match unsafe { libc::pthread_setschedparam(libc::pthread_self(), policy, &raw const parameters) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// How long the calling thread has run on a processor, ever.
pub fn time_used() -> Duration {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(used.tv_sec as u64, used.tv_nsec as u32)
}

/// Looks that a thread of the real-time class leaves the processors to others as well: it is to leave the class when it
/// used more than 70 % of one for a second, and to come back once it uses less than 40 %.
#[derive(Clone, Copy, Debug)]
pub struct Guard {
    /// When the second that is looked at began, and how long the thread had run by then.
    since: (Duration, Duration),
    is_busy: bool,
}

/// How long is looked at, at least.
const STRETCH: Duration = Duration::from_secs(1);

impl Guard {
    /// For a thread that is in the class, at `now` of a clock that never goes back, when it had run for `used`.
    pub fn new(now: Duration, used: Duration) -> Self {
        Self { since: (now, used), is_busy: false }
    }

    /// Whether it is time to look again.
    pub fn is_due(&self, now: Duration) -> bool {
        now.saturating_sub(self.since.0) >= STRETCH
    }

    /// Looks: `Some(true)` says that the thread is to leave the class now, `Some(false)` that it is to come back.
    pub fn look(&mut self, now: Duration, used: Duration) -> Option<bool> {
        if !self.is_due(now) {
            return None;
        }
        let (passed, ran) = (now.saturating_sub(self.since.0), used.saturating_sub(self.since.1));
        self.since = (now, used);
        let percent = ran.as_micros() * 100 / passed.as_micros();
        let is_busy = if self.is_busy { percent >= 40 } else { percent > 70 };
        (std::mem::replace(&mut self.is_busy, is_busy) != is_busy).then_some(is_busy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

    fn class() -> String {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        // The name before may hold anything; the class is the 41st field, the 39th behind it.
        let fields = stat.rsplit(')').next().unwrap().split_whitespace().nth(38);
        fields.unwrap().to_owned()
    }

    #[test]
    fn a_thread_enters_the_class_and_leaves_it_or_is_told_why_not() {
        let thread = std::thread::spawn(|| {
            assert_eq!(class(), "0");
            match enter() {
                Ok(()) => {
                    assert_eq!(class(), "1");
                    leave().unwrap();
                }
                Err(error) => assert_eq!(error.kind(), io::ErrorKind::PermissionDenied),
            }
            assert_eq!(class(), "0");
        });
        thread.join().unwrap();
    }

    #[test]
    fn who_is_not_permitted_is_told_so_and_goes_on_as_before() {
        let thread = std::thread::spawn(|| {
            // Of this thread alone.
            let mut sets = capabilities(None).unwrap();
            sets.effective.remove(CapabilitySet::SYS_NICE);
            set_capabilities(None, sets).unwrap();
            let limit = rustix::process::getrlimit(rustix::process::Resource::Rtprio);
            if limit.current != Some(0) {
                return; // by its limit it is permitted all the same
            }
            assert_eq!(enter().unwrap_err().kind(), io::ErrorKind::PermissionDenied);
            assert_eq!(class(), "0");
        });
        thread.join().unwrap();
    }

    #[test]
    fn a_thread_that_is_busy_for_a_second_leaves_the_class_until_it_is_not() {
        let ms = Duration::from_millis;
        let mut guard = Guard::new(ms(5000), ms(100));
        for (now, used, told) in [
            (5999, 1099, None), // not yet a second
            (6000, 800, None),  // 70 %
            (7000, 1510, Some(true)),
            (7999, 1510, None),
            (8000, 1910, None), // 40 %
            (9000, 2300, Some(false)),
            (60_000, 30_000, None), // 54 % of a long sleep and what came then
            (61_000, 30_750, Some(true)),
            (70_000, 30_751, Some(false)),
        ] {
            assert_eq!(guard.look(ms(now), ms(used)), told, "at {now}");
        }
    }

    #[test]
    fn the_time_used_is_that_of_the_thread() {
        let until = time_used() + Duration::from_millis(2);
        while time_used() < until {}
        let other = std::thread::spawn(time_used).join().unwrap();
        assert!(other < time_used());
    }
}
