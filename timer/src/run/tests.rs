use super::*;
use model::TopicId;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn entry(log_offset: u64) -> Entry {
    Entry {
        deliver_at: Timestamp::from_millis(5),
        log_offset: LogOffset(log_offset),
        length: 1,
        topic: TopicId((log_offset % 3) as u32),
        key_hash: 0,
        position: crate::IN_LOG,
        level: 0,
    }
}

#[test]
fn entries_in_any_order_come_out_in_order_of_the_log() {
    for step in [1_u64, 7, 4999] {
        let mut run = Run::default();
        for i in 0..5000 {
            assert!(run.insert(entry(i * step % 5000)));
        }
        assert!(!run.insert(entry(17)), "it is there already");
        assert!(run.pieces.iter().all(|piece| !piece.is_empty() && piece.len() <= PIECE));
        assert!(run.iter().map(|e| e.log_offset.0).eq(0..5000), "step {step}");
        assert!(std::iter::from_fn(|| run.pop_front()).map(|e| e.log_offset.0).eq(0..5000), "step {step}");
        assert!(run.is_empty());
    }
}

#[test]
fn entries_in_order_fill_their_pieces() {
    let mut run = Run::default();
    for i in 0..10 * PIECE as u64 {
        run.insert(entry(i));
    }
    assert!(run.pieces.iter().all(|piece| piece.len() == PIECE && piece.capacity() == PIECE));
}

proptest! {
    #[test]
    fn agrees_with_a_sorted_map(steps in proptest::collection::vec((0..4_u8, 0..4000_u64), 1..3000)) {
        let (mut run, mut expected) = (Run::default(), BTreeMap::new());
        for i in 0..3000 {
            run.insert(entry(i));
            expected.insert(i, entry(i));
        }
        for (what, log_offset) in steps {
            match what {
                0 => prop_assert_eq!(run.insert(entry(log_offset)), expected.insert(log_offset, entry(log_offset)).is_none()),
                1 => prop_assert_eq!(run.remove(Timestamp::from_millis(5), LogOffset(log_offset)), expected.remove(&log_offset)),
                2 => prop_assert_eq!(run.pop_front(), expected.pop_first().map(|(_, e)| e)),
                _ => {
                    let (entry, is_there) = (entry(log_offset), expected.contains_key(&log_offset));
                    prop_assert_eq!(run.contains(&entry), is_there);
                    prop_assert_eq!(run.get(entry.deliver_at, entry.log_offset), is_there.then_some(&entry));
                }
            }
            prop_assert_eq!(run.first(), expected.first_key_value().map(|(_, e)| e));
        }
        run.retain(|e| e.topic != TopicId(1));
        expected.retain(|_, e| e.topic != TopicId(1));
        prop_assert!(run.iter().eq(expected.values()));
        prop_assert_eq!(run.is_empty(), expected.is_empty());
    }
}
