//! Deliver: what is due is appended anew, with its real topic and queue, and is visible after the write.
//!
//! Nothing slow stands between the moment and the append: the bytes of what falls due soon are read ahead. Due
//! messages leave in the order (moment, acceptance); one whose bytes are not there yet holds up those behind
//! it, so that the order of a queue never breaks.

mod staged;

use crate::config::{STAGE_AHEAD_MS, STAGE_BYTES, STAGE_MAX, STAGE_STEP_MS, STAGED_BYTES_MAX};
use crate::look_up::LookUpError;
use crate::read::Then;
use crate::work::Wanted;
use crate::{Broker, Budget};
use bytes::Bytes;
use journal::Extent;
use model::{LogOffset, Monotonic, Now, QueueId, Timestamp, TopicId};
use staged::Staged;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use timer::{Entry, Key};
use wire::stored::View;

/// What has been taken from the timer and not yet been appended, and bytes read ahead.
#[derive(Debug, Default)]
pub(crate) struct DueQueue {
    due: VecDeque<Entry>,
    /// The moment at which it was last taken from the timer.
    taken_at: Timestamp,
    /// What is due and was taken, whose topic nobody may write to: by topic, in the order in which it was taken.
    held: BTreeMap<TopicId, Vec<Entry>>,
    pub(crate) staged: Staged,
    /// Whether a read for deliveries is out; one at a time.
    reading: bool,
    /// What was looked at with what is being read, and was in memory.
    with_read: Vec<(Key, Bytes)>,
    /// Up to which entry the timer has been looked through for what is to be read ahead.
    looked_to: Key,
    /// Whether that is as far as it is read ahead, or only as much as was read at a time.
    looked_all: bool,
    /// When to try again after a read that failed, and how long the pause was.
    pause: Option<(Monotonic, Duration)>,
}

impl DueQueue {
    pub(crate) fn len(&self) -> usize {
        self.due.len() + self.held()
    }

    /// How many messages are held.
    pub(crate) fn held(&self) -> usize {
        self.held.values().map(Vec::len).sum()
    }

    /// How many messages of each topic have not left yet.
    pub(crate) fn counts(&self) -> BTreeMap<TopicId, u64> {
        let mut counts = BTreeMap::new();
        for entry in self.entries() {
            *counts.entry(entry.topic).or_default() += 1;
        }
        counts
    }

    /// How many messages of one topic have not left yet. Looks at each that is not held.
    pub(crate) fn count(&self, topic: TopicId) -> u64 {
        let due = self.due.iter().filter(|entry| entry.topic == topic).count();
        (due + self.held.get(&topic).map_or(0, Vec::len)) as u64
    }

    /// Takes out the message at `at`, where it has not left yet.
    pub(crate) fn remove(&mut self, at: LogOffset) -> Option<Entry> {
        if let Some(place) = self.due.iter().position(|entry| entry.log_offset == at) {
            return self.due.remove(place);
        }
        self.held.values_mut().find_map(|held| {
            let place = held.iter().position(|entry| entry.log_offset == at)?;
            Some(held.remove(place))
        })
    }

    /// The message at `at`, where it has not left yet.
    pub(crate) fn get(&self, at: LogOffset) -> Option<&Entry> {
        self.entries().find(|entry| entry.log_offset == at)
    }

    /// What has not left yet, held or not.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.due.iter().chain(self.held.values().flatten())
    }
}

fn extent_of(entry: &Entry) -> Extent {
    Extent { at: entry.log_offset, length: entry.length }
}

impl Broker {
    /// Delivers what is due, within `budget`, and reads ahead what falls due soon.
    pub(crate) fn deliver(&mut self, budget: Budget) {
        if self.deliveries_pause() {
            return;
        }
        self.put_back_what_is_no_longer_due();
        let room = budget.messages.saturating_sub(self.due.due.len());
        self.due.due.extend(self.timer.take_due(self.now.wall, room));
        let (mut messages, mut bytes) = (0, 0);
        while messages < budget.messages && bytes < budget.bytes && !self.deliveries_pause() {
            let Some(entry) = self.due.due.front().copied() else {
                break;
            };
            if self.topics.by_id(entry.topic).is_some_and(|topic| !topic.permission.writable()) {
                self.due.due.pop_front();
                self.due.held.entry(entry.topic).or_default().push(entry);
                continue;
            }
            let read = self.due.staged.take(entry.key());
            let Some(parked) = read.or_else(|| self.log.read_tail(extent_of(&entry))) else {
                self.stats.unstaged += 1;
                break;
            };
            self.due.due.pop_front();
            self.deliver_one(&entry, &parked);
            messages += 1;
            bytes += parked.len();
        }
        self.stage();
    }

