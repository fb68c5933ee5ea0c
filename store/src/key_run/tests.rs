use super::*;
use env::{Seed, SimDisk};

fn lines(seed: &mut Seed, count: u64, hashes: u64) -> Vec<KeyLine> {
    let spread = u64::MAX / hashes;
    let mut lines: Vec<_> = (0..count)
        .map(|i| KeyLine { hash: seed.below(hashes) * spread, at: LogOffset(i * 8), word: i })
        .collect();
    lines.sort_unstable();
    lines
}

#[test]
fn every_line_is_found_by_its_hash_and_no_other() {
    let mut seed = Seed::new(3);
    for (count, hashes) in [(0, 1), (1, 1), (5, 2), (600, 3), (3000, 1), (20_000, 9000), (20_000, 40)] {
        let (disk, lines) = (SimDisk::new(1), lines(&mut seed, count, hashes));
        write(&disk, "k", &lines).unwrap();
        assert_eq!(read(&disk, "k").unwrap(), lines);
        let spread = u64::MAX / hashes;
        for hash in
            (0..hashes).step_by(1 + hashes as usize / 50).map(|hash| hash * spread).chain([7, u64::MAX])
        {
            let own: Vec<_> = lines.iter().copied().filter(|line| line.hash == hash).collect();
            assert_eq!(find(&disk, "k", hash, usize::MAX).unwrap(), own, "{hash} of {count}");
            let newest = &own[own.len().saturating_sub(3)..];
            assert_eq!(find(&disk, "k", hash, 3).unwrap(), newest, "{hash} of {count}");
        }
    }
}

#[test]
fn hashes_that_are_not_spread_are_found_too() {
    let disk = SimDisk::new(1);
    let lines: Vec<_> = (0..5000).map(|i| KeyLine { hash: i / 2, at: LogOffset(i), word: 0 }).collect();
    write(&disk, "k", &lines).unwrap();
    for hash in 0..2501 {
        let own: Vec<_> = lines.iter().copied().filter(|line| line.hash == hash).collect();
        assert_eq!(find(&disk, "k", hash, 10).unwrap(), own, "{hash}");
    }
}

#[test]
fn a_file_that_is_no_run_is_refused() {
    let disk = SimDisk::new(1);
    write(&disk, "k", &[KeyLine { hash: 1, at: LogOffset(2), word: 3 }]).unwrap();
    disk.set_len("k", 40).unwrap();
    assert!(read(&disk, "k").is_err());
    assert!(find(&disk, "none", 1, 1).is_err());
}

#[test]
fn two_runs_merge_to_what_is_wanted_of_both() {
    let mut seed = Seed::new(9);
    for (left, right) in [(0, 0), (1, 0), (70_000, 50_000), (3, 60_000)] {
        let (disk, left, right) =
            (SimDisk::new(1), lines(&mut seed, left, 5000), lines(&mut seed, right, 70));
        write(&disk, "l", &left).unwrap();
        write(&disk, "r", &right).unwrap();
        let keep = |line: &KeyLine| !line.word.is_multiple_of(3);
        let mut both: Vec<_> = left.iter().chain(&right).copied().filter(keep).collect();
        both.sort_unstable();
        assert_eq!(merge(&disk, ["l", "r"], "m", &keep).unwrap(), both.len() as u64);
        assert_eq!(read(&disk, "m").unwrap(), both);
        if !right.is_empty() {
            disk.inject(env::Fault::FlipBit { file: "r".into(), byte: 30 });
            assert!(merge(&disk, ["l", "r"], "n", &keep).is_err());
        }
    }
}
