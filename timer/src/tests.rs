use super::*;
use crate::memory::{LOAD_STEP, WINDOWS_MAX};
use crate::window::WINDOW_MS;
use proptest::prelude::*;
use std::collections::BTreeSet;

mod against_a_sorted_list;
mod on_disk;

const MINUTE: i64 = 60_000;
/// The beginning of a stretch in 2023.
const START: i64 = 2_833_333 * WINDOW_MS;

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(ms)
}

fn entry(deliver_at: i64, log_offset: u64) -> Entry {
    Entry {
        deliver_at: at(deliver_at),
        log_offset: LogOffset(log_offset),
        length: 100,
        topic: TopicId((log_offset % 3) as u32),
        key_hash: log_offset,
        position: IN_LOG,
        level: 0,
    }
}

fn timer(now: i64, entries: &[(i64, u64)]) -> Timer {
    let mut timer = Timer::new(at(now));
    for &(deliver_at, log_offset) in entries {
        timer.schedule(entry(deliver_at, log_offset));
    }
    timer
}

/// What is due at `now`, as the log offsets.
fn take(timer: &mut Timer, now: i64) -> Vec<u64> {
    let due = timer.take_due(at(now), usize::MAX);
    assert!(due.iter().all(|entry| entry.deliver_at <= at(now)), "early at {now}: {due:?}");
    due.iter().map(|entry| entry.log_offset.0).collect()
}

fn next(timer: &Timer) -> Option<i64> {
    timer.next_due().map(Timestamp::as_millis)
}

#[test]
fn nothing_is_due_a_millisecond_early() {
    let mut timer = timer(START, &[(START + 5, 1)]);
    assert_eq!(next(&timer), Some(START + 5));
    assert_eq!(take(&mut timer, START + 4), []);
    assert_eq!(take(&mut timer, START + 5), [1]);
    assert_eq!((next(&timer), timer.len()), (None, 0));
}

#[test]
fn entries_of_one_millisecond_come_in_the_order_of_acceptance() {
    let mut timer = timer(START, &[(START + 7, 10), (START + 7, 20), (START + 6, 30), (START + 7, 40)]);
    assert_eq!(take(&mut timer, START + 7), [30, 10, 20, 40]);
}

#[test]
fn the_order_holds_whatever_order_the_log_offsets_are_told_in() {
    for count in [3, 63, 64, 65, 66, 5000] {
        let mut timer = Timer::new(at(START));
        for i in (0..count).rev() {
            timer.schedule(entry(START + 9, i));
        }
        assert!(take(&mut timer, START + 9).into_iter().eq(0..count), "{count}");
    }
}

#[test]
fn both_sides_of_a_window_border_are_delivered_in_order() {
    let border = START + WINDOW_MS;
    let mut timer = timer(START, &[(border, 3), (border - 1, 1), (border + 1, 4), (border - 1, 2)]);
    assert_eq!(take(&mut timer, border - 1), [1, 2]);
    assert_eq!(take(&mut timer, border), [3]);
    assert_eq!(next(&timer), Some(border + 1));
    assert_eq!(take(&mut timer, border + 1), [4]);
}

#[test]
fn a_bucket_is_loaded_a_minute_before_its_stretch_begins() {
    let begin = START + 3 * WINDOW_MS;
    let mut timer = timer(START, &[(begin + 5, 1)]);
    assert_eq!(next(&timer), Some(begin - MINUTE), "wake up to load");
    assert_eq!(take(&mut timer, begin - MINUTE - 1), []);
    assert_eq!((timer.memory.piles.len(), timer.memory.windows.len()), (1, 0));
    assert_eq!(take(&mut timer, begin - MINUTE), []);
    assert_eq!((timer.memory.piles.len(), timer.memory.windows.len()), (0, 1));
    assert_eq!(next(&timer), Some(begin + 5), "exact once loaded");
    assert_eq!(take(&mut timer, begin + 5), [1]);
}

