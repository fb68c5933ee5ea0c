//! The catalog: which buckets there are on disk, how much of their files counts, and what of them is over.

use std::collections::BTreeMap;

use model::{LogOffset, Timestamp, TopicId};

use crate::Entry;
use crate::entry::Key;
use crate::window::WINDOW_MS;

/// The width of a near bucket.
pub(crate) const NEAR_MS: i64 = WINDOW_MS;
/// The width of a far bucket.
pub(crate) const FAR_MS: i64 = 86_400_000;
/// How far ahead the far buckets begin.
pub(crate) const FAR_AHEAD_MS: i64 = 2 * FAR_MS;
/// How long before it begins a far bucket is split.
pub(crate) const SPLIT_AHEAD_MS: i64 = FAR_AHEAD_MS;

/// A stretch of time on disk: the messages due in it, in an index file, and the bodies of some in a data file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bucket {
    pub(crate) start: i64,
    pub(crate) width_ms: i64,
    /// Names its index: what replaces it has another.
    pub(crate) generation: u64,
    /// Names its data file, which a new index may take over.
    pub(crate) data_generation: u64,
    /// Bytes of the index that count; what lies behind was never committed.
    pub(crate) index_bytes: u64,
    /// Bytes of the data file that count; 0 for none.
    pub(crate) data_bytes: u64,
    pub(crate) entries: u64,
    pub(crate) tombstones: u64,
    pub(crate) chunks: u32,
    /// No entry's log offset is below this.
    pub(crate) from: LogOffset,
    /// No body that lies in the log begins below this.
    pub(crate) log_from: LogOffset,
    /// Entries by topic, those that wait no longer among them.
    pub(crate) topics: BTreeMap<TopicId, u64>,
}

impl Bucket {
    pub(crate) fn new(start: i64, width_ms: i64, generation: u64) -> Self {
        Self {
            start,
            width_ms,
            generation,
            data_generation: generation,
            index_bytes: 0,
            data_bytes: 0,
            entries: 0,
            tombstones: 0,
            chunks: 0,
            from: LogOffset(u64::MAX),
            log_from: LogOffset(u64::MAX),
            topics: BTreeMap::new(),
        }
    }

    pub(crate) fn index_file(&self) -> String {
        file_name(self.start, self.generation, "idx")
    }

    pub(crate) fn data_file(&self) -> String {
        file_name(self.start, self.data_generation, "dat")
    }

    /// Its files, with the bytes of each that count.
    pub(crate) fn files(&self) -> impl Iterator<Item = (String, u64)> {
        let data = (self.data_bytes > 0).then(|| (self.data_file(), self.data_bytes));
        [(self.index_file(), self.index_bytes)].into_iter().chain(data)
    }

    pub(crate) fn end(&self) -> i64 {
        self.start.saturating_add(self.width_ms)
    }

    pub(crate) fn begin(&self) -> Timestamp {
        Timestamp::from_millis(self.start)
    }

    /// Whether most of its messages were called back.
    pub(crate) fn is_mostly_dead(&self) -> bool {
        self.tombstones * 2 > self.entries
    }

    /// Counts an entry that is added to its files.
    pub(crate) fn count(&mut self, entry: &Entry) {
        self.entries += 1;
        self.from = self.from.min(entry.log_offset);
        if entry.position == crate::IN_LOG {
            self.log_from = self.log_from.min(entry.log_offset);
        }
        *self.topics.entry(entry.topic).or_default() += 1;
    }
}

const PREFIX: &str = "timer-";

fn file_name(start: i64, generation: u64, ext: &str) -> String {
    format!("{PREFIX}{start:015}-{generation:08x}.{ext}")
}

/// Whether a file is one of this room's, by its name.
pub fn is_timer_file(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// For ever true: every entry whose log offset is below the fence and that is due before `before` waits no longer.
///
/// Each checkpoint adds one, with its place in the log as the fence and what is first among all that wait as
/// `before`. It follows from what waits then, so no step of the clock makes it wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gone {
    pub(crate) fence: LogOffset,
    pub(crate) before: Key,
}

impl Gone {
    pub(crate) fn covers(&self, key: Key) -> bool {
        key.1 < self.fence && key < self.before
    }
}

/// What lies on disk for the timer. A value: it changes by being replaced as a whole, with the manifest it is
/// part of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Catalog {
    /// By start; they do not overlap.
    pub(crate) buckets: BTreeMap<i64, Bucket>,
    pub(crate) gone: Vec<Gone>,
    pub(crate) next_generation: u64,
}

impl Catalog {
    /// The bucket in whose stretch a moment lies.
    pub(crate) fn bucket_of(&self, at: Timestamp) -> Option<&Bucket> {
        let (_, bucket) = self.buckets.range(..=at.as_millis()).next_back()?;
        (at.as_millis() < bucket.end()).then_some(bucket)
    }

    /// The bucket of that start and width, made where it is not there.
    pub(crate) fn bucket_mut(&mut self, (start, width_ms): (i64, i64)) -> &mut Bucket {
        let Self { buckets, next_generation, .. } = self;
        buckets.entry(start).or_insert_with(|| {
            let generation = *next_generation;
            *next_generation += 1;
            Bucket::new(start, width_ms, generation)
        })
    }

    /// Where and how wide the bucket is, or would be, that takes a moment.
    pub(crate) fn place(&self, at: Timestamp, now: Timestamp) -> (i64, i64) {
        if let Some(bucket) = self.bucket_of(at) {
            return (bucket.start, bucket.width_ms);
        }
        let start = |width: i64| at.as_millis().div_euclid(width) * width;
        let day = start(FAR_MS);
        let is_free = self.buckets.range(day..day + FAR_MS).next().is_none();
        if at.millis_since(now) >= FAR_AHEAD_MS && is_free {
            return (day, FAR_MS);
        }
        (start(NEAR_MS), NEAR_MS)
    }

