//! Append: the one place where messages enter the log, and the indexes are told of them.

use crate::{Broker, dedup};
use journal::{Extent, Header, Kind};
use model::{LogOffset, Message, QueueId, QueueOffset, Timestamp, Topic, TopicId};
use std::borrow::Cow;
use store::Entry;
use wire::stored::{self, Placed};
use wire::{property, tag};

/// Where a message now lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Appended {
    pub(crate) extent: Extent,
    pub(crate) queue_offset: QueueOffset,
}

impl Broker {
    /// Appends a message that is visible at once.
    pub(crate) fn append_message(
        &mut self,
        topic: &Topic,
        queue_id: QueueId,
        message: &Message,
        reference: LogOffset,
    ) -> Appended {
        let queue_offset = self.store.queue_mut_or_new(topic.id, queue_id).max();
        let header = Header { kind: Kind::Message, flags: 0, due_ms: 0, reference };
        let extent = self.append_stored(header, topic, queue_id, queue_offset, message);
        self.traffic.put(topic.id, extent.length, self.now);
        let tag_code = message.properties.get(property::TAGS).map_or(0, tag::code);
        self.index(topic.id, queue_id, extent, tag_code, &keys(message), self.now.wall);
        Appended { extent, queue_offset }
    }

    /// Appends a message that waits until `deliver_at`, asked for by `level` or (0) by a time. `reference` is the
    /// record that it ends: that of its half, say.
    pub(crate) fn append_parked(
        &mut self,
        topic: &Topic,
        queue_id: QueueId,
        message: &Message,
        deliver_at: Timestamp,
        level: u8,
        reference: LogOffset,
    ) -> Appended {
        let queue_offset = self.views.accepted(level);
        let due_ms = u64::try_from(deliver_at.as_millis()).expect("a moment ahead of now is after the epoch");
        let header = Header { kind: Kind::TimerPut, flags: level, due_ms, reference };
        let extent = self.append_stored(header, topic, queue_id, QueueOffset(0), message);
        self.traffic.put(topic.id, extent.length, self.now);
        self.traffic.scheduled(self.now);
        for key in keys(message) {
            self.keys.insert_parked(topic.id, &key, extent);
        }
        self.timer.schedule(timer::Entry {
            deliver_at,
            log_offset: extent.at,
            length: extent.length,
            topic: topic.id,
            key_hash: message
                .properties
                .get(property::UNIQ_KEY)
                .map_or(0, |key| store::key_hash(topic.id, key)),
            position: timer::IN_LOG,
            level,
        });
        Appended { extent, queue_offset }
    }

    pub(crate) fn append_stored(
        &mut self,
        header: Header,
        topic: &Topic,
        queue_id: QueueId,
        queue_offset: QueueOffset,
        message: &Message,
    ) -> Extent {
        let (name, store_host, stored_at) = (topic.name.as_str(), self.config.store_host, self.now.wall);
        let message = &*fitting(message);
        let length = stored::encoded_len(message, name, store_host);
        self.log.place(length);
        self.log.append(header, length, |log_offset, into| {
            stored::encode(
                message,
                &Placed { topic: name, queue_id, queue_offset, log_offset, stored_at, store_host },
                into,
            );
        })
    }

    /// Appends the delivered copy of the parked message `parked`, whose record is `entry`.
    pub(crate) fn append_delivered(
        &mut self,
        topic: TopicId,
        queue_id: QueueId,
        entry: &timer::Entry,
        parked: &stored::View<'_>,
    ) {
        let queue_offset = self.store.queue_mut_or_new(topic, queue_id).max();
        let stored_at = self.now.wall;
        let due_ms = u64::try_from(entry.deliver_at.as_millis()).expect("parked moments are after the epoch");
        let header = Header { kind: Kind::Deliver, flags: entry.level, due_ms, reference: entry.log_offset };
        let length = stored::delivered_len(parked);
        self.log.place(length);
        let extent = self.log.append(header, length, |log_offset, into| {
            stored::deliver(parked, queue_id, queue_offset, log_offset, stored_at, into);
        });
        let was = Extent { at: entry.log_offset, length: entry.length };
        self.index_delivered(topic, queue_id, extent, was, parked, stored_at);
        self.traffic.delivered(self.now);
    }

