//! State: what the broker knows beside messages, as a checkpoint keeps it in a file of its own.
//!
//! The file is a sequence of frames behind magic, format and checksum. Most frames hold a payload of the log's
//! own, so that there is one way to write a topic; the others hold what the log tells only by all its records
//! together. Whoever gives the broker something new to remember over a restart gives it a frame here.
//!
//! | at | bytes | field | meaning |
//! |---:|------:|-------|---------|
//! | 0 | 8 | magic | `DueMQsta` |
//! | 8 | 4 | format | 1 |
//! | 12 | 4 | crc | CRC-32 (IEEE) of all behind |
//! | 16 | … | frames | each: what u8, bytes u32, payload |
//!
//! | what | payload |
//! |-----:|---------|
//! | 1 | a topic, group, value, pop retry, consume mode or ban: a meta record |
//! | 2 | committed offsets: an offsets record |
//! | 3 | an offset reset that a reader has not heard of: a meta record |
//! | 4 | the highest topic id u32, then of each of the 256 levels accepted i64 and left i64 |
//! | 5 | queues, each: topic id u32, queue id u32, least offset i64, next offset i64 |
//! | 6 | pending messages, each: topic id u32, level u32, how many u64 |
//! | 7 | halves, each: log offset u64, bytes u32, checks u32, queue offset i64, ms to the next check u64, hash of the key u64 |
//! | 8 | recalled messages, each: topic id u32, hash of the key u64, moment i64 |
//! | 9 | leases of one group in one queue, see `push_progress` |
//! | 10 | for whom leases are renewed, each: topic id u32, queue id u32, offset i64, group text, client text |

use crate::Broker;
use crate::lease::{Key, SavedProgress};
use crate::recover::Replay;
use crate::transaction::SavedHalf;
use journal::Extent;
use model::{ClientId, GroupName, LogOffset, QueueId, QueueOffset, Timestamp, TopicId};
use std::time::Duration;
use wire::record;

const MAGIC: &[u8; 8] = b"DueMQsta";
const FORMAT: u32 = 1;
const HEAD_BYTES: usize = 16;

const META: u8 = 1;
const OFFSETS: u8 = 2;
const RESET: u8 = 3;
const NUMBERS: u8 = 4;
const QUEUES: u8 = 5;
const PENDING: u8 = 6;
const HALVES: u8 = 7;
const RECALLED: u8 = 8;
const PROGRESS: u8 = 9;
const RENEWED: u8 = 10;

/// A queue's ends at a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SavedQueue {
    pub(crate) topic: TopicId,
    pub(crate) queue_id: QueueId,
    pub(crate) min: QueueOffset,
    pub(crate) max: QueueOffset,
}

/// What a state file tells that is not put back at once.
#[derive(Debug, Default)]
pub(crate) struct Rest {
    pub(crate) queues: Vec<SavedQueue>,
    pub(crate) pending: Vec<(TopicId, u8, u64)>,
}

/// The bytes of the file.
pub(crate) fn encode(broker: &Broker) -> Vec<u8> {
    let mut into = Vec::from(MAGIC);
    into.extend_from_slice(&FORMAT.to_le_bytes());
    into.extend_from_slice(&[0; 4]);
    push_timeless(broker, &mut into);
    push_timed(broker, &mut into);
    let crc = crc32fast::hash(&into[HEAD_BYTES..]);
    into[12..HEAD_BYTES].copy_from_slice(&crc.to_le_bytes());
    into
}

impl Broker {
    /// What the broker knows that depends on the log alone and on no clock, for comparing two that read the same.
    pub fn outline(&self) -> Vec<u8> {
        let mut into = Vec::new();
        push_timeless(self, &mut into);
        for (topic, queue_id, queue) in self.store.queues() {
            into.extend_from_slice(format!("{topic} {queue_id}").as_bytes());
            for entry in queue.iter_from(queue.min()) {
                into.extend_from_slice(format!("{entry:?}").as_bytes());
            }
        }
        into
    }
}

