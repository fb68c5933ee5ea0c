//! Send: a message enters. Wanted now, it goes to its queue; wanted later, to the timer.

use crate::crowd::second_of;
use crate::schedule::{self, Wanted};
use crate::topic::reply_topic;
use crate::{Broker, Reply, RequestId, dedup};
use model::{
    LogOffset, Message, Now, Properties, QueueId, QueueOffset, Timestamp, Topic, TopicKind, TopicName,
    is_system_topic,
};
use std::collections::BTreeMap;
use wire::{message_id, property, sys_flag};

/// Messages for one topic: all are stored, or none.
#[derive(Clone, Debug)]
pub struct Send {
    /// Where they go.
    pub topic: TopicName,
    /// The queue wanted; `None` lets the broker choose, by message group where there is one.
    pub queue_id: Option<QueueId>,
    /// The messages, with the properties as the client set them.
    pub messages: Vec<Message>,
    /// What happens where the topic does not exist.
    pub auto_create: Option<AutoCreate>,
    /// Whether each message's kind must be the topic's (the proxy's ports).
    pub check_kind: bool,
    /// Whether a moment asked for becomes the delay level that is just longer than the time until then.
    pub as_level: bool,
    /// Whether they are one batch in one queue (remoting), in which no delay is allowed.
    pub batch: bool,
    /// The retries the client allows, on a send to `%RETRY%group`.
    pub max_reconsume_times: Option<i32>,
}

/// How a topic that does not exist is made by a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AutoCreate {
    /// Queues the client wishes for; the server's own number is the limit.
    pub queues: u32,
}

/// Where a message was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Its real queue, also where it waits for its time.
    pub queue_id: QueueId,
    /// Its offset in that queue; of a delayed one, its number in the system topic's view.
    pub queue_offset: QueueOffset,
    /// Its record's place in the log.
    pub log_offset: LogOffset,
    /// Its `UNIQ_KEY`.
    pub unique_key: String,
    /// How to call it back, where it is delayed and may be recalled.
    pub recall_handle: Option<String>,
    /// Something the producer should know: that its level was above the last, say.
    pub remark: Option<String>,
    /// Whether nothing was stored, since a message with the same `DUEMQ_DEDUP_KEY` is there: all else tells of that one. Its
    /// queue offset is 0 while it waits.
    pub duplicate: bool,
}

/// Why nothing was stored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("message {index}: {why}")]
pub struct SendError {
    /// Which of the messages, from 0 on.
    pub index: usize,
    /// Why it was refused.
    pub why: SendRefusal,
}

