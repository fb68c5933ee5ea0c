//! The timer does what a sorted list would do, however the clock runs.

use std::collections::BTreeMap;

use super::*;
use crate::memory::{LOAD_AHEAD_MS, load_at};
use crate::window::{Window, number_of};

#[derive(Clone, Debug)]
enum Step {
    /// Entries due this far from now, and whether their log offsets go on or lie somewhere before.
    Schedule(Vec<(i64, bool)>),
    /// Many entries due within a few milliseconds, this far from now.
    Burst(i64, u16),
    /// The clock moves, and at most so many are taken.
    Take(i64, usize),
    /// The pending entry in this place, or one that does not exist.
    Remove(usize, bool),
    /// Look ahead this far.
    Look(i64, usize),
    Drop(u32),
}

#[derive(Debug, Default)]
struct List {
    entries: BTreeMap<(Timestamp, LogOffset), Entry>,
}

impl List {
    fn first(&self, until: Timestamp, limit: usize) -> Vec<Entry> {
        self.entries.range(..=(until, LogOffset(u64::MAX))).map(|(_, entry)| *entry).take(limit).collect()
    }
}

fn distances() -> impl Strategy<Value = i64> {
    prop_oneof![
        6 => -3..20_i64,
        4 => -2 * MINUTE..2 * MINUTE,
        4 => -25 * MINUTE..25 * MINUTE,
        // Around the borders of the stretches, where now is near the beginning of one.
        3 => (-3..4_i64, -2..3_i64).prop_map(|(stretch, ms)| stretch * WINDOW_MS + ms),
        2 => -100 * 24 * 60 * MINUTE..100 * 24 * 60 * MINUTE,
        1 => any::<i64>(),
    ]
}

fn steps() -> impl Strategy<Value = Step> {
    let budgets = || prop_oneof![Just(0), 1..20_usize, Just(usize::MAX)];
    prop_oneof![
        6 => proptest::collection::vec((distances(), prop::bool::weighted(0.9)), 1..30).prop_map(Step::Schedule),
        1 => (distances(), 1..300_u16).prop_map(|(from, count)| Step::Burst(from, count)),
        8 => (prop_oneof![4 => 0..10_i64, 3 => distances()], budgets()).prop_map(|(by, budget)| Step::Take(by, budget)),
        3 => (any::<usize>(), prop::bool::weighted(0.9)).prop_map(|(which, real)| Step::Remove(which, real)),
        2 => (distances(), budgets()).prop_map(|(ahead, limit)| Step::Look(ahead, limit)),
        1 => (0..4_u32).prop_map(Step::Drop),
    ]
}