/// Adds the frames that the log alone decides.
fn push_timeless(broker: &Broker, into: &mut Vec<u8>) {
    for topic in broker.topics.iter() {
        meta(META, &record::Meta::Topic(topic.clone()), into);
    }
    for group in broker.groups.iter() {
        meta(META, &record::Meta::Group(group.clone()), into);
    }
    for (namespace, key, value) in broker.values.iter() {
        let (namespace, key, value) = (namespace.to_owned(), key.to_owned(), Some(value.to_owned()));
        meta(META, &record::Meta::Value { namespace, key, value }, into);
    }
    for (retry, group, topic) in broker.pop_retries.iter() {
        meta(META, &record::Meta::PopRetry { retry, topic, group: group.clone() }, into);
    }
    for (group, topic, mode) in broker.consume_modes.iter() {
        meta(META, &record::Meta::ConsumeMode { topic, group: group.clone(), mode }, into);
    }
    for (group, topic) in broker.forbidden.iter() {
        let (group, topic) = (group.clone(), *topic);
        meta(META, &record::Meta::Forbidden { topic, group, forbidden: true }, into);
    }
    let offsets = broker.offsets.iter().map(|(group, topic, queue_id, offset)| record::OffsetEntry {
        group: group.to_string(),
        topic,
        queue_id,
        offset,
    });
    frame(OFFSETS, into, |into| record::Offsets { entries: offsets.collect() }.encode(into));
    for (group, topic, queue_id, offset) in broker.resets.iter() {
        meta(RESET, &record::Meta::OffsetReset { group, topic, queue_id, offset }, into);
    }
    frame(NUMBERS, into, |into| {
        into.extend_from_slice(&broker.topics.last_id().to_le_bytes());
        for level in 0..=u8::MAX {
            let (left, accepted) = broker.views.bounds(level);
            into.extend_from_slice(&accepted.0.to_le_bytes());
            into.extend_from_slice(&left.0.to_le_bytes());
        }
    });
    frame(QUEUES, into, |into| {
        for (topic, queue_id, queue) in broker.store.queues() {
            into.extend_from_slice(&topic.0.to_le_bytes());
            into.extend_from_slice(&queue_id.0.to_le_bytes());
            into.extend_from_slice(&queue.min().0.to_le_bytes());
            into.extend_from_slice(&queue.max().0.to_le_bytes());
        }
    });
    frame(PENDING, into, |into| {
        for (topic, level, count) in broker.timer.counts() {
            into.extend_from_slice(&topic.0.to_le_bytes());
            into.extend_from_slice(&u32::from(level).to_le_bytes());
            into.extend_from_slice(&count.to_le_bytes());
        }
    });
}

/// Adds the frames in which time passes.
fn push_timed(broker: &Broker, into: &mut Vec<u8>) {
    frame(HALVES, into, |into| {
        for half in broker.halves.save(broker.now) {
            into.extend_from_slice(&half.extent.at.0.to_le_bytes());
            into.extend_from_slice(&half.extent.length.to_le_bytes());
            into.extend_from_slice(&half.checks.to_le_bytes());
            into.extend_from_slice(&half.queue_offset.0.to_le_bytes());
            into.extend_from_slice(&(half.next_check.as_millis() as u64).to_le_bytes());
            into.extend_from_slice(&half.key_hash.to_le_bytes());
        }
    });
    frame(RECALLED, into, |into| {
        for (topic, key_hash, moment) in broker.recalled.iter() {
            into.extend_from_slice(&topic.0.to_le_bytes());
            into.extend_from_slice(&key_hash.to_le_bytes());
            into.extend_from_slice(&moment.as_millis().to_le_bytes());
        }
    });
    for progress in broker.leases.save(broker.now) {
        frame(PROGRESS, into, |into| push_progress(&progress, into));
    }
    if broker.leases.renewed().next().is_some() {
        frame(RENEWED, into, |into| push_renewed(broker, into));
    }
}

fn push_renewed(broker: &Broker, into: &mut Vec<u8>) {
    for (key, offset, _, _, client) in broker.leases.renewed() {
        into.extend_from_slice(&key.topic.0.to_le_bytes());
        into.extend_from_slice(&key.queue_id.0.to_le_bytes());
        into.extend_from_slice(&offset.0.to_le_bytes());
        push_text(key.group.as_str(), into);
        push_text(&client.0, into);
    }
}

