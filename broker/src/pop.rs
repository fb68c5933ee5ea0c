//! Pop: take messages with leases; they come again where nobody acks them in time.

use crate::config::{ANSWER_BYTES_MAX, INVISIBLE_MAX, MESSAGES_MAX, SCAN_MAX, WAIT_MAX};
use crate::filter::Filter;
use crate::group::NoGroup;
use crate::lease::{Held, Key, Progress};
use crate::park::{ParkedFull, Waiting};
use crate::read::Then;
use crate::{Broker, Reply, RequestId};
use bytes::Bytes;
use journal::{Extent, ReadError};
use model::{ClientId, GroupName, Monotonic, NameError, QueueId, QueueOffset, TopicId, TopicName};
use std::ops::Range;
use std::time::Duration;
use wire::receipt_handle::Retry;
use wire::{ReceiptHandle, stored};

/// A take from a topic and its retry topic.
#[derive(Clone, Debug)]
pub struct Pop {
    /// Who takes.
    pub group: GroupName,
    /// The topic.
    pub topic: TopicName,
    /// The queue; `None` for any.
    pub queue_id: Option<QueueId>,
    /// Messages at most, 1 to 32.
    pub max_messages: u32,
    /// How long each stays invisible to others.
    pub invisible: Duration,
    /// How long to wait where there is nothing; zero for not at all.
    pub wait: Duration,
    /// Whether a group without offsets begins at the end or at the beginning.
    pub from_end: bool,
    /// Which messages.
    pub filter: Filter,
    /// Whether the group consumes in order: a queue is locked while one of its messages is leased.
    pub ordered: bool,
    /// The same id gets the same messages again (ordered only).
    pub attempt_id: Option<String>,
    /// The client for whom the leases are to be renewed until it acks: they are told again after a restart.
    pub renewed_for: Option<ClientId>,
}

/// What a pop took. Empty where the wait ended without a message.
#[derive(Clone, Debug)]
pub struct Popped {
    /// The messages, in order.
    pub messages: Vec<PoppedMessage>,
    /// When, in ms since the epoch; grows strictly per queue.
    pub pop_time: i64,
    /// How long each is invisible, in ms.
    pub invisible_ms: i64,
    /// Messages left in the queues looked at.
    pub rest: i64,
}

/// A message taken.
#[derive(Clone, Debug)]
pub struct PoppedMessage {
    /// It, as stored; its topic is the retry topic's where it comes from there.
    pub bytes: Bytes,
    /// What to ack it with.
    pub handle: wire::ReceiptHandle,
    /// Its place in its queue.
    pub queue_offset: QueueOffset,
    /// How often it was handed out, this time included: from 1 on.
    pub attempt: u32,
}

/// Why a pop is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PopError {
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
    /// The operator's: nobody may read the topic (16).
    #[error("topic {topic} is not readable")]
    NotReadable {
        /// The topic.
        topic: TopicName,
    },
    /// The caller's: no such queue (29).
    #[error("queue {queue_id} of topic {topic} does not exist, it has {queues} to read")]
    QueueUnknown {
        /// The topic.
        topic: TopicName,
        /// The queue.
        queue_id: QueueId,
        /// How many there are.
        queues: u32,
    },
    /// The caller's: group and topic together make no name for a retry topic (29).
    #[error("group and topic together: {0}")]
    NamesTooLong(NameError),
    /// The caller's: more at once than allowed (29).
    #[error("maxMsgNums is {asked}, the limit is {limit}")]
    TooMany {
        /// How many were asked for.
        asked: u32,
        /// The limit.
        limit: u32,
    },
    /// The caller's: a longer lease than there may be (29).
    #[error("the invisible time is {asked_ms} ms, the limit is {limit_ms} ms")]
    InvisibleTooLong {
        /// What was asked for, in ms.
        asked_ms: u128,
        /// The limit, in ms.
        limit_ms: u128,
    },
    /// Ours, passing: too many wait already (209).
    #[error(transparent)]
    TooManyParked(#[from] ParkedFull),
    /// Ours: a message could not be read (1).
    #[error("reading a message: {why}")]
    Unreadable {
        /// Why.
        why: String,
    },
    /// Ours, passing: the log cannot be written, so no lease can be kept.
    #[error("the log cannot be written: {why}")]
    Unavailable {
        /// Why.
        why: String,
    },
}

/// Messages that a pop has leased and is about to hand out.
#[derive(Debug)]
pub(crate) struct Taken {
    id: RequestId,
    ask: Pop,
    topic: TopicId,
    deadline: Monotonic,
    pop_time: i64,
    items: Vec<Item>,
    rest: i64,
}

