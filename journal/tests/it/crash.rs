//! Crashes at every disk operation, and several one behind the other.

use env::{Fault, Seed, SimDisk};

use crate::world::{Oracle, append, live, open_sim};

/// Runs one life that crashes at `operation`, then others that crash or are killed as the seed says, and looks
/// at what is left each time. Gives whether the first life met its crash.
fn lives(operation: u64, variant: u64) -> bool {
    let mut seed = Seed::new(operation * 1_000 + variant);
    let mut disk = SimDisk::new(seed.next_u64());
    disk.crash_at(operation);
    let mut oracle = Oracle::default();
    let mut met = false;
    for life in 0..5 {
        let facts = format!("operation {operation}, variant {variant}, life {life}");
        live(&disk, &mut seed, life, &mut oracle, &facts);
        met |= life == 0 && disk.crashed();
        if disk.crashed() || seed.chance(0.5) {
            oracle.power_lost();
            disk = disk.after_crash();
        } else {
            disk = disk.after_kill();
        }
        if seed.chance(0.7) {
            disk.crash_at(seed.below(80));
        }
    }
    disk.crash_at(u64::MAX);
    let facts = format!("operation {operation}, variant {variant}, at the end");
    let (_, _, entries) = open_sim(&disk).unwrap_or_else(|error| panic!("{error}; {facts}"));
    oracle.opened(entries, &facts);
    met
}

#[test]
fn keeps_every_acknowledged_record_through_a_crash_at_any_disk_operation() {
    for operation in 0.. {
        let met = (0..10).filter(|variant| lives(operation, *variant)).count();
        if met == 0 {
            assert!(operation > 40, "the workload has more operations than {operation}");
            return;
        }
    }
}

#[test]
fn what_a_failed_sync_dropped_is_written_again_by_the_next_start() {
    for variant in 0..150 {
        let mut seed = Seed::new(variant);
        let disk = SimDisk::new(seed.next_u64());
        let mut oracle = Oracle::default();
        let facts = format!("variant {variant}");
        live(&disk, &mut seed, 0, &mut oracle, &facts);
        let disk = disk.after_kill();
        let (mut log, _, entries) = open_sim(&disk).unwrap();
        oracle.opened(entries, &facts);
        for i in 0..10 {
            oracle.appended(append(&mut log, &[i; 300]));
        }
        log.write().unwrap();
        oracle.promised(&log);
        disk.inject(Fault::FailSyncs(1));
        let job = log.poll_job().unwrap();
        log.done(job.run(&disk)).unwrap_err();
        // Power fails right behind the start: what that found was in memory alone until it wrote it again.
        let disk = disk.after_kill();
        let (_, _, entries) = open_sim(&disk).unwrap();
        oracle.opened(entries, &facts);
        oracle.power_lost();
        let (_, _, entries) = open_sim(&disk.after_crash()).unwrap();
        oracle.opened(entries, &facts);
    }
}

#[test]
fn the_same_seed_lives_the_same_lives() {
    let trace = |variant| {
        let mut seed = Seed::new(variant);
        let disk = SimDisk::new(variant);
        live(&disk, &mut seed, 0, &mut Oracle::default(), "");
        (disk.operations(), format!("{:?}", disk.after_crash()))
    };
    assert_eq!(trace(5), trace(5));
    assert_ne!(trace(5), trace(6));
}
