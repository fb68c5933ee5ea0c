//! Query: find messages by key, by id, by place.

use crate::read::Then;
use crate::work::Wanted;
use crate::{Broker, Reply, RequestId};
use bytes::Bytes;
use model::{LogOffset, Timestamp, TopicName};
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

/// Messages of one search, at most. Peer: `maxMsgsNumBatch`.
const QUERY_MAX: usize = 64;

impl Broker {
    pub(crate) fn query(&mut self, id: RequestId, ask: &Query) {
        let Some(topic) = self.topics.get(&ask.topic).map(|topic| topic.id) else {
            return self.reply_now(id, Reply::Query(Err(QueryError::NotFound)));
        };
        // A match of the hash is only a candidate; how many of them are looked at is bounded.
        let candidates: Vec<_> = self.keys.find(topic, &ask.key).rev().take(4 * QUERY_MAX).collect();
        self.read(candidates, Then::Query(id, ask.clone()));
    }

    pub(crate) fn view(&mut self, id: RequestId, ask: View) {
        self.read_from_disk(Wanted::Message(ask.log_offset), Then::View(id, ask));
    }

    pub(crate) fn view_read(&mut self, id: RequestId, ask: View, found: Option<Bytes>) {
        let answer = found.ok_or(ViewError::NotFound { log_offset: ask.log_offset });
        self.reply(id, Reply::View(answer));
    }
}

/// Those of `candidates` that have the key and were stored in the time asked for.
pub(crate) fn fitting(ask: &Query, candidates: Vec<Bytes>) -> Result<Vec<Bytes>, QueryError> {
    let fits = |bytes: &Bytes| {
        let Ok(view) = stored::View::parse(bytes) else {
            return false;
        };
        let has_key = match ask.unique {
            true => view.property(property::UNIQ_KEY) == Some(&ask.key),
            false => view
                .property(property::KEYS)
                .is_some_and(|keys| keys.split_whitespace().any(|key| key == ask.key)),
        };
        has_key && view.topic() == ask.topic.as_str() && (ask.begin..=ask.end).contains(&view.stored_at())
    };
    let max = (ask.max as usize).clamp(1, QUERY_MAX);
    let found: Vec<Bytes> = candidates.into_iter().filter(fits).take(max).collect();
    if found.is_empty() { Err(QueryError::NotFound) } else { Ok(found) }
}
