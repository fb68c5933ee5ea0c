//! What a start makes of damage.
#![expect(clippy::unwrap_used, reason = "all of this is test code, though not all of it is marked so")]

use std::sync::Arc;

use env::{Disk, Fault, FileDisk, SimDisk};
use journal::{Log, OpenError, Options};
use model::LogOffset;
use proptest::prelude::*;

use crate::world::{Entry, OPTIONS, append, end_of, open, open_sim, settle};

/// A log with records of these lengths, all written, none synced since the start.
fn written(disk: &SimDisk, lengths: &[usize]) -> Vec<Entry> {
    let (mut log, _, _) = open_sim(disk).unwrap();
    let entries =
        lengths.iter().enumerate().map(|(i, length)| append(&mut log, &vec![i as u8 + 1; *length])).collect();
    log.write().unwrap();
    entries
}

/// The segment file a place lies in, and where.
fn in_file(place: u64) -> (String, u64) {
    let first = place / OPTIONS.segment_bytes * OPTIONS.segment_bytes;
    (format!("log-{first:020}"), place - first)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_flipped_bit_in_an_unsynced_tail_leaves_the_records_before_it(
        lengths in prop::collection::vec(0usize..1500, 1..20),
        place in 0.0..1.0f64,
    ) {
        let disk = SimDisk::new(1);
        let entries = written(&disk, &lengths);
        let begin = entries[0].0;
        let end = end_of(entries.last().unwrap());
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let place = begin + (place * (end - begin) as f64) as u64;
        let (file, byte) = in_file(place);
        disk.inject(Fault::FlipBit { file, byte });
        let (_, recovery, found) = open_sim(&disk.after_kill()).unwrap();
        prop_assert!(entries.starts_with(&found));
        let before = entries.iter().filter(|entry| end_of(entry) <= place).count();
        prop_assert!(found.len() >= before, "{} of {before} records before the flipped bit", found.len());
        let whole = entries.iter().any(|entry| (entry.0..end_of(entry)).contains(&place));
        if whole {
            prop_assert_eq!(found.len(), before);
            prop_assert!(recovery.cut_bytes > 0);
        }
    }

    #[test]
    fn a_file_cut_short_in_an_unsynced_tail_leaves_the_records_before_the_cut(
        lengths in prop::collection::vec(0usize..1500, 1..20),
        place in 0.0..1.0f64,
    ) {
        let disk = SimDisk::new(1);
        let entries = written(&disk, &lengths);
        let begin = entries[0].0;
        let end = end_of(entries.last().unwrap());
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let place = begin + (place * (end - begin) as f64) as u64;
        let (file, byte) = in_file(place);
        let length = disk.len(&file).unwrap();
        disk.set_len(&file, byte.min(length)).unwrap();
        let (_, _, found) = open_sim(&disk.after_kill()).unwrap();
        prop_assert!(entries.starts_with(&found));
        let before = entries.iter().filter(|entry| end_of(entry) <= place).count();
        prop_assert!(found.len() >= before);
    }

    #[test]
    fn a_flipped_bit_in_a_durable_record_is_never_taken_for_a_torn_tail(
        lengths in prop::collection::vec(0usize..1500, 1..20),
        record in 0usize..20,
        place in 0.0..1.0f64,
    ) {
        let disk = SimDisk::new(1);
        let (mut log, _, _) = open_sim(&disk).unwrap();
        let entries: Vec<_> = lengths.iter().map(|length| append(&mut log, &vec![7; *length])).collect();
        settle(&mut log, &disk);
        let hit = &entries[record % entries.len()];
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let place = hit.0 + (place * (end_of(hit) - hit.0) as f64) as u64;
        let (file, byte) = in_file(place);
        disk.inject(Fault::FlipBit { file: file.clone(), byte });
        let error = open_sim(&disk.after_kill()).unwrap_err();
        let OpenError::Corrupt { file: named, at, .. } = &error else { panic!("{error}") };
        prop_assert_eq!((named, *at), (&file, in_file(hit.0).1), "{}", error);
    }

    #[test]
    fn any_bytes_in_the_files_are_met_without_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        at in 0u64..5000,
        whole in any::<bool>(),
    ) {
        let disk = SimDisk::new(1);
        written(&disk, &[100, 2000, 900, 1800]);
        if whole {
            disk.write_at("log-00000000000000000000", 0, &bytes).unwrap();
            disk.set_len("log-00000000000000000000", bytes.len() as u64).unwrap();
            disk.write_at("log-durable", 0, &bytes).unwrap();
        }
        let (file, byte) = in_file(at);
        disk.write_at(&file, byte, &bytes).unwrap();
        let _ = open_sim(&disk.after_kill());
    }
}