/// Why a message is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendRefusal {
    /// The caller's: there is no such topic, and it may not be made by a send.
    #[error("topic {topic} does not exist, and this send may not create it")]
    TopicUnknown {
        /// The topic asked for.
        topic: TopicName,
    },
    /// The operator's: so many topics are there that a send makes no more.
    #[error(
        "topic {topic} does not exist, and a send makes none: there are {topics} topics, the limit is {limit}"
    )]
    TooManyTopics {
        /// The topic asked for.
        topic: TopicName,
        /// How many there are.
        topics: usize,
        /// How many there may be for one to be made so.
        limit: usize,
    },
    /// The caller's: the topic belongs to the server.
    #[error("topic {topic} belongs to the server, clients may not write to it")]
    SystemTopic {
        /// The topic asked for.
        topic: TopicName,
    },
    /// The operator's: nobody may write to the topic now.
    #[error("topic {topic} is not writable")]
    NotWritable {
        /// The topic asked for.
        topic: TopicName,
    },
    /// The caller's: the topic has no such queue.
    #[error("queue {queue_id} of topic {topic} does not exist, it has {queues}")]
    QueueUnknown {
        /// The topic asked for.
        topic: TopicName,
        /// The queue asked for.
        queue_id: QueueId,
        /// How many there are.
        queues: u32,
    },
    /// The caller's: the message is of another kind than the topic takes.
    #[error("topic {topic} takes {} messages, this one is {}", takes.as_str(), is.as_str())]
    WrongKind {
        /// The topic asked for.
        topic: TopicName,
        /// The topic's kind.
        takes: TopicKind,
        /// The message's kind.
        is: TopicKind,
    },
    /// The caller's: there is nothing in it.
    #[error("the body is empty")]
    EmptyBody,
    /// The caller's: the body is too large.
    #[error("the body has {length} bytes, the limit is {limit}")]
    BodyTooLarge {
        /// Its bytes.
        length: usize,
        /// The most allowed.
        limit: usize,
    },
    /// The caller's: the properties are too large.
    #[error("the properties have {length} bytes, the limit is {limit}")]
    PropertiesTooLarge {
        /// Their bytes, with those the server adds.
        length: usize,
        /// The most allowed.
        limit: usize,
    },
    /// The caller's: the message's own key is too long to be handed around.
    #[error("property UNIQ_KEY has {length} bytes, the limit is {limit}")]
    UniqueKeyTooLong {
        /// Its bytes.
        length: usize,
        /// The most allowed.
        limit: usize,
    },
    /// The caller's: a delay property does not hold a whole number that 64 bits hold.
    #[error("property {property} is {value:?}, not a whole number of 64 bits")]
    DelayNotANumber {
        /// Its name.
        property: &'static str,
        /// The beginning of its value.
        value: String,
    },
    /// The caller's: it is wanted later than the server keeps messages.
    #[error("property {property} is {value:?}, {ahead_ms} ms ahead; the limit is {limit_ms} ms{}", in_days(*limit_ms))]
    TooFar {
        /// Its name.
        property: &'static str,
        /// Its value.
        value: String,
        /// How far ahead of now.
        ahead_ms: i64,
        /// The farthest allowed.
        limit_ms: i64,
    },
    /// The caller's: a message in a batch asks for a delay.
    #[error("property {property} asks for a delay, which no message of a batch may")]
    DelayInBatch {
        /// Its name.
        property: &'static str,
    },
    /// The operator's: delayed messages are switched off.
    #[error("accurate timer message is not enabled, timerWheelEnable is false")]
    TimerDisabled,
    /// The caller's: the message asks for a recall, and its moment is not ahead, or it is one of several.
    #[error(
        "property TIMER_DEL_UNIQKEY asks for a recall, for which a message must be alone and its moment ahead"
    )]
    RecallIllegal,
    /// The caller's: a message in a batch has a key against doubles.
    #[error(
        "property DUEMQ_DEDUP_KEY asks that a message be stored once, which none of a batch or of several in a call may"
    )]
    DedupKeyInBatch,
    /// The caller's: a transactional message has one.
    #[error(
        "property DUEMQ_DEDUP_KEY asks that a message be stored once, which no transactional message may"
    )]
    DedupKeyInTransaction,
    /// The caller's: the key has no length that is taken.
    #[error("property DUEMQ_DEDUP_KEY has {length} bytes, it must have 1 to {limit}")]
    DedupKeyLength {
        /// Its bytes.
        length: usize,
        /// The most allowed.
        limit: usize,
    },
    /// Ours: whether a message of the same key is there could not be read. Nothing was stored.
    #[error("looking for a message with the same DUEMQ_DEDUP_KEY: {why}")]
    DedupKeyUnreadable {
        /// Why.
        why: String,
    },
    /// The caller's: a message in a batch is transactional.
    #[error("property TRAN_MSG makes a transactional message, which none of a batch may be")]
    TransactionInBatch,
    /// The caller's: the group of a `%RETRY%` topic does not exist.
    #[error("group {group} does not exist")]
    GroupUnknown {
        /// The group.
        group: String,
    },
    /// The operator's, passing: so many messages wait for their moment that no more are taken.
    #[error("timer message is under flow control: {pending} pending, the limit pending_max is {limit}")]
    TooManyPending {
        /// How many wait, with those before it in the same send.
        pending: u64,
        /// How many may.
        limit: u64,
    },
    /// The operator's, passing: the same, of one topic.
    #[error(
        "timer message is under flow control: {pending} of topic {topic} pending, the limit pending_per_topic_max is \
         {limit}"
    )]
    TooManyPendingOfTopic {
        /// The topic.
        topic: TopicName,
        /// How many of it wait, with those before it in the same send.
        pending: u64,
        /// How many may.
        limit: u64,
    },
    /// The operator's, passing: the same, of those that are due in one second.
    #[error(
        "timer message is under flow control: {pending} due in the second from {second}, the limit \
         pending_per_second_max is {limit}"
    )]
    TooManyPendingInSecond {
        /// Where the second begins.
        second: Timestamp,
        /// How many are due in it and wait, with those before it in the same send.
        pending: u64,
        /// How many may.
        limit: u64,
    },
    /// Ours: how many are due in its second could not be read. Nothing was stored.
    #[error("counting the messages that are due in the same second: {why}")]
    SecondUncounted {
        /// Why.
        why: String,
    },
    /// Ours, passing: too much is waiting, or the log cannot be written just now.
    #[error("the server is busy: {what}")]
    Busy {
        /// What is full.
        what: &'static str,
    },
    /// Ours, passing: the disk is full or failing.
    #[error("the log cannot be written: {why}")]
    Unavailable {
        /// Why.
        why: String,
    },
}