#[test]
fn a_big_bucket_is_loaded_in_parts_and_delivered_whole_and_in_order() {
    let begin = START + 3 * WINDOW_MS;
    let count = 3 * LOAD_STEP as u64 + 1;
    let mut timer = Timer::new(at(START));
    for i in 0..count {
        timer.schedule(entry(begin + (i as i64 * 7919) % 1000, i));
    }
    assert_eq!(take(&mut timer, begin - MINUTE), []);
    assert_eq!(next(&timer), Some(begin - MINUTE), "there is more to load");
    timer.schedule(entry(begin, count));
    timer.schedule(entry(begin, 17));
    assert_eq!(timer.len() as u64, count + 2, "17 is another entry at that moment");
    assert_eq!(timer.remove(at(begin), LogOffset(17)), Some(entry(begin, 17)));
    for i in [0, count - 1] {
        timer.schedule(entry(begin + (i as i64 * 7919) % 1000, i));
    }
    assert_eq!(
        timer.len() as u64,
        count + 1,
        "the first is loaded and the last is not; both are there already"
    );
    for _ in 0..3 {
        assert_eq!(take(&mut timer, begin - MINUTE), []);
    }
    assert_eq!(next(&timer), Some(begin), "all is loaded");

    let mut expected: Vec<_> =
        (0..count).map(|i| ((i as i64 * 7919) % 1000, i)).chain([(0, count)]).collect();
    expected.sort_unstable();
    let due = take(&mut timer, begin + 999);
    assert!(due.into_iter().eq(expected.into_iter().map(|(_, i)| i)));
}

#[test]
fn what_is_not_loaded_when_its_stretch_begins_is_delivered_on_time_all_the_same() {
    let begin = START + 3 * WINDOW_MS;
    let count = 3 * LOAD_STEP as u64;
    let mut timer = Timer::new(at(START));
    for i in 0..count {
        timer.schedule(entry(begin + 3, i));
    }
    assert_eq!(take(&mut timer, begin - 1), []);
    assert_eq!(next(&timer), Some(begin - MINUTE));
    assert!(take(&mut timer, begin + 3).into_iter().eq(0..count));
}

#[test]
fn an_entry_of_the_past_is_due_at_once_the_oldest_first() {
    let mut timer =
        timer(START + 5, &[(START + 5, 1), (START - 90 * MINUTE, 2), (START + 4, 3), (i64::MIN, 4), (-1, 5)]);
    assert!(next(&timer).is_some_and(|due| due <= START));
    assert_eq!(take(&mut timer, START + 5), [4, 5, 2, 3, 1]);
}

#[test]
fn a_budget_is_kept_and_the_rest_stays_overdue() {
    let mut timer = timer(START, &[(START + 1, 1), (START + 1, 2), (START + 2, 3)]);
    let due = timer.take_due(at(START + 2), 2);
    assert_eq!(due, [entry(START + 1, 1), entry(START + 1, 2)]);
    assert_eq!(next(&timer), Some(START + 2));
    assert_eq!(timer.take_due(at(START + 2), 0), []);
    assert_eq!(take(&mut timer, START + 2), [3]);
}

#[test]
fn a_step_back_delivers_nothing_early_and_nothing_twice() {
    let mut timer = timer(START, &[(START + 10, 1), (START + 20, 2), (START + 30 * MINUTE, 3)]);
    assert_eq!(take(&mut timer, START + 15), [1]);
    assert_eq!(take(&mut timer, START - 365 * 24 * 60 * MINUTE), []);
    timer.schedule(entry(START - 364 * 24 * 60 * MINUTE, 4));
    assert_eq!(take(&mut timer, START - 364 * 24 * 60 * MINUTE), [4]);
    assert_eq!(take(&mut timer, START + 19), []);
    assert_eq!(take(&mut timer, START + 20), [2]);
    assert_eq!(take(&mut timer, START + 30 * MINUTE), [3]);
}