#[test]
fn a_damaged_byte_is_named_with_file_place_expected_and_found() {
    let disk = SimDisk::new(1);
    let (mut log, _, _) = open_sim(&disk).unwrap();
    let entry = append(&mut log, b"hello");
    settle(&mut log, &disk);
    let (file, at) = in_file(entry.0);
    disk.inject(Fault::FlipBit { file: file.clone(), byte: at + 42 });
    let text = open_sim(&disk.after_kill()).unwrap_err().to_string();
    assert!(text.starts_with(&format!("{file} at byte {at}: bytes of crc 0x")), "{text}");
    assert!(text.contains(", expected crc 0x") && text.contains("nothing was changed"), "{text}");
}

#[test]
fn a_missing_segment_between_others_is_corruption() {
    let disk = SimDisk::new(1);
    let (mut log, _, _) = open_sim(&disk).unwrap();
    for _ in 0..12 {
        append(&mut log, &[1; 1000]);
    }
    settle(&mut log, &disk);
    disk.remove("log-00000000000000004096").unwrap();
    let error = open_sim(&disk.after_kill()).unwrap_err();
    assert!(
        matches!(&error, OpenError::Corrupt { file, at: 0, .. } if file == "log-00000000000000004096"),
        "{error}"
    );
}

#[test]
fn a_log_that_is_gone_is_corruption_not_a_first_start() {
    let disk = SimDisk::new(1);
    written(&disk, &[10]);
    disk.remove("log-00000000000000000000").unwrap();
    let error = open_sim(&disk.after_kill()).unwrap_err();
    assert!(error.to_string().contains("no segment"), "{error}");
}

#[test]
fn without_the_note_a_later_segment_speaks_for_the_ones_before_it() {
    let damaged = |remove_note: bool| {
        let disk = SimDisk::new(1);
        let entries = written(&disk, &[1000; 8]);
        if remove_note {
            disk.remove("log-durable").unwrap();
        }
        let (file, byte) = in_file(entries[1].0);
        disk.inject(Fault::FlipBit { file, byte });
        (entries, open_sim(&disk.after_kill()))
    };
    let (_, opened) = damaged(true);
    assert!(matches!(opened, Err(OpenError::Corrupt { .. })), "{opened:?}");
    // With it, nothing behind the start was promised, and both segments are a torn tail.
    let (entries, opened) = damaged(false);
    let (log, recovery, found) = opened.unwrap();
    assert_eq!(found, entries[..1]);
    assert!(recovery.cut_bytes > 6 * 1000);
    assert_eq!(log.segments().count(), 1);
}

#[test]
fn a_full_segment_is_known_to_be_durable_after_a_loss_of_power_too() {
    for seed in 0..20 {
        let disk = SimDisk::new(seed);
        let (mut log, _, _) = open_sim(&disk).unwrap();
        let entries: Vec<_> = (0..5).map(|i| append(&mut log, &[i; 1000])).collect();
        settle(&mut log, &disk);
        let disk = disk.after_crash();
        let (file, byte) = in_file(entries[1].0);
        disk.inject(Fault::FlipBit { file, byte });
        let opened = open_sim(&disk);
        assert!(matches!(opened, Err(OpenError::Corrupt { .. })), "seed {seed}: {opened:?}");
    }
}

