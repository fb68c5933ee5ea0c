//! Recall: a delayed message is called back before its moment, and the answer is the truth.
//!
//! A message is known by its topic and its `UNIQ_KEY`. A producer's retry can have stored it twice: then every
//! copy that still waits is called back.

use crate::look_up::{COPIES, KeyIn, LookUpError, LookedUp};
use crate::read::Then;
use crate::schedule::{self, Wanted};
use crate::{Broker, Reply, RequestId, Send, SendError, SendRefusal, Sent};
use journal::{Extent, Header, Kind};
use model::{QueueOffset, Timestamp, TopicId, TopicName};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use timer::{Catalog, Stale};
use wire::recall_handle::RecallHandle;
use wire::stored::View;
use wire::{property, record};

/// A message to call back.
#[derive(Clone, Debug)]
pub struct Recall {
    /// The topic it was sent to, as the client says.
    pub topic: TopicName,
    /// What its send was answered with.
    pub handle: RecallHandle,
}

/// What became of a recall that was well asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recalled {
    /// It is never delivered; also where it was called back before and its moment is still to come.
    Recalled,
    /// It was delivered already, or its moment has passed.
    TooLate,
    /// Nothing of that id waits, nor is known to have waited.
    Unknown,
}

/// Why a recall is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecallError {
    /// The caller's: the topic does not exist.
    #[error("topic {topic} does not exist")]
    TopicUnknown {
        /// The topic.
        topic: TopicName,
    },
    /// The caller's: the handle is another topic's.
    #[error("the recall handle is of topic {handle}, asked for was {topic}")]
    WrongTopic {
        /// The topic asked for.
        topic: TopicName,
        /// The topic in the handle.
        handle: String,
    },
    /// The caller's: the handle is another broker's.
    #[error("the recall handle is of broker {handle}, this is {broker}")]
    WrongBroker {
        /// This broker.
        broker: String,
        /// The broker in the handle.
        handle: String,
    },
    /// Ours: a message could not be read.
    #[error("reading a message: {why}")]
    Unreadable {
        /// Why.
        why: String,
    },
    /// Ours, passing: the log cannot be written.
    #[error("the log cannot be written: {why}")]
    Unavailable {
        /// Why.
        why: String,
    },
}

/// Messages that were called back, by topic and hash of the key, remembered until the moment they were wanted
/// at: after that they would have been too late anyway.
#[derive(Debug, Default)]
pub(crate) struct RecalledMessages {
    moments: BTreeMap<(TopicId, u64), Timestamp>,
    by_moment: BTreeSet<(Timestamp, TopicId, u64)>,
}

impl RecalledMessages {
    pub(crate) fn insert(&mut self, topic: TopicId, key: u64, deliver_at: Timestamp) {
        if let Some(before) = self.moments.insert((topic, key), deliver_at) {
            self.by_moment.remove(&(before, topic, key));
        }
        self.by_moment.insert((deliver_at, topic, key));
    }

    /// All of them: topic, hash of the key, moment.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (TopicId, u64, Timestamp)> {
        self.moments.iter().map(|(&(topic, key), &moment)| (topic, key, moment))
    }

    pub(crate) fn contains(&self, topic: TopicId, key: &str, now: Timestamp) -> bool {
        self.moments.get(&(topic, store::key_hash(topic, key))).is_some_and(|moment| *moment > now)
    }

    /// Forgets those whose moment has come, a few at a time.
    pub(crate) fn forget(&mut self, now: Timestamp) {
        for _ in 0..FORGOTTEN_MAX {
            match self.by_moment.first() {
                Some(&(moment, topic, key)) if moment <= now => {
                    self.by_moment.pop_first();
                    self.moments.remove(&(topic, key));
                }
                _ => return,
            }
        }
    }

    pub(crate) fn drop_topic(&mut self, topic: TopicId) {
        self.moments.retain(|&(of, _), _| of != topic);
        self.by_moment.retain(|&(_, of, _)| of != topic);
    }
}

/// Recalled messages that one turn forgets, at most.
const FORGOTTEN_MAX: usize = 64;

impl Broker {
    pub(crate) fn recall(&mut self, id: RequestId, ask: Recall) {
        match self.may_recall(&ask) {
            Ok(topic) => {
                let key = ask.handle.unique_key.clone();
                self.look_up(topic, &key, COPIES, Then::Recall(id, topic, ask));
            }
            Err(refused) => self.reply_now(id, Reply::Recall(Err(refused))),
        }
    }

