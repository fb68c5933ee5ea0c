use std::io::ErrorKind;

use super::{Fault, SimDisk};
use crate::Disk;

fn read(disk: &SimDisk, name: &str) -> Vec<u8> {
    let mut bytes = vec![0; disk.len(name).unwrap() as usize];
    assert_eq!(disk.read_at(name, 0, &mut bytes).unwrap(), bytes.len());
    bytes
}

#[test]
fn synced_bytes_and_names_survive_every_crash() {
    for seed in 0..100 {
        let disk = SimDisk::new(seed);
        disk.write_at("a", 0, b"synced").unwrap();
        disk.sync("a").unwrap();
        disk.sync_folder().unwrap();
        disk.write_at("a", 6, b" and not").unwrap();
        let after = disk.after_crash();
        assert!(read(&after, "a").starts_with(b"synced"), "seed {seed}");
    }
}

#[test]
fn unsynced_writes_are_kept_dropped_and_torn_at_sectors() {
    let (mut kept, mut dropped, mut torn) = (0, 0, 0);
    for seed in 0..100 {
        let disk = SimDisk::new(seed);
        disk.write_at("a", 0, &[1; 2048]).unwrap();
        disk.sync("a").unwrap();
        disk.sync_folder().unwrap();
        disk.write_at("a", 100, &[2; 1500]).unwrap();
        let after = read(&disk.after_crash(), "a");
        assert_eq!(after.len(), 2048);
        let sectors = [&after[100..512], &after[512..1024], &after[1024..1536], &after[1536..1600]];
        assert!(sectors.iter().all(|s| s.iter().all(|b| *b == s[0])), "a sector is whole; seed {seed}");
        match sectors.iter().filter(|s| s[0] == 2).count() {
            0 => dropped += 1,
            4 => kept += 1,
            _ => torn += 1,
        }
    }
    assert!(kept > 10 && dropped > 10 && torn > 10, "{kept} {dropped} {torn}");
}

#[test]
fn unsynced_names_are_kept_or_dropped_each_by_itself() {
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..200 {
        let disk = SimDisk::new(seed);
        for name in ["a", "b", "c"] {
            disk.write_at(name, 0, b"x").unwrap();
            disk.sync(name).unwrap();
        }
        disk.sync_folder().unwrap();
        disk.rename("a", "b").unwrap();
        disk.remove("c").unwrap();
        disk.write_at("d", 0, b"x").unwrap();
        seen.insert(disk.after_crash().list().unwrap().join(" "));
    }
    let expected = ["a b", "a b c", "a b c d", "a b d", "b", "b c", "b c d", "b d"];
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn the_planned_crash_fails_its_operation_and_everything_after() {
    let disk = SimDisk::crashing_at(2);
    disk.write_at("a", 0, b"x").unwrap();
    disk.sync("a").unwrap();
    assert!(!disk.crashed());
    disk.sync_folder().unwrap_err();
    assert!(disk.crashed());
    disk.write_at("a", 0, b"x").unwrap_err();
    disk.read_at("a", 0, &mut [0]).unwrap_err();
    disk.list().unwrap_err();
    let after = disk.after_crash();
    after.write_at("b", 0, b"x").unwrap();
    assert!(!after.crashed());
}

#[test]
fn the_same_seed_and_calls_give_the_same_disk() {
    let run = || {
        let disk = SimDisk::new(77);
        disk.inject(Fault::FailWrites(1));
        disk.write_at("a", 0, &[3; 5000]).unwrap_err();
        disk.write_at("a", 700, &[4; 5000]).unwrap();
        disk.sync_folder().unwrap();
        read(&disk.after_crash(), "a")
    };
    assert_eq!(run(), run());
}

#[test]
fn a_killed_process_leaves_all_it_wrote_to_read_but_no_more_durable() {
    let mut lost = 0;
    for seed in 0..50 {
        let disk = SimDisk::new(seed);
        disk.write_at("a", 0, b"x").unwrap();
        let next = disk.after_kill();
        assert_eq!(read(&next, "a"), b"x");
        disk.len("a").expect_err("the killed process' handles are gone");
        lost += u32::from(next.after_crash().list().unwrap().is_empty());
    }
    assert!(lost > 10, "{lost}");
}

#[test]
fn what_a_failed_sync_dropped_can_be_read_yet_a_later_sync_does_not_save_it() {
    let mut lost = 0;
    for seed in 0..50 {
        let disk = SimDisk::new(seed);
        disk.write_at("a", 0, b"x").unwrap();
        disk.sync_folder().unwrap();
        disk.inject(Fault::FailSyncs(1));
        disk.sync("a").unwrap_err();
        assert_eq!(read(&disk, "a"), b"x");
        disk.sync("a").unwrap();
        lost += u32::from(read(&disk.after_crash(), "a").is_empty());
    }
    assert!(lost > 10, "{lost}");
}

#[test]
fn a_full_disk_refuses_growth_and_takes_overwrites() {
    let disk = SimDisk::new(1);
    disk.write_at("a", 0, &[1; 100]).unwrap();
    disk.inject(Fault::FreeBytes(10));
    assert_eq!(disk.write_at("a", 90, &[2; 21]).unwrap_err().kind(), ErrorKind::StorageFull);
    disk.write_at("a", 0, &[2; 100]).unwrap();
    disk.write_at("a", 100, &[2; 10]).unwrap();
    assert_eq!(disk.free_bytes().unwrap(), 0);
    disk.remove("a").unwrap();
    assert_eq!(disk.free_bytes().unwrap(), 110);
}

#[test]
fn faults_pass_after_their_count() {
    let disk = SimDisk::new(1);
    disk.write_at("a", 0, b"abc").unwrap();
    disk.inject(Fault::FailReads(1));
    disk.read_at("a", 0, &mut [0]).unwrap_err();
    disk.read_at("a", 0, &mut [0]).unwrap();
    disk.inject(Fault::FlipBit { file: "a".into(), byte: 1 });
    disk.inject(Fault::FlipBit { file: "a".into(), byte: 99 });
    assert_eq!(read(&disk, "a"), b"acc");
    disk.sync("a").unwrap();
    disk.sync_folder().unwrap();
    assert_eq!(read(&disk.after_crash(), "a"), b"acc");
}
