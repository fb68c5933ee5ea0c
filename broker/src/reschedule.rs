//! Reschedule: messages that wait are given another moment, and stay the same messages.
//!
//! One record says that the old one waits no longer and holds the message with its new moment, so a crash leaves the
//! one or the other. Its place in the order is new, its `UNIQ_KEY` the same: old handles and ids go on to find it.

use crate::look_up::{Candidate, KeyIn, LookUpError, LookedUp, OF_KEY};
use crate::read::Then;
use crate::send::in_days;
use crate::{Broker, Reply, RequestId, schedule};
use journal::{Extent, Header, Kind};
use model::{LogOffset, QueueOffset, Timestamp, TopicId, TopicName};
use std::collections::BTreeSet;
use timer::Stale;
use wire::property;
use wire::stored::{self, View};

/// Messages to be given another moment.
#[derive(Clone, Debug)]
pub struct Reschedule {
    /// The topic they were sent to.
    pub topic: TopicName,
    /// Their `UNIQ_KEY`, or a word of their `KEYS`.
    pub key: String,
    /// Whether `key` is the `UNIQ_KEY`, and no word of `KEYS` counts.
    pub unique: bool,
    /// When they are wanted.
    pub to: NewMoment,
    /// Only those that lie before this place in the log: where the answer before ended.
    pub before: Option<LogOffset>,
}

/// A moment to be delivered at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewMoment {
    /// Then; now, where it has passed.
    At(Timestamp),
    /// So many ms from when it is asked for; now, where that is none.
    In(i64),
}

/// What became of the messages of a key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rescheduled {
    /// Those that waited, and wait for the new moment now. At most about 1000.
    pub moved: Vec<Moved>,
    /// The new moment.
    pub deliver_at: Timestamp,
    /// Whether nothing waited under it, and it is the `UNIQ_KEY` of one that was called back.
    pub recalled: bool,
    /// How many of the newest 1024 can be read already: it is too late for them.
    pub visible: u64,
    /// More may wait that lie before this place in the log: ask again.
    pub older: Option<LogOffset>,
}

/// A message that has another moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Its `UNIQ_KEY`.
    pub unique_key: String,
    /// The moment it had.
    pub from: Timestamp,
}