    /// A topic is as it shall be from now on: what was held since nobody might write to it is delivered, in its
    /// order, where that has changed.
    pub(crate) fn let_go(&mut self, topic: TopicId) {
        if self.topics.by_id(topic).is_some_and(|topic| topic.permission.writable()) {
            for entry in self.due.held.remove(&topic).unwrap_or_default() {
                self.timer.put_back(entry);
            }
        }
    }

    /// After the clock was set back, what was due and has not left yet waits again.
    fn put_back_what_is_no_longer_due(&mut self) {
        let now = self.now.wall;
        if now < std::mem::replace(&mut self.due.taken_at, now) {
            let (due, waits): (VecDeque<Entry>, VecDeque<Entry>) =
                self.due.due.drain(..).partition(|entry| entry.deliver_at <= now);
            self.due.due = due;
            for entry in waits {
                self.timer.put_back(entry);
            }
        }
    }

    /// Gives back to the timer what is due and has not left, held or not, so that a checkpoint knows it as pending.
    pub(crate) fn put_back_due(&mut self) {
        let held = std::mem::take(&mut self.due.held).into_values().flatten();
        for entry in std::mem::take(&mut self.due.due).into_iter().chain(held) {
            self.timer.put_back(entry);
        }
    }

    /// The next read that the timer asks for.
    pub(crate) fn poll_load(&mut self) {
        if self.due.pause.is_some_and(|(at, _)| at > self.now.monotonic) {
            return;
        }
        while let Some(job) = self.timer.poll_load() {
            self.read_from_disk(Wanted::Bucket(Box::new(job)), Then::Load);
        }
    }

    /// A bucket was read; or not, then it is tried again, with a growing pause, for ever.
    pub(crate) fn bucket_loaded(&mut self, done: timer::LoadDone) {
        match self.timer.loaded(done) {
            Ok(()) => self.due.pause = None,
            Err(_) => self.pause_deliveries(),
        }
    }

    fn pause_deliveries(&mut self) {
        let pause = self.due.pause.map_or(Duration::from_millis(100), |(_, pause)| pause * 2);
        let pause = pause.min(Duration::from_secs(5));
        self.due.pause = Some((self.now.monotonic.after(pause), pause));
        self.stats.read_errors += 1;
    }

    fn deliver_one(&mut self, entry: &Entry, parked: &[u8]) {
        self.views.left(entry.level);
        let Some(topic) = self.topics.by_id(entry.topic) else {
            self.stats.orphaned += 1;
            return;
        };
        let (topic, queues) = (topic.id, topic.write_queues.max(1));
        let view = View::parse(parked).expect("a parked message was checked when it was accepted");
        let queue_id = QueueId(view.queue_id().0 % queues);
        assert!(entry.deliver_at <= self.now.wall, "a message due {} at {}", entry.deliver_at, self.now.wall);
        self.append_delivered(topic, queue_id, entry, &view);
        self.stats.delivered += 1;
        let late = self.now.wall.millis_since(entry.deliver_at);
        self.stats.lateness_max_ms = self.stats.lateness_max_ms.max(late);
    }

    /// Asks for the bytes of what is due or falls due soon and is not in memory.
    fn stage(&mut self) {
        let is_idle = self.due.due.is_empty() && self.timer.next_due().is_none_or(|at| at > self.now.wall);
        if is_idle {
            // What is left of before was called back.
            self.due.staged.pass((self.now.wall, LogOffset(0)));
        }
        if self.due.reading {
            return;
        }
        let mut missing = self.missing_of_due();
        if missing.is_empty() {
            missing = self.missing_ahead();
        }
        if missing.is_empty() {
            self.due.staged.add(std::mem::take(&mut self.due.with_read).into_iter());
        } else {
            self.due.reading = true;
            let places = missing.iter().map(Entry::key).collect();
            let catalog = Arc::clone(self.timer.catalog());
            self.read_from_disk(Wanted::Bodies(missing, catalog), Then::Deliver(places));
        }
    }