/// One of them.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) key: Key,
    pub(crate) queue_offset: QueueOffset,
    pub(crate) start_offset: QueueOffset,
    pub(crate) extent: Extent,
}

impl Broker {
    pub(crate) fn pop(&mut self, id: RequestId, ask: Pop) {
        let may = match too_long(ask.invisible) {
            Some((asked_ms, limit_ms)) => Err(PopError::InvisibleTooLong { asked_ms, limit_ms }),
            None => self.may_take(&ask.group, &ask.topic, ask.queue_id, ask.max_messages),
        };
        let topic = match may {
            Ok(topic) => topic,
            Err(refused) => return self.reply_now(id, Reply::Pop(Err(refused))),
        };
        let deadline = self.now.monotonic.after(ask.wait.min(WAIT_MAX));
        if let Some(ask) = self.pop_now(topic, id, ask, deadline) {
            self.pop_waits(topic, id, ask, deadline);
        }
    }

    /// Looks again for a parked pop; gives it back where it must go on waiting.
    pub(crate) fn pop_again(
        &mut self,
        topic: TopicId,
        id: RequestId,
        ask: Pop,
        deadline: Monotonic,
    ) -> Option<Pop> {
        self.pop_now(topic, id, ask, deadline)
    }

    /// Ends the wait of a pop: nothing came.
    pub(crate) fn pop_ended(&mut self, id: RequestId, ask: &Pop) {
        self.reply(id, Reply::Pop(Ok(self.nothing(ask))));
    }

    fn nothing(&self, ask: &Pop) -> Popped {
        let invisible_ms = ask.invisible.as_millis() as i64;
        Popped { messages: Vec::new(), pop_time: self.now.wall.as_millis(), invisible_ms, rest: 0 }
    }

    /// Parks a pop that found nothing, or answers it where it may not wait.
    fn pop_waits(&mut self, topic: TopicId, id: RequestId, ask: Pop, deadline: Monotonic) {
        if deadline <= self.now.monotonic {
            return self.pop_ended(id, &ask);
        }
        let parked = self.parked.park_new(topic, id, deadline, Waiting::Pop(ask), &self.config);
        if let Err(full) = parked {
            self.reply_now(id, Reply::Pop(Err(full.into())));
        }
    }

    /// The id of a topic, where a group may pop from it.
    pub(crate) fn may_take(
        &mut self,
        group: &GroupName,
        topic: &TopicName,
        queue_id: Option<QueueId>,
        max_messages: u32,
    ) -> Result<TopicId, PopError> {
        if let Some(why) = self.unwritable() {
            return Err(PopError::Unavailable { why });
        }
        if max_messages > MESSAGES_MAX {
            return Err(PopError::TooMany { asked: max_messages, limit: MESSAGES_MAX });
        }
        let Some(topic) = self.topics.get(topic).cloned() else {
            return Err(PopError::TopicUnknown { topic: topic.clone() });
        };
        if !topic.permission.readable() || model::is_system_topic(topic.name.as_str()) {
            return Err(PopError::NotReadable { topic: topic.name });
        }
        if let Some(queue_id) = queue_id.filter(|queue| queue.0 >= topic.read_queues) {
            return Err(PopError::QueueUnknown { queue_id, queues: topic.read_queues, topic: topic.name });
        }
        // Its other form is as long.
        let retry = TopicName::pop_retry(group, &topic.name);
        if let Err(error) = TopicName::new(retry.as_str()) {
            return Err(PopError::NamesTooLong(error));
        }
        let group = self.group_or_make(group)?;
        if !group.consume_enabled {
            return Err(PopError::GroupForbidden { group: group.name });
        }
        if self.forbidden.holds(&group.name, topic.id) {
            return Err(PopError::TopicForbidden { group: group.name, topic: topic.name });
        }
        Ok(topic.id)
    }

    /// Takes what there is, and answers; gives the pop back where there is nothing.
    fn pop_now(&mut self, topic: TopicId, id: RequestId, ask: Pop, deadline: Monotonic) -> Option<Pop> {
        let order = self.pop_order(topic, &ask.group, ask.queue_id, ask.ordered);
        // One for all queues: clients are told one.
        let keys = order.iter().map(|&(topic, queue_id)| Key { group: ask.group.clone(), topic, queue_id });
        let pop_time = self.leases.new_pop_time(keys, self.now);
        let mut taken = Taken { id, topic, deadline, pop_time, items: Vec::new(), rest: 0, ask };
        for (topic, queue_id) in order {
            let room = taken.ask.max_messages.max(1) as usize - taken.items.len();
            if room == 0 {
                break;
            }
            self.take(topic, queue_id, room, &mut taken);
        }
        if taken.items.is_empty() {
            return Some(taken.ask);
        }
        let extents = taken.items.iter().map(|item| item.extent).collect();
        self.read(extents, Then::Pop(Box::new(taken)));
        None
    }

