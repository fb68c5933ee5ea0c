//! Leases: which messages of a queue a group has taken and not yet finished, and until when nobody else gets
//! them.
//!
//! A lease ends by monotonic time, so that a step of the wall clock ends none early. Its handle is valid as long
//! as this table says so, whatever times stand in the handle's text. A lease that ends without an ack brings
//! its message back through the group's retry topic; in a group that consumes in order, from the queue
//! itself, before all that lies behind it.

use crate::config::{RECORD_ENTRIES_MAX, RENEWED_MIN};
use crate::pop_retry::PopRetries;
use crate::topic::Topics;
use crate::{Broker, Pop};
use journal::Kind;
use model::{
    ClientId, GroupName, LogOffset, Monotonic, Now, QueueId, QueueOffset, Timestamp, Topic, TopicId,
    TopicName,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::time::Duration;
use wire::record;
use wire::record::{AckEntry, Acks, LeaseEntry};

/// How long after an ack the same ack is still answered as one.
const ACK_AGAIN: Duration = Duration::from_secs(10);
/// Acks of a queue that are remembered for that, at most.
const ACKED_MAX: usize = 4096;

/// A queue as one group pops it. The topic is the queue's own: the retry topic's for a message from there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) group: GroupName,
    pub(crate) topic: TopicId,
    pub(crate) queue_id: QueueId,
}

#[derive(Clone, Debug)]
struct Lease {
    pop_time: i64,
    ends: Monotonic,
    /// The client for whom it is renewed, where it is.
    renewed_for: Option<ClientId>,
}

/// How far a group has popped a queue.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    next: QueueOffset,
    leases: BTreeMap<QueueOffset, Lease>,
    /// Leases that are over, whose messages are being put into the retry topic.
    ending: BTreeSet<QueueOffset>,
    /// Messages to hand out again from this queue: in order, or for want of a retry topic. And how often each was.
    again: BTreeSet<QueueOffset>,
    attempts: BTreeMap<QueueOffset, u32>,
    /// Leases that were acked a moment ago, by offset and pop time: an ack may be repeated until then.
    acked: BTreeMap<(QueueOffset, i64), Monotonic>,
    last_pop_time: i64,
    ordered: bool,
    attempt_id: Option<String>,
}

impl Progress {
    pub(crate) fn lease_count(&self) -> usize {
        self.leases.len() + self.ending.len()
    }

    pub(crate) fn is_ordered(&self) -> bool {
        self.ordered
    }

    pub(crate) fn next(&self) -> QueueOffset {
        self.next
    }

    /// Whether this is the attempt that took what is leased now.
    pub(crate) fn is_attempt(&self, id: Option<&str>) -> bool {
        id.is_some() && self.attempt_id.as_deref() == id
    }

    pub(crate) fn leased(&self) -> Vec<QueueOffset> {
        self.leases.keys().copied().collect()
    }

    pub(crate) fn again(&self) -> Vec<QueueOffset> {
        self.again.iter().copied().collect()
    }

    /// All before this is finished.
    pub(crate) fn finished(&self) -> QueueOffset {
        let open = [self.leases.keys().next(), self.ending.first(), self.again.first()];
        open.into_iter().flatten().copied().min().unwrap_or(self.next).min(self.next)
    }

    /// A pop time that no handle of this queue has had.
    fn new_pop_time(&mut self, now: Now) -> i64 {
        self.last_pop_time = now.wall.as_millis().max(self.last_pop_time + 1);
        self.last_pop_time
    }
}

/// What a handle is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// Its lease goes on.
    Valid,
    /// It was acked before; its time is not over.
    Acked,
    /// Its lease is over, or its handle was replaced.
    Over,
    /// There never was such a lease.
    Unknown,
}

/// A lease that ended without an ack.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub(crate) key: Key,
    pub(crate) offset: QueueOffset,
    pub(crate) pop_time: i64,
}

