//! Look up: messages of a topic by a key, those that wait among them.
//!
//! What came since the last checkpoint is known by a table in memory, the rest by runs on disk, which a worker
//! searches. A hash that fits is only a candidate: whoever asks compares the key itself, and for a message that
//! waits the timer has the last word.

use crate::Broker;
use crate::manifest::{self, KEYS, Manifest, PENDING};
use crate::read::Then;
use crate::recall::deliver_at;
use crate::work::{Wanted, read_body};
use bytes::Bytes;
use env::Disk;
use journal::{Extent, ReadError, Reader};
use model::{LogOffset, Timestamp, TopicId, TopicName};
use std::collections::BTreeMap;
use std::sync::Arc;
use store::{Found, key_run};
use timer::{Catalog, Entry, Stale};
use wire::property;
use wire::stored::View;

/// A message that may have the key.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    /// It, as stored.
    pub(crate) bytes: Bytes,
    /// Whether its record is one that waits for its moment, or did.
    pub(crate) parked: bool,
    /// What a bucket says of it, where it was found in one.
    pub(crate) entry: Option<Entry>,
}

/// What a look-up gave.
#[derive(Debug)]
pub(crate) struct LookedUp {
    /// In the order of the log.
    pub(crate) candidates: Vec<Candidate>,
    /// The buckets it looked into.
    pub(crate) catalog: Arc<Catalog>,
    /// Where to look on for more that waits: before this place in the log; `None` where all was looked at. Told by a
    /// look for what waits only.
    pub(crate) older: Option<LogOffset>,
}

impl LookedUp {
    /// How many of them have the key there and can be read already.
    pub(crate) fn visible(&self, key_in: KeyIn, topic: &TopicName, key: &str) -> u64 {
        let is_one = |candidate: &&Candidate| {
            let view = View::parse(&candidate.bytes);
            !candidate.parked && view.is_ok_and(|view| key_in.matches(&view, topic, key))
        };
        self.candidates.iter().filter(is_one).count() as u64
    }
}

/// Why a look-up gave nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LookUpError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Index(#[from] store::FileError),
    #[error(transparent)]
    Timer(#[from] timer::FileError),
}

/// A search, to be run on any thread.
#[derive(Debug)]
pub(crate) struct LookUp {
    topic: TopicId,
    key: String,
    /// Candidates at most, the newest ones; and bytes of them, but one always fits.
    limit: Limit,
    /// What memory knows, in the order of the log; with its bytes where they are there as well, for what was appended
    /// just now may not be written yet.
    known: Vec<(Found, Option<Bytes>)>,
    manifest: Arc<Manifest>,
    reader: Reader,
    /// Where the log begins: runs may yet tell of what lay before.
    first: LogOffset,
    /// How many messages had been given another moment.
    moves: u64,
    /// Only what waits, or did, and lies before this place in the log.
    waiting_before: Option<LogOffset>,
    /// Down to where memory was looked at, where the limit ended that.
    known_to: Option<LogOffset>,
}

/// How much a look-up looks at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    pub(crate) candidates: usize,
    pub(crate) bytes: usize,
    /// Of what can be read already, nothing before this place in the log need be looked at.
    pub(crate) visible_from: LogOffset,
}

/// Copies of one id that are looked at, at most: a producer's retries make a few.
pub(crate) const COPIES: Limit = Limit { candidates: 256, bytes: 64 << 20, visible_from: LogOffset(0) };
/// Messages of one key that are looked at, at most.
pub(crate) const OF_KEY: Limit = Limit { candidates: 1024, bytes: 64 << 20, visible_from: LogOffset(0) };

/// Where a message has a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyIn {
    /// In its `UNIQ_KEY`.
    UniqueKey,
    /// In a word of its `KEYS`.
    Keys,
    /// In either.
    Both,
}

impl KeyIn {
    /// Where a question means the `UNIQ_KEY`, or else a word of `KEYS`.
    pub(crate) fn unique(unique: bool) -> Self {
        if unique { Self::UniqueKey } else { Self::Keys }
    }

    /// Whether a message is of that topic and has that key there: a match of the hash is only a candidate, and another
    /// topic may use the same key.
    pub(crate) fn matches(self, view: &View<'_>, topic: &TopicName, key: &str) -> bool {
        let is_unique_key = || view.property(property::UNIQ_KEY) == Some(key);
        let is_word = || {
            let words = view.property(property::KEYS).unwrap_or_default();
            words.split_whitespace().any(|word| word == key)
        };
        let has = match self {
            Self::UniqueKey => is_unique_key(),
            Self::Keys => is_word(),
            Self::Both => is_unique_key() || is_word(),
        };
        has && view.topic() == topic.as_str()
    }
}

