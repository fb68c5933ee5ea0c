//! One node under a seed.
//!
//! The real engine runs here on a simulated disk, with a clock that also jumps, against clients that send,
//! schedule, pull, pop, ack and forget to. Work that the engine hands out is done late and in any order; the
//! process is killed, the power fails, the disk refuses for a while. Everything that happens follows from
//! one number, so that a failure is told by its seed and runs again the same.
//!
//! [`Oracle`] knows what clients were promised, and watches: nothing early, nothing lost, nothing twice but
//! what a power loss may repeat, nothing out of order, nothing acked that comes again, no recall that lied.

#![expect(
    clippy::missing_panics_doc,
    reason = "a broken promise is told by a panic, everywhere in this crate"
)]

mod oracle;
mod workload;
mod world;

pub use oracle::Oracle;
pub use world::{Counted, Downtime, World};

use env::Seed;
use workload::Workload;

/// What a run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// A digest of all that happened, in order.
    pub trace: u64,
    /// Sends that were acknowledged.
    pub acknowledged: u64,
    /// Messages in the queues at the end.
    pub delivered: u64,
    /// Messages that were called back in time.
    pub recalled: u64,
    /// Messages that were given another moment.
    pub moved: u64,
    /// Sends that were answered and stored nothing.
    pub refused: u64,
    /// Sends that were answered with another message of the same key.
    pub doubles: u64,
    /// Messages that were told to wait.
    pub listed: u64,
    /// Of these by a key that they share; the same of those called back and those moved.
    pub by_word: [u64; 3],
    /// Messages that were acked after a pop.
    pub acked: u64,
    /// Ends of the process or the power.
    pub crashes: u64,
    /// What the node did behind its clients' backs.
    pub counted: Counted,
}

impl Outcome {
    /// Counts another one in; a sum has no trace.
    pub fn add(&mut self, other: &Self) {
        self.trace = 0;
        self.acknowledged += other.acknowledged;
        self.delivered += other.delivered;
        self.recalled += other.recalled;
        self.moved += other.moved;
        self.refused += other.refused;
        self.doubles += other.doubles;
        self.listed += other.listed;
        for (sum, one) in self.by_word.iter_mut().zip(other.by_word) {
            *sum += one;
        }
        self.acked += other.acked;
        self.crashes += other.crashes;
        self.counted.add(&other.counted);
    }
}

/// Runs one node under `seed` for `steps` steps, then lets all faults stop and looks whether every promise is
/// kept.
///
/// # Panics
/// Where a promise is broken; the message says which, and the seed.
pub fn run(seed: u64, steps: u64) -> Outcome {
    let mut dice = Seed::new(seed);
    let mut world = World::new(seed, &mut dice);
    let mut oracle = Oracle::new(seed, world.kept_ms(), world.window_ms());
    let mut workload = Workload::new(&mut dice);
    for _ in 0..steps {
        match dice.below(1000) {
            0..=2 => world.crash(Downtime::Kill, &mut dice, &mut oracle, &mut workload),
            3 => world.crash(Downtime::PowerLoss, &mut dice, &mut oracle, &mut workload),
            4..=6 => world.jump(&mut dice),
            7..=9 => world.refuse_writes(&mut dice),
            _ => workload.step(&mut world, &mut dice, &mut oracle),
        }
        world.turn(&mut dice, &mut oracle, &mut workload);
        world.pass(&mut dice);
    }
    world.heal();
    workload.finish(&mut world, &mut dice, &mut oracle);
    Outcome {
        trace: world.trace(),
        acknowledged: oracle.acknowledged(),
        delivered: oracle.delivered(),
        recalled: oracle.recalled(),
        moved: oracle.moved(),
        refused: oracle.refused(),
        doubles: oracle.doubles(),
        listed: workload.listed(),
        by_word: [workload.listed_of_word(), oracle.by_word().0, oracle.by_word().1],
        acked: oracle.acked(),
        crashes: world.crashes(),
        counted: world.counted(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_runs_the_same_twice() {
        assert_eq!(run(42, 3000), run(42, 3000));
        assert_ne!(run(42, 1000).trace, run(43, 1000).trace);
    }

    #[test]
    fn a_run_does_what_it_is_there_for() {
        let mut outcome = Outcome::default();
        for one in [1, 2, 6, 14].map(|seed| run(seed, 3000)) {
            outcome.add(&one);
        }
        assert!(outcome.acknowledged > 1000 && outcome.delivered > 1000, "{outcome:?}");
        let Counted { checkpoints, reshaped, segments_expired } = outcome.counted;
        assert!(checkpoints > 50 && segments_expired > 2, "{outcome:?}");
        assert!(
            outcome.listed > 500 && outcome.moved > 20 && outcome.refused > 100 && outcome.doubles > 50,
            "{outcome:?}"
        );
        assert!(outcome.by_word.iter().all(|count| *count > 20), "{outcome:?}");
        assert!(reshaped.bodies > 50 && reshaped.merges > 5, "{outcome:?}");
        assert!(reshaped.splits > 0 && reshaped.rewrites > 0, "{outcome:?}");
        assert!(outcome.acked > 200 && outcome.crashes > 10 && outcome.recalled > 20, "{outcome:?}");
    }

    #[test]
    fn every_promise_is_kept_under_a_hundred_seeds() {
        for seed in 1000..1100 {
            run(seed, 1500);
        }
    }
}
