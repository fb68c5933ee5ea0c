//! Why the process ended, as a number: those of sysexits where one fits.

use std::process::ExitCode;

/// The end of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done, or whoever read the output has left.
    Done = 0,
    /// The server refused, or what was waited for did not come.
    Refused = 1,
    /// An argument cannot be meant.
    Usage = 2,
    /// The data folder is of a newer format, or damaged.
    Data = 65,
    /// No server answers.
    NoServer = 69,
    /// A sync failed or the engine died: what is on disk is good, start again.
    Engine = 70,
    /// A port cannot be opened.
    Port = 71,
    /// A file cannot be read or written.
    Io = 74,
    /// Another process uses the data folder.
    Locked = 75,
    /// A setting is wrong.
    Settings = 78,
    /// A second signal came before all was saved.
    Signal = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// An error with its whole chain of causes, and the number to end with.
#[derive(Debug)]
pub struct Failure {
    /// The number.
    pub exit: Exit,
    /// What was attempted, on what, and why not.
    pub error: anyhow::Error,
}

impl Failure {
    /// `error`, which ends the process with `exit`.
    pub fn new(exit: Exit, error: impl Into<anyhow::Error>) -> Self {
        Self { exit, error: error.into() }
    }
}