/// Where a candidate lies.
enum Place {
    Log(Extent, bool, Option<Bytes>),
    Waits(Entry),
}

impl LookUp {
    pub(crate) fn run(&self, disk: &dyn Disk) -> Result<LookedUp, LookUpError> {
        let mut places: BTreeMap<LogOffset, Place> = BTreeMap::new();
        if self.waiting_before.is_none() {
            self.find_visible(&mut places, disk)?;
        }
        let on_disk_to = self.find_waiting(&mut places, disk)?;
        for (found, bytes) in self.known.iter().filter(|(found, _)| found.extent.at >= self.first) {
            let place = Place::Log(found.extent, found.parked, bytes.clone());
            places.entry(found.extent.at).or_insert(place);
        }
        // Where a source gave as much as it may, there may be more below; so far down all of them are complete.
        let mut older = on_disk_to.max(self.known_to).filter(|_| self.waiting_before.is_some());
        if let Some(to) = older {
            places = places.split_off(&to);
        }
        let (mut candidates, mut bytes) = (Vec::new(), 0);
        for (at, place) in places.into_iter().rev() {
            let (length, parked, entry) = match &place {
                Place::Log(extent, parked, _) => (extent.length, *parked, None),
                Place::Waits(entry) => (entry.length, true, Some(*entry)),
            };
            bytes += length as usize;
            let is_full = candidates.len() == self.limit.candidates;
            if is_full || (bytes > self.limit.bytes && !candidates.is_empty()) {
                older = self.waiting_before.and(Some(LogOffset(at.0 + 1)));
                break;
            }
            let bytes = match place {
                Place::Log(_, _, Some(bytes)) => bytes,
                Place::Log(extent, ..) => self.reader.read(disk, extent)?,
                Place::Waits(entry) => read_body(&entry, &self.manifest.timer, &self.reader, disk)?,
            };
            candidates.push(Candidate { bytes, parked, entry });
        }
        candidates.reverse();
        Ok(LookedUp { candidates, catalog: Arc::clone(&self.manifest.timer), older })
    }

    /// What runs tell of messages that can be read.
    fn find_visible(
        &self,
        places: &mut BTreeMap<LogOffset, Place>,
        disk: &dyn Disk,
    ) -> Result<(), LookUpError> {
        let hash = store::key_hash(self.topic, &self.key);
        for file in self.manifest.keys.iter().rev().take_while(|file| file.to > self.limit.visible_from) {
            let lines =
                key_run::find(disk, &manifest::name(KEYS, file.generation), hash, self.limit.candidates)?;
            for line in lines.into_iter().filter(|line| line.at >= self.first) {
                let extent = Extent { at: line.at, length: line.word as u32 };
                places.insert(line.at, Place::Log(extent, false, None));
            }
            if places.len() >= self.limit.candidates {
                break;
            }
        }
        Ok(())
    }

    /// What runs tell of messages that wait; and down to where, where a run may tell of more. What has left since its
    /// run was written is passed over, but was looked at.
    fn find_waiting(
        &self,
        places: &mut BTreeMap<LogOffset, Place>,
        disk: &dyn Disk,
    ) -> Result<Option<LogOffset>, LookUpError> {
        let hash = store::key_hash(self.topic, &self.key);
        let before = self.waiting_before.unwrap_or(LogOffset(u64::MAX));
        let mut to = None;
        for file in self.manifest.pending.iter().rev() {
            let name = manifest::name(PENDING, file.generation);
            let lines = key_run::find_before(disk, &name, hash, before, self.limit.candidates)?;
            if lines.len() == self.limit.candidates {
                to = to.max(lines.first().map(|line| line.at));
            }
            for line in lines {
                let key = (Timestamp::from_millis(line.word as i64), line.at);
                if let Some(entry) = timer::find(&self.manifest.timer, key, disk)? {
                    places.insert(line.at, Place::Waits(entry));
                }
            }
        }
        Ok(to)
    }
}