/// A limit in days, for who reads it; nothing where it is below two.
pub(crate) fn in_days(ms: i64) -> String {
    match ms / 86_400_000 {
        ..2 => String::new(),
        days => format!(" ({days} days)"),
    }
}

/// Properties that only the server sets: from a client they never take effect. `RETRY_TOPIC` is the client's
/// own on a retry that it sends by itself.
const INTERNAL: [&str; 8] = [
    property::TIMER_OUT_MS,
    property::TIMER_ENQUEUE_MS,
    property::TIMER_DEQUEUE_MS,
    property::TIMER_ROLL_TIMES,
    property::REAL_TOPIC,
    property::REAL_QID,
    property::POP_CK,
    property::RETRY_TOPIC,
];

/// System topics that clients write to: traces and replies.
fn clients_may_write(topic: &str, cluster: &str) -> bool {
    topic == "RMQ_SYS_TRACE_TOPIC" || topic == "BenchmarkTest" || topic == reply_topic(cluster)
}

/// Bytes of a `UNIQ_KEY`, at most: handles hold it.
const UNIQUE_KEY_MAX: usize = 255;

/// What a send asks for, for all its messages.
struct Asked {
    queue_id: Option<QueueId>,
    batch: bool,
    check_kind: bool,
    as_level: bool,
    retry: bool,
    /// Whether it has several messages, or may have.
    several: bool,
    /// When it came.
    came: Now,
}

/// A message that passed all checks, ready for the log.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) message: Message,
    queue_id: QueueId,
    pub(crate) wanted: Wanted,
    /// Whether it stays out of sight until its producer commits it.
    half: bool,
}

/// The messages of a send, all of which passed all checks.
struct AllChecked {
    topic: Topic,
    /// Whether the topic is yet to be made.
    is_new: bool,
    messages: Vec<Checked>,
    batch: bool,
    retry: bool,
}

impl AllChecked {
    /// The key of the only message, where another one may have it: what a client gives back by itself has the key that it
    /// was sent with.
    fn dedup_key(&self) -> Option<String> {
        let [one] = self.messages.as_slice() else { return None };
        let key = one.message.properties.get(property::DUEMQ_DEDUP_KEY)?;
        (!self.retry && !self.is_new).then(|| key.to_owned())
    }
}

impl Broker {
    pub(crate) fn send(&mut self, id: RequestId, ask: Send) {
        if ask.messages.iter().any(|message| message.properties.get(property::TIMER_DEL_UNIQKEY).is_some()) {
            return self.recall_by_message(id, &ask);
        }
        self.send_of(id, ask, self.now);
    }