/// How far a group has popped a queue, as a checkpoint keeps it.
#[derive(Debug)]
pub(crate) struct SavedProgress {
    pub(crate) key: Key,
    pub(crate) next: QueueOffset,
    pub(crate) last_pop_time: i64,
    pub(crate) ordered: bool,
    pub(crate) attempt_id: Option<String>,
    /// Offset, pop time, when the lease is over by the wall clock, and how many ms are left of it at most. One that is
    /// over, and whose message is on its way to the retry topic, ends again.
    pub(crate) leases: Vec<(QueueOffset, i64, Timestamp, i64)>,
    /// Messages to hand out again, and how often each was handed out.
    pub(crate) again: Vec<(QueueOffset, u32)>,
    /// Offset and pop time of acks that may be repeated, and for how long.
    pub(crate) acked: Vec<(QueueOffset, i64, Duration)>,
}

/// All leases, and what of them is not yet in the log.
#[derive(Debug, Default)]
pub(crate) struct Leases {
    progress: BTreeMap<Key, Progress>,
    ends: BTreeSet<(Monotonic, Key, QueueOffset)>,
    turn: u64,
    unlogged: Vec<LeaseEntry>,
    unlogged_acks: Vec<AckEntry>,
}

impl Leases {
    pub(crate) fn get(&self, key: &Key) -> Option<&Progress> {
        self.progress.get(key)
    }

    pub(crate) fn next_turn(&mut self) -> u64 {
        self.turn += 1;
        self.turn
    }

    /// A pop time that no handle of any of these queues has had.
    pub(crate) fn new_pop_time(&self, keys: impl Iterator<Item = Key>, now: Now) -> i64 {
        let known = keys.filter_map(|key| self.progress.get(&key)).map(|progress| progress.last_pop_time + 1);
        known.max().unwrap_or(i64::MIN).max(now.wall.as_millis())
    }

    /// Begins with a queue at `next`.
    pub(crate) fn begin(&mut self, key: Key, next: QueueOffset) {
        self.progress.insert(key, Progress { next, ..Progress::default() });
    }

    /// Leases `offsets` of a queue, of which so much was read.
    pub(crate) fn take(
        &mut self,
        key: &Key,
        offsets: &[QueueOffset],
        read: Range<QueueOffset>,
        ask: &Pop,
        pop_time: i64,
        now: Now,
    ) {
        let progress = self.progress.get_mut(key).expect("begun before it is taken from");
        progress.next = progress.next.max(read.end);
        if offsets.is_empty() {
            return;
        }
        progress.ordered = ask.ordered;
        progress.attempt_id.clone_from(&ask.attempt_id);
        progress.last_pop_time = pop_time;
        let ends = now.monotonic.after(ask.invisible);
        for &offset in offsets {
            progress.again.remove(&offset);
            let lease = Lease { pop_time, ends, renewed_for: ask.renewed_for.clone() };
            if let Some(old) = progress.leases.insert(offset, lease) {
                self.ends.remove(&(old.ends, key.clone(), offset));
            }
            self.ends.insert((ends, key.clone(), offset));
        }
        self.unlogged.push(LeaseEntry {
            group: key.group.to_string(),
            topic: key.topic,
            queue_id: key.queue_id,
            start_offset: read.start.0,
            pop_time,
            invisible_ms: ask.invisible.as_millis() as i64,
            offsets: offsets.iter().map(|offset| offset.0).collect(),
            next_offset: progress.next.0,
            ordered: ask.ordered,
            attempt_id: ask.attempt_id.clone(),
            replaces: None,
            renewed_for: text_of(ask.renewed_for.as_ref()),
        });
    }

    /// What a handle is worth at `now`.
    pub(crate) fn held(&self, key: &Key, offset: QueueOffset, pop_time: i64, now: Now) -> Held {
        let Some(progress) = self.progress.get(key) else { return Held::Unknown };
        if offset >= progress.next || offset.0 < 0 {
            return Held::Unknown;
        }
        match progress.leases.get(&offset) {
            Some(lease) if lease.pop_time == pop_time && lease.ends > now.monotonic => Held::Valid,
            Some(_) => Held::Over,
            None => match progress.acked.get(&(offset, pop_time)) {
                Some(until) if *until > now.monotonic => Held::Acked,
                _ => Held::Over,
            },
        }
    }