    /// The queues a pop looks at, in order: the topic's from another one on each time, and the retry topic's
    /// last, but every fifth time first, so that neither starves the other.
    pub(crate) fn pop_order(
        &mut self,
        topic: TopicId,
        group: &GroupName,
        queue_id: Option<QueueId>,
        ordered: bool,
    ) -> Vec<(TopicId, QueueId)> {
        let queues = self.topics.by_id(topic).map_or(0, |topic| topic.read_queues);
        let turn = self.leases.next_turn();
        let mut order: Vec<_> = match queue_id {
            Some(queue_id) => vec![(topic, queue_id)],
            None => (0..queues)
                .map(|i| (topic, QueueId(((u64::from(i) + turn) % u64::from(queues)) as u32)))
                .collect(),
        };
        if let Some(retry) = self.pop_retry(group, topic).filter(|_| !ordered) {
            let at = if turn.is_multiple_of(5) { 0 } else { order.len() };
            order.insert(at, (retry, QueueId(0)));
        }
        order
    }

    /// Leases up to `room` messages of one queue.
    fn take(&mut self, topic: TopicId, queue_id: QueueId, room: usize, taken: &mut Taken) {
        let key = Key { group: taken.ask.group.clone(), topic, queue_id };
        let Some(queue) = self.store.queue(topic, queue_id) else {
            return;
        };
        let (min, max) = (queue.min(), queue.max());
        // It reads from the new place by itself.
        self.resets.take(&key.group, topic, queue_id);
        if self.leases.get(&key).is_none() {
            let next = self.first_pop_offset(&key, taken.ask.from_end, min, max);
            self.leases.begin(key.clone(), next);
            self.commit(&key.group, topic, queue_id, next);
        }
        let queue = self.store.queue(topic, queue_id).expect("looked up above");
        let progress = self.leases.get(&key).expect("begun above");
        if progress.lease_count() >= self.config.leases_max {
            return;
        }
        let again = match (taken.ask.ordered, progress.lease_count() > 0) {
            (true, true) if progress.is_attempt(taken.ask.attempt_id.as_deref()) => progress.leased(),
            (true, true) => return,
            _ => progress.again(),
        };
        let mut offsets: Vec<QueueOffset> = again.into_iter().take(room).collect();
        let start = self.untaken_from(&key);
        let mut next = start;
        let mut bytes: u64 = 0;
        let locked = progress.lease_count() > 0 && taken.ask.ordered;
        for entry in queue.iter_from(start).take(if locked { 0 } else { SCAN_MAX }) {
            if taken.ask.filter.may_match(entry.tag_code) {
                bytes += u64::from(entry.extent.length);
                let full = bytes > u64::from(ANSWER_BYTES_MAX) && !offsets.is_empty();
                if offsets.len() == room || full {
                    break;
                }
                offsets.push(next);
            }
            next = next.plus(1);
        }
        let extents: Vec<_> =
            offsets.iter().filter_map(|&at| queue.get(at).map(|entry| (at, entry.extent))).collect();
        taken.rest += max.0 - next.0;
        let start = offsets.first().copied().unwrap_or(start).min(start);
        self.lease(&key, &extents, start..next, taken);
    }

    /// From where on a group has taken nothing of a queue, be it by pop or by pull.
    pub(crate) fn untaken_from(&self, key: &Key) -> QueueOffset {
        let queue = self.store.queue(key.topic, key.queue_id);
        let (min, max) = queue.map_or_else(Default::default, |queue| (queue.min(), queue.max()));
        let popped = self.leases.get(key).map_or(min, Progress::next);
        let committed = self.offsets.get(&key.group, key.topic, key.queue_id).unwrap_or(min);
        popped.max(committed).clamp(min, max)
    }

    /// Where a group begins with a queue that it has never popped.
    fn first_pop_offset(&self, key: &Key, from_end: bool, min: QueueOffset, max: QueueOffset) -> QueueOffset {
        if let Some(committed) = self.offsets.get(&key.group, key.topic, key.queue_id) {
            return committed.clamp(min, max);
        }
        let retry = self.topics.by_id(key.topic).is_some_and(|topic| topic.name.is_retry());
        if !from_end || retry || self.is_young(key.topic, key.queue_id) { min } else { max }
    }