    /// Handles a send that came then: a delay counts from there.
    pub(crate) fn send_of(&mut self, id: RequestId, ask: Send, came: Now) {
        if let Some(at) = self.uncounted_second(&ask, came) {
            return self.send_once_counted(id, at, ask, came);
        }
        let sent = match self.check_all(ask, came) {
            Ok(mut all) => match all.dedup_key() {
                Some(key) => return self.send_keyed(id, &all.topic, key, all.messages.remove(0)),
                None => self.store_all(all),
            },
            Err(refused) => Err(refused),
        };
        match sent {
            Ok(sent) => self.reply_safe(id, Reply::Send(Ok(sent))),
            Err(refused) => self.reply_now(id, Reply::Send(Err(refused))),
        }
    }

    fn check_all(&mut self, ask: Send, came: Now) -> Result<AllChecked, SendError> {
        let refused = |why| SendError { index: 0, why };
        if let Some(why) = self.unwritable() {
            return Err(refused(SendRefusal::Unavailable { why }));
        }
        let (topic, is_new) = self.target(&ask).map_err(refused)?;
        if !topic.permission.writable() {
            return Err(refused(SendRefusal::NotWritable { topic: topic.name }));
        }
        if let Some(queue_id) = ask.queue_id.filter(|queue| queue.0 >= topic.queues()) {
            return Err(refused(SendRefusal::QueueUnknown {
                queue_id,
                queues: topic.queues(),
                topic: topic.name,
            }));
        }
        let asked = Asked {
            queue_id: ask.queue_id.or_else(|| ask.batch.then(|| self.topics.next_queue(&topic))),
            batch: ask.batch,
            check_kind: ask.check_kind,
            as_level: ask.as_level,
            retry: ask.topic.is_retry(),
            several: ask.batch || ask.messages.len() > 1,
            came,
        };
        let mut checked = Vec::with_capacity(ask.messages.len());
        for (index, message) in ask.messages.into_iter().enumerate() {
            let one = self.check(&topic, &asked, message);
            checked.push(one.map_err(|why| SendError { index, why })?);
        }
        Ok(AllChecked { topic, is_new, messages: checked, batch: ask.batch, retry: asked.retry })
    }

    /// Appends all of them, where there is room for all.
    fn store_all(&mut self, all: AllChecked) -> Result<Vec<Sent>, SendError> {
        let AllChecked { topic, is_new, messages, batch, retry } = all;
        let moment = |(index, one): (usize, &Checked)| match one.wanted {
            Wanted::Now => None,
            Wanted::At { deliver_at, .. } => Some((index, deliver_at)),
        };
        let mut in_second: BTreeMap<i64, u64> = BTreeMap::new();
        let delayed = messages.iter().enumerate().filter_map(moment);
        for (before, (index, at)) in delayed.enumerate().filter(|_| !retry) {
            let before_in_second = in_second.entry(second_of(at)).or_default();
            let room = self.has_room(&topic, before as u64);
            let room = room.and_then(|()| self.has_room_in_second(at, *before_in_second));
            room.map_err(|why| SendError { index, why })?;
            *before_in_second += 1;
        }
        if is_new {
            self.put_topic(topic.clone());
        }
        Ok(messages.into_iter().map(|one| self.store_one(&topic, one, batch)).collect())
    }

    /// The topic a send goes to, and whether it is yet to be made; the dead letters' where a retry has used its
    /// attempts.
    pub(crate) fn target(&self, ask: &Send) -> Result<(Topic, bool), SendRefusal> {
        let name = &ask.topic;
        if is_system_topic(name.as_str()) && !clients_may_write(name.as_str(), &self.config.cluster) {
            return Err(SendRefusal::SystemTopic { topic: name.clone() });
        }
        if let Some(group) = name.retry_group() {
            let Some(settings) = self.groups.get(&group) else {
                return Err(SendRefusal::GroupUnknown { group: group.to_string() });
            };
            let max = ask.max_reconsume_times.unwrap_or(settings.retry_max as i32);
            let ordered = self.locks.any(&group, self.now.monotonic);
            let used_up = ordered || ask.messages.iter().any(|message| message.reconsume_times > max);
            let (name, queues) = match used_up {
                true => (TopicName::dead_letter(&group), 1),
                false => (TopicName::retry(&group), self.retry_queues(&group)),
            };
            return Ok(self.there_or_new(name, queues, TopicKind::Normal));
        }
        if name.is_retry() {
            // A pop's, which the server alone writes.
            return Err(SendRefusal::SystemTopic { topic: name.clone() });
        }
        match ask.auto_create {
            Some(AutoCreate { queues }) if self.config.auto_create_topics && !name.is_dead_letter() => {
                let queues = queues.clamp(1, self.config.default_queues);
                let (topics, limit) = (self.topics.len(), self.config.topics_max);
                if topics >= limit && self.topics.get(name).is_none() {
                    return Err(SendRefusal::TooManyTopics { topic: name.clone(), topics, limit });
                }
                Ok(self.there_or_new(name.clone(), queues, TopicKind::Mixed))
            }
            _ => match self.topics.get(name) {
                Some(topic) => Ok((topic.clone(), false)),
                None => Err(SendRefusal::TopicUnknown { topic: name.clone() }),
            },
        }
    }

