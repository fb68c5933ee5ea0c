//! The signals that end a command in good order: SIGTERM, Ctrl-C, and the hang-up of its terminal.

use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals, listened to from when it is made.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    /// None where whoever started us wants hang-ups ignored, as `nohup` does.
    hang_up: Option<Signal>,
}

impl Signals {
    /// Listens from now on. Needs a runtime with I/O.
    pub fn listen() -> io::Result<Self> {
        let hang_up = if hang_ups_are_ignored() { None } else { Some(signal(SignalKind::hangup())?) };
        let (terminate, interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        Ok(Self { terminate, interrupt, hang_up })
    }

    /// The name of the next one.
    pub async fn next(&mut self) -> &'static str {
        let hang_up = async {
            match &mut self.hang_up {
                Some(signal) => signal.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
            _ = hang_up => "SIGHUP",
        }
    }
}

/// Whether this process began with SIGHUP ignored. Only Linux tells; elsewhere a hang-up ends.
fn hang_ups_are_ignored() -> bool {
    std::fs::read_to_string("/proc/self/status").is_ok_and(|status| ignores_hang_ups(&status))
}

/// Looks at `SigIgn`, a mask in hexadecimal digits of which SIGHUP, signal 1, is the lowest bit.
fn ignores_hang_ups(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 != 0)
}

#[cfg(test)]
mod tests;