    /// Tells the indexes of a delivered copy, in place of the parked one.
    pub(crate) fn index_delivered(
        &mut self,
        topic: TopicId,
        queue_id: QueueId,
        extent: Extent,
        parked: Extent,
        view: &stored::View<'_>,
        stored_at: Timestamp,
    ) {
        let [tags, unique, words, dedup] = view.properties_named(SHOWN);
        let tag_code = tags.map_or(0, tag::code);
        self.append_to_queue(topic, queue_id, Entry { extent, tag_code, stored_at });
        for key in split_keys([unique, words, dedup]) {
            self.keys.replace(topic, &key, parked, extent);
        }
    }

    fn append_to_queue(&mut self, topic: TopicId, queue_id: QueueId, entry: Entry) {
        self.store.queue_mut_or_new(topic, queue_id).append(entry);
        self.touched.insert((topic, queue_id));
    }

    /// Tells the indexes of a visible message.
    pub(crate) fn index(
        &mut self,
        topic: TopicId,
        queue_id: QueueId,
        extent: Extent,
        tag_code: i64,
        keys: &[Cow<'_, str>],
        stored_at: Timestamp,
    ) {
        self.append_to_queue(topic, queue_id, Entry { extent, tag_code, stored_at });
        for key in keys {
            self.keys.insert(topic, key, extent);
        }
    }

    /// Appends a record that is no message.
    pub(crate) fn append_record(&mut self, kind: Kind, payload: &[u8]) {
        let header = Header { kind, flags: 0, due_ms: 0, reference: LogOffset(0) };
        self.log.place(payload.len());
        self.log.append(header, payload.len(), |_, into| into.extend_from_slice(payload));
    }
}

/// Words of `KEYS` by which a message is found, at most.
const KEYS_MAX: usize = 64;

/// Where a message has the keys it is found by.
const INDEXED: [&str; 3] = [property::UNIQ_KEY, property::KEYS, property::DUEMQ_DEDUP_KEY];
/// The same, and where it has what a queue shows of it.
const SHOWN: [&str; 4] = [property::TAGS, INDEXED[0], INDEXED[1], INDEXED[2]];

/// The keys a message is found by: its `UNIQ_KEY`, each word of `KEYS`, and its `DUEMQ_DEDUP_KEY`.
pub(crate) fn keys(message: &Message) -> Vec<Cow<'_, str>> {
    split_keys(INDEXED.map(|name| message.properties.get(name)))
}

/// The same, of a stored message.
pub(crate) fn keys_of<'a>(view: &stored::View<'a>) -> Vec<Cow<'a, str>> {
    split_keys(view.properties_named(INDEXED))
}

/// Bytes of properties that a stored message may have: its delivery must yet be said on it.
const PROPERTIES_MAX: usize = property::MAX_BYTES - 64;

/// What the server itself says of a message, and must be able to.
const KEPT: [&str; 13] = [
    property::UNIQ_KEY,
    property::REAL_TOPIC,
    property::REAL_QID,
    property::RETRY_TOPIC,
    property::TIMER_DELIVER_MS,
    property::TAGS,
    property::KEYS,
    property::PGROUP,
    property::TRAN_MSG,
    property::WAIT,
    property::DLQ_ORIGIN_TOPIC,
    property::SHARDING_KEY,
    property::DUEMQ_DEDUP_KEY,
];

/// The message as it can be stored. What came in was measured; what the server adds on its later ways (a retry,
/// a dead letter, a commit) takes the place of properties of the client's, from the last one back.
pub(crate) fn fitting(message: &Message) -> Cow<'_, Message> {
    if property::encoded_len(&message.properties) <= PROPERTIES_MAX {
        return Cow::Borrowed(message);
    }
    let mut message = message.clone();
    let names: Vec<String> = message.properties.iter().map(|(name, _)| name.to_owned()).collect();
    let kept = |name: &String| KEPT.contains(&name.as_str());
    let (last, first): (Vec<_>, Vec<_>) = names.into_iter().rev().partition(kept);
    for name in first.into_iter().chain(last) {
        if property::encoded_len(&message.properties) <= PROPERTIES_MAX {
            break;
        }
        message.properties.remove(&name);
    }
    Cow::Owned(message)
}

fn split_keys([unique, keys, dedup]: [Option<&str>; 3]) -> Vec<Cow<'_, str>> {
    let words = keys.into_iter().flat_map(str::split_whitespace).take(KEYS_MAX);
    let named = unique.into_iter().chain(words).map(Cow::Borrowed);
    let mut all: Vec<_> = named.chain(dedup.map(|key| Cow::Owned(dedup::index_key(key)))).collect();
    all.sort_unstable();
    all.dedup();
    all
}
