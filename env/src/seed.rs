//! Chance that can be had again: the same seed draws the same numbers on every machine.

/// A small deterministic generator. Not for secrets.
///
/// Its algorithm (splitmix64) is part of its meaning: a seed that once showed a fault shows it for ever.
#[derive(Clone, Debug, Default)]
pub struct Seed(u64);

impl Seed {
    /// The generator that `seed` names.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub const fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to `bound`, less one.
    ///
    /// # Panics
    /// Where `bound` is 0: there is no such number.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "no number is below 0");
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// True with the probability `probability`: never at 0, always at 1.
    pub fn chance(&mut self, probability: f64) -> bool {
        // 53 bits are what a double holds exactly.
        #[expect(clippy::cast_precision_loss, reason = "53 bits fit a double")]
        let unit = (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        unit < probability
    }

    /// One of `items`.
    ///
    /// # Panics
    /// Where there are none.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len() as u64) as usize]
    }

    /// A generator of its own, whose draws disturb this one's no further.
    #[must_use]
    pub const fn fork(&mut self) -> Self {
        Self(self.next_u64())
    }
}

#[cfg(test)]
mod tests;