/// Runs the steps on both; gives everything the timer answered.
fn run(steps: &[Step]) -> Vec<Entry> {
    let mut now = START + 7;
    let (mut timer, mut list, mut answers) = (Timer::new(at(now)), List::default(), Vec::new());
    let mut log_offset = 1_000_000;
    let mut schedule = |timer: &mut Timer, list: &mut List, deliver_at: i64, in_order: bool| {
        log_offset += 8;
        let entry = entry(
            deliver_at,
            if in_order { log_offset } else { log_offset.wrapping_mul(2_654_435_761) % 1_000_000 },
        );
        timer.schedule(entry);
        list.entries.entry(entry.key()).or_insert(entry);
    };
    for step in steps {
        match step {
            Step::Schedule(entries) => {
                for &(from, in_order) in entries {
                    schedule(&mut timer, &mut list, now.saturating_add(from), in_order);
                }
            }
            Step::Burst(from, count) => {
                for i in 0..*count {
                    schedule(&mut timer, &mut list, now.saturating_add(from + i64::from(i % 3)), true);
                }
            }
            Step::Take(by, budget) => {
                // Near the ends of time a clock stands still; it would never come back from there.
                now = now.checked_add(*by).filter(|now| now.abs() < i64::MAX / 4).unwrap_or(now);
                let due = timer.take_due(at(now), *budget);
                let expected = list.first(at(now), *budget);
                assert_eq!(due, expected, "at {now}, budget {budget}");
                list.entries.retain(|key, _| expected.binary_search_by_key(key, Entry::key).is_err());
                answers.extend(due);
            }
            Step::Remove(which, real) => {
                let key = list.entries.keys().nth(which % list.entries.len().max(1)).copied();
                let (deliver_at, log_offset) = key.unwrap_or_default();
                let key = (deliver_at, if *real { log_offset } else { LogOffset(log_offset.0 + 1) });
                let removed = timer.remove(key.0, key.1);
                assert_eq!(removed, list.entries.remove(&key));
                answers.extend(removed);
            }
            Step::Look(ahead, limit) => {
                let until = at(now.saturating_add(*ahead));
                let seen = timer.due_within(until, *limit);
                assert_eq!(seen, list.first(until, *limit), "until {until}, limit {limit}");
                // A look that goes on from what another one saw.
                let middle = seen.get(seen.len() / 2).map_or(FIRST, Entry::key);
                for from in [middle, (middle.0, LogOffset(middle.1.0 + 1))] {
                    let mut rest = list.first(until, usize::MAX);
                    rest.retain(|entry| entry.key() >= from);
                    rest.truncate(*limit);
                    assert_eq!(timer.due_from(from, until, *limit), rest, "from {from:?} until {until}");
                }
                answers.extend(seen);
            }
            Step::Drop(topic) => {
                let before = list.entries.len();
                list.entries.retain(|_, entry| entry.topic != TopicId(*topic));
                let dropped: u64 = timer.drop_topic(TopicId(*topic)).iter().map(|(_, count)| count).sum();
                assert_eq!(dropped, (before - list.entries.len()) as u64);
            }
        }
        agree(&timer, &list);
    }
    settles(&mut timer, &mut list, now);
    answers
}

/// What must hold after every step.
fn agree(timer: &Timer, list: &List) {
    assert_eq!(timer.len(), list.entries.len());
    for topic in (0..4).map(TopicId) {
        let expected = list.entries.values().filter(|entry| entry.topic == topic).count();
        assert_eq!(timer.count(topic), expected as u64, "{topic}");
    }
    let first = list.entries.keys().next().map(|key| key.0);
    assert_eq!(timer.next_due().is_some(), first.is_some());
    assert!(timer.next_due() <= first, "{:?} is later than the first entry, {first:?}", timer.next_due());
    assert!(timer.memory.windows.len() <= WINDOWS_MAX);
    assert!(timer.memory.windows.is_sorted_by_key(Window::number));
    assert!(timer.memory.windows.iter().all(|window| !window.is_empty()));
    assert!(timer.memory.piles.values().all(|pile| !pile.is_empty()));
}

/// A driver that calls as long as `next_due` asks for it comes to rest soon, and what is near is exact then.
fn settles(timer: &mut Timer, list: &mut List, now: i64) {
    let mut calls = 0;
    while timer.next_due().is_some_and(|due| due <= at(now)) {
        for entry in timer.take_due(at(now), 1000) {
            assert_eq!(list.entries.pop_first(), Some((entry.key(), entry)));
        }
        calls += 1;
        assert!(calls <= 10 + list.entries.len() / 100, "no rest after {calls} calls");
    }
    let mut moments = list.entries.keys().map(|key| key.0);
    let first = moments.next();
    let near = number_of(at(now + LOAD_AHEAD_MS));
    let mut loads =
        first.into_iter().chain(moments).map(number_of).filter(|&number| number > near).map(load_at);
    let next = timer.next_due();
    assert!(
        next == first || loads.any(|load| Some(load) == next),
        "{next:?} is neither {first:?} nor a load; now {now}"
    );
    agree(timer, list);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn the_timer_does_what_a_sorted_list_does(steps in proptest::collection::vec(steps(), 1..60)) {
        let answers = run(&steps);
        prop_assert!(run(&steps) == answers, "the same steps got different answers");
    }
}