#[test]
fn segments_behind_a_torn_tail_are_removed() {
    let disk = SimDisk::new(1);
    let entries = written(&disk, &[1000; 12]);
    let (file, byte) = in_file(entries[1].0);
    disk.inject(Fault::FlipBit { file, byte });
    let disk = disk.after_kill();
    open_sim(&disk).unwrap();
    assert_eq!(disk.list().unwrap(), ["log-00000000000000000000", "log-durable"]);
}

#[test]
fn a_newer_format_is_refused_by_its_number() {
    let disk = SimDisk::new(1);
    written(&disk, &[10]);
    let mut mark = [0; 64];
    disk.read_at("log-00000000000000000000", 0, &mut mark).unwrap();
    mark[48] = 2;
    let crc = crc32fast::hash(&mark[4..]);
    mark[..4].copy_from_slice(&crc.to_le_bytes());
    disk.write_at("log-00000000000000000000", 0, &mark).unwrap();
    let error = open_sim(&disk.after_kill()).unwrap_err();
    assert_eq!(error.to_string(), "log-00000000000000000000 is of format 2, this build reads up to 1");
}

#[test]
fn records_of_an_earlier_life_do_not_line_up_behind_a_new_tail() {
    // The bytes of an earlier life are put back behind the new tail, as a lost zeroing would leave them.
    let disk = SimDisk::new(1);
    let entries = written(&disk, &[24; 6]);
    let (file, last) = in_file(entries[5].0);
    let mut stale = vec![0; 4096];
    let length = disk.read_at(&file, 0, &mut stale).unwrap();
    // Two 64-byte records give way to the mark and one record of the second life.
    let cut = in_file(entries[2].0).1;
    disk.set_len(&file, cut).unwrap();
    let disk = disk.after_kill();
    let (mut log, recovery, found) = open_sim(&disk).unwrap();
    assert_eq!((found.len(), recovery.epoch), (2, 2));
    let new = append(&mut log, &[99; 24]);
    log.write().unwrap();
    let behind = in_file(log.written().0).1;
    assert!(behind <= last);
    disk.write_at(&file, behind, &stale[behind as usize..length]).unwrap();
    let (_, recovery, found) = open_sim(&disk.after_kill()).unwrap();
    assert_eq!(found.last(), Some(&new));
    assert!(recovery.cut_bytes > 0);
}

#[test]
fn behind_a_torn_tail_everything_is_zeros() {
    let disk = SimDisk::new(1);
    let entries = written(&disk, &[100; 8]);
    let (file, byte) = in_file(entries[2].0);
    disk.inject(Fault::FlipBit { file: file.clone(), byte: byte + 50 });
    let disk = disk.after_kill();
    let (log, recovery, found) = open_sim(&disk).unwrap();
    assert_eq!(found, entries[..2]);
    assert_eq!(recovery.cut_bytes, end_of(&entries[7]) - recovery.end.0);
    let mut bytes = vec![1; 4096];
    let length = disk.read_at(&file, log.written().0, &mut bytes).unwrap();
    assert!(bytes[..length].iter().all(|b| *b == 0));
}

#[test]
fn each_start_has_a_higher_epoch_and_records_tell_theirs() {
    let disk = SimDisk::new(1);
    for life in 1..=5u32 {
        let mut epochs = Vec::new();
        let mut each = |record: journal::Record<'_>| epochs.push(record.epoch);
        let (mut log, recovery) = Log::open(Arc::new(disk.clone()), OPTIONS, &mut each).unwrap();
        assert_eq!((recovery.epoch, log.epoch()), (life, life));
        assert_eq!(epochs, (1..life).collect::<Vec<_>>());
        append(&mut log, &[1; 900]);
        settle(&mut log, &disk);
    }
}

