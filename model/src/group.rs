//! Groups: consumers that share the messages of a topic.

use crate::name::GroupName;

/// A consumer group's settings. Peer: `SubscriptionGroupConfig` (RocketMQ 5.x), whose defaults these are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its name.
    pub name: GroupName,
    /// Whether it may consume at all.
    pub consume_enabled: bool,
    /// Whether it may consume in broadcast mode.
    pub broadcast_enabled: bool,
    /// Whether it consumes in order (gRPC).
    pub ordered: bool,
    /// Queues of its retry topic.
    pub retry_queues: u32,
    /// Retries before the dead-letter queue; a message is handed out this often and once more.
    pub retry_max: u32,
    /// Whether members are told when the membership changes.
    pub notify_changes: bool,
    /// How long its gRPC consumers wait between tries; the server's own pauses where nobody has said.
    pub pauses: Option<Pauses>,
}

/// The pauses between a consumer's tries, in milliseconds. Peer: `GroupRetryPolicy` (RocketMQ 5.x).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pauses {
    /// One after the other, the last for all that follow. Peer: `CustomizedRetryPolicy`.
    Listed(Vec<u64>),
    /// Each so many times as long as the one before. Peer: `ExponentialRetryPolicy`.
    Growing {
        /// The first.
        initial_ms: u64,
        /// The longest.
        max_ms: u64,
        /// How many times as long each is.
        multiplier: u32,
    },
}

impl Pauses {
    /// Pauses in a list, at most.
    pub const COUNT_MAX: usize = 64;
    /// The longest pause: that of a lease. Milliseconds.
    pub const LONGEST_MS: u64 = 12 * 3600 * 1000;
    /// How many times as long as the one before a pause may be.
    pub const MULTIPLIER_MAX: u32 = 100;

    /// The pause before the retry of that number, from 0 on, in milliseconds.
    pub fn before(&self, retry: usize) -> u64 {
        match self {
            Self::Listed(all) => all.get(retry).or(all.last()).copied().unwrap_or(0),
            Self::Growing { initial_ms, max_ms, multiplier } => {
                let times = u64::from(*multiplier).saturating_pow(u32::try_from(retry).unwrap_or(u32::MAX));
                initial_ms.saturating_mul(times).min(*max_ms)
            }
        }
    }

    /// Checks what an administrator wishes for.
    ///
    /// # Errors
    /// Where a list is empty or too long, a pause too long, the longest below the first, or the multiplier 0 or too
    /// large; which, and the limit.
    pub fn check(&self) -> Result<(), PausesError> {
        let too_long = |ms: u64| ms > Self::LONGEST_MS;
        match self {
            Self::Listed(all) if all.is_empty() || all.len() > Self::COUNT_MAX => {
                Err(PausesError::Count { count: all.len() })
            }
            Self::Listed(all) => match all.iter().copied().find(|&ms| too_long(ms)) {
                Some(ms) => Err(PausesError::TooLong { ms }),
                None => Ok(()),
            },
            Self::Growing { max_ms, .. } if too_long(*max_ms) => Err(PausesError::TooLong { ms: *max_ms }),
            Self::Growing { initial_ms, max_ms, .. } if max_ms < initial_ms || *initial_ms == 0 => {
                Err(PausesError::Order { initial_ms: *initial_ms, max_ms: *max_ms })
            }
            Self::Growing { multiplier, .. } if !(1..=Self::MULTIPLIER_MAX).contains(multiplier) => {
                Err(PausesError::Multiplier { multiplier: *multiplier })
            }
            Self::Growing { .. } => Ok(()),
        }
    }
}

/// Why pauses are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PausesError {
    /// Too few or too many.
    #[error("the retry policy has {count} pauses, allowed is 1 to {}", Pauses::COUNT_MAX)]
    Count {
        /// How many.
        count: usize,
    },
    /// Longer than a lease may be.
    #[error("a pause of the retry policy is {ms} ms, the limit is {} ms", Pauses::LONGEST_MS)]
    TooLong {
        /// How long, in ms.
        ms: u64,
    },
    /// The first is none, or longer than the longest.
    #[error("the retry policy's initial pause is {initial_ms} ms, allowed is 1 ms to its max, {max_ms} ms")]
    Order {
        /// The first, in ms.
        initial_ms: u64,
        /// The longest, in ms.
        max_ms: u64,
    },
    /// No growth, or too much.
    #[error("the retry policy's multiplier is {multiplier}, allowed is 1 to {}", Pauses::MULTIPLIER_MAX)]
    Multiplier {
        /// It.
        multiplier: u32,
    },
}

impl Group {
    /// A group with the default settings.
    pub fn new(name: GroupName) -> Self {
        Self {
            name,
            consume_enabled: true,
            broadcast_enabled: true,
            ordered: false,
            retry_queues: 1,
            retry_max: 16,
            notify_changes: true,
            pauses: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_follow_each_other_and_the_last_stays() {
        let listed = Pauses::Listed(vec![1000, 5000, 2000]);
        assert_eq!([0, 1, 2, 3, 99].map(|retry| listed.before(retry)), [1000, 5000, 2000, 2000, 2000]);
        let growing = Pauses::Growing { initial_ms: 5000, max_ms: 30_000, multiplier: 2 };
        assert_eq!(
            [0, 1, 2, 3, 99].map(|retry| growing.before(retry)),
            [5000, 10_000, 20_000, 30_000, 30_000]
        );
        let steady = Pauses::Growing { initial_ms: 7, max_ms: 30_000, multiplier: 1 };
        assert_eq!([0, usize::MAX].map(|retry| steady.before(retry)), [7, 7]);
    }

    #[test]
    fn pauses_outside_their_limits_are_refused_by_name() {
        let day = 24 * 3600 * 1000;
        let growing = |initial_ms, max_ms, multiplier| Pauses::Growing { initial_ms, max_ms, multiplier };
        for (pauses, word) in [
            (Pauses::Listed(vec![]), "0 pauses"),
            (Pauses::Listed(vec![1; 65]), "65 pauses"),
            (Pauses::Listed(vec![1, day]), "86400000 ms"),
            (growing(1, day, 2), "86400000 ms"),
            (growing(0, 10, 2), "initial pause is 0 ms"),
            (growing(11, 10, 2), "initial pause is 11 ms"),
            (growing(1, 10, 0), "multiplier is 0"),
            (growing(1, 10, 101), "multiplier is 101"),
        ] {
            let refused = pauses.check().unwrap_err().to_string();
            assert!(refused.contains(word), "{refused}");
        }
        for pauses in
            [Pauses::Listed(vec![0]), Pauses::Listed(vec![1; 64]), growing(1, Pauses::LONGEST_MS, 100)]
        {
            assert_eq!(pauses.check(), Ok(()));
        }
    }
}
