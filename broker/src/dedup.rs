//! Dedup: a producer gives a message a key of its own, and a second one with that key is not stored.
//!
//! A `DUEMQ_DEDUP_KEY` counts within its topic: while the first message waits, and for a while after it was delivered, or
//! stored where it did not wait. The second is answered with the first's ids, handle and due time, and marked. A recall
//! sets the key free, another moment does not.
//!
//! No table remembers the keys. Messages are found by them as by their ids, in memory or in runs on disk, and what is
//! found is compared. So nothing grows by what is pending, and what holds for finding a message, over a restart too,
//! holds for its key. Sends that may have the same key wait while one of them is looked for, and are decided with it, in
//! their order.

use crate::look_up::{Limit, LookUpError, LookedUp};
use crate::read::Then;
use crate::recall::deliver_at;
use crate::schedule::Wanted;
use crate::send::Checked;
use crate::{Broker, Reply, RequestId, SendError, SendRefusal, Sent};
use model::{LogOffset, QueueOffset, Timestamp, Topic, TopicId, TopicName};
use std::collections::BTreeMap;
use timer::Stale;
use wire::property;
use wire::stored::View;

/// Bytes of a key, at most.
const KEY_MAX: usize = 255;
/// Messages of one key that are looked at: the first is the newest of them, or all but.
const FIRSTS: Limit = Limit { candidates: 64, bytes: 16 << 20, visible_from: LogOffset(0) };
/// Sends that wait for a look, at most, and bytes of them; one always fits.
const WAITING_MAX: usize = 16_384;
const WAITING_BYTES_MAX: usize = 64 << 20;

/// What a message with the key is found by: no id and no word of `KEYS` is that, since no property holds U+0002.
pub(crate) fn index_key(key: &str) -> String {
    format!("\u{2}{key}")
}

/// Why a message with this key is refused as it is.
pub(crate) fn check(key: &str, is_one_of_several: bool, is_half: bool) -> Result<(), SendRefusal> {
    match key.len() {
        _ if is_one_of_several => Err(SendRefusal::DedupKeyInBatch),
        _ if is_half => Err(SendRefusal::DedupKeyInTransaction),
        1..=KEY_MAX => Ok(()),
        length => Err(SendRefusal::DedupKeyLength { length, limit: KEY_MAX }),
    }
}

/// A message that has a key, and waits for the answer whether it is the first.
#[derive(Debug)]
pub(crate) struct Keyed {
    id: RequestId,
    topic: TopicId,
    name: TopicName,
    key: String,
    checked: Checked,
}

impl Keyed {
    fn due(&self) -> Option<Timestamp> {
        match self.checked.wanted {
            Wanted::Now => None,
            Wanted::At { deliver_at, .. } => Some(deliver_at),
        }
    }

    fn bytes(&self) -> usize {
        self.checked.message.body.len() + property::encoded_len(&self.checked.message.properties)
    }
}

/// Sends for which messages of their key are looked for, by the key's hash, in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct KeyedSends {
    waiting: BTreeMap<u64, Vec<Keyed>>,
    count: usize,
    bytes: usize,
}

impl KeyedSends {
    /// Takes a send in; tells whether it is the only one of its hash. `None` where there is no room.
    fn push(&mut self, hash: u64, one: Keyed) -> Option<bool> {
        let bytes = one.bytes();
        let is_full = self.count == WAITING_MAX || self.bytes + bytes > WAITING_BYTES_MAX;
        if is_full && self.count > 0 {
            return None;
        }
        (self.count, self.bytes) = (self.count + 1, self.bytes + bytes);
        let same = self.waiting.entry(hash).or_default();
        same.push(one);
        Some(same.len() == 1)
    }

    fn take(&mut self, hash: u64) -> Vec<Keyed> {
        let all = self.waiting.remove(&hash).unwrap_or_default();
        self.count -= all.len();
        self.bytes -= all.iter().map(Keyed::bytes).sum::<usize>();
        all
    }
}

impl Broker {
    /// Stores a message that passed all checks, unless another of its key is there.
    pub(crate) fn send_keyed(&mut self, id: RequestId, topic: &Topic, key: String, checked: Checked) {
        let index_key = index_key(&key);
        let hash = store::key_hash(topic.id, &index_key);
        match self.keyed.push(hash, Keyed { id, topic: topic.id, name: topic.name.clone(), key, checked }) {
            Some(true) => self.look_for_first(hash, topic.id, index_key),
            Some(false) => {}
            None => {
                let what = "too many messages with a DUEMQ_DEDUP_KEY wait to be looked for";
                self.reply_now(id, refused(SendRefusal::Busy { what }));
            }
        }
    }

    fn look_for_first(&mut self, hash: u64, topic: TopicId, key: String) {
        let visible_from = self.checkpoints.old_before(self.now.wall, self.config.dedup_window);
        let (limit, newest) = (Limit { visible_from, ..FIRSTS }, self.newest_of(topic, &key));
        self.look_up(topic, &key.clone(), limit, Then::SendKeyed(hash, topic, key, newest));
    }

    /// The newest place that memory knows of a key.
    fn newest_of(&self, topic: TopicId, key: &str) -> Option<LogOffset> {
        self.keys.find(topic, key).next_back().map(|found| found.extent.at)
    }

