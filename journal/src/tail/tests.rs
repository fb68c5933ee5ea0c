use super::{CHUNK_MAX, FREEZE_BYTES, Tail};
use crate::record::{self, Frame};

fn push(tail: &mut Tail, payload: &[u8]) -> u64 {
    let at = tail.end();
    let frame = Frame { at, kind: 1, flags: 0, epoch: 1, due_ms: 0, reference: 0 };
    record::encode(tail.buffer(record::size(payload.len())), &frame, payload.len(), |buffer| {
        buffer.extend_from_slice(payload);
    });
    at
}

#[test]
fn records_are_read_before_and_after_they_are_written() {
    let mut tail = Tail::new(64);
    let first = push(&mut tail, b"one");
    let second = push(&mut tail, &vec![2; FREEZE_BYTES]);
    let look = |tail: &Tail| {
        assert_eq!(tail.payload(first, 3).unwrap(), &b"one"[..]);
        assert_eq!(tail.payload(second, FREEZE_BYTES).unwrap(), vec![2; FREEZE_BYTES]);
    };
    look(&tail);
    tail.settle(tail.end(), usize::MAX);
    assert_eq!(tail.frozen.len(), 1);
    look(&tail);
    let third = push(&mut tail, b"three");
    look(&tail);
    assert_eq!(tail.payload(third, 5).unwrap(), &b"three"[..]);
}

#[test]
fn what_is_no_record_of_that_length_is_not_read() {
    let mut tail = Tail::new(64);
    let first = push(&mut tail, b"one");
    push(&mut tail, b"two");
    for (at, length) in
        [(0, 3), (first, 4), (first, 2), (first + 8, 3), (tail.end(), 0), (u64::MAX, 3), (first, usize::MAX)]
    {
        assert_eq!(tail.payload(at, length), None, "{at} {length}");
    }
}

#[test]
fn unwritten_bytes_come_chunk_by_chunk_and_jumps_leave_a_gap() {
    let mut tail = Tail::new(0);
    push(&mut tail, b"in the first segment");
    let end = tail.end();
    tail.jump(1000);
    assert_eq!(push(&mut tail, b"in the second"), 1000);
    assert_eq!(tail.bytes_from(0).unwrap().0, 0);
    assert_eq!(tail.bytes_from(8).unwrap(), (8, &tail.frozen[0].bytes[8..]));
    let (at, bytes) = tail.bytes_from(end).unwrap();
    assert_eq!((at, bytes.len() as u64), (1000, tail.end() - 1000));
    assert_eq!(tail.bytes_from(tail.end()), None);
    assert_eq!(tail.payload(0, 20).unwrap(), &b"in the first segment"[..]);
    assert_eq!(tail.payload(end, 20), None);
}

#[test]
fn memory_is_bounded_by_what_is_written_and_kept() {
    let mut tail = Tail::new(0);
    for _ in 0..100 {
        push(&mut tail, &vec![7; 40_000]);
    }
    let unwritten = tail.end();
    tail.settle(0, 1 << 20);
    assert_eq!(tail.frozen.front().map(|chunk| chunk.first), Some(0), "what is not written stays");
    tail.settle(unwritten, 1 << 20);
    assert!(tail.frozen_bytes + tail.open.capacity() <= 1 << 20);
    for _ in 0..1000 {
        push(&mut tail, &vec![7; 40_000]);
        tail.settle(tail.end(), 1 << 20);
        assert!(tail.frozen_bytes + tail.open.capacity() <= 1 << 20);
    }
    assert!(tail.frozen.len() > 5, "the newest are kept");
}

#[test]
fn a_chunk_does_not_grow_without_end_while_nothing_is_written() {
    let mut tail = Tail::new(0);
    for _ in 0..200 {
        push(&mut tail, &vec![7; 20_000]);
    }
    assert!(tail.frozen.iter().all(|chunk| chunk.bytes.len() <= CHUNK_MAX && chunk.held <= 2 * CHUNK_MAX));
    let big = push(&mut tail, &vec![8; 3 * CHUNK_MAX]);
    assert_eq!(tail.payload(big, 3 * CHUNK_MAX).unwrap().len(), 3 * CHUNK_MAX);
}

#[test]
fn an_idle_tail_holds_nothing() {
    let tail = Tail::new(0);
    assert_eq!(tail.open.capacity(), 0);
}

#[test]
fn the_memory_of_a_full_chunk_serves_the_next_ones() {
    let mut tail = Tail::new(0);
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..100 {
        for _ in 0..4 {
            let at = push(&mut tail, &vec![7; 250_000]);
            assert_eq!(tail.payload(at, 250_000).unwrap(), vec![7; 250_000]);
        }
        seen.insert(tail.open.as_ptr());
        tail.settle(tail.end(), 2 << 20);
    }
    assert!(seen.len() <= 5, "{} pieces of memory", seen.len());
}
