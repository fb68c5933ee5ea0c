//! Reschedule: a message that waits is given another moment, and stays the same message.
//!
//! One record says that the old one waits no longer and holds the message with its new moment, so a crash leaves the
//! one or the other. Its place in the order is new, its `UNIQ_KEY` the same: old handles and ids go on to find it.

use crate::look_up::{COPIES, KeyIn, LookUpError, LookedUp};
use crate::read::Then;
use crate::{Broker, Reply, RequestId, schedule};
use bytes::Bytes;
use journal::{Extent, Header, Kind};
use model::{QueueOffset, Timestamp, TopicId, TopicName};
use timer::Stale;
use wire::recall_handle::RecallHandle;
use wire::stored::{self, View};

/// A message to be given another moment.
#[derive(Clone, Debug)]
pub struct Reschedule {
    /// The topic it was sent to.
    pub topic: TopicName,
    /// Its `UNIQ_KEY`.
    pub unique_key: String,
    /// When it is wanted; a moment that has passed is now.
    pub deliver_at: Timestamp,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rescheduled {
    /// It is delivered then, and not at the moment it had.
    Moved {
        /// The moment.
        deliver_at: Timestamp,
        /// A handle that names it; those from before do as well.
        recall_handle: String,
    },
    /// It was called back.
    Recalled,
    /// It was delivered already.
    TooLate,
    /// Nothing of that id waits, nor is known to have waited.
    Unknown,
}

/// Why a message is not given another moment. It has the one it had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RescheduleError {
    /// The caller's: the topic does not exist.
    #[error("topic {topic} does not exist")]
    TopicUnknown {
        /// The topic.
        topic: TopicName,
    },
    /// The caller's: further ahead than is taken.
    #[error("deliver_at {deliver_at} is {ahead_ms} ms ahead, the limit is {limit_ms}")]
    TooFar {
        /// The moment.
        deliver_at: Timestamp,
        /// How far ahead it is.
        ahead_ms: i64,
        /// The limit.
        limit_ms: i64,
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

impl Broker {
    pub(crate) fn reschedule(&mut self, id: RequestId, ask: Reschedule) {
        match self.may_reschedule(&ask) {
            Ok(topic) => self.look_for_copies(id, topic, ask, false),
            Err(refused) => self.reply_now(id, Reply::Reschedule(Err(refused))),
        }
    }

    fn may_reschedule(&self, ask: &Reschedule) -> Result<TopicId, RescheduleError> {
        if let Some(why) = self.unwritable() {
            return Err(RescheduleError::Unavailable { why });
        }
        let (ahead_ms, limit_ms) = (ask.deliver_at.millis_since(self.now.wall), self.config.max_delay_ms);
        if ahead_ms > limit_ms {
            return Err(RescheduleError::TooFar { deliver_at: ask.deliver_at, ahead_ms, limit_ms });
        }
        let topic = self.topics.get(&ask.topic).map(|topic| topic.id);
        topic.ok_or_else(|| RescheduleError::TopicUnknown { topic: ask.topic.clone() })
    }

    /// `moved`: whether a copy has been given its moment already.
    fn look_for_copies(&mut self, id: RequestId, topic: TopicId, ask: Reschedule, moved: bool) {
        let key = ask.unique_key.clone();
        self.look_up(topic, &key, COPIES, Then::Reschedule(id, topic, ask, moved));
    }

    /// The copies were read: moves those that still wait, and says what became of the message.
    pub(crate) fn reschedule_read(
        &mut self,
        id: RequestId,
        topic: TopicId,
        ask: Reschedule,
        mut moved: bool,
        copies: Result<LookedUp, LookUpError>,
    ) {
        let answer = match (copies, self.unwritable()) {
            (Err(error), _) => Err(RescheduleError::Unreadable { why: error.to_string() }),
            (_, Some(why)) => Err(RescheduleError::Unavailable { why }),
            (Ok(copies), None) => match self.move_copies(&ask, &copies, &mut moved) {
                Ok(is_visible) => Ok(self.rescheduled(topic, &ask, moved, is_visible)),
                // A checkpoint came in between. What has moved is moved again: it finds its moment as it is.
                Err(Stale) => return self.look_for_copies(id, topic, ask, moved),
            },
        };
        self.reply_safe(id, Reply::Reschedule(answer));
    }

    /// Moves what waits; tells whether there is a copy that consumers can read.
    fn move_copies(&mut self, ask: &Reschedule, copies: &LookedUp, moved: &mut bool) -> Result<bool, Stale> {
        let mut is_visible = false;
        for copy in &copies.candidates {
            let Ok(view) = View::parse(&copy.bytes) else { continue };
            if !KeyIn::UniqueKey.matches(&view, &ask.topic, &ask.unique_key) {
                continue;
            }
            match copy.parked {
                true => {
                    *moved |= self.reschedule_one(&view, &copy.bytes, copy.entry.as_ref(), copies, ask)?;
                }
                false => is_visible = true,
            }
        }
        Ok(is_visible)
    }

    fn rescheduled(&self, topic: TopicId, ask: &Reschedule, moved: bool, is_visible: bool) -> Rescheduled {
        match (is_visible, moved) {
            (true, _) => Rescheduled::TooLate,
            (false, true) => {
                let deliver_at = ask.deliver_at.max(self.now.wall);
                let handle = RecallHandle {
                    topic: ask.topic.to_string(),
                    broker: self.config.broker_name.clone(),
                    deliver_at,
                    unique_key: ask.unique_key.clone(),
                };
                Rescheduled::Moved { deliver_at, recall_handle: handle.encode() }
            }
            (false, false) if self.recalled.contains(topic, &ask.unique_key, self.now.wall) => {
                Rescheduled::Recalled
            }
            (false, false) => Rescheduled::Unknown,
        }
    }

    /// Gives one message its new moment, where it waits.
    fn reschedule_one(
        &mut self,
        view: &View<'_>,
        bytes: &Bytes,
        found: Option<&timer::Entry>,
        copies: &LookedUp,
        ask: &Reschedule,
    ) -> Result<bool, Stale> {
        let Ok((mut message, placed)) = stored::decode(bytes) else { return Ok(false) };
        let Some(old) = self.take_pending(view, found, &copies.catalog)? else { return Ok(false) };
        let topic = self.topics.by_id(old.topic).expect("what waits has a topic").clone();
        let deliver_at = ask.deliver_at.max(self.now.wall);
        schedule::settle(&mut message.properties, Some(deliver_at));
        let due_ms = u64::try_from(deliver_at.as_millis()).expect("now is after the epoch");
        let header =
            Header { kind: Kind::TimerReschedule, flags: old.level, due_ms, reference: old.log_offset };
        // It has no place in a queue yet: the record tells there when the old one was due.
        let was = QueueOffset(old.deliver_at.as_millis());
        let extent = self.append_stored(header, &topic, placed.queue_id, was, &message);
        let was = Extent { at: old.log_offset, length: old.length };
        for key in crate::append::keys_of(view) {
            self.keys.remove(old.topic, &key, was);
            self.keys.insert_parked(old.topic, &key, extent);
        }
        self.timer.schedule(timer::Entry {
            deliver_at,
            log_offset: extent.at,
            length: extent.length,
            position: timer::IN_LOG,
            ..old
        });
        self.stats.rescheduled += 1;
        Ok(true)
    }
}