    /// Ends a lease for good, where it is that of `pop_time`.
    pub(crate) fn finish(&mut self, key: &Key, offset: QueueOffset, pop_time: i64, now: Now) {
        let Some(progress) = self.progress.get_mut(key) else {
            return;
        };
        if progress.leases.get(&offset).is_none_or(|lease| lease.pop_time != pop_time) {
            return;
        }
        let lease = progress.leases.remove(&offset).expect("just seen");
        progress.attempts.remove(&offset);
        if progress.acked.len() >= ACKED_MAX {
            progress.acked.pop_first();
        }
        progress.acked.insert((offset, pop_time), lease.ends.min(now.monotonic.after(ACK_AGAIN)));
        self.ends.remove(&(lease.ends, key.clone(), offset));
        self.log_ack(key, offset, pop_time);
    }

    /// Lets a valid lease end `invisible` from now; gives its new pop time.
    pub(crate) fn change(&mut self, key: &Key, offset: QueueOffset, invisible: Duration, now: Now) -> i64 {
        let progress = self.progress.get_mut(key).expect("a valid lease is held");
        let pop_time = progress.new_pop_time(now);
        let lease = progress.leases.get_mut(&offset).expect("a valid lease is held");
        // Its client has said how long it wants: nobody renews it any more.
        let ends = now.monotonic.after(invisible);
        let old = std::mem::replace(lease, Lease { pop_time, ends, renewed_for: None });
        self.ends.remove(&(old.ends, key.clone(), offset));
        self.ends.insert((ends, key.clone(), offset));
        self.unlogged.push(LeaseEntry {
            group: key.group.to_string(),
            topic: key.topic,
            queue_id: key.queue_id,
            start_offset: offset.0,
            pop_time,
            invisible_ms: invisible.as_millis() as i64,
            offsets: vec![offset.0],
            next_offset: progress.next.0,
            ordered: progress.ordered,
            attempt_id: progress.attempt_id.clone(),
            replaces: Some(old.pop_time),
            renewed_for: None,
        });
        pop_time
    }

    /// Lets a valid lease go on until `invisible` from now at least; its handle stays good.
    pub(crate) fn renew(&mut self, key: &Key, offset: QueueOffset, invisible: Duration, now: Now) {
        let progress = self.progress.get_mut(key).expect("a valid lease is held");
        let lease = progress.leases.get_mut(&offset).expect("a valid lease is held");
        let ends = now.monotonic.after(invisible);
        if ends <= lease.ends {
            return;
        }
        self.ends.remove(&(lease.ends, key.clone(), offset));
        self.ends.insert((ends, key.clone(), offset));
        lease.ends = ends;
        let entry = LeaseEntry {
            group: key.group.to_string(),
            topic: key.topic,
            queue_id: key.queue_id,
            start_offset: offset.0,
            pop_time: lease.pop_time,
            // Counted from the pop, as that of a lease that was never renewed.
            invisible_ms: now.wall.as_millis().saturating_sub(lease.pop_time).max(0)
                + invisible.as_millis() as i64,
            offsets: vec![offset.0],
            next_offset: progress.next.0,
            ordered: progress.ordered,
            attempt_id: progress.attempt_id.clone(),
            replaces: None,
            renewed_for: text_of(lease.renewed_for.as_ref()),
        };
        self.unlogged.push(entry);
    }

    /// How often a message was handed out from this queue before.
    pub(crate) fn attempts(&self, key: &Key, offset: QueueOffset) -> u32 {
        self.progress.get(key).and_then(|progress| progress.attempts.get(&offset)).copied().unwrap_or(0)
    }