    /// What may have the key was looked up, when memory knew of it up to `newest`: decides the sends that waited for it.
    pub(crate) fn send_keyed_read(
        &mut self,
        hash: u64,
        topic: TopicId,
        key: String,
        newest: Option<LogOffset>,
        found: Result<LookedUp, LookUpError>,
    ) {
        let found = match found {
            Ok(found) => found,
            Err(error) => {
                for one in self.keyed.take(hash) {
                    self.reply_now(
                        one.id,
                        refused(SendRefusal::DedupKeyUnreadable { why: error.to_string() }),
                    );
                }
                return;
            }
        };
        // One may have been delivered meanwhile, and then it was read as what waits.
        if newest != self.newest_of(topic, &key) {
            return self.look_for_first(hash, topic, key);
        }
        let mut firsts = Vec::new();
        for Keyed { name, key, .. } in self.keyed.waiting.get(&hash).into_iter().flatten() {
            if firsts.iter().any(|(of, has, _)| of == name && has == key) {
                continue;
            }
            match self.first_of(name, key, &found) {
                Ok(first) => firsts.push((name.clone(), key.clone(), first)),
                // A checkpoint came in between.
                Err(Stale) => return self.look_for_first(hash, topic, index_key(&key.clone())),
            }
        }
        for one in self.keyed.take(hash) {
            let (id, due, now) = (one.id, one.due(), self.now.wall);
            let place = firsts.iter().position(|(of, has, _)| *of == one.name && *has == one.key);
            let (.., first) = &mut firsts[place.expect("each was looked at above")];
            let answer = match first {
                Some(first) => Ok(first.clone()),
                None => self.store_keyed(one).inspect(|sent| {
                    let queue_offset = if due.is_some() { QueueOffset(0) } else { sent.queue_offset };
                    *first = Some(repeat(Sent { queue_offset, ..sent.clone() }, due, now));
                }),
            };
            match answer {
                Ok(sent) => self.reply_safe(id, Reply::Send(Ok(vec![sent]))),
                Err(why) => self.reply_now(id, refused(why)),
            }
        }
    }

    /// Stores the first message of a key. What was right when it came may have changed while it was looked for.
    fn store_keyed(&mut self, one: Keyed) -> Result<Sent, SendRefusal> {
        let Keyed { topic, name, checked, .. } = one;
        if let Some(why) = self.unwritable() {
            return Err(SendRefusal::Unavailable { why });
        }
        let topic = self.topics.by_id(topic).cloned().ok_or(SendRefusal::TopicUnknown { topic: name })?;
        if !topic.permission.writable() {
            return Err(SendRefusal::NotWritable { topic: topic.name });
        }
        if let Wanted::At { deliver_at, .. } = checked.wanted {
            self.has_room(&topic, 0)?;
            self.has_room_in_second(deliver_at, 0)?;
        }
        Ok(self.store_one(&topic, checked, false))
    }

    /// The answer that tells of the first message with that key, where there is one that counts.
    fn first_of(&self, topic: &TopicName, key: &str, found: &LookedUp) -> Result<Option<Sent>, Stale> {
        let mut first = None;
        for candidate in &found.candidates {
            let Ok(view) = View::parse(&candidate.bytes) else { continue };
            if view.topic() != topic.as_str() || view.property(property::DUEMQ_DEDUP_KEY) != Some(key) {
                continue;
            }
            if candidate.parked {
                if self.still_waits(&view, candidate, &found.catalog)?.is_some() {
                    // Its offset in a queue it gets at its delivery.
                    let sent = self.sent_before(&view, deliver_at(&view));
                    return Ok(Some(Sent { queue_offset: QueueOffset(0), ..sent }));
                }
            } else if self.in_window(view.stored_at()) {
                // What was stored at once says no moment of its delivery.
                let waited = view.property(property::TIMER_DEQUEUE_MS).is_some();
                first = Some(self.sent_before(&view, deliver_at(&view).filter(|_| waited)));
            }
        }
        Ok(first)
    }

    /// Whether a message that was delivered or stored then keeps its key. One from a moment that is yet to come was there
    /// before the clock was set back, nobody knows how long.
    fn in_window(&self, stored_at: Timestamp) -> bool {
        let window_ms = i64::try_from(self.config.dedup_window.as_millis()).unwrap_or(i64::MAX);
        self.now.wall.millis_since(stored_at) < window_ms
    }

    /// The answer to a second one, by what the first says of itself.
    fn sent_before(&self, view: &View<'_>, due: Option<Timestamp>) -> Sent {
        let unique_key = view.property(property::UNIQ_KEY).unwrap_or_default().to_owned();
        let sent = Sent {
            queue_id: view.queue_id(),
            queue_offset: view.queue_offset(),
            log_offset: view.log_offset(),
            recall_handle: due.map(|due| self.recall_handle(view.topic(), due, &unique_key)),
            remark: None,
            duplicate: false,
            unique_key,
        };
        repeat(sent, due, view.stored_at())
    }
}

/// The answer to a second one, by that to the first.
fn repeat(first: Sent, due: Option<Timestamp>, stored_at: Timestamp) -> Sent {
    let when = due.map_or_else(|| format!("stored at {stored_at}"), |due| format!("due at {due}"));
    let remark = format!("duplicate=true: a message with this DUEMQ_DEDUP_KEY is there, {when}");
    Sent { remark: Some(remark), duplicate: true, ..first }
}

fn refused(why: SendRefusal) -> Reply {
    Reply::Send(Err(SendError { index: 0, why }))
}