    /// Whether an entry that a bucket holds is known to wait no longer.
    pub(crate) fn is_gone(&self, key: Key) -> bool {
        self.gone.iter().any(|gone| gone.covers(key))
    }

    /// Whether a message of that moment and place may wait in a bucket, as far as is known without reading one.
    pub fn may_wait(&self, key: Key) -> bool {
        !self.is_gone(key) && self.bucket_of(key.0).is_some_and(|bucket| bucket.from <= key.1)
    }

    /// Adds what a checkpoint knows, and forgets what that or the end of buckets makes needless.
    pub(crate) fn add_gone(&mut self, new: Gone) {
        self.gone.retain(|old| old.fence > new.fence || old.before > new.before);
        self.gone.push(new);
        let buckets = &self.buckets;
        self.gone.retain(|gone| {
            let mut reached = buckets.range(..=gone.before.0.as_millis());
            reached.any(|(_, bucket)| bucket.from < gone.fence)
        });
    }

    /// The files that belong to it, with the bytes of each that count.
    pub fn files(&self) -> impl Iterator<Item = (String, u64)> + '_ {
        self.buckets.values().flat_map(Bucket::files)
    }

    /// No body that a bucket leaves in the log begins below this.
    pub fn log_from(&self) -> LogOffset {
        self.buckets.values().map(|bucket| bucket.log_from).min().unwrap_or(LogOffset(u64::MAX))
    }

    /// How many buckets there are.
    pub fn len(&self) -> usize {
        self.buckets.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }

    /// Adds its bytes, little-endian: next generation u64; count u32 and the statements of what is over, each
    /// fence u64, moment i64, log offset u64; count u32 and the buckets, each start i64, width in ms i64,
    /// generation u64, data generation u64, index bytes u64, data bytes u64, entries u64, tombstones u64, chunks u32, from u64, log from
    /// u64, count u32 and topics, each id u32 and entries u64.
    pub fn encode(&self, into: &mut Vec<u8>) {
        let count = |count: usize| (count as u32).to_le_bytes();
        into.extend_from_slice(&self.next_generation.to_le_bytes());
        into.extend_from_slice(&count(self.gone.len()));
        for Gone { fence, before: (at, log_offset) } in &self.gone {
            into.extend_from_slice(&fence.0.to_le_bytes());
            into.extend_from_slice(&at.as_millis().to_le_bytes());
            into.extend_from_slice(&log_offset.0.to_le_bytes());
        }
        into.extend_from_slice(&count(self.buckets.len()));
        for bucket in self.buckets.values() {
            for number in [bucket.start, bucket.width_ms] {
                into.extend_from_slice(&number.to_le_bytes());
            }
            let numbers = [
                bucket.generation,
                bucket.data_generation,
                bucket.index_bytes,
                bucket.data_bytes,
                bucket.entries,
                bucket.tombstones,
                bucket.from.0,
                bucket.log_from.0,
            ];
            for number in numbers {
                into.extend_from_slice(&number.to_le_bytes());
            }
            into.extend_from_slice(&bucket.chunks.to_le_bytes());
            into.extend_from_slice(&count(bucket.topics.len()));
            for (topic, entries) in &bucket.topics {
                into.extend_from_slice(&topic.0.to_le_bytes());
                into.extend_from_slice(&entries.to_le_bytes());
            }
        }
    }

    /// Reads what [`Self::encode`] wrote; `None` where the bytes end too early or too late, or buckets overlap.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let rest = &mut rest;
        let mut catalog = Self { next_generation: take_u64(rest)?, ..Self::default() };
        for _ in 0..take_u32(rest)? {
            let fence = LogOffset(take_u64(rest)?);
            let before = (Timestamp::from_millis(take_u64(rest)? as i64), LogOffset(take_u64(rest)?));
            catalog.gone.push(Gone { fence, before });
        }
        let mut end = i64::MIN;
        for _ in 0..take_u32(rest)? {
            let (start, width_ms) = (take_u64(rest)? as i64, take_u64(rest)? as i64);
            let mut bucket = Bucket::new(start, width_ms, take_u64(rest)?);
            if start < end || width_ms <= 0 {
                return None;
            }
            end = bucket.end();
            bucket.data_generation = take_u64(rest)?;
            bucket.index_bytes = take_u64(rest)?;
            bucket.data_bytes = take_u64(rest)?;
            bucket.entries = take_u64(rest)?;
            bucket.tombstones = take_u64(rest)?;
            bucket.from = LogOffset(take_u64(rest)?);
            bucket.log_from = LogOffset(take_u64(rest)?);
            bucket.chunks = take_u32(rest)?;
            for _ in 0..take_u32(rest)? {
                bucket.topics.insert(TopicId(take_u32(rest)?), take_u64(rest)?);
            }
            catalog.buckets.insert(start, bucket);
        }
        rest.is_empty().then_some(catalog)
    }
}

fn take_u64(rest: &mut &[u8]) -> Option<u64> {
    let (taken, left) = rest.split_first_chunk::<8>()?;
    *rest = left;
    Some(u64::from_le_bytes(*taken))
}

fn take_u32(rest: &mut &[u8]) -> Option<u32> {
    let (taken, left) = rest.split_first_chunk::<4>()?;
    *rest = left;
    Some(u32::from_le_bytes(*taken))
}

#[cfg(test)]
mod tests;