#[test]
fn a_step_forward_by_years_delivers_everything_between_in_order() {
    let year = 365 * 24 * 60 * MINUTE;
    let mut timer = Timer::new(at(START));
    for i in 0..1000_u64 {
        timer.schedule(entry(START + (i as i64 * 7919 % 1000) * year / 100, i));
    }
    let (mut taken, mut calls) = (Vec::new(), 0);
    while !timer.is_empty() {
        taken.extend(timer.take_due(at(START + 11 * year), 10));
        calls += 1;
    }
    assert_eq!(calls, 100, "every call delivers its budget");
    assert!(taken.is_sorted_by_key(Entry::key));
    assert_eq!(taken.len(), 1000);
}

#[test]
fn windows_stay_few_when_the_clock_walks_back() {
    let mut timer = Timer::new(at(START));
    for i in 0..100 {
        let now = START - i * WINDOW_MS;
        assert_eq!(take(&mut timer, now), []);
        timer.schedule(entry(now + 5, i as u64));
        timer.schedule(entry(now + 6, 1000 + i as u64));
        assert!(timer.memory.windows.len() <= WINDOWS_MAX);
        take(&mut timer, now);
        assert_eq!(next(&timer), Some(now + 5), "no driver is kept awake for nothing");
    }
    let expected = (0..100).rev().flat_map(|i| [i, 1000 + i]);
    assert!(take(&mut timer, START + 6).into_iter().eq(expected));
}

#[test]
fn what_is_near_is_loaded_in_place_of_what_a_step_back_made_far() {
    let mut timer = Timer::new(at(START));
    for i in 0..4 {
        assert_eq!(take(&mut timer, START - i * WINDOW_MS), []);
        timer.schedule(entry(START - i * WINDOW_MS + 1, i as u64));
    }
    let now = START - 4 * WINDOW_MS - 30_000;
    take(&mut timer, now);
    timer.schedule(entry(now + 1, 11));
    timer.schedule(entry(now + 40_000, 10));
    assert_eq!(take(&mut timer, now), []);
    assert_eq!(next(&timer), Some(now + 1));
    assert_eq!(take(&mut timer, now + 1), [11]);
    assert_eq!(next(&timer), Some(now + 40_000));
    assert_eq!(take(&mut timer, START + 1), [10, 3, 2, 1, 0]);
}

#[test]
fn the_ends_of_time_do_not_overflow() {
    let ends =
        [i64::MIN, i64::MIN + 1, -1, 0, 9_223_372_036_854, 253_402_300_799_999, i64::MAX - 1, i64::MAX];
    for now in ends {
        let entries: Vec<_> = ends.into_iter().zip(0..).collect();
        let mut timer = timer(now, &entries);
        let due = ends.iter().filter(|&&end| end <= now).count() as u64;
        assert!(next(&timer).is_some_and(|next| next == i64::MIN), "{now}");
        assert_eq!(timer.due_within(at(now), usize::MAX).len() as u64, due, "{now}");
        assert!(take(&mut timer, now).into_iter().eq(0..due), "{now}");
        assert_eq!(timer.due_within(at(i64::MAX), usize::MAX).len() as u64, 8 - due, "{now}");
        for (deliver_at, log_offset) in entries.into_iter().skip(due as usize) {
            assert_eq!(
                timer.remove(at(deliver_at), LogOffset(log_offset)),
                Some(entry(deliver_at, log_offset)),
                "{now}"
            );
        }
        assert_eq!(next(&timer), None);
    }
}

#[test]
fn one_of_many_in_a_millisecond_is_recalled_and_the_others_keep_their_order() {
    let count = 5000;
    let mut timer = Timer::new(at(START));
    for i in 0..count {
        timer.schedule(entry(START + 1, i));
    }
    for i in (0..count).filter(|i| i % 2 == 1) {
        assert_eq!(timer.remove(at(START + 1), LogOffset(i)), Some(entry(START + 1, i)));
        assert_eq!(timer.remove(at(START + 1), LogOffset(i)), None, "recalled already");
    }
    assert!(take(&mut timer, START + 1).into_iter().eq((0..count).step_by(2)));
}