impl Broker {
    /// What the timer knows of a message that was looked up as one that waits, and that `view` shows; `None` where it waits
    /// no longer. [`Stale`] where the files that told so count no more: look again.
    pub(crate) fn still_waits(
        &self,
        view: &View<'_>,
        candidate: &Candidate,
        catalog: &Arc<Catalog>,
    ) -> Result<Option<Entry>, Stale> {
        let (at, Some(moment)) = (view.log_offset(), deliver_at(view)) else { return Ok(None) };
        if let Some(entry) = self.due.get(at).or_else(|| self.timer.entry((moment, at))) {
            return Ok(Some(*entry));
        }
        match (self.timer.is_pending(moment, at), candidate.entry) {
            (Some(_), _) => Ok(None),
            (None, Some(entry)) if Arc::ptr_eq(self.timer.catalog(), catalog) => Ok(Some(entry)),
            (None, _) => Err(Stale),
        }
    }

    /// Looks for a topic's messages that may have the key, and goes on with `then`: at once where no file has to
    /// be read.
    pub(crate) fn look_up(&mut self, topic: TopicId, key: &str, limit: Limit, then: Then) {
        self.seek(topic, key, limit, None, then);
    }

    /// Looks for those only that wait, or did, and lie before `before` in the log, the newest of them; what was found
    /// tells where to look on. Costs by how many messages of the key have come since the last checkpoint.
    pub(crate) fn look_up_waiting(&mut self, topic: TopicId, key: &str, before: LogOffset, then: Then) {
        self.seek(topic, key, OF_KEY, Some(before), then);
    }

    fn seek(
        &mut self,
        topic: TopicId,
        key: &str,
        limit: Limit,
        waiting_before: Option<LogOffset>,
        then: Then,
    ) {
        let wanted = |found: &Found| match waiting_before {
            Some(before) => found.parked && found.extent.at < before,
            None => true,
        };
        let mut known: Vec<Found> =
            self.keys.find(topic, key).rev().filter(wanted).take(limit.candidates).collect();
        known.reverse();
        let known_to = known.first().filter(|_| known.len() == limit.candidates).map(|found| found.extent.at);
        let manifest = Arc::clone(&self.checkpoints.last);
        if manifest.keys.is_empty() && manifest.pending.is_empty() {
            let mut bytes = 0;
            let fits = |found: &&Found| {
                bytes += found.extent.length as usize;
                bytes <= limit.bytes || bytes == found.extent.length as usize
            };
            let some: Vec<Found> = known.iter().rev().take_while(fits).copied().collect();
            let is_cut = known_to.is_some() || some.len() < known.len();
            let oldest = some.last().map(|found| found.extent.at);
            let older = waiting_before.and(oldest).filter(|_| is_cut);
            let read = some.into_iter().rev().map(|found| {
                let bytes = self.in_memory(found.extent)?;
                Some(Candidate { bytes, parked: found.parked, entry: None })
            });
            if let Some(candidates) = read.collect::<Option<Vec<_>>>() {
                let catalog = Arc::clone(&manifest.timer);
                return self.looked_up(then, Ok(LookedUp { candidates, catalog, older }));
            }
        }
        let known = known.into_iter().map(|found| (found, self.in_memory(found.extent))).collect();
        let (key, reader, first) = (key.to_owned(), self.log.reader(), self.log.first());
        let moves = self.stats.rescheduled;
        let look_up =
            LookUp { topic, key, limit, known, manifest, reader, first, moves, waiting_before, known_to };
        self.read_from_disk(Wanted::LookUp(Box::new(look_up)), then);
    }

    /// A look-up came back. Where a checkpoint stands by now that did not then, or a message of the key may have been
    /// given another moment, it looks again: files may be gone, and what was found tells too little. Messages of the key
    /// that merely came are no reason: where they come all the time, no look would ever be the last.
    pub(crate) fn look_up_done(
        &mut self,
        then: Then,
        look_up: &LookUp,
        found: Result<LookedUp, LookUpError>,
    ) {
        let newest = self.keys.find(look_up.topic, &look_up.key).next_back().map(|found| found.extent.at);
        let has_moved = look_up.moves != self.stats.rescheduled
            && newest > look_up.known.last().map(|(found, _)| found.extent.at);
        let is_old = look_up.manifest.generation != self.checkpoints.last.generation;
        if is_old || has_moved || look_up.first != self.log.first() {
            return self.seek(look_up.topic, &look_up.key, look_up.limit, look_up.waiting_before, then);
        }
        self.looked_up(then, found);
    }
}
