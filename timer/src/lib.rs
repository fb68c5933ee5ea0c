//! When: the pending messages by their moment of delivery.
//!
//! A pending message is an [`Entry`]: when it is due, and where its record lies in the log. It enters by
//! [`Timer::schedule`] and leaves on time by [`Timer::take_due`], or before by [`Timer::remove`]. Entries
//! leave in the order of their moments, and within one millisecond in the order of acceptance, which is the
//! order of the log.
//!
//! Time is cut into stretches of ten minutes, counted from the epoch. The entries of a stretch lie in one of
//! two ways:
//!
//! - in a *bucket*, in the order of acceptance, while their time is far: 40 bytes an entry;
//! - in a *window*, a wheel of one slot a millisecond, once their time is near: 48 bytes an entry.
//!
//! A bucket is loaded into a window from a minute before its time on, a part at every call, so that no call
//! pays for all of it; what is not loaded when its time begins is loaded then. A new entry goes to the window
//! of its stretch where there is one. The stretch of now and the next one always have theirs; a stretch that
//! is over gets one again when its entries' turn comes: after a stop or a step of the clock, what is overdue
//! is delivered stretch after stretch, the oldest first.
//!
//! The clock is the caller's and may jump. A step back loads nothing twice and delivers nothing early: only
//! the moment told with a call decides. A step forward makes everything in between overdue.
//!
//! This room never knows what a topic is, only that it counts by it. It never reads the log, asks for no
//! time, and saves nothing: after a start it is told of every record again.

mod bucket;
mod entry;
mod occupancy;
mod run;
mod slab;
mod window;

use std::collections::BTreeMap;

use model::{LogOffset, Timestamp, TopicId};

pub use entry::Entry;

use bucket::Bucket;
use slab::Slab;
use window::{WINDOW_MS, Window, number_of};

/// How long before its time a bucket is loaded.
const LOAD_AHEAD_MS: i64 = 60_000;
/// Entries of a bucket that one call loads ahead of their time: about 0.1 ms, so a million are loaded within
/// a minute by a driver that calls as often as it is asked to.
const LOAD_STEP: usize = 1024;
/// Windows that exist at once: now, next, one that is overdue, and one left over from a step of the clock.
const WINDOWS_MAX: usize = 4;

/// The pending messages.
///
/// A pair of moment and log offset names an entry; one that is pending already is not scheduled twice.
#[derive(Debug)]
pub struct Timer {
    /// The latest moment told, which may be earlier than the one before.
    now: Timestamp,
    /// By number; none is empty.
    windows: Vec<Window>,
    /// An empty window, kept for the next stretch.
    spare: Option<Window>,
    slab: Slab,
    /// By number; none is empty. While one is loaded, its stretch has a window too.
    buckets: BTreeMap<i64, Bucket>,
    counts: BTreeMap<TopicId, u64>,
    len: usize,
}

impl Timer {
    /// Nothing pending, at the moment `now`.
    pub fn new(now: Timestamp) -> Self {
        Self {
            now,
            windows: Vec::new(),
            spare: None,
            slab: Slab::default(),
            buckets: BTreeMap::new(),
            counts: BTreeMap::new(),
            len: 0,
        }
    }

    /// Adds a pending message, due at any moment, past ones too. It is taken by [`Self::take_due`] only.
    pub fn schedule(&mut self, entry: Entry) {
        let number = number_of(entry.deliver_at);
        if self.add(number, entry) {
            *self.counts.entry(entry.topic).or_default() += 1;
            self.len += 1;
        }
    }

    /// Removes the entries due at `now`, earliest first, at most `budget` of them.
    ///
    /// Never early: every entry returned has `deliver_at <= now`. Entries of one moment come in the order of
    /// their log offsets. Work left over shows as [`Timer::next_due`] in the past; the caller decides when to
    /// come back. `now` may be earlier or later than at any call before, by any distance.
    pub fn take_due(&mut self, now: Timestamp, budget: usize) -> Vec<Entry> {
        self.now = now;
        let mut due = Vec::new();
        while due.len() < budget {
            let Some(number) = self.first_number().filter(|&number| number <= number_of(now)) else { break };
            let window = self.load(number, usize::MAX);
            self.windows[window].take_due(&mut self.slab, now, budget, &mut due);
            if !self.windows[window].is_empty() {
                break;
            }
            self.close(window);
        }
        for entry in &due {
            self.uncount(entry.topic, 1);
        }
        self.load_ahead();
        due
    }

