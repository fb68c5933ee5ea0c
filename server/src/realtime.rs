//! The engine's thread in the real-time class, as the setting says and the system permits.

use env::realtime::{self, Guard};
use model::Monotonic;
use std::fmt;
use std::io;
use std::time::Duration;

/// Whether the engine's thread runs before all others of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RealTime {
    /// Where the system permits it.
    Auto,
    /// It must: where the system does not permit it, the server does not start.
    On,
    /// No.
    Off,
}

impl RealTime {
    /// By its name.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Auto, Self::On, Self::Off].into_iter().find(|one| one.to_string() == text)
    }
}

impl fmt::Display for RealTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::On => "on",
            Self::Off => "off",
        })
    }
}

/// The calling thread's class, and the guard that bounds what it costs others.
#[derive(Debug)]
pub struct Class {
    /// `None` where it is in the usual class for good.
    guard: Option<Guard>,
}

impl Class {
    /// Puts the calling thread where `setting` says.
    ///
    /// # Errors
    /// Where it must be in the real-time class, and the system does not permit it.
    pub fn enter(setting: RealTime, now: Monotonic) -> io::Result<Self> {
        if setting == RealTime::Off {
            return Ok(Self { guard: None });
        }
        match realtime::enter() {
            Ok(()) => {
                tracing::info!("the engine's thread runs in the real-time class");
                Ok(Self { guard: Some(Guard::new(since_boot(now), realtime::time_used())) })
            }
            Err(error) if setting == RealTime::On => Err(error),
            Err(error) => {
                tracing::info!(
                    why = %error,
                    "the system does not permit the real-time class, which takes CAP_SYS_NICE or RLIMIT_RTPRIO: while its \
                     processors are busy, messages may be late"
                );
                Ok(Self { guard: None })
            }
        }
    }

    /// Once a second or so, looks whether the thread has left others enough.
    pub fn look(&mut self, now: Monotonic) {
        let Some(guard) = &mut self.guard else { return };
        let now = since_boot(now);
        if !guard.is_due(now) {
            return;
        }
        let changed = match guard.look(now, realtime::time_used()) {
            None => return,
            Some(true) => {
                tracing::debug!("the engine is busy: its thread leaves the real-time class");
                realtime::leave()
            }
            Some(false) => {
                tracing::debug!("the engine's thread is in the real-time class again");
                realtime::enter()
            }
        };
        if let Err(error) = changed {
            tracing::warn!(why = %error, "the class of the engine's thread stays as it is");
            self.guard = None;
        }
    }
}

fn since_boot(now: Monotonic) -> Duration {
    now.since(Monotonic::from_nanos(0))
}