    pub(crate) fn next_end(&self) -> Option<Monotonic> {
        self.ends.first().map(|(at, ..)| *at)
    }

    /// Every lease that is renewed: whose, where, since when (ms since the epoch), until when, and for whom.
    pub(crate) fn renewed(&self) -> impl Iterator<Item = (&Key, QueueOffset, i64, Monotonic, &ClientId)> {
        self.progress.iter().flat_map(|(key, progress)| {
            progress.leases.iter().filter_map(move |(&offset, lease)| {
                Some((key, offset, lease.pop_time, lease.ends, lease.renewed_for.as_ref()?))
            })
        })
    }

    /// Takes a lease that is over by `now`.
    pub(crate) fn take_ended(&mut self, now: Monotonic) -> Option<Ended> {
        if self.ends.first()?.0 > now {
            return None;
        }
        let (_, key, offset) = self.ends.pop_first().expect("just seen");
        let progress = self.progress.get_mut(&key).expect("its lease is in it");
        let lease = progress.leases.remove(&offset).expect("each end is of a lease");
        progress.ending.insert(offset);
        Some(Ended { key, offset, pop_time: lease.pop_time })
    }

    /// Whether a message whose lease has ended is still to come again: its topic or group may have been deleted,
    /// or its group's place been set anew.
    pub(crate) fn is_ending(&self, ended: &Ended) -> bool {
        self.progress.get(&ended.key).is_some_and(|progress| progress.ending.contains(&ended.offset))
    }

    /// Sets where a group reads on in a queue: its leases there are over, and nothing of them comes again.
    pub(crate) fn reset(&mut self, key: &Key, next: QueueOffset) {
        let Some(progress) = self.progress.get_mut(key) else { return };
        for (offset, lease) in std::mem::take(&mut progress.leases) {
            self.ends.remove(&(lease.ends, key.clone(), offset));
        }
        progress.ending.clear();
        progress.again.clear();
        progress.attempts.clear();
        progress.next = next;
    }

    /// Forgets what was to be handed out again of a queue whose messages before `min` are gone. Leases of such messages
    /// end as they would, and nothing comes of it.
    pub(crate) fn trim(&mut self, topic: TopicId, queue_id: QueueId, min: QueueOffset) {
        let of_queue =
            self.progress.iter_mut().filter(|(key, _)| (key.topic, key.queue_id) == (topic, queue_id));
        for (_, progress) in of_queue {
            progress.again = progress.again.split_off(&min);
            progress.attempts = progress.attempts.split_off(&min);
        }
    }

    /// Forgets a topic's queues, and all leases there.
    pub(crate) fn drop_topic(&mut self, topic: TopicId) {
        self.drop_where(|key| key.topic == topic);
    }

    /// Forgets a group, and all its leases.
    pub(crate) fn drop_group(&mut self, group: &GroupName) {
        self.drop_where(|key| key.group == *group);
    }

    fn drop_where(&mut self, gone: impl Fn(&Key) -> bool) {
        self.progress.retain(|key, _| !gone(key));
        self.ends.retain(|(_, key, _)| !gone(key));
    }

    /// An ended message is in the retry topic or among the dead letters: it is finished here.
    pub(crate) fn ended(&mut self, ended: &Ended) {
        let progress = self.progress.get_mut(&ended.key).expect("its lease was in it");
        progress.ending.remove(&ended.offset);
        progress.attempts.remove(&ended.offset);
        self.log_ack(&ended.key, ended.offset, ended.pop_time);
    }

    /// An ended message is to be handed out again from where it lies.
    pub(crate) fn again(&mut self, ended: &Ended) {
        let progress = self.progress.get_mut(&ended.key).expect("its lease was in it");
        progress.ending.remove(&ended.offset);
        progress.again.insert(ended.offset);
        *progress.attempts.entry(ended.offset).or_default() += 1;
    }