    /// The moment at which to call [`Self::take_due`] next; `None` where nothing is pending.
    ///
    /// It is the earlier of two: the moment of the first entry that is in a window, exact; and the moment at
    /// which the first bucket is to be loaded, a minute before its stretch begins, which stays in the past
    /// until the whole bucket is loaded. So it is never later than the first entry's moment. Costs a look at
    /// the first slot and the first bucket.
    pub fn next_due(&self) -> Option<Timestamp> {
        let due =
            self.windows.first().and_then(|window| window.first(&self.slab)).map(|entry| entry.deliver_at);
        let load = self.buckets.keys().next().map(|&number| load_at(number));
        due.into_iter().chain(load).min()
    }

    /// The entries due by `until` in the order in which they will be taken, at most `limit` of them. Takes
    /// none.
    ///
    /// Costs by what it returns for moments within the next minute; beyond, it looks at every entry of the
    /// buckets up to `until`.
    pub fn due_within(&self, until: Timestamp, limit: usize) -> Vec<Entry> {
        let mut due = Vec::new();
        let mut from = Some(i64::MIN);
        while let Some(number) = from.and_then(|from| self.next_number(from)) {
            if number > number_of(until) || due.len() >= limit {
                break;
            }
            let before = due.len();
            if let Ok(window) = self.window(number) {
                self.windows[window].due_within(&self.slab, until, limit, &mut due);
            }
            if let Some(bucket) = self.buckets.get(&number) {
                due.extend(bucket.due_within(until));
                due[before..].sort_unstable_by_key(Entry::key);
                due.truncate(limit);
            }
            from = number.checked_add(1);
        }
        due
    }

    /// Takes a pending message away, because it was recalled or because the log tells that it was delivered.
    /// `None` where there is no such entry.
    pub fn remove(&mut self, deliver_at: Timestamp, log_offset: LogOffset) -> Option<Entry> {
        let number = number_of(deliver_at);
        let entry = self.remove_near(number, deliver_at, log_offset).or_else(|| {
            let bucket = self.buckets.get_mut(&number)?;
            let entry = bucket.remove(deliver_at, log_offset);
            if bucket.is_empty() {
                self.buckets.remove(&number);
            }
            entry
        })?;
        self.uncount(entry.topic, 1);
        Some(entry)
    }

    /// How many messages are pending.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many messages of a topic are pending.
    pub fn count(&self, topic: TopicId) -> u64 {
        self.counts.get(&topic).copied().unwrap_or(0)
    }

    /// A topic's pending messages, in no order. Looks at every entry.
    pub fn of_topic(&self, topic: TopicId) -> Vec<Entry> {
        let mut all = Vec::new();
        if self.count(topic) == 0 {
            return all;
        }
        let end = Timestamp::from_millis(i64::MAX);
        for window in &self.windows {
            window.due_within(&self.slab, end, usize::MAX, &mut all);
            all.retain(|entry| entry.topic == topic);
        }
        for bucket in self.buckets.values() {
            all.extend(bucket.due_within(end).filter(|entry| entry.topic == topic));
        }
        all
    }

    /// Forgets a topic's pending messages; tells how many there were. Looks at every entry.
    pub fn drop_topic(&mut self, topic: TopicId) -> u64 {
        let dropped = self.count(topic);
        if dropped == 0 {
            return 0;
        }
        for window in &mut self.windows {
            window.retain(&mut self.slab, |entry| entry.topic != topic);
        }
        self.windows.retain(|window| !window.is_empty());
        self.buckets.retain(|_, bucket| {
            bucket.retain(|entry| entry.topic != topic);
            !bucket.is_empty()
        });
        self.uncount(topic, dropped);
        dropped
    }

    /// Puts an entry where it belongs; `false` where it is there already.
    fn add(&mut self, number: i64, entry: Entry) -> bool {
        let window = self.window(number);
        let opens = window.is_err() && self.is_near(number) && self.windows.len() < WINDOWS_MAX;
        match (self.buckets.get_mut(&number), window) {
            (Some(bucket), Ok(_)) if bucket.contains(&entry) => false,
            (_, Ok(window)) => self.windows[window].insert(&mut self.slab, entry),
            (Some(bucket), Err(_)) => bucket.insert(entry),
            (None, Err(_)) if opens => {
                let window = self.open(number);
                self.windows[window].insert(&mut self.slab, entry)
            }
            (None, Err(_)) => self.buckets.entry(number).or_default().insert(entry),
        }
    }

