use super::*;
use env::{Fault, SimDisk};
use std::sync::Arc;

fn part(topic: u32, first: i64, count: u64) -> Part {
    let entry = |i| Entry {
        extent: Extent { at: LogOffset(i * 8), length: i as u32 },
        tag_code: -(i as i64),
        stored_at: Timestamp::from_millis(i as i64 + 5),
    };
    let piece = Piece { first, entries: Arc::new((0..count).map(entry).collect()) };
    Part { topic: TopicId(topic), queue_id: QueueId(7), piece }
}

fn shown(parts: &[Part]) -> String {
    format!("{parts:?}")
}

#[test]
fn what_is_written_is_read_back() {
    for parts in [vec![], vec![part(1, 0, 3), part(2, 99, 70_000), part(2, 5, 1)]] {
        let disk = SimDisk::new(1);
        write(&disk, "q", &parts).unwrap();
        disk.sync_folder().unwrap();
        assert_eq!(shown(&read(&disk.after_crash(), "q").unwrap()), shown(&parts));
    }
}

#[test]
fn a_damaged_byte_is_noticed_wherever_it_is() {
    let length = {
        let disk = SimDisk::new(1);
        write(&disk, "q", &[part(1, 0, 3), part(2, 99, 2)]).unwrap();
        disk.len("q").unwrap()
    };
    // The last four bytes mean nothing.
    for byte in 0..length - 4 {
        let disk = SimDisk::new(1);
        write(&disk, "q", &[part(1, 0, 3), part(2, 99, 2)]).unwrap();
        disk.inject(Fault::FlipBit { file: "q".into(), byte });
        assert!(read(&disk, "q").is_err(), "byte {byte}");
    }
    let disk = SimDisk::new(1);
    write(&disk, "q", &[part(1, 0, 3)]).unwrap();
    disk.set_len("q", 30).unwrap();
    assert!(read(&disk, "q").is_err());
    assert!(read(&disk, "none").is_err());
}