/// Puts back what a state file tells; `None` where it is none, or damaged.
pub(crate) fn apply(bytes: &[u8], replay: &mut Replay) -> Option<Rest> {
    let (head, frames) = bytes.split_first_chunk::<HEAD_BYTES>()?;
    if head[..8] != *MAGIC || head[8..12] != FORMAT.to_le_bytes() {
        return None;
    }
    if head[12..16] != crc32fast::hash(frames).to_le_bytes() {
        return None;
    }
    let (mut frames, mut rest) = (Reader(frames), Rest::default());
    while !frames.0.is_empty() {
        let what = frames.u8()?;
        let length = frames.u32()? as usize;
        let payload = frames.bytes(length)?;
        apply_frame(what, payload, replay, &mut rest)?;
    }
    Some(rest)
}

fn apply_frame(what: u8, payload: &[u8], replay: &mut Replay, rest: &mut Rest) -> Option<()> {
    let mut from = Reader(payload);
    match what {
        META => match record::Meta::decode(payload).ok()? {
            // No wildcard: a new kind of change does not compile until a checkpoint keeps what it changed.
            record::Meta::Topic(topic) => replay.topics.put(topic),
            record::Meta::Group(group) => replay.groups.put(group),
            record::Meta::Value { namespace, key, value } => replay.values.put(namespace, key, value),
            record::Meta::PopRetry { retry, topic, group } => replay.pop_retries.put(retry, group, topic),
            record::Meta::ConsumeMode { topic, group, mode } => replay.consume_modes.put(group, topic, mode),
            record::Meta::Forbidden { topic, group, forbidden } => {
                replay.forbidden.put(group, topic, forbidden);
            }
            record::Meta::TopicDeleted { .. }
            | record::Meta::GroupDeleted { .. }
            | record::Meta::OffsetReset { .. }
            | record::Meta::BrokerName(_) => return None,
        },
        OFFSETS => {
            for entry in record::Offsets::decode(payload).ok()?.entries {
                let group = GroupName::new(&entry.group).ok()?;
                replay.offsets.restore(&group, entry.topic, entry.queue_id, entry.offset);
            }
        }
        RESET => match record::Meta::decode(payload).ok()? {
            record::Meta::OffsetReset { group, topic, queue_id, offset } => {
                replay.resets.put(group, topic, queue_id, offset);
            }
            _ => return None,
        },
        NUMBERS => {
            replay.topics.set_last_id(from.u32()?);
            for level in 0..=u8::MAX {
                replay.views.restore(level, from.i64()?, from.i64()?);
            }
        }
        QUEUES => {
            while !from.0.is_empty() {
                rest.queues.push(SavedQueue {
                    topic: TopicId(from.u32()?),
                    queue_id: QueueId(from.u32()?),
                    min: QueueOffset(from.i64()?),
                    max: QueueOffset(from.i64()?),
                });
            }
        }
        PENDING => {
            while !from.0.is_empty() {
                let (topic, level) = (TopicId(from.u32()?), u8::try_from(from.u32()?).ok()?);
                rest.pending.push((topic, level, from.u64()?));
            }
        }
        HALVES => {
            while !from.0.is_empty() {
                let extent = Extent { at: LogOffset(from.u64()?), length: from.u32()? };
                let half = SavedHalf {
                    extent,
                    checks: from.u32()?,
                    queue_offset: QueueOffset(from.i64()?),
                    next_check: Duration::from_millis(from.u64()?),
                    key_hash: from.u64()?,
                };
                replay.halves.restore(&half, replay.now);
            }
        }
        RECALLED => {
            while !from.0.is_empty() {
                let (topic, key_hash) = (TopicId(from.u32()?), from.u64()?);
                replay.recalled.insert(topic, key_hash, Timestamp::from_millis(from.i64()?));
            }
        }
        PROGRESS => replay.leases.restore_saved(take_progress(&mut from)?, replay.now),
        RENEWED => {
            while !from.0.is_empty() {
                let (topic, queue_id) = (TopicId(from.u32()?), QueueId(from.u32()?));
                let offset = QueueOffset(from.i64()?);
                let group = GroupName::new(&from.text()?).ok()?;
                let client = ClientId(from.text()?.into());
                let key = Key { group, topic, queue_id };
                replay.leases.restore_renewed(&key, offset, client, replay.now);
            }
        }
        _ => return None,
    }
    Some(())
}