    fn there_or_new(&self, name: TopicName, queues: u32, kind: TopicKind) -> (Topic, bool) {
        match self.topics.get(&name) {
            Some(topic) => (topic.clone(), false),
            None => (self.new_topic(name, queues, kind), true),
        }
    }

    fn check(&mut self, topic: &Topic, asked: &Asked, mut message: Message) -> Result<Checked, SendRefusal> {
        let length = message.body.len();
        if length == 0 {
            return Err(SendRefusal::EmptyBody);
        }
        if length > self.config.max_body_bytes {
            return Err(SendRefusal::BodyTooLarge { length, limit: self.config.max_body_bytes });
        }
        let length = message.properties.get(property::UNIQ_KEY).map_or(0, str::len);
        if length > UNIQUE_KEY_MAX {
            return Err(SendRefusal::UniqueKeyTooLong { length, limit: UNIQUE_KEY_MAX });
        }
        let kind = kind_of(&message.properties);
        let transaction = message.sys_flag & sys_flag::TRANSACTION_MASK;
        let half = kind == TopicKind::Transaction || transaction == sys_flag::TRANSACTION_PREPARED;
        if half && asked.batch {
            return Err(SendRefusal::TransactionInBatch);
        }
        if let Some(key) = message.properties.get(property::DUEMQ_DEDUP_KEY).filter(|_| !asked.retry) {
            dedup::check(key, asked.several, half)?;
        }
        let free = [TopicKind::Mixed, kind].contains(&topic.kind)
            || topic.name.is_retry()
            || topic.name.is_dead_letter();
        if asked.check_kind && !free {
            return Err(SendRefusal::WrongKind { topic: topic.name.clone(), takes: topic.kind, is: kind });
        }
        if let Some(property) = schedule::delay_property(&message.properties).filter(|_| asked.batch) {
            return Err(SendRefusal::DelayInBatch { property });
        }
        for name in INTERNAL {
            if name != property::RETRY_TOPIC || !asked.retry {
                message.properties.remove(name);
            }
        }
        if asked.as_level
            && let Some(level) = schedule::as_level(&message.properties, asked.came, &self.config)?
        {
            message.properties.set(property::DELAY, level.to_string());
        }
        // A retry that became a dead letter is not delayed, whatever it asked for.
        let wanted = match asked.retry && topic.name.is_dead_letter() {
            true => Wanted::Now,
            false => schedule::wanted(&message.properties, asked.came, &self.config)?,
        };
        let queue_id = asked.queue_id.unwrap_or_else(|| self.choose_queue(topic, &message.properties));
        match half {
            true => self.sign(&mut message.properties),
            false => self.complete(&mut message, topic, queue_id, wanted),
        }
        let length = property::encoded_len(&message.properties);
        // A half has yet to be told where it belongs, a delivered copy when it was delivered: room is kept.
        let limit = property::MAX_BYTES - if half { 512 } else { 64 };
        if length > limit {
            return Err(SendRefusal::PropertiesTooLarge { length, limit });
        }
        Ok(Checked { message, queue_id, wanted, half })
    }