    fn may_recall(&self, ask: &Recall) -> Result<TopicId, RecallError> {
        if let Some(why) = self.unwritable() {
            return Err(RecallError::Unavailable { why });
        }
        let Some(topic) = self.topics.get(&ask.topic) else {
            return Err(RecallError::TopicUnknown { topic: ask.topic.clone() });
        };
        if ask.handle.topic != ask.topic.as_str() {
            let (topic, handle) = (ask.topic.clone(), ask.handle.topic.clone());
            return Err(RecallError::WrongTopic { topic, handle });
        }
        if ask.handle.broker != self.config.broker_name {
            let (broker, handle) = (self.config.broker_name.clone(), ask.handle.broker.clone());
            return Err(RecallError::WrongBroker { broker, handle });
        }
        Ok(topic.id)
    }

    /// A send that is a recall in RocketMQ's older way: its property names the message, its moment must be ahead.
    /// It is answered as a send and never stored. Peer: `TimerMessageStore`, whose releases name the message with
    /// its topic before it or without.
    pub(crate) fn recall_by_message(&mut self, id: RequestId, ask: &Send) {
        match self.marked(ask) {
            Ok((topic, recall, sent)) => {
                let key = recall.handle.unique_key.clone();
                self.look_up(topic, &key, COPIES, Then::RecallByMessage(id, topic, recall, sent));
            }
            Err(why) => self.reply_now(id, Reply::Send(Err(SendError { index: 0, why }))),
        }
    }

    fn marked(&self, ask: &Send) -> Result<(TopicId, Recall, Box<Sent>), SendRefusal> {
        if let Some(why) = self.unwritable() {
            return Err(SendRefusal::Unavailable { why });
        }
        let (topic, is_new) = self.target(ask)?;
        let [message] = ask.messages.as_slice() else { return Err(SendRefusal::RecallIllegal) };
        if is_new || ask.batch {
            return Err(SendRefusal::RecallIllegal);
        }
        let wanted = schedule::wanted(&message.properties, self.now, &self.config)?;
        let Wanted::At { deliver_at, .. } = wanted else { return Err(SendRefusal::RecallIllegal) };
        let named = message.properties.get(property::TIMER_DEL_UNIQKEY).unwrap_or_default();
        let prefix = format!("{}+", topic.name);
        let unique_key = named.strip_prefix(&prefix).unwrap_or(named).to_owned();
        let broker = self.config.broker_name.clone();
        let handle = RecallHandle { topic: topic.name.to_string(), broker, deliver_at, unique_key };
        let own = message.properties.get(property::UNIQ_KEY).unwrap_or_default().to_owned();
        let sent = Sent {
            queue_id: ask.queue_id.unwrap_or_default(),
            queue_offset: QueueOffset(0),
            log_offset: self.log.appended(),
            unique_key: own,
            recall_handle: None,
            remark: None,
            duplicate: false,
        };
        Ok((topic.id, Recall { topic: topic.name, handle }, Box::new(sent)))
    }

    /// The handle by which a message of this broker's is called back.
    pub(crate) fn recall_handle(&self, topic: &str, deliver_at: Timestamp, unique_key: &str) -> String {
        let (topic, broker) = (topic.to_owned(), self.config.broker_name.clone());
        RecallHandle { topic, broker, deliver_at, unique_key: unique_key.to_owned() }.encode()
    }

    /// The copies were read: calls back those that still wait, whether there are any or not.
    pub(crate) fn recall_by_message_read(
        &mut self,
        id: RequestId,
        topic: TopicId,
        ask: Recall,
        sent: Box<Sent>,
        copies: Result<LookedUp, LookUpError>,
    ) {
        let unavailable = |why| Err(SendError { index: 0, why: SendRefusal::Unavailable { why } });
        let answer = match (copies, self.unwritable()) {
            (Err(error), _) => unavailable(error.to_string()),
            (_, Some(why)) => unavailable(why),
            (Ok(copies), None) => match self.recalled(topic, &ask, &copies) {
                Ok(_) => Ok(vec![*sent]),
                Err(Stale) => {
                    let key = ask.handle.unique_key.clone();
                    return self.look_up(topic, &key, COPIES, Then::RecallByMessage(id, topic, ask, sent));
                }
            },
        };
        self.reply_safe(id, Reply::Send(answer));
    }