/// Topic id u32, queue id u32, next offset i64, last pop time i64, flags u8 (bit 0 ordered, 1 an attempt id stands),
/// group text, attempt id text by flag, and three lists, each with its count u32: leases (offset i64, pop time i64,
/// end i64, what is left of it at most, in ms, i64), messages to hand out again (offset i64, attempts u32) and acks that
/// may be repeated (offset i64, pop time i64, ms left u64).
fn push_progress(saved: &SavedProgress, into: &mut Vec<u8>) {
    into.extend_from_slice(&saved.key.topic.0.to_le_bytes());
    into.extend_from_slice(&saved.key.queue_id.0.to_le_bytes());
    into.extend_from_slice(&saved.next.0.to_le_bytes());
    into.extend_from_slice(&saved.last_pop_time.to_le_bytes());
    into.push(u8::from(saved.ordered) | u8::from(saved.attempt_id.is_some()) << 1);
    push_text(saved.key.group.as_str(), into);
    if let Some(id) = &saved.attempt_id {
        push_text(id, into);
    }
    let count = |count: usize| u32::try_from(count).expect("leases are bounded").to_le_bytes();
    into.extend_from_slice(&count(saved.leases.len()));
    for &(offset, pop_time, ends, left_max) in &saved.leases {
        for number in [offset.0, pop_time, ends.as_millis(), left_max] {
            into.extend_from_slice(&number.to_le_bytes());
        }
    }
    into.extend_from_slice(&count(saved.again.len()));
    for &(offset, attempts) in &saved.again {
        into.extend_from_slice(&offset.0.to_le_bytes());
        into.extend_from_slice(&attempts.to_le_bytes());
    }
    into.extend_from_slice(&count(saved.acked.len()));
    for &(offset, pop_time, left) in &saved.acked {
        into.extend_from_slice(&offset.0.to_le_bytes());
        into.extend_from_slice(&pop_time.to_le_bytes());
        into.extend_from_slice(&(left.as_millis() as u64).to_le_bytes());
    }
}

fn take_progress(from: &mut Reader<'_>) -> Option<SavedProgress> {
    let (topic, queue_id) = (TopicId(from.u32()?), QueueId(from.u32()?));
    let (next, last_pop_time) = (QueueOffset(from.i64()?), from.i64()?);
    let flags = from.u8()?;
    let group = GroupName::new(&from.text()?).ok()?;
    let attempt_id = if flags & 2 != 0 { Some(from.text()?) } else { None };
    let mut saved = SavedProgress {
        key: Key { group, topic, queue_id },
        next,
        last_pop_time,
        ordered: flags & 1 != 0,
        attempt_id,
        leases: Vec::new(),
        again: Vec::new(),
        acked: Vec::new(),
    };
    for _ in 0..from.u32()? {
        let (offset, pop_time) = (QueueOffset(from.i64()?), from.i64()?);
        saved.leases.push((offset, pop_time, Timestamp::from_millis(from.i64()?), from.i64()?));
    }
    for _ in 0..from.u32()? {
        saved.again.push((QueueOffset(from.i64()?), from.u32()?));
    }
    for _ in 0..from.u32()? {
        let (offset, pop_time) = (QueueOffset(from.i64()?), from.i64()?);
        saved.acked.push((offset, pop_time, Duration::from_millis(from.u64()?)));
    }
    Some(saved)
}

fn meta(what: u8, meta: &record::Meta, into: &mut Vec<u8>) {
    frame(what, into, |into| meta.encode(into));
}

fn frame(what: u8, into: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>)) {
    into.push(what);
    let at = into.len();
    into.extend_from_slice(&[0; 4]);
    fill(into);
    let length = u32::try_from(into.len() - at - 4).expect("a frame is far below 4 GiB");
    into[at..at + 4].copy_from_slice(&length.to_le_bytes());
}

fn push_text(text: &str, into: &mut Vec<u8>) {
    into.extend_from_slice(&u32::try_from(text.len()).expect("texts are short").to_le_bytes());
    into.extend_from_slice(text.as_bytes());
}

/// Takes fields from the front; `None` where the bytes end.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn i64(&mut self) -> Option<i64> {
        self.array().map(i64::from_le_bytes)
    }

    pub(crate) fn text(&mut self) -> Option<String> {
        let length = self.u32()? as usize;
        String::from_utf8(self.bytes(length)?.to_vec()).ok()
    }
}
