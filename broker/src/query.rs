//! Query: find messages by key, by id, by place.

use crate::look_up::{KeyIn, Limit, LookUpError, LookedUp};
use crate::read::Then;
use crate::recall::deliver_at;
use crate::work::Wanted;
use crate::{Broker, Reply, RequestId};
use bytes::Bytes;
use model::{LogOffset, QueueId, QueueOffset, Timestamp, TopicId, TopicName};
use wire::stored::Placed;
use wire::{property, stored};

/// A search for messages of a topic by key.
#[derive(Clone, Debug)]
pub struct Query {
    /// The topic.
    pub topic: TopicName,
    /// The `UNIQ_KEY`, or one word of `KEYS`.
    pub key: String,
    /// Whether `key` is the `UNIQ_KEY`.
    pub unique: bool,
    /// Messages at most.
    pub max: u32,
    /// Stored from then on.
    pub begin: Timestamp,
    /// Stored up to then.
    pub end: Timestamp,
}

/// Why a search gave nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// Nothing fits (22).
    #[error("can not find message, maybe time range not correct")]
    NotFound,
    /// Ours: a message could not be read (1).
    #[error("reading a message: {why}")]
    Unreadable {
        /// Why.
        why: String,
    },
}

/// A look at the message whose record lies there.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// Its place.
    pub log_offset: LogOffset,
}

/// Why there was nothing to see.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ViewError {
    /// No message lies there (1).
    #[error("can not find message by the offset, {log_offset}")]
    NotFound {
        /// The place.
        log_offset: LogOffset,
    },
}

/// Bytes that one search reads, at most; one message always fits.
const QUERY_BYTES_MAX: usize = 16 << 20;
/// Messages of one search, at most. Peer: `maxMsgsNumBatch`.
const QUERY_MAX: usize = 64;

/// Candidates of a key that are looked at, at most.
const LOOKED_AT: Limit =
    Limit { candidates: 4 * QUERY_MAX, bytes: QUERY_BYTES_MAX, visible_from: LogOffset(0) };

impl Broker {
    pub(crate) fn query(&mut self, id: RequestId, ask: &Query) {
        let Some(topic) = self.topics.get(&ask.topic).map(|topic| topic.id) else {
            return self.reply_now(id, Reply::Query(Err(QueryError::NotFound)));
        };
        self.look_up(topic, &ask.key, LOOKED_AT, Then::Query(id, ask.clone()));
    }

    pub(crate) fn view(&mut self, id: RequestId, ask: View) {
        self.read_from_disk(Wanted::Message(ask.log_offset), Then::View(id, ask));
    }

    pub(crate) fn query_read(&mut self, id: RequestId, ask: &Query, all: Result<LookedUp, LookUpError>) {
        let answer = all.map_err(|error| QueryError::Unreadable { why: error.to_string() });
        // One that was parked and waits no longer has a delivered copy, or was called back.
        let all = answer.map(|all| {
            let fits = all.candidates.into_iter().rev().filter(|one| !one.parked || self.waits(&one.bytes));
            fits.map(|one| one.bytes).collect()
        });
        let answer = all.and_then(|all| fitting(ask, all));
        let answer = answer.map(|found| found.into_iter().map(|bytes| self.shown(bytes)).collect());
        self.reply(id, Reply::Query(answer));
    }

    /// A message as it is shown: one that waits for its moment, or was called back, says so, and its place is
    /// that of the next message of its queue, which tools take for «not consumed yet».
    fn shown(&self, bytes: Bytes) -> Bytes {
        let Ok(view) = stored::View::parse(&bytes) else { return bytes };
        let Some(topic) = self.topics.by_name(view.topic()) else { return bytes };
        let queue = self.store.queue(topic, view.queue_id());
        let at = queue.and_then(|queue| queue.get(view.queue_offset())).map(|entry| entry.extent.at);
        if at == Some(view.log_offset()) {
            return bytes;
        }
        let state = match (self.waits(&bytes), self.was_recalled(topic, &view)) {
            (true, _) => "pending",
            (false, true) => "recalled",
            (false, false) => "delivered",
        };
        let Ok((mut message, placed)) = stored::decode(&bytes) else { return bytes.clone() };
        message.properties.set(property::DUEMQ_STATE, state);
        let placed = Placed {
            topic: &placed.topic,
            queue_id: placed.queue_id,
            queue_offset: queue.map_or(QueueOffset(0), store::ConsumeQueue::max),
            log_offset: placed.log_offset,
            stored_at: placed.stored_at,
            store_host: placed.store_host,
        };
        let mut into = Vec::with_capacity(bytes.len() + 32);
        stored::encode(&message, &placed, &mut into);
        into.into()
    }

    /// Whether a message of that topic and `UNIQ_KEY` was called back.
    fn was_recalled(&self, topic: TopicId, view: &stored::View<'_>) -> bool {
        let key = view.property(property::UNIQ_KEY).unwrap_or_default();
        self.recalled.contains(topic, key, self.now.wall)
    }

