//! Pull: read a queue from an offset on, and wait where there is nothing yet.

use crate::config::{ANSWER_BYTES_MAX, CHOOSE_FROM_MAX, MESSAGES_MAX, SCAN_MAX, WAIT_MAX};
use crate::filter::Filter;
use crate::group::NoGroup;
use crate::park::{ParkedFull, Waiting};
use crate::read::Then;
use crate::topic::{SCHEDULE_TOPIC, TIMER_TOPIC};
use crate::{Broker, Reply, RequestId};
use bytes::Bytes;
use journal::{Extent, ReadError};
use model::{ConnectionId, GroupName, Monotonic, QueueId, QueueOffset, Topic, TopicId, TopicName};
use std::time::Duration;
use wire::stored::View;

/// A read of one queue.
#[derive(Clone, Debug)]
pub struct Pull {
    /// Who reads.
    pub group: GroupName,
    /// The topic.
    pub topic: TopicName,
    /// The queue.
    pub queue_id: QueueId,
    /// From where on; negative counts as before the first.
    pub queue_offset: QueueOffset,
    /// Messages at most; the server's own limit is 32.
    pub max_messages: u32,
    /// Bytes at most, one message always fits; `None` for the server's own limit of 256 KiB.
    pub max_bytes: Option<u32>,
    /// Which messages; `None`: what the group's last heartbeat said of the topic.
    pub filter: Option<Filter>,
    /// The version of the client's subscription: the last heartbeat's may be older.
    pub sub_version: i64,
    /// Whether the client filters by tags, and so looks again at what it gets. Where `filter` is `None` and no
    /// heartbeat's is as new, only such a client is answered, without a filter.
    pub rechecks: bool,
    /// The offset to commit first.
    pub commit_offset: Option<QueueOffset>,
    /// How long to wait where there is nothing; `None`: not at all.
    pub wait: Option<Duration>,
    /// The connection it came by, which may be a member's of the group: such a one gets nothing while the group
    /// hands over.
    pub member: Option<ConnectionId>,
}

/// What a pull found.
#[derive(Clone, Debug)]
pub struct Pulled {
    /// Which of the outcomes.
    pub outcome: PullOutcome,
    /// The messages as stored, in order; none unless found.
    pub messages: Vec<Bytes>,
    /// Where the next pull begins.
    pub next_offset: QueueOffset,
    /// The queue's least offset.
    pub min_offset: QueueOffset,
    /// The queue's greatest offset: that of its next message.
    pub max_offset: QueueOffset,
}

/// The outcomes of a pull.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PullOutcome {
    /// Messages (RocketMQ's code 0).
    Found,
    /// Nothing new (19).
    NotFound,
    /// Nothing that passes the filter so far: go on at once (20).
    NothingMatched,
    /// The offset lies outside the queue (21).
    OffsetMoved,
}

