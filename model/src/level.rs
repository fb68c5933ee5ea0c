//! Delay levels: 1 is the first duration of a table, and so on. Peer: `messageDelayLevel` (RocketMQ).

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
    fn bad_tables_are_refused_with_the_place() {
        assert_eq!(LevelTable::parse(" "), Err(LevelTableError::Empty));
        for (text, level) in [("1x", 1), ("1s 0s", 2), ("1s 5", 2), ("9223372036854775807d", 1), ("1s é", 2)]
        {
            assert!(
                matches!(LevelTable::parse(text), Err(LevelTableError::BadDuration { level: l, .. }) if l == level),
                "{text}"
            );
        }
    }
}