    /// The queue of a message that may go to any: by message group where it has one, else in turn.
    fn choose_queue(&mut self, topic: &Topic, properties: &Properties) -> QueueId {
        match properties.get(property::SHARDING_KEY) {
            Some(group) => QueueId(store::key_hash(topic.id, group) as u32 % topic.write_queues.max(1)),
            None => self.topics.next_queue(topic),
        }
    }

    /// Says on a message where it was taken, and gives it a `UNIQ_KEY` where it has none.
    fn sign(&mut self, properties: &mut Properties) {
        properties.set(property::MSG_REGION, "DefaultRegion");
        properties.set(property::TRACE_ON, "true");
        properties.set(property::CLUSTER, self.config.cluster.as_str());
        if properties.get(property::UNIQ_KEY).is_none() {
            self.uniques += 1;
            let material = LogOffset(self.log.appended().0 + self.uniques);
            properties.set(
                property::UNIQ_KEY,
                message_id::make_unique_key(self.config.store_host, self.now.wall, material),
            );
        }
    }

    /// Adds what the server says of a message that is stored in, or waits for, its queue.
    pub(crate) fn complete(
        &mut self,
        message: &mut Message,
        topic: &Topic,
        queue_id: QueueId,
        wanted: Wanted,
    ) {
        self.sign(&mut message.properties);
        let properties = &mut message.properties;
        match wanted {
            Wanted::At { deliver_at, .. } => {
                schedule::settle(properties, Some(deliver_at));
                properties.set(property::REAL_TOPIC, topic.name.as_str());
                properties.set(property::REAL_QID, queue_id.to_string());
            }
            Wanted::Now => {
                // One that was wanted earlier than now still shows when.
                let was = properties.get(property::TIMER_DELIVER_MS).map(str::to_owned);
                let delayed =
                    schedule::delay_property(properties).is_some_and(|name| name != property::DELAY);
                schedule::settle(properties, delayed.then_some(self.now.wall));
                if let Some(was) = was {
                    properties.set(property::TIMER_DELIVER_MS, was);
                }
            }
        }
    }

    pub(crate) fn store_one(&mut self, topic: &Topic, checked: Checked, batch: bool) -> Sent {
        let Checked { message, queue_id, wanted, half } = checked;
        let unique_key = message.properties.get(property::UNIQ_KEY).unwrap_or_default().to_owned();
        if half {
            let (extent, queue_offset) = self.append_half(topic, queue_id, message);
            let log_offset = extent.at;
            return Sent {
                queue_id,
                queue_offset,
                log_offset,
                unique_key,
                recall_handle: None,
                remark: None,
                duplicate: false,
            };
        }
        let (appended, recall_handle, remark) = match wanted {
            Wanted::Now => {
                self.stats.stored += 1;
                (self.append_message(topic, queue_id, &message, LogOffset(0)), None, None)
            }
            Wanted::At { deliver_at, level, clamped_from } => {
                self.stats.scheduled += 1;
                let appended = self.append_parked(topic, queue_id, &message, deliver_at, level, LogOffset(0));
                let recallable = !topic.name.is_retry() && !batch;
                let handle =
                    recallable.then(|| self.recall_handle(topic.name.as_str(), deliver_at, &unique_key));
                let remark = clamped_from.map(|asked| {
                    self.stats.clamped_levels += 1;
                    format!("delay level {asked} is above the last, taken as {}", self.config.levels.max())
                });
                (appended, handle, remark)
            }
        };
        Sent {
            queue_id,
            queue_offset: appended.queue_offset,
            log_offset: appended.extent.at,
            unique_key,
            recall_handle,
            remark,
            duplicate: false,
        }
    }
}

/// The kind of a message, as its properties say.
fn kind_of(properties: &Properties) -> TopicKind {
    if properties.get(property::TRAN_MSG) == Some("true") {
        TopicKind::Transaction
    } else if schedule::delay_property(properties).is_some() {
        TopicKind::Delay
    } else if properties.get(property::SHARDING_KEY).is_some() {
        TopicKind::Fifo
    } else {
        TopicKind::Normal
    }
}
