use std::sync::Arc;

use env::{Disk, Fault, SimDisk};
use model::LogOffset;

use super::{Log, Options};
use crate::{Extent, Header, Job, JobDone, Kind, WriteError};

const OPTIONS: Options = Options { segment_bytes: 16 << 10, step_bytes: 8 << 10, tail_bytes: 4 << 10 };
const HEADER: Header = Header { kind: Kind::Message, flags: 0, due_ms: 0, reference: LogOffset(0) };

fn log(disk: &SimDisk) -> Log {
    with(disk, OPTIONS)
}

fn with(disk: &SimDisk, options: Options) -> Log {
    Log::open(Arc::new(disk.clone()), options, &mut |_| ()).unwrap().0
}

fn append(log: &mut Log, length: usize) -> Extent {
    log.append(HEADER, length, |at, buffer| buffer.resize(buffer.len() + length, at.0 as u8))
}

/// The next sync, past jobs of other kinds, which are done on the way.
fn sync(log: &mut Log, disk: &SimDisk) -> Option<Job> {
    loop {
        match log.poll_job()? {
            job @ Job::Sync(_) => return Some(job),
            other => log.done(other.run(disk)).unwrap(),
        }
    }
}

fn settle(log: &mut Log, disk: &SimDisk) {
    while let Some(job) = log.poll_job() {
        log.done(job.run(disk)).unwrap();
    }
}

#[test]
fn no_record_has_log_offset_zero_and_place_tells_where_it_stands() {
    let disk = SimDisk::new(1);
    let mut log = log(&disk);
    assert_eq!(log.place(10), LogOffset(64));
    assert_eq!(log.place(10), LogOffset(64));
    let mut seen = LogOffset(0);
    let extent = log.append(HEADER, 3, |at, buffer| {
        seen = at;
        buffer.extend_from_slice(b"abc");
    });
    assert_eq!((extent, seen), (Extent { at: LogOffset(64), length: 3 }, LogOffset(64)));
    assert_eq!(log.appended(), LogOffset(64 + 48));
}

#[test]
fn appended_written_and_durable_follow_each_other() {
    let disk = SimDisk::new(1);
    let mut log = log(&disk);
    assert_eq!([log.appended(), log.written(), log.durable()], [LogOffset(64); 3], "a new log is durable");
    append(&mut log, 100);
    let end = log.appended();
    assert_eq!((log.written(), log.durable()), (LogOffset(64), LogOffset(64)));
    assert!(sync(&mut log, &disk).is_none(), "nothing written, nothing to sync");
    assert_eq!(log.write().unwrap(), end);
    let job = sync(&mut log, &disk).unwrap();
    assert_eq!((log.written(), log.durable()), (end, LogOffset(64)));
    log.done(job.run(&disk)).unwrap();
    assert_eq!(log.durable(), end);
}

#[test]
fn one_sync_is_out_at_a_time_and_the_next_covers_all_written_meanwhile() {
    let disk = SimDisk::new(1);
    let mut log = log(&disk);
    append(&mut log, 100);
    let first = log.write().unwrap();
    let job = sync(&mut log, &disk).unwrap();
    for _ in 0..5 {
        append(&mut log, 100);
        log.write().unwrap();
        assert!(sync(&mut log, &disk).is_none());
    }
    log.done(job.run(&disk)).unwrap();
    assert_eq!(log.durable(), first, "what came later is not promised by the sync that was out");
    let job = sync(&mut log, &disk).unwrap();
    log.done(job.run(&disk)).unwrap();
    assert_eq!(log.durable(), log.appended());
}

#[test]
fn a_failed_write_keeps_the_records_and_the_next_call_writes_them() {
    let disk = SimDisk::new(1);
    let mut log = log(&disk);
    let extents: Vec<_> = (0..40).map(|_| append(&mut log, 900)).collect();
    for _ in 0..3 {
        disk.inject(Fault::FailWrites(1));
        let error = log.write().unwrap_err();
        assert!(matches!(&error, WriteError::Io { file, .. } if file.starts_with("log-0000")), "{error}");
        assert!(log.written() < log.appended());
        append(&mut log, 10);
    }
    assert_eq!(log.write().unwrap(), log.appended());
    for extent in extents {
        assert_eq!(log.reader().read(&disk, extent).unwrap(), vec![extent.at.0 as u8; 900]);
    }
}