#[test]
fn removing_needs_the_right_moment() {
    let far = START + 30 * 24 * 60 * MINUTE;
    let mut timer = timer(START, &[(START + 1, 1), (far, 2)]);
    for (deliver_at, log_offset) in
        [(START + 2, 1), (START + 1, 2), (far + 1, 2), (far, 1), (far + 60 * MINUTE, 2)]
    {
        assert_eq!(timer.remove(at(deliver_at), LogOffset(log_offset)), None);
    }
    assert_eq!(timer.remove(at(far), LogOffset(2)), Some(entry(far, 2)));
    assert_eq!(timer.remove(at(START + 1), LogOffset(1)), Some(entry(START + 1, 1)));
    assert_eq!((timer.len(), next(&timer)), (0, None));
}

#[test]
fn an_entry_that_is_pending_already_is_not_scheduled_twice() {
    let far = START + 24 * 60 * MINUTE;
    let mut timer = timer(START, &[(START + 1, 1), (START + 1, 1), (far, 2), (far, 2)]);
    assert_eq!((timer.len(), timer.count(TopicId(1)), timer.count(TopicId(2))), (2, 1, 1));
    assert_eq!(take(&mut timer, far), [1, 2]);
}

#[test]
fn what_falls_due_soon_is_seen_without_being_taken() {
    let far = START + 24 * 60 * MINUTE;
    let timer =
        timer(START, &[(far, 4), (START + 3, 3), (START + 2, 2), (START + 2, 1), (START - MINUTE, 5)]);
    let see = |until, limit| -> Vec<u64> {
        timer.due_within(at(until), limit).iter().map(|entry| entry.log_offset.0).collect()
    };
    assert_eq!(see(START + 2, 10), [5, 1, 2]);
    assert_eq!(see(START + 2, 2), [5, 1]);
    assert_eq!(see(far - 1, 10), [5, 1, 2, 3]);
    assert_eq!(see(far, 10), [5, 1, 2, 3, 4]);
    assert_eq!(see(far, 0), []);
    assert_eq!(timer.len(), 5);
}

#[test]
fn a_dropped_topic_is_never_delivered_and_others_are_not_touched() {
    let far = START + 24 * 60 * MINUTE;
    let mut timer = Timer::new(at(START));
    for i in 0..300 {
        timer.schedule(entry(START + 1, i));
        timer.schedule(entry(far, 1000 + i));
    }
    let before = timer.count(TopicId(1));
    assert_eq!(timer.drop_topic(TopicId(1)), [(0, before)]);
    assert_eq!(timer.count(TopicId(1)), 0);
    assert!(timer.drop_topic(TopicId(1)).is_empty() && timer.drop_topic(TopicId(9)).is_empty());
    assert_eq!(timer.len() as u64, 600 - before);
    let due = timer.take_due(at(far), usize::MAX);
    assert!(due.iter().all(|entry| entry.topic != TopicId(1)));
    assert_eq!(due.len() as u64, 600 - before);
}

#[test]
fn a_restart_with_everything_overdue_delivers_by_moment_then_acceptance() {
    let mut timer = Timer::new(at(START));
    let mut expected = BTreeSet::new();
    for i in 0..20_000_u64 {
        let deliver_at = START - (i.wrapping_mul(2_654_435_761) % (365 * 24 * 60 * 60)) as i64 * 1000;
        timer.schedule(entry(deliver_at, i));
        expected.insert((deliver_at, i));
    }
    // The log also tells what was delivered before the stop: the oldest half.
    let delivered: Vec<_> = expected.iter().copied().take(10_000).collect();
    for key in delivered {
        assert!(timer.remove(at(key.0), LogOffset(key.1)).is_some());
        expected.remove(&key);
    }
    let mut taken = Vec::new();
    while !timer.is_empty() {
        taken.extend(timer.take_due(at(START), 777));
    }
    assert!(taken.into_iter().map(|e| (e.deliver_at.as_millis(), e.log_offset.0)).eq(expected));
}
