//! Delay levels: 1 is the first duration of a table, and so on. Peer: `messageDelayLevel` (RocketMQ).

use std::cmp::Reverse;

/// The durations of the delay levels, in milliseconds, from level 1 on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelTable(Vec<i64>);

/// Why a table is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LevelTableError {
    /// No level at all.
    #[error("the delay level table is empty, it needs at least one duration such as 1s")]
    Empty,
    /// A word that is no duration.
    #[error("level {level} of the delay level table is {word:?}, not a duration such as 10s, 5m, 2h or 1d")]
    BadDuration {
        /// Its place, from 1 on.
        level: usize,
        /// The word.
        word: String,
    },
}

impl Default for LevelTable {
    fn default() -> Self {
        Self::parse(Self::DEFAULT).expect("the default table is well formed")
    }
}

impl LevelTable {
    /// RocketMQ's own table.
    pub const DEFAULT: &'static str = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h";

    /// Reads durations separated by blanks, each a positive number and one of `s`, `m`, `h`, `d`.
    pub fn parse(text: &str) -> Result<Self, LevelTableError> {
        let mut levels = Vec::new();
        for (i, word) in text.split_whitespace().enumerate() {
            let bad = || LevelTableError::BadDuration { level: i + 1, word: word.to_owned() };
            let unit = match word.chars().last() {
                Some('s') => 1000,
                Some('m') => 60_000,
                Some('h') => 3_600_000,
                Some('d') => 86_400_000,
                _ => return Err(bad()),
            };
            let number: i64 = word[..word.len() - 1].parse().map_err(|_| bad())?;
            if number <= 0 {
                return Err(bad());
            }
            levels.push(number.checked_mul(unit).ok_or_else(bad)?);
        }
        if levels.is_empty() { Err(LevelTableError::Empty) } else { Ok(Self(levels)) }
    }

    /// The highest level.
    pub fn max(&self) -> u32 {
        self.0.len() as u32
    }

    /// The duration of `level` in milliseconds; a level above the last is the last.
    ///
    /// # Panics
    /// Where `level` is 0: that is no level.
    pub fn delay_ms(&self, level: u32) -> i64 {
        assert!(level > 0, "levels begin at 1");
        self.0[(level.min(self.max()) - 1) as usize]
    }

    /// The level of the shortest duration that is longer than `ms`, or of the longest where none is. What has
    /// passed takes the shortest. Durations need not be in order; of equal ones the first is meant.
    ///
    /// Peer: `ProxyConfig#computeDelayLevel` (RocketMQ 5.x).
    pub fn longer_than(&self, ms: i64) -> u32 {
        let levels = || (1..).zip(&self.0);
        let longer = levels().filter(|(_, delay)| **delay > ms).min_by_key(|(_, delay)| **delay);
        let longest = || levels().min_by_key(|(_, delay)| Reverse(**delay));
        longer.or_else(longest).map_or(1, |(level, _)| level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_table_has_eighteen_levels_from_one_second_to_two_hours() {
        let table = LevelTable::default();
        assert_eq!(
            (table.max(), table.delay_ms(1), table.delay_ms(3), table.delay_ms(18)),
            (18, 1000, 10_000, 7_200_000)
        );
        assert_eq!(table.delay_ms(99), 7_200_000, "a level above the last is the last");
    }

    #[test]
    fn the_level_of_a_delay_is_the_shortest_that_is_longer() {
        const DAY: i64 = 86_400_000;
        let unordered = "1m 1s 1m 5s 1s";
        let cases: [(&str, &[(i64, u32)]); 4] = [
            (
                LevelTable::DEFAULT,
                &[
                    (0, 1),
                    (999, 1),
                    (1000, 2),
                    (4999, 2),
                    (5000, 3),
                    (59_999, 5),
                    (60_000, 6),
                    (3_600_000, 18),
                    (7_199_999, 18),
                    (7_200_000, 18),
                    (DAY, 18),
                    (i64::MAX, 18),
                    (-1, 1),
                    (i64::MIN, 1),
                ],
            ),
            (unordered, &[(0, 2), (999, 2), (1000, 4), (5000, 1), (60_000, 1), (DAY, 1)]),
            ("3d", &[(-DAY, 1), (0, 1), (3 * DAY, 1), (4 * DAY, 1)]),
            ("2h 1h", &[(0, 2), (3_599_999, 2), (3_600_000, 1), (7_200_000, 1)]),
        ];
        for (table, delays) in cases {
            let table = LevelTable::parse(table).unwrap();
            for (ms, level) in delays {
                assert_eq!(table.longer_than(*ms), *level, "{ms} ms of {table:?}");
            }
        }
    }

    #[test]
    fn any_blanks_may_stand_between_durations_of_any_order() {
        let table = LevelTable::parse("  1d\t2s   2s\n").unwrap();
        let delays: Vec<i64> = (1..=table.max()).map(|level| table.delay_ms(level)).collect();
        assert_eq!(delays, [86_400_000, 2000, 2000]);
    }

    #[test]
    fn bad_tables_are_refused_with_the_place() {
        assert_eq!(LevelTable::parse(" "), Err(LevelTableError::Empty));
        let bad = [
            ("1x", 1),
            ("1s 0s", 2),
            ("1s -5s", 2),
            ("1s 5", 2),
            ("s", 1),
            ("1s 5S", 2),
            ("1 s", 1),
            ("1s,5s", 1),
            ("1.5s", 1),
            ("1ms", 1),
            ("9223372036854775807d", 1),
            ("9223372036854775808s", 1),
            ("1s é", 2),
        ];
        for (text, level) in bad {
            assert!(
                matches!(LevelTable::parse(text), Err(LevelTableError::BadDuration { level: l, .. }) if l == level),
                "{text}"
            );
        }
    }
}