#[test]
fn a_start_from_a_checkpoint_hands_on_the_records_from_there() {
    let disk = SimDisk::new(1);
    let (mut log, _, _) = open_sim(&disk).unwrap();
    let entries: Vec<_> = (0..20).map(|i| append(&mut log, &[i; 700])).collect();
    settle(&mut log, &disk);
    let disk = disk.after_kill();
    let from = |place: u64, epoch: Option<u32>| {
        let mut found = Vec::new();
        let mut each = |record: journal::Record<'_>| found.push(record.at.0);
        Log::open_from(Arc::new(disk.clone()), OPTIONS, LogOffset(place), epoch, &mut each)
            .map(|(_, recovery)| (found, recovery))
    };
    for epoch in [None, Some(1)] {
        for i in [0, 7, 19] {
            let (found, recovery) = from(entries[i].0, epoch).unwrap();
            let places: Vec<_> = entries[i..].iter().map(|entry| entry.0).collect();
            assert_eq!((found, recovery.first), (places, LogOffset(0)), "from record {i}");
        }
        assert!(from(log.durable().0, epoch).unwrap().0.is_empty());
        let inside = from(entries[7].0 + 8, epoch).unwrap_err();
        assert!(matches!(inside, OpenError::Corrupt { .. }), "{inside}");
        let behind = from(1 << 40, epoch).unwrap_err();
        assert!(matches!(behind, OpenError::Corrupt { .. }), "{behind}");
    }
    disk.remove("log-00000000000000000000").unwrap();
    let missing = from(entries[0].0, Some(1)).unwrap_err();
    assert!(missing.to_string().contains("is missing"), "{missing}");
}

#[test]
fn a_start_from_a_checkpoint_reads_nothing_before_it_but_a_mark() {
    let disk = SimDisk::new(1);
    let (mut log, _, _) = open_sim(&disk).unwrap();
    let entries: Vec<_> = (0..5).map(|i| append(&mut log, &[i; 300])).collect();
    settle(&mut log, &disk);
    let disk = disk.after_kill();
    disk.inject(Fault::FlipBit { file: "log-00000000000000000000".into(), byte: entries[1].0 + 50 });
    let open = |disk: &SimDisk, epoch| {
        Log::open_from(Arc::new(disk.clone()), OPTIONS, LogOffset(entries[3].0), epoch, &mut |_| ())
    };
    assert!(open(&disk, None).is_err(), "it is read to learn the epoch");
    let (mut log, recovery) = open(&disk, Some(1)).unwrap();
    assert_eq!((recovery.records, recovery.epoch), (2, 2));
    append(&mut log, &[9; 300]);
    settle(&mut log, &disk);
    let (_, recovery) = open(&disk.after_crash(), Some(1)).unwrap();
    assert_eq!((recovery.records, recovery.epoch), (3, 3));
}

#[test]
fn segments_of_another_size_are_read_where_the_setting_changed() {
    let disk: Arc<dyn Disk> = Arc::new(SimDisk::new(1));
    let mut all = Vec::new();
    for segment_bytes in [4096, 16384, 2048, 65536] {
        let options = Options { segment_bytes, ..OPTIONS };
        let (mut log, _, found) = open(&disk, &options).unwrap();
        assert_eq!(found, all);
        for i in 0..12 {
            all.push(append(&mut log, &[i; 900]));
        }
        settle(&mut log, &*disk);
        for entry in &all {
            let extent = journal::Extent { at: LogOffset(entry.0), length: entry.1.len() as u32 };
            assert_eq!(log.reader().read(&*disk, extent).unwrap(), entry.1);
        }
    }
}

#[test]
fn the_log_lives_in_a_real_folder_too() {
    let folder = tempfile::tempdir().unwrap();
    let mut all = Vec::new();
    for life in 1..=3 {
        let disk: Arc<dyn Disk> = Arc::new(FileDisk::open(folder.path()).unwrap());
        let options = Options { segment_bytes: 1 << 20, ..Options::default() };
        let (mut log, recovery, found) = open(&disk, &options).unwrap();
        assert_eq!((recovery.epoch, recovery.cut_bytes), (life, 0));
        assert!(found == all, "life {life}");
        for i in 0..200usize {
            all.push(append(&mut log, &vec![i as u8; i * 100]));
            if i % 10 == 0 {
                settle(&mut log, &*disk);
            }
        }
        settle(&mut log, &*disk);
        assert_eq!(log.durable(), log.appended());
        while let Some(job) = log.shutdown_job() {
            log.done(job.run(&*disk)).unwrap();
        }
        assert!(log.segments().count() as u64 >= 2 * u64::from(life));
    }
}
