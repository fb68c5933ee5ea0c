//! List: the messages that wait, in the order in which they will leave, a page at a time.
//!
//! A page goes on where the one before ended, by the place of its last message in that order. So pages stay true while
//! messages come and go: what waits all the while is told once, what has left by the answer is not told.
//! One that is given another moment between two pages may be told at both places, or at none.

use crate::look_up::{KeyIn, LookUpError, LookedUp};
use crate::read::Then;
use crate::recall::deliver_at;
use crate::work::{Wanted, read_body};
use crate::{Broker, Reply, RequestId};
use bytes::Bytes;
use env::Disk;
use journal::Reader;
use model::{LogOffset, Timestamp, TopicId, TopicName};
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use timer::{Catalog, Entry, Key, Range, Scan, Stale};
use wire::stored::View;

/// A question for messages that wait.
#[derive(Clone, Debug)]
pub struct ListPending {
    /// Which.
    pub which: Which,
    /// Due from then on.
    pub from: Timestamp,
    /// Due by then.
    pub until: Timestamp,
    /// Behind this place: where the page before ended.
    pub after: Option<PendingPlace>,
    /// Messages at most, up to 256. A page may have fewer, and another behind it all the same.
    pub max: u32,
}

/// Which of the messages that wait are meant.
#[derive(Clone, Debug)]
pub enum Which {
    /// All.
    All,
    /// Those of a topic.
    Topic(TopicName),
    /// Those of a topic that have a key.
    Key {
        /// The topic.
        topic: TopicName,
        /// Their `UNIQ_KEY`, or a word of their `KEYS`.
        key: String,
    },
}

/// A place in the order in which messages leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PendingPlace {
    /// When a message is due.
    pub deliver_at: Timestamp,
    /// Where its record lies: the order of acceptance among equals.
    pub log_offset: LogOffset,
}

impl PendingPlace {
    pub(crate) fn key(self) -> Key {
        (self.deliver_at, self.log_offset)
    }

    pub(crate) fn of((deliver_at, log_offset): Key) -> Self {
        Self { deliver_at, log_offset }
    }
}

/// A message that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingMessage {
    /// When it is due, and its place among equals.
    pub place: PendingPlace,
    /// The delay level it was sent with; 0 where it was sent with a time.
    pub level: u8,
    /// It, as stored.
    pub bytes: Bytes,
}

/// A part of the messages that wait.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PendingPage {
    /// In the order in which they will leave.
    pub messages: Vec<PendingMessage>,
    /// Where the next page begins; `None` where this one came to the end.
    pub next: Option<PendingPlace>,
    /// Whether so many messages wait under the key that some of the older ones were not looked at.
    pub is_cut: bool,
}

/// Why nothing is listed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ListPendingError {
    /// The caller's: the topic does not exist.
    #[error("topic {topic} does not exist")]
    TopicUnknown {
        /// The topic.
        topic: TopicName,
    },
    /// Ours: a file could not be read.
    #[error("reading what waits: {why}")]
    Unreadable {
        /// Why.
        why: String,
    },
}

/// Messages of a page, at most.
const PAGE_MAX: usize = 256;
/// Bytes of a page, at most; one message always fits. With its header it fits a frame of remoting.
const PAGE_BYTES_MAX: usize = 15 << 20;
/// Messages that are looked at for one page, at most.
const LOOKS_MAX: usize = 100_000;

/// Rounds of looks at what waits under a key, at most: about 65,000 messages.
const ROUNDS_MAX: usize = 64;

/// A page of what waits under a key, as far as it was looked at.
#[derive(Debug)]
pub(crate) struct OfKey {
    /// The first of the page so far, in their order, and one more where there are.
    first: Vec<PendingMessage>,
    /// What was not looked at yet lies before this place in the log.
    before: LogOffset,
    rounds: usize,
}

impl OfKey {
    fn begin() -> Self {
        Self { first: Vec::new(), before: LogOffset(u64::MAX), rounds: 0 }
    }