    fn lease(
        &mut self,
        key: &Key,
        extents: &[(QueueOffset, Extent)],
        read: Range<QueueOffset>,
        taken: &mut Taken,
    ) {
        let offsets: Vec<QueueOffset> = extents.iter().map(|(at, _)| *at).collect();
        let start_offset = read.start;
        self.leases.take(key, &offsets, read, &taken.ask, taken.pop_time, self.now);
        self.commit_popped(key);
        taken.items.extend(extents.iter().map(|&(queue_offset, extent)| Item {
            key: key.clone(),
            queue_offset,
            start_offset,
            extent,
        }));
    }

    /// Commits how far a group has finished a queue that it pops; never less than it has committed by pulls.
    pub(crate) fn commit_popped(&mut self, key: &Key) {
        let committed = self.offsets.get(&key.group, key.topic, key.queue_id);
        let finished = self.leases.get(key).map(Progress::finished);
        if let Some(finished) = finished.filter(|finished| committed.is_none_or(|known| known < *finished)) {
            self.commit(&key.group, key.topic, key.queue_id, finished);
        }
    }

    /// The messages of a pop were read: hands out those that the filter wants, and finishes the others.
    pub(crate) fn pop_read(&mut self, taken: Taken, bytes: Result<Vec<Bytes>, ReadError>) {
        let bytes = match bytes {
            Ok(bytes) => bytes,
            Err(error) => {
                let why = error.to_string();
                return self.reply(taken.id, Reply::Pop(Err(PopError::Unreadable { why })));
            }
        };
        let Taken { id, ask, topic, deadline, pop_time, items, rest } = taken;
        let mut messages = Vec::with_capacity(items.len());
        for (item, bytes) in items.into_iter().zip(bytes) {
            // Reading took longer than the lease lasted: it comes again, or has already.
            if self.leases.held(&item.key, item.queue_offset, pop_time, self.now) != Held::Valid {
                continue;
            }
            let Ok(view) = stored::View::parse(&bytes) else {
                continue;
            };
            if !ask.filter.matches(&view) {
                self.leases.finish(&item.key, item.queue_offset, pop_time, self.now);
                self.commit_popped(&item.key);
                continue;
            }
            let attempt =
                view.reconsume_times().max(0) as u32 + 1 + self.leases.attempts(&item.key, item.queue_offset);
            let handle = self.handle_of(&item, pop_time, &ask);
            messages.push(PoppedMessage { handle, queue_offset: item.queue_offset, attempt, bytes });
        }
        if messages.is_empty() {
            // It looks further in its next turn, if it may wait for one: others have theirs in between.
            self.pop_waits(topic, id, ask, deadline);
            self.pop_touched.insert(topic);
            return;
        }
        let bytes = messages.iter().map(|message| message.bytes.len()).sum();
        self.traffic.got(topic, &ask.group, messages.len(), bytes, self.now);
        let invisible_ms = ask.invisible.as_millis() as i64;
        self.reply_with_leases(id, Reply::Pop(Ok(Popped { messages, pop_time, invisible_ms, rest })));
    }

    fn handle_of(&self, item: &Item, pop_time: i64, ask: &Pop) -> ReceiptHandle {
        let retry = self.retry_form(item.key.topic, &ask.group, &ask.topic);
        ReceiptHandle {
            start_offset: item.start_offset.0,
            pop_time,
            invisible_ms: ask.invisible.as_millis() as i64,
            revive_queue: if ask.ordered { ORDERED } else { 0 },
            retry,
            broker: self.config.broker_name.clone(),
            queue_id: item.key.queue_id.0,
            queue_offset: item.queue_offset.0,
            log_offset: Some(item.extent.at),
        }
    }

    /// Which of the topics of a pair the topic `taken_from` is.
    pub(crate) fn retry_form(&self, taken_from: TopicId, group: &GroupName, popped: &TopicName) -> Retry {
        match self.topics.by_id(taken_from).map(|topic| &topic.name) {
            Some(name) if name == popped => Retry::Normal,
            Some(name) if *name == TopicName::pop_retry_apart(group, popped) => Retry::RetryV2,
            _ => Retry::RetryV1,
        }
    }
}

/// The time asked for and the limit, both in ms, where a lease would be longer than one may be.
pub(crate) fn too_long(invisible: Duration) -> Option<(u128, u128)> {
    (invisible > INVISIBLE_MAX).then(|| (invisible.as_millis(), INVISIBLE_MAX.as_millis()))
}

/// What stands in a handle for the revive queue where the group consumes in order. Peer: `POP_ORDER_REVIVE_QUEUE`.
pub(crate) const ORDERED: i32 = 999;
