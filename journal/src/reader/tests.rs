use std::sync::Arc;

use env::{Disk, Fault, SimDisk};
use model::LogOffset;

use crate::{Extent, Header, Kind, Log, Options, ReadError};

const OPTIONS: Options = Options { segment_bytes: 4096, step_bytes: 2048, tail_bytes: 1 };
const HEADER: Header = Header { kind: Kind::TimerPut, flags: 3, due_ms: 9, reference: LogOffset(64) };

fn log(disk: &SimDisk) -> Log {
    Log::open(Arc::new(disk.clone()), OPTIONS, &mut |_| ()).unwrap().0
}

#[test]
fn a_reader_kept_from_the_start_reads_segments_made_later() {
    let disk = SimDisk::new(1);
    let mut log = log(&disk);
    let reader = log.reader();
    let extents: Vec<_> =
        (0..20u8).map(|i| log.append(HEADER, 900, |_, buffer| buffer.extend([i; 900]))).collect();
    log.write().unwrap();
    for (i, extent) in extents.iter().enumerate() {
        assert_eq!(reader.read(&disk, *extent).unwrap(), vec![i as u8; 900]);
        let (header, payload) = reader.record(&disk, extent.at).unwrap();
        assert_eq!((header, payload), (HEADER, vec![i as u8; 900].into()));
    }
}

#[test]
fn many_are_read_together_and_a_damaged_one_is_left_out() {
    let disk = SimDisk::new(1);
    let mut log = log(&disk);
    let mut extents: Vec<_> =
        (0..20u8).map(|i| log.append(HEADER, 900, |_, buffer| buffer.extend([i; 900]))).collect();
    log.write().unwrap();
    let bad = extents[2];
    disk.inject(Fault::FlipBit { file: "log-00000000000000000000".into(), byte: bad.at.0 + 60 });
    extents.push(Extent { at: LogOffset(1 << 40), length: 900 });
    extents.push(Extent { length: 899, ..extents[4] });
    extents.reverse();
    let read = log.reader().read_many(&disk, &extents);
    for (i, read) in read.into_iter().rev().enumerate() {
        let expected = (i < 20 && i != 2).then(|| vec![i as u8; 900]);
        assert_eq!(read.as_deref(), expected.as_deref(), "{i}");
    }
}

#[test]
fn places_and_lengths_from_outside_are_answered_not_believed() {
    let disk = SimDisk::new(1);
    let mut log = log(&disk);
    let extent = log.append(HEADER, 100, |_, buffer| buffer.resize(buffer.len() + 100, 1));
    log.write().unwrap();
    let reader = log.reader();
    for at in [0, 1, extent.at.0 + 8, extent.at.0 + 144, 4095, 4090, 1 << 40, u64::MAX - 7, u64::MAX] {
        let found = reader.record(&disk, LogOffset(at));
        assert!(found.is_err(), "{at}: {found:?}");
        reader.read(&disk, Extent { at: LogOffset(at), length: 100 }).unwrap_err();
    }
    for length in [0, 99, 101, 4000, u32::MAX] {
        let error = reader.read(&disk, Extent { length, ..extent }).unwrap_err();
        assert!(matches!(error, ReadError::Corrupt { .. }), "{length}: {error}");
    }
}

#[test]
fn a_damaged_record_is_named_and_a_failing_disk_is_told_from_it() {
    let disk = SimDisk::new(1);
    let mut log = log(&disk);
    let extent = log.append(HEADER, 100, |_, buffer| buffer.resize(buffer.len() + 100, 1));
    log.write().unwrap();
    disk.inject(Fault::FailReads(1));
    let error = log.reader().read(&disk, extent).unwrap_err();
    assert!(matches!(error, ReadError::Io { at: 64, .. }), "{error}");
    disk.inject(Fault::FlipBit { file: "log-00000000000000000000".into(), byte: extent.at.0 + 60 });
    for error in [
        log.reader().read(&disk, extent).unwrap_err(),
        log.reader().record(&disk, extent.at).map(|_| ()).unwrap_err(),
    ] {
        assert!(
            error.to_string().starts_with("log-00000000000000000000 at byte 64: bytes of crc"),
            "{error}"
        );
    }
    disk.remove("log-00000000000000000000").unwrap();
    let error = log.reader().read(&disk, extent).unwrap_err();
    assert!(matches!(&error, ReadError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound));
}