/// Why a pull is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PullError {
    /// The caller's: no such group, and it may not be made by this (26).
    #[error(transparent)]
    GroupUnknown(#[from] NoGroup),
    /// The operator's: the group may not consume (16).
    #[error("group {group} may not consume")]
    GroupForbidden {
        /// The group.
        group: GroupName,
    },
    /// The operator's: the group is kept away from the topic (16).
    #[error("group {group} is forbidden to read topic {topic}")]
    TopicForbidden {
        /// The group.
        group: GroupName,
        /// The topic.
        topic: TopicName,
    },
    /// The caller's: no such topic (17).
    #[error("topic {topic} does not exist")]
    TopicUnknown {
        /// The topic.
        topic: TopicName,
    },
    /// The operator's: nobody may read the topic, or the server alone (16).
    #[error("topic {topic} is not readable; pending delayed messages are listed by `duemq pending list`")]
    NotReadable {
        /// The topic.
        topic: TopicName,
    },
    /// The caller's: no such queue (29).
    #[error("queueId[{queue_id}] is illegal, topic {topic} has {queues} to read")]
    QueueUnknown {
        /// The topic.
        topic: TopicName,
        /// The queue.
        queue_id: QueueId,
        /// How many there are.
        queues: u32,
    },
    /// The caller's: its heartbeat has not said that it wants the topic (24).
    #[error("group {group} has not subscribed to topic {topic}")]
    NotSubscribed {
        /// The group.
        group: GroupName,
        /// The topic.
        topic: TopicName,
    },
    /// Ours, passing: the client says that what it wants has changed, and no heartbeat has said how (25).
    #[error("group {group} has subscribed to topic {topic} anew: its version {version} is not known yet")]
    SubscriptionNotLatest {
        /// The group.
        group: GroupName,
        /// The topic.
        topic: TopicName,
        /// The client's version.
        version: i64,
    },
    /// Ours, passing: too many wait already (215).
    #[error(transparent)]
    TooManyParked(#[from] ParkedFull),
    /// Ours: the message could not be read (1).
    #[error("reading the message: {why}")]
    Unreadable {
        /// Why.
        why: String,
    },
}

/// What one look at a queue gave.
struct Look {
    outcome: PullOutcome,
    extents: Vec<Extent>,
    next: QueueOffset,
    min: QueueOffset,
    max: QueueOffset,
}

impl Look {
    /// The same as if nothing had been found.
    fn nothing(self, ask: &Pull) -> Self {
        Self { outcome: PullOutcome::NotFound, extents: Vec::new(), next: ask.queue_offset, ..self }
    }

    fn pulled(&self) -> Pulled {
        Pulled {
            outcome: self.outcome,
            messages: Vec::new(),
            next_offset: self.next,
            min_offset: self.min,
            max_offset: self.max,
        }
    }
}

/// A pull whose messages are being read.
#[derive(Debug)]
pub(crate) struct Reading {
    id: RequestId,
    topic: TopicId,
    group: GroupName,
    pulled: Pulled,
    /// Who chooses among them, where the codes of their tags did not.
    choice: Option<Choice>,
}

/// A pull that sees messages to know which are wanted: no client looks again at what such a filter let through.
#[derive(Debug)]
struct Choice {
    topic: TopicId,
    ask: Pull,
    /// Until when it waits, where it was parked.
    deadline: Option<Monotonic>,
}

impl Choice {
    /// The wanted ones of messages that lie one behind the other from where the pull begins, as many as fit
    /// into its answer; and where the next pull begins.
    fn choose(&self, messages: Vec<Bytes>) -> (Vec<Bytes>, QueueOffset) {
        let (mut next, mut bytes, mut chosen) = (self.ask.queue_offset, 0, Vec::new());
        for message in messages {
            if View::parse(&message).is_ok_and(|view| self.ask.wanted().matches(&view)) {
                bytes += message.len() as u64;
                if self.ask.is_full(chosen.len(), bytes) {
                    break;
                }
                chosen.push(message);
            }
            next = next.plus(1);
        }
        (chosen, next)
    }
}

impl Pull {
    fn wanted(&self) -> &Filter {
        self.filter.as_ref().unwrap_or(&Filter::All)
    }

    /// Whether an answer of so many messages has no room for one more, with which it had so many bytes.
    fn is_full(&self, messages: usize, bytes: u64) -> bool {
        let messages_max = self.max_messages.clamp(1, MESSAGES_MAX) as usize;
        let bytes_max = self.max_bytes.unwrap_or(ANSWER_BYTES_MAX).min(ANSWER_BYTES_MAX);
        messages == messages_max || (messages > 0 && bytes > u64::from(bytes_max))
    }
}

impl Broker {
    pub(crate) fn pull(&mut self, id: RequestId, mut ask: Pull) {
        let (topic, filter) = match self.may_pull(&ask) {
            Ok(found) => found,
            Err(refused) => return self.reply_now(id, Reply::Pull(Err(refused))),
        };
        ask.filter = Some(filter);
        if let Some(offset) = ask.commit_offset {
            self.commit(&ask.group, topic, ask.queue_id, offset);
        }
        self.note_pull(topic, &mut ask);
        let mut look = self.reset_or_look(topic, &ask);
        if self.is_quiet(&ask, look.outcome) {
            look = look.nothing(&ask);
        }
        match (look.outcome, ask.wait) {
            (PullOutcome::NotFound, Some(wait)) => {
                let deadline = self.now.monotonic.after(wait.min(WAIT_MAX));
                let deadline = self.quiet_until(topic, &ask, deadline);
                let parked = self.parked.park_new(topic, id, deadline, Waiting::Pull(ask), &self.config);
                if let Err(full) = parked {
                    self.reply_now(id, Reply::Pull(Err(full.into())));
                }
            }
            _ => self.answer_pull(topic, id, ask, look, None),
        }
    }

    /// The topic's id and what is wanted of it, where the group may pull it.
    fn may_pull(&mut self, ask: &Pull) -> Result<(TopicId, Filter), PullError> {
        let Some(topic) = self.topics.get(&ask.topic) else {
            return Err(PullError::TopicUnknown { topic: ask.topic.clone() });
        };
        let Topic { id, permission, read_queues: queues, .. } = *topic;
        if !permission.readable() || matches!(ask.topic.as_str(), SCHEDULE_TOPIC | TIMER_TOPIC) {
            return Err(PullError::NotReadable { topic: ask.topic.clone() });
        }
        if ask.queue_id.0 >= queues {
            return Err(PullError::QueueUnknown { topic: ask.topic.clone(), queue_id: ask.queue_id, queues });
        }
        // Last, so that a refused pull makes no group.
        let group = self.group_or_make(&ask.group)?;
        if !group.consume_enabled {
            return Err(PullError::GroupForbidden { group: group.name });
        }
        if self.forbidden.holds(&group.name, id) {
            return Err(PullError::TopicForbidden { group: group.name, topic: ask.topic.clone() });
        }
        match &ask.filter {
            Some(filter) => Ok((id, filter.clone())),
            None => Ok((id, self.subscribed(ask)?)),
        }
    }

    /// What the group's last heartbeat said that it wants of the topic.
    fn subscribed(&self, ask: &Pull) -> Result<Filter, PullError> {
        match self.clients.subscription(&ask.group, &ask.topic) {
            Some(known) if known.version >= ask.sub_version => Ok(known.filter.clone()),
            Some(known) if !ask.rechecks || known.filter.needs_message() => {
                Err(PullError::SubscriptionNotLatest {
                    group: ask.group.clone(),
                    topic: ask.topic.clone(),
                    version: ask.sub_version,
                })
            }
            None if !ask.rechecks => {
                Err(PullError::NotSubscribed { group: ask.group.clone(), topic: ask.topic.clone() })
            }
            _ => Ok(Filter::All),
        }
    }

    /// Tells of a reset that the reader has not heard of, else looks for messages.
    fn reset_or_look(&mut self, topic: TopicId, ask: &Pull) -> Look {
        let look = self.look(topic, ask);
        match self.resets.take(&ask.group, topic, ask.queue_id) {
            Some(next) => Look { outcome: PullOutcome::OffsetMoved, extents: Vec::new(), next, ..look },
            None => look,
        }
    }

    /// Looks for messages from the offset on.
    fn look(&self, topic: TopicId, ask: &Pull) -> Look {
        let Some(queue) = self.store.queue(topic, ask.queue_id) else {
            let zero = QueueOffset(0);
            let outcome =
                if ask.queue_offset == zero { PullOutcome::NotFound } else { PullOutcome::OffsetMoved };
            return Look { outcome, extents: Vec::new(), next: zero, min: zero, max: zero };
        };
        let (min, max) = (queue.min(), queue.max());
        let at = |outcome, next| Look { outcome, extents: Vec::new(), next, min, max };
        if ask.queue_offset < min {
            return at(PullOutcome::OffsetMoved, min);
        }
        if ask.queue_offset > max {
            return at(PullOutcome::OffsetMoved, max);
        }
        let filter = ask.wanted();
        let chooses = filter.needs_message();
        let (mut next, mut bytes, mut extents) = (ask.queue_offset, 0_u64, Vec::new());
        for entry in queue.iter_from(ask.queue_offset).take(SCAN_MAX) {
            if filter.may_match(entry.tag_code) {
                bytes += u64::from(entry.extent.length);
                let full = match chooses {
                    true => extents.len() == CHOOSE_FROM_MAX || bytes > u64::from(ANSWER_BYTES_MAX),
                    false => ask.is_full(extents.len(), bytes),
                };
                if full && !extents.is_empty() {
                    break;
                }
                extents.push(entry.extent);
            }
            next = next.plus(1);
        }
        let outcome = match (extents.is_empty(), next == ask.queue_offset) {
            (false, _) => PullOutcome::Found,
            (true, true) => PullOutcome::NotFound,
            (true, false) => PullOutcome::NothingMatched,
        };
        Look { outcome, extents, next, min, max }
    }

    /// Answers with what was found; a pull that chooses among it and was parked until `deadline` may go on
    /// waiting instead.
    fn answer_pull(
        &mut self,
        topic: TopicId,
        id: RequestId,
        ask: Pull,
        look: Look,
        deadline: Option<Monotonic>,
    ) {
        let pulled = look.pulled();
        match (look.outcome, look.extents.is_empty()) {
            (PullOutcome::NotFound, _) => self.reply_now(id, Reply::Pull(Ok(pulled))),
            (_, true) => self.reply(id, Reply::Pull(Ok(pulled))),
            (_, false) => {
                self.note_given(topic, &ask);
                let group = ask.group.clone();
                let choice = ask.wanted().needs_message().then_some(Choice { topic, ask, deadline });
                self.read(look.extents, Then::Pull(Box::new(Reading { id, topic, group, pulled, choice })));
            }
        }
    }

    /// The messages of a pull were read.
    pub(crate) fn pull_read(&mut self, reading: Reading, bytes: Result<Vec<Bytes>, ReadError>) {
        let Reading { id, topic, group, mut pulled, choice } = reading;
        pulled.messages = match bytes {
            Ok(messages) => messages,
            Err(error) => {
                let why = error.to_string();
                return self.reply_now(id, Reply::Pull(Err(PullError::Unreadable { why })));
            }
        };
        if let Some(choice) = choice {
            (pulled.messages, pulled.next_offset) = choice.choose(pulled.messages);
            if pulled.messages.is_empty() {
                return self.none_chosen(id, pulled, choice);
            }
        }
        let newest = pulled.messages.last().and_then(|bytes| View::parse(bytes).ok());
        let bytes = pulled.messages.iter().map(Bytes::len).sum();
        self.traffic.got(topic, &group, pulled.messages.len(), bytes, self.now);
        match newest.is_none_or(|newest| newest.log_offset() < self.log.written()) {
            true => self.reply_now(id, Reply::Pull(Ok(pulled))),
            false => self.reply(id, Reply::Pull(Ok(pulled))),
        }
    }

    /// Lets a pull go on waiting behind what it has seen, where it did wait.
    fn none_chosen(&mut self, id: RequestId, pulled: Pulled, choice: Choice) {
        let Choice { topic, mut ask, deadline } = choice;
        let next = pulled.next_offset;
        let nothing = Reply::Pull(Ok(Pulled { outcome: PullOutcome::NothingMatched, ..pulled }));
        let Some(deadline) = deadline else { return self.reply(id, nothing) };
        let queue_id = ask.queue_id;
        ask.queue_offset = next;
        if self.parked.park_new(topic, id, deadline, Waiting::Pull(ask), &self.config).is_err() {
            return self.reply(id, nothing);
        }
        if self.store.queue(topic, queue_id).is_some_and(|queue| queue.max() > next) {
            // There was more than it reads at once, or more has come: it looks further in the next turn.
            self.touched.insert((topic, queue_id));
        }
    }

    /// Looks again for a parked pull; gives it back where it must go on waiting, from where it has looked.
    pub(crate) fn pull_again(
        &mut self,
        topic: TopicId,
        id: RequestId,
        mut ask: Pull,
        deadline: Monotonic,
    ) -> Option<Pull> {
        let look = self.reset_or_look(topic, &ask);
        if self.is_quiet(&ask, look.outcome) {
            return Some(ask);
        }
        match look.outcome {
            PullOutcome::NotFound => Some(ask),
            PullOutcome::NothingMatched => {
                ask.queue_offset = look.next;
                Some(ask)
            }
            PullOutcome::Found | PullOutcome::OffsetMoved => {
                self.answer_pull(topic, id, ask, look, Some(deadline));
                None
            }
        }
    }

    /// Ends the wait of a pull: nothing came.
    pub(crate) fn pull_ended(&mut self, topic: TopicId, id: RequestId, ask: Pull) {
        let mut look = self.look(topic, &ask);
        if self.is_quiet(&ask, look.outcome) {
            look = look.nothing(&ask);
        }
        self.answer_pull(topic, id, ask, look, None);
    }
}
