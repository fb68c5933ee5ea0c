//! The server's own log: to standard error, as much of it as `RUST_LOG` says, `info` where it says nothing.

use crate::settings::LogStyle;
use std::env::VarError;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;

/// Why the log does not begin.
#[derive(Debug, thiserror::Error)]
pub enum LoggingError {
    /// The variable is no filter.
    #[error("RUST_LOG is {value:?}, it must be a filter such as debug or broker=debug,warn")]
    Filter {
        /// Its value.
        value: String,
        /// Where it goes wrong.
        source: ParseError,
    },
    /// The variable is no text.
    #[error("reading RUST_LOG")]
    Variable(#[from] VarError),
}

/// Begins the log, once in a process.
pub fn begin(style: LogStyle) -> Result<(), LoggingError> {
    let filter = match std::env::var("RUST_LOG") {
        Err(VarError::NotPresent) => EnvFilter::new("info"),
        Ok(value) => EnvFilter::try_new(&value).map_err(|source| LoggingError::Filter { value, source })?,
        Err(error) => return Err(error.into()),
    };
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match style {
        LogStyle::Text => log.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr())).init(),
        LogStyle::Json => log.json().flatten_event(true).init(),
    }
    Ok(())
}