#[test]
fn payloads_are_read_from_memory_before_they_are_written_and_while_they_are_new() {
    let disk = SimDisk::new(1);
    let mut log = with(&disk, Options { tail_bytes: 200 << 10, ..OPTIONS });
    let old = append(&mut log, 1000);
    assert_eq!(log.read_tail(old).unwrap(), vec![64; 1000]);
    log.write().unwrap();
    assert_eq!(log.read_tail(old).unwrap(), vec![64; 1000]);
    for _ in 0..1000 {
        append(&mut log, 1000);
        log.write().unwrap();
    }
    assert_eq!(log.read_tail(old), None);
    let new = append(&mut log, 1000);
    assert!(log.read_tail(new).is_some());
}

#[test]
fn a_failed_sync_poisons_the_log() {
    let disk = SimDisk::new(1);
    let mut log = log(&disk);
    append(&mut log, 10);
    log.write().unwrap();
    let job = sync(&mut log, &disk).unwrap();
    disk.inject(Fault::FailSyncs(1));
    let error = log.done(job.run(&disk)).unwrap_err();
    assert_eq!(error.file, "log-00000000000000000000");
    append(&mut log, 10);
    assert!(matches!(log.write(), Err(WriteError::Poisoned)));
    assert!(log.poll_job().is_none() && log.shutdown_job().is_none());
    assert_eq!(log.durable(), LogOffset(64));
}

#[test]
fn a_sync_that_fails_while_preparing_poisons_too_and_no_sync_after_it_is_believed() {
    let disk = SimDisk::new(1);
    let mut log = log(&disk);
    let prepare = log.poll_job().unwrap();
    assert!(matches!(prepare, Job::Prepare(_)));
    append(&mut log, 10);
    log.write().unwrap();
    let job = sync(&mut log, &disk).unwrap();
    disk.inject(Fault::FailSyncs(1));
    let prepared = prepare.run(&disk);
    // The engine hears of the sync first. The kernel told the other thread, and would tell this one nothing.
    log.done(job.run(&disk)).unwrap_err();
    assert_eq!(log.durable(), LogOffset(64));
    log.done(prepared).unwrap_err();
}

#[test]
fn a_first_start_is_small_and_prepares_before_it_is_needed() {
    let disk = SimDisk::new(1);
    let mut log = with(&disk, Options { tail_bytes: 1 << 20, ..Options::default() });
    assert_eq!(disk.len("log-00000000000000000000").unwrap(), 64);
    settle(&mut log, &disk);
    assert_eq!(disk.len("log-00000000000000000000").unwrap(), 4096 + (1 << 20), "an idle folder stays small");
    for _ in 0..5 {
        append(&mut log, 1 << 20);
    }
    log.write().unwrap();
    settle(&mut log, &disk);
    let ahead = disk.len("log-00000000000000000000").unwrap() - log.appended().0;
    assert!((4 << 20..9 << 20).contains(&ahead), "a busy log prepares more: {ahead}");
}

#[test]
fn the_next_segment_is_there_before_it_is_needed() {
    let disk = SimDisk::new(1);
    let mut log = log(&disk);
    append(&mut log, 10_000);
    log.write().unwrap();
    settle(&mut log, &disk);
    let next = "log-00000000000000016384";
    assert!(disk.len(next).unwrap() >= 4096);
    let after = disk.after_crash();
    assert!(after.list().unwrap().iter().any(|name| name == next), "and its name is durable");
    let log = self::log(&after);
    assert_eq!(log.segments().count(), 1, "a prepared segment is no part of the log yet");
}

#[test]
fn zeros_never_fall_onto_records_that_were_faster() {
    for run_after in (0..30).step_by(5) {
        let disk = SimDisk::new(run_after);
        let mut log = with(&disk, Options { segment_bytes: 1 << 20, step_bytes: 300 << 10, tail_bytes: 1 });
        let mut prepare: Option<Job> = None;
        let mut extents = Vec::new();
        for i in 0..60u64 {
            extents.push(append(&mut log, 30_000));
            log.write().unwrap();
            if let Some(job) = prepare.take_if(|_| i % 30 == run_after) {
                log.done(job.run(&disk)).unwrap();
            }
            while let Some(job) = log.poll_job() {
                match job {
                    Job::Prepare(_) => prepare = Some(job),
                    other => log.done(other.run(&disk)).unwrap(),
                }
            }
        }
        for extent in extents {
            assert_eq!(log.reader().read(&disk, extent).unwrap(), vec![extent.at.0 as u8; 30_000]);
        }
    }
}

