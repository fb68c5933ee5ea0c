//! The handle by which a consumer acks, renews or gives back what it popped.

use std::fmt;
use std::str::FromStr;

use model::LogOffset;

/// Longer than any handle there is: eight numbers and a broker's name.
const MAX_BYTES: usize = 1024;

/// Which topic a popped message was taken from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Retry {
    /// The topic itself.
    #[default]
    Normal = 0,
    /// Its retry topic `%RETRY%group_topic`.
    RetryV1 = 1,
    /// Its retry topic `%RETRY%group+topic`.
    RetryV2 = 2,
}

impl Retry {
    /// RocketMQ's sign for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "0",
            Self::RetryV1 => "1",
            Self::RetryV2 => "2",
        }
    }

    /// The kind of topic that RocketMQ's sign names.
    pub fn parse(sign: &str) -> Option<Self> {
        [Self::Normal, Self::RetryV1, Self::RetryV2].into_iter().find(|kind| kind.as_str() == sign)
    }
}

/// A popped message's handle. It names a lease; whether the lease still holds is not written in it.
///
/// As text, parts separated by single spaces:
///
/// | part | field          | meaning                                                            |
/// |-----:|----------------|--------------------------------------------------------------------|
/// |    1 | `start_offset` | queue offset at which the pop's read began                         |
/// |    2 | `pop_time`     | ms since the epoch; with the queue and the group it names the pop  |
/// |    3 | `invisible_ms` | how long the lease was for                                         |
/// |    4 | `revive_queue` | RocketMQ's revive queue; 999 in ordered pops                       |
/// |    5 | `retry`        | `0`, `1` or `2`                                                    |
/// |    6 | `broker`       | the broker's name, without spaces                                  |
/// |    7 | `queue_id`     |                                                                    |
/// |    8 | `queue_offset` | the message's own                                                  |
/// |    9 | `log_offset`   | the message's own; only in handles given out by gRPC               |
///
/// Peer: `ExtraInfoUtil`, `ReceiptHandle` (RocketMQ 5.x).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReceiptHandle {
    /// Queue offset at which the pop's read began.
    pub start_offset: i64,
    /// When the pop was, ms since the epoch.
    pub pop_time: i64,
    /// How long the lease was for, in milliseconds.
    pub invisible_ms: i64,
    /// RocketMQ's revive queue; 999 in ordered pops.
    pub revive_queue: i32,
    /// Which topic the message was taken from.
    pub retry: Retry,
    /// The broker's name.
    pub broker: String,
    /// The message's queue.
    pub queue_id: u32,
    /// The message's place in the queue.
    pub queue_offset: i64,
    /// The log offset of the message's record.
    pub log_offset: Option<LogOffset>,
}

/// Why a text is not a receipt handle.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReceiptHandleError {
    /// Past any handle there is.
    #[error("the receipt handle has {length} bytes, the limit is {MAX_BYTES}")]
    TooLong {
        /// Its length.
        length: usize,
    },
    /// Neither eight nor nine parts.
    #[error("the receipt handle has {found} parts, expected 8 or 9")]
    Parts {
        /// How many it has.
        found: usize,
    },
    /// A part that is not what stands at its place.
    #[error("the {part} of the receipt handle is {found:?}, expected {expected}")]
    Part {
        /// Which part.
        part: &'static str,
        /// What stands there.
        found: String,
        /// What should.
        expected: &'static str,
    },
}

impl fmt::Display for ReceiptHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            start_offset,
            pop_time,
            invisible_ms,
            revive_queue,
            retry,
            broker,
            queue_id,
            queue_offset,
            log_offset,
        } = self;
        let retry = retry.as_str();
        write!(
            f,
            "{start_offset} {pop_time} {invisible_ms} {revive_queue} {retry} {broker} {queue_id} {queue_offset}"
        )?;
        match log_offset {
            Some(log_offset) => write!(f, " {log_offset}"),
            None => Ok(()),
        }
    }
}

impl FromStr for ReceiptHandle {
    type Err = ReceiptHandleError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.len() > MAX_BYTES {
            return Err(ReceiptHandleError::TooLong { length: text.len() });
        }
        let parts: Vec<&str> = text.split(' ').collect();
        let (eight, log_offset) = match parts.as_slice() {
            [eight @ .., last] if eight.len() == 8 => (eight, Some(*last)),
            all => (all, None),
        };
        let &[start_offset, pop_time, invisible_ms, revive_queue, retry, broker, queue_id, queue_offset] =
            eight
        else {
            return Err(ReceiptHandleError::Parts { found: parts.len() });
        };
        if broker.is_empty() {
            return Err(bad("broker", broker, "a name"));
        }
        Ok(Self {
            start_offset: number("start offset", start_offset)?,
            pop_time: number("pop time", pop_time)?,
            invisible_ms: number("invisible time", invisible_ms)?,
            revive_queue: number("revive queue", revive_queue)?,
            retry: Retry::parse(retry).ok_or_else(|| bad("retry sign", retry, "0, 1 or 2"))?,
            broker: broker.to_owned(),
            queue_id: number("queue id", queue_id)?,
            queue_offset: number("queue offset", queue_offset)?,
            log_offset: log_offset.map(|text| number("log offset", text)).transpose()?.map(LogOffset),
        })
    }
}

fn number<N: FromStr>(part: &'static str, text: &str) -> Result<N, ReceiptHandleError> {
    text.parse().map_err(|_| bad(part, text, "a number that fits"))
}

fn bad(part: &'static str, found: &str, expected: &'static str) -> ReceiptHandleError {
    ReceiptHandleError::Part { part, found: found.chars().take(32).collect(), expected }
}

#[cfg(test)]
mod tests;
