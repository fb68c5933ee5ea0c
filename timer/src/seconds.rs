//! Seconds: how many messages are due in one second, where somebody wants to know.
//!
//! Of what has come since the last checkpoint it is counted as it comes and leaves. What is older lies in files: how much
//! of that is due in a second is counted there when it is first asked for, and kept true from then on. So memory goes by
//! what has come lately and by what is asked for, not by what is pending.

use std::collections::{BTreeMap, HashMap};

use model::{LogOffset, Timestamp};

use crate::entry::Key;

/// Seconds of which it is known how much lies in files, at most.
const KNOWN_MAX: usize = 16_384;

/// How many messages are due in a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InSecond {
    /// So many.
    Exactly(u64),
    /// No more than that; it takes a look into files to know.
    AtMost(u64),
}

/// How much of what lies in files is due in a second.
#[derive(Debug, Default)]
struct OnDisk {
    /// `None` while it is counted.
    counted: Option<u64>,
    /// What was put back less what has left, since it began to be counted.
    change: i64,
}

/// The counts.
#[derive(Debug, Default)]
pub(crate) struct Seconds {
    /// What has come since the last checkpoint began and waits.
    fresh: HashMap<i64, u32>,
    /// What came before, and is being written by it.
    frozen: HashMap<i64, u32>,
    on_disk: BTreeMap<i64, OnDisk>,
}

/// The second that a moment lies in, counted from the epoch.
pub(crate) fn second_of(at: Timestamp) -> i64 {
    at.as_millis().div_euclid(1000)
}

fn add(to: &mut HashMap<i64, u32>, second: i64, count: i64) {
    let of_it = to.entry(second).or_default();
    *of_it = of_it.saturating_add_signed(count as i32);
    if *of_it == 0 {
        to.remove(&second);
    }
}

impl Seconds {
    /// A message waits (1) or has left (-1). Its place says where it is counted: what comes before the `standing`
    /// checkpoint lies in files, what comes before the one at `checkpoint` is being written.
    pub(crate) fn count(&mut self, key: Key, standing: LogOffset, checkpoint: LogOffset, change: i64) {
        let second = second_of(key.0);
        if key.1 >= checkpoint {
            add(&mut self.fresh, second, change);
        } else if key.1 >= standing {
            add(&mut self.frozen, second, change);
        } else if let Some(known) = self.on_disk.get_mut(&second) {
            known.change += change;
        }
    }

    /// How many are due in a second, of which `most` lie in files at most.
    pub(crate) fn get(&self, second: i64, most: u64) -> InSecond {
        let of = |counts: &HashMap<i64, u32>| u64::from(counts.get(&second).copied().unwrap_or(0));
        let here = of(&self.fresh) + of(&self.frozen);
        match self.on_disk.get(&second) {
            _ if most == 0 => InSecond::Exactly(here),
            Some(OnDisk { counted: Some(counted), change }) => {
                InSecond::Exactly(here + counted.saturating_add_signed(*change))
            }
            _ => InSecond::AtMost(here + most),
        }
    }

    /// It begins to be counted what of a second lies in files.
    pub(crate) fn begin(&mut self, second: i64) {
        if self.on_disk.len() >= KNOWN_MAX {
            // The earliest has mostly passed.
            self.on_disk.pop_first();
        }
        self.on_disk.insert(second, OnDisk::default());
    }

    /// It was counted.
    pub(crate) fn counted(&mut self, second: i64, count: u64) {
        if let Some(known) = self.on_disk.get_mut(&second) {
            known.counted = Some(count);
        }
    }

    /// A checkpoint begins.
    pub(crate) fn freeze(&mut self) {
        self.frozen = std::mem::take(&mut self.fresh);
    }

    /// It stands: what it wrote lies in files now.
    pub(crate) fn commit(&mut self) {
        let frozen = std::mem::take(&mut self.frozen);
        // What is being counted is counted in files that were replaced.
        self.on_disk.retain(|_, known| known.counted.is_some());
        for (second, known) in &mut self.on_disk {
            known.change += i64::from(frozen.get(second).copied().unwrap_or(0));
        }
    }

    /// It does not stand.
    pub(crate) fn melt(&mut self) {
        for (second, count) in std::mem::take(&mut self.frozen) {
            add(&mut self.fresh, second, i64::from(count));
        }
    }
}
