use super::*;
use model::LogOffset;
use proptest::prelude::*;

fn entry(at: u64, stored_at: i64) -> Entry {
    Entry {
        extent: Extent { at: LogOffset(at), length: 1 },
        tag_code: at as i64,
        stored_at: Timestamp::from_millis(stored_at),
    }
}

fn queue(moments: &[i64]) -> ConsumeQueue {
    let mut queue = ConsumeQueue::new();
    for (i, &moment) in moments.iter().enumerate() {
        assert_eq!(queue.append(entry(i as u64, moment)), QueueOffset(i as i64));
    }
    queue
}

fn check(moments: &[i64], trimmed: i64, at: i64, lower: i64, upper: i64) {
    let mut queue = queue(moments);
    queue.trim(QueueOffset(trimmed));
    let search = |upper| queue.search(Timestamp::from_millis(at), upper).0;
    assert_eq!((search(false), search(true)), (lower, upper), "{at} in {moments:?} from {trimmed} on");
}

#[test]
fn searching_by_time_keeps_every_edge_of_rocketmqs() {
    let moments = [10, 20, 20, 20, 30];
    check(&moments, 0, 20, 1, 3); // some are stored at the moment
    check(&moments, 0, 10, 0, 0);
    check(&moments, 0, 30, 4, 4);
    check(&moments, 0, 25, 4, 3); // none at it, some on each side
    check(&moments, 0, 11, 1, 0);
    check(&moments, 0, 31, 5, 4); // all earlier
    check(&moments, 0, i64::MAX, 5, 4);
    check(&moments, 0, 9, 0, 0); // all later
    check(&moments, 0, i64::MIN, 0, 0);
    check(&[], 0, 20, 0, 0); // no entry
    check(&[20], 0, 20, 0, 0);
}

#[test]
fn searching_by_time_stays_within_what_is_kept() {
    let moments = [10, 20, 20, 20, 30];
    check(&moments, 2, 20, 2, 3);
    check(&moments, 2, 15, 2, 2);
    check(&moments, 2, 31, 5, 4);
    check(&moments, 5, 20, 5, 5);
}

#[test]
fn trimming_moves_the_beginning_and_never_past_the_end() {
    let mut queue = queue(&[1, 2, 3]);
    queue.trim(QueueOffset(2));
    assert_eq!((queue.min(), queue.max(), queue.len()), (QueueOffset(2), QueueOffset(3), 1));
    assert_eq!(queue.get(QueueOffset(1)), None);
    assert_eq!(queue.get(QueueOffset(2)), Some(&entry(2, 3)));
    queue.trim(QueueOffset(1));
    assert_eq!(queue.min(), QueueOffset(2), "never back");
    queue.trim(QueueOffset(i64::MAX));
    assert_eq!((queue.min(), queue.max()), (QueueOffset(3), QueueOffset(3)));
    assert_eq!(queue.append(entry(9, 9)), QueueOffset(3));
}

#[test]
fn reading_begins_at_the_offset_or_at_what_is_kept() {
    let mut queue = queue(&[1, 2, 3, 4]);
    queue.trim(QueueOffset(1));
    let from = |offset| -> Vec<i64> { queue.iter_from(QueueOffset(offset)).map(|e| e.tag_code).collect() };
    assert_eq!(from(2), [2, 3]);
    assert_eq!(from(0), [1, 2, 3]);
    assert_eq!(from(i64::MIN), [1, 2, 3]);
    assert_eq!(from(4), []);
    assert_eq!(from(i64::MAX), []);
    for offset in [i64::MIN, -1, 0, 4, i64::MAX] {
        assert_eq!(queue.get(QueueOffset(offset)), None, "{offset}");
    }
}

proptest! {
    #[test]
    fn searching_by_time_is_what_looking_at_each_finds(
        mut moments in proptest::collection::vec(0..30_i64, 0..40),
        trimmed in 0..40_i64,
        at in -2..32_i64,
    ) {
        moments.sort_unstable();
        let mut queue = queue(&moments);
        queue.trim(QueueOffset(trimmed));
        let kept = || (0..).zip(&moments).skip(queue.min().0 as usize).map(|(i, &moment)| (i64::from(i), moment));
        let lower = kept().find(|&(_, moment)| moment >= at).map_or(queue.max().0, |(i, _)| i);
        let upper = kept().filter(|&(_, moment)| moment <= at).last().map_or(queue.min().0, |(i, _)| i);
        prop_assert_eq!(queue.search(Timestamp::from_millis(at), false), QueueOffset(lower));
        prop_assert_eq!(queue.search(Timestamp::from_millis(at), true), QueueOffset(upper));
    }
}