/// Why messages are not given another moment. They have the one they had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RescheduleError {
    /// The caller's: the topic does not exist.
    #[error("topic {topic} does not exist")]
    TopicUnknown {
        /// The topic.
        topic: TopicName,
    },
    /// The caller's: further ahead than is taken.
    #[error("the new moment is {ahead_ms} ms ahead; the limit is {limit_ms} ms{}", in_days(*limit_ms))]
    TooFar {
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

/// Messages that one answer tells of, about: more are moved by the next.
const ANSWER: usize = 1000;

/// A request as far as it has been carried out.
#[derive(Debug)]
pub(crate) struct Moving {
    ask: Reschedule,
    done: Rescheduled,
    /// Where the records lie that were written for it: they are not to be moved again.
    placed: BTreeSet<LogOffset>,
    before: LogOffset,
}

impl Broker {
    pub(crate) fn reschedule(&mut self, id: RequestId, ask: Reschedule) {
        match self.may_reschedule(&ask) {
            Ok((topic, deliver_at)) => {
                let before = ask.before.unwrap_or(LogOffset(u64::MAX));
                let done = Rescheduled { deliver_at, ..Rescheduled::default() };
                let moving = Moving { ask, done, placed: BTreeSet::new(), before };
                self.move_older(id, topic, Box::new(moving));
            }
            Err(refused) => self.reply_now(id, Reply::Reschedule(Err(refused))),
        }
    }

    fn may_reschedule(&self, ask: &Reschedule) -> Result<(TopicId, Timestamp), RescheduleError> {
        if let Some(why) = self.unwritable() {
            return Err(RescheduleError::Unavailable { why });
        }
        let (now, limit_ms) = (self.now.wall, self.config.max_delay_ms);
        let (from, ahead_ms) = match ask.to {
            NewMoment::At(at) => (now, at.as_millis().saturating_sub(now.as_millis())),
            NewMoment::In(ms) => (if ms > 0 { self.now.wall_up() } else { now }, ms),
        };
        let deliver_at = from.checked_add_millis(ahead_ms.max(0)).filter(|_| ahead_ms <= limit_ms);
        let Some(deliver_at) = deliver_at else {
            return Err(RescheduleError::TooFar { ahead_ms, limit_ms });
        };
        let topic = self.topics.get(&ask.topic).map(|topic| (topic.id, deliver_at));
        topic.ok_or_else(|| RescheduleError::TopicUnknown { topic: ask.topic.clone() })
    }

    /// Looks at what waits under the key and was not looked at yet.
    fn move_older(&mut self, id: RequestId, topic: TopicId, moving: Box<Moving>) {
        let (key, before) = (moving.ask.key.clone(), moving.before);
        self.look_up_waiting(topic, &key, before, Then::Reschedule(id, topic, moving));
    }

    /// Messages of the key were read: moves those that wait, and looks on where there are older ones.
    pub(crate) fn reschedule_read(
        &mut self,
        id: RequestId,
        topic: TopicId,
        mut moving: Box<Moving>,
        found: Result<LookedUp, LookUpError>,
    ) {
        let refused = match (found, self.unwritable()) {
            (Err(error), _) => RescheduleError::Unreadable { why: error.to_string() },
            (_, Some(why)) => RescheduleError::Unavailable { why },
            (Ok(found), None) => match (self.move_all(&mut moving, &found), found.older) {
                // A checkpoint came in between. What has moved stays so.
                (Err(Stale), _) => return self.move_older(id, topic, moving),
                (Ok(()), Some(older)) if moving.done.moved.len() < ANSWER => {
                    moving.before = older;
                    return self.move_older(id, topic, moving);
                }
                (Ok(()), older) => {
                    moving.done.older = older;
                    let key = moving.ask.key.clone();
                    return self.look_up(topic, &key, OF_KEY, Then::CountTooLate(id, topic, moving));
                }
            },
        };
        self.reply_safe(id, Reply::Reschedule(moving.ended(refused)));
    }

    fn move_all(&mut self, moving: &mut Moving, found: &LookedUp) -> Result<(), Stale> {
        for candidate in &found.candidates {
            let Ok(view) = View::parse(&candidate.bytes) else { continue };
            let is_one = moving.key_in().matches(&view, &moving.ask.topic, &moving.ask.key);
            if !is_one || moving.placed.contains(&view.log_offset()) {
                continue;
            }
            if let Some((from, at)) = self.move_one(&view, candidate, found, moving.done.deliver_at)? {
                let unique_key = view.property(property::UNIQ_KEY).unwrap_or_default().to_owned();
                moving.done.moved.push(Moved { unique_key, from });
                moving.placed.insert(at);
            }
        }
        Ok(())
    }

    /// Gives one message its new moment, where it waits; tells the old one, and where it lies now.
    fn move_one(
        &mut self,
        view: &View<'_>,
        candidate: &Candidate,
        found: &LookedUp,
        deliver_at: Timestamp,
    ) -> Result<Option<(Timestamp, LogOffset)>, Stale> {
        let Ok((mut message, placed)) = stored::decode(&candidate.bytes) else { return Ok(None) };
        let Some(old) = self.take_pending(view, candidate.entry.as_ref(), &found.catalog)? else {
            return Ok(None);
        };
        let topic = self.topics.by_id(old.topic).expect("what waits has a topic").clone();
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
        Ok(Some((old.deliver_at, extent.at)))
    }

    /// The newest messages of the key were read, those among them that can be read already.
    pub(crate) fn too_late_counted(
        &mut self,
        id: RequestId,
        topic: TopicId,
        moving: Moving,
        found: Result<LookedUp, LookUpError>,
    ) {
        let answer = match found {
            Err(error) => moving.ended(RescheduleError::Unreadable { why: error.to_string() }),
            Ok(found) => {
                let visible = found.visible(moving.key_in(), &moving.ask.topic, &moving.ask.key);
                let mut done = moving.done;
                let was_recalled = || self.recalled.contains(topic, &moving.ask.key, self.now.wall);
                done.recalled = done.moved.is_empty() && was_recalled();
                Ok(Rescheduled { visible, ..done })
            }
        };
        self.reply_safe(id, Reply::Reschedule(answer));
    }
}

impl Moving {
    /// The answer where it cannot go on: what has moved is told, and whoever asks for the rest hears why not.
    fn ended(self, why: RescheduleError) -> Result<Rescheduled, RescheduleError> {
        // What was written for it comes behind all that it has not looked at.
        match self.placed.first() {
            Some(&first) => Ok(Rescheduled { older: Some(first.min(self.before)), ..self.done }),
            None => Err(why),
        }
    }

    fn key_in(&self) -> KeyIn {
        if self.ask.unique { KeyIn::UniqueKey } else { KeyIn::Both }
    }
}