#[test]
fn a_write_that_meets_a_block_being_zeroed_is_made_later() {
    let disk = SimDisk::new(1);
    let mut log = log(&disk);
    append(&mut log, 10);
    assert!(log.frontier.begin_block(64));
    assert_eq!(log.write().unwrap(), LogOffset(64), "no error, and nothing written");
    log.frontier.end_block();
    assert_eq!(log.write().unwrap(), log.appended());
}

#[test]
fn a_full_disk_stops_writes_not_the_log() {
    let disk = SimDisk::new(1);
    let mut log = log(&disk);
    settle(&mut log, &disk);
    disk.inject(Fault::FreeBytes(0));
    append(&mut log, 1000);
    log.write().expect("prepared bytes are no growth");
    for _ in 0..20 {
        append(&mut log, 1000);
    }
    log.write().unwrap_err();
    settle(&mut log, &disk);
    disk.inject(Fault::FreeBytes(1 << 20));
    assert_eq!(log.write().unwrap(), log.appended());
    settle(&mut log, &disk);
    assert_eq!(log.durable(), log.appended());
}

#[test]
fn forgotten_segments_are_removed_oldest_first_and_the_active_one_stays() {
    let disk = SimDisk::new(1);
    let mut log = log(&disk);
    let extents: Vec<_> = (0..60).map(|_| append(&mut log, 1000)).collect();
    log.write().unwrap();
    settle(&mut log, &disk);
    let segments: Vec<_> = log.segments().collect();
    assert!(segments.len() > 3);
    log.forget(LogOffset(segments[1].end.0 - 1));
    settle(&mut log, &disk);
    assert_eq!(log.first(), segments[1].start);
    log.reader().read(&disk, extents[0]).unwrap_err();
    log.forget(LogOffset(u64::MAX));
    settle(&mut log, &disk);
    assert_eq!(log.segments().count(), 1);
    assert_eq!(log.first(), segments.last().unwrap().start);
    let mut records = Vec::new();
    let disk = disk.after_crash();
    let (_, recovery) = Log::open(Arc::new(disk), OPTIONS, &mut |record| records.push(record.at)).unwrap();
    assert_eq!(recovery.first, segments.last().unwrap().start);
    assert_eq!(records.last(), extents.last().map(|extent| &extent.at));
}

#[test]
fn after_a_clean_shutdown_the_next_start_writes_nothing_again() {
    let disk = SimDisk::new(1);
    let mut log = log(&disk);
    append(&mut log, 5000);
    log.write().unwrap();
    let job = log.shutdown_job().unwrap();
    assert!(log.shutdown_job().is_none(), "one is out");
    log.done(job.run(&disk)).unwrap();
    assert!(log.shutdown_job().is_none(), "nothing is left");
    let disk = disk.after_crash();
    let mut found = 0;
    let recovered = crate::recover::recover(&disk, &OPTIONS, 0, None, &mut |_| found += 1).unwrap();
    assert_eq!((found, recovered.known, disk.operations()), (1, recovered.recovery.end.0, 0));
}

#[test]
fn the_longest_payload_fits_and_fills_its_segment() {
    let disk = SimDisk::new(1);
    let mut log = log(&disk);
    append(&mut log, 10);
    let max = log.payload_max();
    let extent = append(&mut log, max);
    assert_eq!(extent.at, LogOffset((16 << 10) + 64));
    assert_eq!(append(&mut log, 0).at, LogOffset((32 << 10) + 64));
    log.write().unwrap();
    assert_eq!(log.reader().read(&disk, extent).unwrap().len(), max);
    let mut lengths = Vec::new();
    let disk = disk.after_kill();
    Log::open(Arc::new(disk), OPTIONS, &mut |record| lengths.push(record.payload.len())).unwrap();
    assert_eq!(lengths, [10, max, 0]);
}

#[test]
#[should_panic(expected = "the limit is")]
fn a_longer_payload_is_a_broken_caller() {
    let mut log = log(&SimDisk::new(1));
    let length = log.payload_max() + 1;
    log.place(length);
}

#[test]
fn jobs_and_their_ends_travel_between_threads() {
    fn sent<T: Send + 'static>() {}
    sent::<Log>();
    sent::<Job>();
    sent::<JobDone>();
    sent::<crate::Reader>();
}