    /// All progress, for a checkpoint.
    pub(crate) fn save(&self, now: Now) -> impl Iterator<Item = SavedProgress> {
        self.progress.iter().map(move |(key, progress)| {
            let wall = now.wall.as_millis();
            let leases = progress.leases.iter().map(|(&offset, lease)| {
                let left = lease.ends.since(now.monotonic).as_millis() as i64;
                (offset, lease.pop_time, Timestamp::from_millis(wall.saturating_add(left)), left)
            });
            let ending = progress.ending.iter().map(|&offset| (offset, progress.last_pop_time, now.wall, 0));
            let attempts = |offset| progress.attempts.get(offset).copied().unwrap_or(0);
            let acked = progress.acked.iter().filter(|(_, until)| **until > now.monotonic);
            SavedProgress {
                key: key.clone(),
                next: progress.next,
                last_pop_time: progress.last_pop_time,
                ordered: progress.ordered,
                attempt_id: progress.attempt_id.clone(),
                leases: leases.chain(ending).collect(),
                again: progress.again.iter().map(|offset| (*offset, attempts(offset))).collect(),
                acked: acked
                    .map(|(&(offset, time), until)| (offset, time, until.since(now.monotonic)))
                    .collect(),
            }
        })
    }

    /// Takes back what a checkpoint kept: what was left of each lease goes on, less the time that has passed.
    pub(crate) fn restore_saved(&mut self, saved: SavedProgress, now: Now) {
        let SavedProgress { key, next, last_pop_time, ordered, attempt_id, leases, again, acked } = saved;
        let mut progress = Progress { next, last_pop_time, ordered, attempt_id, ..Progress::default() };
        for (offset, pop_time, ends, left_max) in leases {
            let left = ends.millis_since(now.wall).clamp(0, left_max.max(0)) as u64;
            let ends = now.monotonic.after(Duration::from_millis(left));
            progress.leases.insert(offset, Lease { pop_time, ends, renewed_for: None });
            self.ends.insert((ends, key.clone(), offset));
        }
        for (offset, attempts) in again {
            progress.again.insert(offset);
            progress.attempts.insert(offset, attempts);
        }
        for (offset, pop_time, left) in acked {
            progress.acked.insert((offset, pop_time), now.monotonic.after(left));
        }
        self.progress.insert(key, progress);
    }

    /// Takes back for whom a lease is renewed, and lets it last until that client can be back.
    pub(crate) fn restore_renewed(&mut self, key: &Key, offset: QueueOffset, client: ClientId, now: Now) {
        let lease = self.progress.get_mut(key).and_then(|progress| progress.leases.get_mut(&offset));
        let Some(lease) = lease else { return };
        let ends = lease.ends.max(now.monotonic.after(RENEWED_MIN));
        self.ends.remove(&(lease.ends, key.clone(), offset));
        self.ends.insert((ends, key.clone(), offset));
        (lease.ends, lease.renewed_for) = (ends, Some(client));
    }

    fn log_ack(&mut self, key: &Key, offset: QueueOffset, pop_time: i64) {
        self.unlogged_acks.push(AckEntry {
            group: key.group.to_string(),
            topic: key.topic,
            queue_id: key.queue_id,
            pop_time,
            offset: offset.0,
        });
    }

    /// Takes a lease back from the log: what was left of its time goes on; of one that is renewed so much at least
    /// that its client can come back.
    pub(crate) fn restore(&mut self, entry: LeaseEntry, now: Now) {
        let Ok(group) = GroupName::new(&entry.group) else {
            return;
        };
        let key = Key { group, topic: entry.topic, queue_id: entry.queue_id };
        let progress = self.progress.entry(key.clone()).or_default();
        progress.next = progress.next.max(QueueOffset(entry.next_offset));
        progress.last_pop_time = progress.last_pop_time.max(entry.pop_time);
        progress.ordered = entry.ordered;
        progress.attempt_id = entry.attempt_id;
        let left = entry.pop_time.saturating_add(entry.invisible_ms).saturating_sub(now.wall.as_millis());
        let left = left.clamp(0, entry.invisible_ms.max(0)) as u64;
        let left = Duration::from_millis(left);
        let renewed_for = entry.renewed_for.map(|client| ClientId(client.into()));
        let ends = now.monotonic.after(if renewed_for.is_some() { left.max(RENEWED_MIN) } else { left });
        for offset in entry.offsets.into_iter().map(QueueOffset) {
            progress.again.remove(&offset);
            let lease = Lease { pop_time: entry.pop_time, ends, renewed_for: renewed_for.clone() };
            if let Some(old) = progress.leases.insert(offset, lease) {
                self.ends.remove(&(old.ends, key.clone(), offset));
            }
            self.ends.insert((ends, key.clone(), offset));
        }
    }