    /// Whether a message whose record is one that waits still does. What only a bucket on disk could tell is told by
    /// what is known of recalls.
    fn waits(&self, bytes: &Bytes) -> bool {
        let Ok(view) = stored::View::parse(bytes) else { return false };
        let (Some(topic), Some(at)) = (self.topics.by_name(view.topic()), deliver_at(&view)) else {
            return false;
        };
        if self.due.get(view.log_offset()).is_some() {
            return true;
        }
        self.timer.is_pending(at, view.log_offset()).unwrap_or_else(|| {
            let key = view.property(property::UNIQ_KEY).unwrap_or_default();
            !self.recalled.contains(topic, key, self.now.wall)
        })
    }

    pub(crate) fn view_read(&mut self, id: RequestId, ask: View, found: Option<Bytes>) {
        match found.map(|bytes| (self.is_known(ask.log_offset, &bytes), bytes)) {
            Some((Known::Yes, bytes)) => self.viewed(id, ask, Some(bytes)),
            Some((Known::ByKey(topic, key), bytes)) => {
                self.look_up(topic, &key, LOOKED_AT, Then::ViewParked(id, ask, bytes));
            }
            Some((Known::No, _)) | None => self.viewed(id, ask, None),
        }
    }

    /// What has the key of the record at a place was looked up: it is shown where it waits in a bucket on disk, where
    /// it is what a message was before its delivery, or where just such a message was called back.
    pub(crate) fn view_parked_read(
        &mut self,
        id: RequestId,
        ask: View,
        bytes: Bytes,
        found: Result<LookedUp, LookUpError>,
    ) {
        let found = found.map(|found| found.candidates).unwrap_or_default();
        let known = found.iter().any(|one| match one.parked {
            true => one.bytes == bytes && self.waits(&bytes),
            false => is_delivered_copy(&one.bytes, &bytes),
        });
        let recalled = stored::View::parse(&bytes).is_ok_and(|view| {
            self.topics.by_name(view.topic()).is_some_and(|topic| self.was_recalled(topic, &view))
        });
        self.viewed(id, ask, (known || recalled).then_some(bytes));
    }

    fn viewed(&mut self, id: RequestId, ask: View, found: Option<Bytes>) {
        let found = found.map(|bytes| self.shown(bytes));
        let answer = found.ok_or(ViewError::NotFound { log_offset: ask.log_offset });
        self.reply(id, Reply::View(answer));
    }

    /// Whether a record at a place that a client named is one of ours: a body may hold bytes that are a whole record
    /// of just that place.
    fn is_known(&self, at: LogOffset, bytes: &Bytes) -> Known {
        let Ok(view) = stored::View::parse(bytes) else { return Known::No };
        let Some(topic) = self.topics.by_name(view.topic()) else { return Known::No };
        if view.log_offset() != at || view.total_size() != bytes.len() {
            return Known::No;
        }
        if self.lies_in_queue(at, view.topic(), view.queue_id(), view.queue_offset()) {
            return Known::Yes;
        }
        let Some(moment) = deliver_at(&view) else { return Known::No };
        if self.due.get(at).is_some() || self.timer.is_pending(moment, at) == Some(true) {
            return Known::Yes;
        }
        let words = view.property(property::KEYS).into_iter().flat_map(str::split_whitespace);
        match view.property(property::UNIQ_KEY).into_iter().chain(words).next() {
            Some(key) => Known::ByKey(topic, key.to_owned()),
            None => Known::No,
        }
    }

    /// Whether the record at `at` is that of a queue's message. The rest of what it says of its place may be forged.
    pub(crate) fn lies_in_queue(
        &self,
        at: LogOffset,
        topic: &str,
        queue_id: QueueId,
        queue_offset: QueueOffset,
    ) -> bool {
        let queue = self.topics.by_name(topic).and_then(|topic| self.store.queue(topic, queue_id));
        queue.and_then(|queue| queue.get(queue_offset)).is_some_and(|entry| entry.extent.at == at)
    }
}

/// Whether an index knows a record.
enum Known {
    Yes,
    No,
    /// Only those can that know messages of the topic by this key.
    ByKey(TopicId, String),
}

/// Whether a message is what was made of `parked` when it was delivered.
fn is_delivered_copy(message: &Bytes, parked: &Bytes) -> bool {
    let (Ok(view), Ok(parked)) = (stored::View::parse(message), stored::View::parse(parked)) else {
        return false;
    };
    let mut copy = Vec::with_capacity(message.len());
    let (queue_id, queue_offset) = (view.queue_id(), view.queue_offset());
    stored::deliver(&parked, queue_id, queue_offset, view.log_offset(), view.stored_at(), &mut copy);
    message == &copy
}

/// Those of `candidates` that have the key and were stored in the time asked for.
fn fitting(ask: &Query, candidates: Vec<Bytes>) -> Result<Vec<Bytes>, QueryError> {
    let fits = |bytes: &Bytes| {
        let Ok(view) = stored::View::parse(bytes) else {
            return false;
        };
        let is_one = KeyIn::unique(ask.unique).matches(&view, &ask.topic, &ask.key);
        is_one && (ask.begin..=ask.end).contains(&view.stored_at())
    };
    let max = (ask.max as usize).clamp(1, QUERY_MAX);
    let found: Vec<Bytes> = candidates.into_iter().filter(fits).take(max).collect();
    if found.is_empty() { Err(QueryError::NotFound) } else { Ok(found) }
}