    fn remove_near(&mut self, number: i64, deliver_at: Timestamp, log_offset: LogOffset) -> Option<Entry> {
        let window = self.window(number).ok()?;
        let entry = self.windows[window].remove(&mut self.slab, deliver_at, log_offset);
        if self.windows[window].is_empty() {
            self.close(window);
        }
        entry
    }

    fn uncount(&mut self, topic: TopicId, count: u64) {
        self.len -= count as usize;
        let pending =
            self.counts.get_mut(&topic).unwrap_or_else(|| panic!("topic {topic} has entries and no count"));
        *pending -= count;
        if *pending == 0 {
            self.counts.remove(&topic);
        }
    }

    /// Whether a stretch is that of now or, a minute before it begins, the next one.
    fn is_near(&self, number: i64) -> bool {
        (number_of(self.now)..=number_of(self.soon())).contains(&number)
    }

    fn soon(&self) -> Timestamp {
        self.now.checked_add_millis(LOAD_AHEAD_MS).unwrap_or(Timestamp::from_millis(i64::MAX))
    }

    /// The first stretch that has entries.
    fn first_number(&self) -> Option<i64> {
        self.next_number(i64::MIN)
    }

    /// The first stretch from `from` on that has entries.
    fn next_number(&self, from: i64) -> Option<i64> {
        let window = self.windows.iter().map(Window::number).find(|&number| number >= from);
        let bucket = self.buckets.range(from..).next().map(|(&number, _)| number);
        window.into_iter().chain(bucket).min()
    }

    /// The place of a stretch's window, or where it would be.
    fn window(&self, number: i64) -> Result<usize, usize> {
        self.windows.binary_search_by_key(&number, Window::number)
    }

    /// Gives a stretch a window; tells its place.
    fn open(&mut self, number: i64) -> usize {
        let place = self.window(number).expect_err("a stretch has one window");
        let window = match self.spare.take() {
            Some(mut window) => {
                window.renumber(number);
                window
            }
            None => Window::new(number),
        };
        self.windows.insert(place, window);
        place
    }

    /// Puts an empty window aside.
    fn close(&mut self, place: usize) {
        self.spare = Some(self.windows.remove(place));
    }

    /// Loads up to `count` entries of a stretch's bucket; tells the place of its window.
    fn load(&mut self, number: i64, count: usize) -> usize {
        let place = self.window(number).unwrap_or_else(|_| {
            if self.windows.len() >= WINDOWS_MAX {
                self.unload();
            }
            self.open(number)
        });
        if let Some(bucket) = self.buckets.get_mut(&number) {
            for entry in std::iter::from_fn(|| bucket.pop()).take(count) {
                self.windows[place].insert(&mut self.slab, entry);
            }
            if bucket.is_empty() {
                self.buckets.remove(&number);
            }
        }
        place
    }

    /// Loads a part of what will be due within a minute. Where all windows belong to earlier stretches, it
    /// waits for them: their turn comes first anyway.
    fn load_ahead(&mut self) {
        for number in [number_of(self.now), number_of(self.soon())] {
            let last = self.windows.last().map_or(i64::MIN, Window::number);
            let room = self.windows.len() < WINDOWS_MAX || self.window(number).is_ok() || last > number;
            if room && self.buckets.contains_key(&number) {
                self.load(number, LOAD_STEP);
            }
        }
    }

    /// Makes the window whose turn comes last a bucket again.
    fn unload(&mut self) {
        let mut window = self.windows.pop().expect("there are windows to unload");
        let mut entries = window.drain(&mut self.slab);
        entries.sort_unstable_by_key(|entry| entry.log_offset);
        let bucket = self.buckets.entry(window.number()).or_default();
        for entry in entries {
            bucket.insert(entry);
        }
        self.spare = Some(window);
    }
}

/// When a stretch's bucket is to be loaded.
fn load_at(number: i64) -> Timestamp {
    Timestamp::from_millis(number.saturating_mul(WINDOW_MS).saturating_sub(LOAD_AHEAD_MS))
}

#[cfg(test)]
mod tests;