    /// What is due and not in memory, where that holds up the others: as much as is read at a time.
    fn missing_of_due(&self) -> Vec<Entry> {
        let is_missing = |entry: &&Entry| !self.is_at_hand(entry);
        if !self.due.due.front().as_ref().is_some_and(is_missing) {
            return Vec::new();
        }
        let mut bytes = 0;
        let fits = |entry: &&Entry| {
            bytes += entry.length as usize;
            bytes <= STAGE_BYTES || bytes == entry.length as usize
        };
        self.due.due.iter().filter(is_missing).take_while(fits).take(STAGE_MAX).copied().collect()
    }

    /// What falls due soon and is not in memory: as much as is read at a time, from where the last look ended. What is
    /// in memory yet, and may not be when its moment comes, is copied.
    fn missing_ahead(&mut self) -> Vec<Entry> {
        let mut missing = Vec::new();
        let soon = self.now.wall.checked_add_millis(STAGE_AHEAD_MS).unwrap_or(self.now.wall);
        if soon < self.due.looked_to.0 {
            self.due.looked_to = (self.now.wall, LogOffset(0)); // the clock was set back
        }
        // Looked at in steps: what is scheduled in between is recent, and so in memory.
        let is_time = !self.due.looked_all || soon.millis_since(self.due.looked_to.0) >= STAGE_STEP_MS;
        if !is_time || self.due.staged.bytes() >= STAGED_BYTES_MAX {
            return missing;
        }
        let mut bytes = 0;
        let ahead = self.timer.due_from(self.due.looked_to, soon, STAGE_MAX);
        self.due.looked_all = ahead.len() < STAGE_MAX;
        for entry in ahead {
            if !self.due.staged.holds(entry.key()) {
                bytes += entry.length as usize;
                if bytes > STAGE_BYTES && bytes > entry.length as usize {
                    self.due.looked_all = false;
                    return missing;
                }
                match self.log.read_tail(extent_of(&entry)) {
                    Some(here) => self.due.with_read.push((entry.key(), Bytes::copy_from_slice(&here))),
                    None => missing.push(entry),
                }
            }
            self.due.looked_to = (entry.deliver_at, LogOffset(entry.log_offset.0 + 1));
        }
        if self.due.looked_all {
            self.due.looked_to = (soon, LogOffset(u64::MAX));
        }
        missing
    }

    /// Whether the bytes of what is due are in memory.
    fn is_at_hand(&self, entry: &Entry) -> bool {
        self.due.staged.holds(entry.key()) || self.log.read_tail(extent_of(entry)).is_some()
    }

    /// Bytes read ahead have come; or not, then it is tried again, with a growing pause, for ever.
    pub(crate) fn staged(&mut self, places: Vec<Key>, bytes: Result<Vec<Bytes>, LookUpError>) {
        self.due.reading = false;
        let mut read = std::mem::take(&mut self.due.with_read);
        match bytes {
            Ok(bytes) => {
                read.extend(places.into_iter().zip(bytes));
                read.sort_by_key(|(key, _)| *key);
                self.due.pause = None;
            }
            Err(_) => self.pause_deliveries(),
        }
        self.due.staged.add(read.into_iter());
    }

    /// Whether deliveries wait: for a sync, so that sends do not wait behind them, or after a read that failed.
    fn deliveries_pause(&self) -> bool {
        let unsynced = self.log.appended().0 - self.log.durable().0;
        unsynced > self.config.unsynced_bytes_max
            || self.due.pause.is_some_and(|(at, _)| at > self.now.monotonic)
    }

    /// How long until there is something to deliver or to read ahead.
    pub(crate) fn next_delivery(&self, now: Now) -> Option<Duration> {
        if let Some((at, _)) = self.due.pause.filter(|(at, _)| *at > now.monotonic && !self.due.reading) {
            return Some(at.since(now.monotonic));
        }
        let is_missing = |entry: &Entry| !self.is_at_hand(entry);
        if self.deliveries_pause() || (self.due.reading && self.due.due.front().is_some_and(is_missing)) {
            return None; // what it waits for comes back as work done
        }
        if !self.due.due.is_empty() {
            return Some(Duration::ZERO);
        }
        let due = self.timer.next_due()?;
        let until = now.until(due);
        let stage_at = until.saturating_sub(Duration::from_millis(STAGE_AHEAD_MS as u64));
        Some(if stage_at.is_zero() { until } else { stage_at })
    }
}
