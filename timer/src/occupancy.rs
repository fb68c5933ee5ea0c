//! Which slots of a window hold anything.

/// A set of numbers below a fixed limit. Finding the next one costs a few steps, however far it is.
///
/// A bit tells of a number; above each 64 bits, one bit tells whether any of them is set, and so on up to a
/// single word.
#[derive(Debug)]
pub(crate) struct Occupancy {
    levels: Vec<Vec<u64>>,
}

impl Occupancy {
    /// Empty, for numbers below `limit`.
    pub(crate) fn new(limit: usize) -> Self {
        let mut levels = Vec::new();
        let mut words = limit;
        while words > 1 || levels.is_empty() {
            words = words.div_ceil(64);
            levels.push(vec![0; words]);
        }
        Self { levels }
    }

    pub(crate) fn set(&mut self, number: usize) {
        let mut at = number;
        for level in &mut self.levels {
            level[at / 64] |= 1 << (at % 64);
            at /= 64;
        }
    }

    pub(crate) fn clear(&mut self, number: usize) {
        let mut at = number;
        for level in &mut self.levels {
            level[at / 64] &= !(1 << (at % 64));
            if level[at / 64] != 0 {
                return;
            }
            at /= 64;
        }
    }

    /// The lowest number of the set that is not below `from`.
    pub(crate) fn next(&self, from: usize) -> Option<usize> {
        let mut at = from;
        for (height, level) in self.levels.iter().enumerate() {
            let found = level.get(at / 64)? & (u64::MAX << (at % 64));
            if found != 0 {
                let top = at / 64 * 64 + found.trailing_zeros() as usize;
                let below = self.levels[..height].iter().rev();
                return Some(below.fold(top, |at, level| at * 64 + level[at].trailing_zeros() as usize));
            }
            at = at / 64 + 1;
        }
        None
    }
}

#[cfg(test)]
mod tests;