    /// How many of the first have room in a page.
    fn fitting(&self) -> usize {
        let mut bytes = 0;
        let fits = |message: &&PendingMessage| {
            bytes += message.bytes.len();
            bytes <= PAGE_BYTES_MAX || bytes == message.bytes.len()
        };
        self.first.iter().take_while(fits).count()
    }

    /// Takes more, and forgets what lies behind the page but for one, which tells that there is more.
    fn add(&mut self, mut messages: Vec<PendingMessage>, max: usize) {
        self.first.append(&mut messages);
        self.first.sort_unstable_by_key(|message| message.place);
        self.first.truncate(self.fitting().min(max) + 1);
    }

    /// The page.
    fn end(mut self, max: usize, is_cut: bool) -> PendingPage {
        let fitting = self.fitting().min(max);
        let more = fitting < self.first.len();
        self.first.truncate(fitting);
        let next = self.first.last().map(|message| message.place).filter(|_| more);
        PendingPage { messages: self.first, next, is_cut }
    }
}

/// A page to be read, on any thread.
#[derive(Debug)]
pub(crate) struct Listing {
    scan: Scan,
    max: usize,
    /// Up to where the log is written: what lies behind is not visible yet.
    written: LogOffset,
}

/// What was read.
#[derive(Debug)]
pub(crate) struct Listed {
    found: Vec<(Entry, Bytes)>,
    next: Option<Key>,
}