    /// The copies were read: calls back those that still wait, and says what became of the message.
    pub(crate) fn recall_read(
        &mut self,
        id: RequestId,
        topic: TopicId,
        ask: Recall,
        copies: Result<LookedUp, LookUpError>,
    ) {
        let answer = match (copies, self.unwritable()) {
            (Err(error), _) => Err(RecallError::Unreadable { why: error.to_string() }),
            (_, Some(why)) => Err(RecallError::Unavailable { why }),
            (Ok(copies), None) => match self.recalled(topic, &ask, &copies) {
                Ok(outcome) => Ok(outcome),
                Err(Stale) => {
                    let key = ask.handle.unique_key.clone();
                    return self.look_up(topic, &key, COPIES, Then::Recall(id, topic, ask));
                }
            },
        };
        self.reply_safe(id, Reply::Recall(answer));
    }

    /// [`Stale`]: a checkpoint came in between, and the copies are to be looked up again.
    fn recalled(&mut self, topic: TopicId, ask: &Recall, copies: &LookedUp) -> Result<Recalled, Stale> {
        let key = &ask.handle.unique_key;
        let (mut recalled, mut visible) = (false, false);
        for copy in &copies.candidates {
            let Ok(view) = View::parse(&copy.bytes) else { continue };
            if !KeyIn::UniqueKey.matches(&view, &ask.topic, key) {
                continue;
            }
            // One that was parked and waits no longer has a delivered copy of its own, or was called back.
            match copy.parked {
                true => recalled |= self.recall_one(&view, copy.entry.as_ref(), copies)?,
                false => visible = true,
            }
        }
        recalled |= self.recalled.contains(topic, key, self.now.wall);
        Ok(match (visible, recalled) {
            (true, _) => Recalled::TooLate,
            (false, true) => Recalled::Recalled,
            (false, false) if ask.handle.deliver_at <= self.now.wall => Recalled::TooLate,
            (false, false) => Recalled::Unknown,
        })
    }

    /// Takes a message out of the timer, where it waits there.
    pub(crate) fn recall_one(
        &mut self,
        view: &View<'_>,
        found: Option<&timer::Entry>,
        copies: &LookedUp,
    ) -> Result<bool, Stale> {
        let Some(entry) = self.take_pending(view, found, &copies.catalog)? else { return Ok(false) };
        let keys = crate::append::keys_of(view);
        let extent = Extent { at: entry.log_offset, length: entry.length };
        for key in &keys {
            self.keys.remove(entry.topic, key, extent);
        }
        let mut payload = Vec::new();
        record::Recall {
            of: Some((entry.topic, entry.key_hash)),
            keys: keys.into_iter().map(Cow::into_owned).collect(),
        }
        .encode(&mut payload);
        let due_ms = u64::try_from(entry.deliver_at.as_millis()).expect("parked moments are after the epoch");
        let header =
            Header { kind: Kind::TimerRecall, flags: entry.level, due_ms, reference: entry.log_offset };
        self.log.append(header, payload.len(), |_, into| into.extend_from_slice(&payload));
        self.views.left(entry.level);
        self.recalled.insert(entry.topic, entry.key_hash, entry.deliver_at);
        self.stats.recalled += 1;
        Ok(true)
    }

    /// Takes a message that waits out of the timer, or out of what is due and has not left yet.
    pub(crate) fn take_pending(
        &mut self,
        view: &View<'_>,
        found: Option<&timer::Entry>,
        catalog: &Arc<Catalog>,
    ) -> Result<Option<timer::Entry>, Stale> {
        if let Some(entry) = self.due.remove(view.log_offset()) {
            return Ok(Some(entry));
        }
        if let Some(entry) = found {
            return self.timer.remove_found(entry, catalog);
        }
        let (Some(deliver_at), at) = (deliver_at(view), view.log_offset()) else { return Ok(None) };
        match self.timer.remove(deliver_at, at) {
            // It was in memory when it was looked up, and lies in a bucket by now.
            None if self.timer.is_pending(deliver_at, at).is_none() => Err(Stale),
            removed => Ok(removed),
        }
    }
}

/// When a parked message is due, as it says itself.
pub(crate) fn deliver_at(view: &View<'_>) -> Option<Timestamp> {
    Some(Timestamp::from_millis(view.property(property::TIMER_DELIVER_MS)?.parse().ok()?))
}