    /// Takes a copy in a retry or dead-letter topic back from the log: it ended the lease of the message whose
    /// record was at `of`. So the two are one record, and no crash can come between them.
    pub(crate) fn restore_ended(
        &mut self,
        copied_to: &Topic,
        of: LogOffset,
        topics: &Topics,
        retries: &PopRetries,
        store: &store::Store,
    ) {
        let pair = retries.pair(copied_to.id);
        let ended =
            self.progress.iter().filter(|(_, progress)| !progress.leases.is_empty()).find_map(|(key, _)| {
                let topic = topics.by_id(key.topic)?;
                // A log of an earlier version does not say whom a retry topic serves: its name does.
                let is_retry = match pair {
                    Some(pair) => pair == (&key.group, key.topic),
                    None => copied_to.name == TopicName::pop_retry(&key.group, &topic.name),
                };
                let is_dead = copied_to.name == TopicName::dead_letter(&key.group);
                let fits = copied_to.id == topic.id || is_retry || is_dead;
                let offset = fits.then(|| store.queue(key.topic, key.queue_id)?.offset_of(of)).flatten()?;
                Some((key.clone(), offset))
            });
        if let Some((key, offset)) = ended {
            let progress = self.progress.get_mut(&key).expect("just seen");
            if let Some(lease) = progress.leases.remove(&offset) {
                self.ends.remove(&(lease.ends, key, offset));
            }
        }
    }

    /// Takes an ack back from the log.
    pub(crate) fn restore_ack(&mut self, entry: &AckEntry, now: Now) {
        let Ok(group) = GroupName::new(&entry.group) else {
            return;
        };
        let key = Key { group, topic: entry.topic, queue_id: entry.queue_id };
        self.finish(&key, QueueOffset(entry.offset), entry.pop_time, now);
        self.unlogged_acks.clear();
    }

    /// Lets a lease that has just ended go on for a second.
    pub(crate) fn prolong(&mut self, ended: &Ended, now: Now) {
        let progress = self.progress.get_mut(&ended.key).expect("its lease was in it");
        progress.ending.remove(&ended.offset);
        let ends = now.monotonic.after(Duration::from_secs(1));
        let lease = Lease { pop_time: ended.pop_time, ends, renewed_for: None };
        progress.leases.insert(ended.offset, lease);
        self.ends.insert((ends, ended.key.clone(), ended.offset));
    }
}

fn text_of(client: Option<&ClientId>) -> Option<String> {
    client.map(ToString::to_string)
}

impl Broker {
    /// Writes to the log what leases and acks have changed in this turn.
    pub(crate) fn write_leases(&mut self) {
        let mut payload = Vec::new();
        for some in std::mem::take(&mut self.leases.unlogged).chunks(RECORD_ENTRIES_MAX) {
            payload.clear();
            record::Leases { entries: some.to_vec() }.encode(&mut payload);
            self.append_record(Kind::Leases, &payload);
        }
        for some in std::mem::take(&mut self.leases.unlogged_acks).chunks(RECORD_ENTRIES_MAX) {
            payload.clear();
            Acks { entries: some.to_vec() }.encode(&mut payload);
            self.append_record(Kind::Acks, &payload);
        }
    }
}