impl Listing {
    pub(crate) fn run(&self, reader: &Reader, disk: &dyn Disk) -> Result<Listed, LookUpError> {
        let mut entries = Vec::new();
        let mut bytes = 0;
        let mut next = self.scan.run(disk, &mut |entry| {
            if entry.log_offset < self.written {
                bytes += entry.length as usize;
                entries.push(*entry);
            }
            let enough = entries.len() >= self.max || bytes >= PAGE_BYTES_MAX;
            if enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if bytes > PAGE_BYTES_MAX && entries.len() > 1 {
            entries.pop();
            next = entries.last().map(Entry::key);
        }
        let read = |entry: Entry| Ok((entry, read_body(&entry, self.scan.catalog(), reader, disk)?));
        let found = entries.into_iter().map(read).collect::<Result<_, LookUpError>>()?;
        Ok(Listed { found, next })
    }
}

impl Broker {
    pub(crate) fn list_pending(&mut self, id: RequestId, ask: ListPending) {
        let topic = match &ask.which {
            Which::All => None,
            Which::Topic(topic) | Which::Key { topic, .. } => Some(topic),
        };
        let topic = match self.topic_or_all(topic) {
            Ok(topic) => topic,
            Err(topic) => {
                return self.reply_now(id, Reply::ListPending(Err(ListPendingError::TopicUnknown { topic })));
            }
        };
        match (&ask.which, topic) {
            (Which::Key { .. }, Some(topic)) => self.list_of_key(id, topic, ask, OfKey::begin()),
            (_, topic) => self.list(id, ask, topic),
        }
    }

    fn list_of_key(&mut self, id: RequestId, topic: TopicId, ask: ListPending, of_key: OfKey) {
        let Which::Key { key, .. } = &ask.which else {
            unreachable!("only what is asked for by a key is looked up")
        };
        let (key, before) = (key.clone(), of_key.before);
        self.look_up_waiting(topic, &key, before, Then::ListOfKey(id, topic, ask, Box::new(of_key)));
    }

    fn list(&mut self, id: RequestId, ask: ListPending, topic: Option<TopicId>) {
        let scan = self.scan_pending(topic, ask.from, ask.until, ask.after, LOOKS_MAX);
        let catalog = Arc::clone(scan.catalog());
        let max = (ask.max as usize).clamp(1, PAGE_MAX);
        let listing = Listing { scan, max, written: self.log.written() };
        self.read_from_disk(Wanted::Listing(Box::new(listing)), Then::ListPending(id, ask, catalog));
    }

    /// The topic of that name, where one is named; the name, where there is none.
    pub(crate) fn topic_or_all(&self, name: Option<&TopicName>) -> Result<Option<TopicId>, TopicName> {
        match name.map(|name| self.topics.get(name).ok_or(name)) {
            None => Ok(None),
            Some(Ok(topic)) => Ok(Some(topic.id)),
            Some(Err(unknown)) => Err(unknown.clone()),
        }
    }

    /// A look at what waits, with what is due and has not left.
    pub(crate) fn scan_pending(
        &self,
        topic: Option<TopicId>,
        from: Timestamp,
        until: Timestamp,
        after: Option<PendingPlace>,
        most: usize,
    ) -> Scan {
        let range = Range { from, until, after: after.map(PendingPlace::key), topic };
        self.timer.scan(range, self.due.entries().copied(), most)
    }

    /// A page was read. Where a checkpoint stands by now that did not then, it is read again: the files it was read
    /// from may be gone, and what has left since is not known by them.
    pub(crate) fn listed(
        &mut self,
        id: RequestId,
        ask: ListPending,
        catalog: &Arc<Catalog>,
        listed: Result<Listed, LookUpError>,
    ) {
        if !Arc::ptr_eq(self.timer.catalog(), catalog) {
            return self.list_pending(id, ask);
        }
        let answer = listed.map_err(|error| ListPendingError::Unreadable { why: error.to_string() });
        let answer = answer.map(|Listed { found, next }| {
            let taken: HashSet<LogOffset> = self.due.entries().map(|entry| entry.log_offset).collect();
            let waits = |entry: &Entry| {
                let pending = self.timer.is_pending(entry.deliver_at, entry.log_offset) != Some(false);
                (pending || taken.contains(&entry.log_offset)) && self.topics.by_id(entry.topic).is_some()
            };
            let messages = found.into_iter().filter(|(entry, _)| waits(entry));
            let messages = messages.map(|(entry, bytes)| PendingMessage {
                place: PendingPlace::of(entry.key()),
                level: entry.level,
                bytes,
            });
            PendingPage { messages: messages.collect(), next: next.map(PendingPlace::of), is_cut: false }
        });
        self.reply(id, Reply::ListPending(answer));
    }

    /// Messages of a key were looked up: those that wait are taken, and it is looked on where there are older ones.
    pub(crate) fn list_of_key_read(
        &mut self,
        id: RequestId,
        topic: TopicId,
        ask: ListPending,
        mut of_key: OfKey,
        found: Result<LookedUp, LookUpError>,
    ) {
        let Which::Key { topic: name, key } = &ask.which else {
            unreachable!("only what is asked for by a key is looked up")
        };
        let found = match found {
            Ok(found) => found,
            Err(error) => {
                let error = ListPendingError::Unreadable { why: error.to_string() };
                return self.reply(id, Reply::ListPending(Err(error)));
            }
        };
        let mut messages = Vec::new();
        for candidate in found.candidates {
            let Ok(view) = View::parse(&candidate.bytes) else { continue };
            let is_one = KeyIn::Both.matches(&view, name, key);
            let Some(at) = deliver_at(&view).filter(|_| is_one) else { continue };
            let place = PendingPlace { deliver_at: at, log_offset: view.log_offset() };
            let entry = match self.still_waits(&view, &candidate, &found.catalog) {
                Ok(Some(entry)) => entry,
                Ok(None) => continue,
                Err(Stale) => return self.list_of_key(id, topic, ask, of_key),
            };
            let in_time = (ask.from..=ask.until).contains(&at);
            if in_time && ask.after.is_none_or(|after| place > after) {
                messages.push(PendingMessage { place, level: entry.level, bytes: candidate.bytes });
            }
        }
        let max = (ask.max as usize).clamp(1, PAGE_MAX);
        of_key.add(messages, max);
        of_key.rounds += 1;
        match found.older {
            Some(older) if of_key.rounds < ROUNDS_MAX => {
                of_key.before = older;
                self.list_of_key(id, topic, ask, of_key);
            }
            older => self.reply(id, Reply::ListPending(Ok(of_key.end(max, older.is_some())))),
        }
    }
}
