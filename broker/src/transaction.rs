//! Transactions: a half message is kept out of sight until its producer commits or rolls it back.
//!
//! A half lies in the log as it was sent, its delay untouched; a commit sends it through the gate again, so
//! that a moment it names stands and a delay counts from the commit. What ends a half is one record that
//! names it: the committed message, or a note in the topic of ended halves. A producer that does not say is
//! asked, with the same places each time; after [`CHECKS_MAX`] questions the half is put aside for a person.
//!
//! Peer: `TransactionalMessageServiceImpl` (RocketMQ 5.x), which appends a half anew before each question.

use crate::append::fitting;
use crate::client::Notice;
use crate::read::Then;
use crate::schedule::{self, Wanted};
use crate::{Broker, Reply, RequestId, Work};
use bytes::Bytes;
use journal::{Extent, ReadError};
use model::{LogOffset, Message, Monotonic, Now, QueueId, QueueOffset, Topic, TopicId, TopicName};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use wire::stored::{self, PlacedOwned};
use wire::{property, sys_flag};

/// Where halves lie.
pub(crate) const HALF_TOPIC: &str = "RMQ_SYS_TRANS_HALF_TOPIC";
/// Where it is noted that a half has ended without a message.
pub(crate) const OP_TOPIC: &str = "RMQ_SYS_TRANS_OP_HALF_TOPIC";
/// Where halves go whose producer never said.
pub(crate) const ASIDE_TOPIC: &str = "TRANS_CHECK_MAX_TIME_TOPIC";

/// How old a half is when its producer is first asked. Peer: `transactionTimeOut`.
const FIRST_CHECK: Duration = Duration::from_secs(6);
/// How long between two questions. Peer: `transactionCheckInterval`.
const CHECK_EVERY: Duration = Duration::from_secs(30);
/// Questions before a half is put aside. Peer: `transactionCheckMax`.
const CHECKS_MAX: u32 = 15;
/// The longest a producer may ask to be left in peace.
const IMMUNITY_MAX: Duration = Duration::from_secs(3600);
/// Questions in one tick, at most.
const CHECKS_A_TICK: usize = 64;

/// A producer's word on its half.
#[derive(Clone, Debug)]
pub struct EndTransaction {
    /// Which half.
    pub half: HalfName,
    /// The group that sent it, where the wire says so: another may not end it.
    pub group: Option<String>,
    /// What becomes of it.
    pub resolution: Resolution,
}

/// How a half is named.
#[derive(Clone, Debug)]
pub enum HalfName {
    /// By the place of its record, as a send was answered (remoting).
    Place(LogOffset),
    /// By its topic and `UNIQ_KEY` (gRPC).
    Key(TopicName, String),
}

/// What becomes of a half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// It becomes a message.
    Commit,
    /// It never does.
    Rollback,
    /// Not known yet: ask again later.
    Unknown,
}

/// Why a half did not end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndTransactionError {
    /// The caller's: no such half waits; it has ended, or never was.
    #[error("no half message waits there")]
    HalfUnknown,
    /// The caller's: another group sent it.
    #[error("The producer group wrong: the half message was sent by {sent_by}, not by {group}")]
    WrongGroup {
        /// Who sent it.
        sent_by: String,
        /// Who wants to end it.
        group: String,
    },
    /// Ours: the half could not be read.
    #[error("reading the half message: {why}")]
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

/// A question to a producer: what became of this half?
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The half as a message of its real topic and queue, as stored.
    pub message: Bytes,
    /// Its record's place.
    pub log_offset: LogOffset,
    /// Its offset among the halves.
    pub queue_offset: QueueOffset,
    /// Its `UNIQ_KEY`.
    pub unique_key: String,
    /// The group that sent it (gRPC: the topic).
    pub group: String,
}

#[derive(Clone, Copy, Debug)]
struct Half {
    extent: Extent,
    queue_offset: QueueOffset,
    next_check: Monotonic,
    checks: u32,
    /// Of its `UNIQ_KEY`, see [`store::key_hash`].
    key_hash: u64,
}

/// A half as a checkpoint keeps it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SavedHalf {
    pub(crate) extent: Extent,
    pub(crate) queue_offset: QueueOffset,
    /// How long until its producer is asked.
    pub(crate) next_check: Duration,
    pub(crate) checks: u32,
    pub(crate) key_hash: u64,
}

/// Halves that have not ended, by their records' places.
#[derive(Debug, Default)]
pub(crate) struct Halves {
    waiting: BTreeMap<LogOffset, Half>,
    checks: BTreeSet<(Monotonic, LogOffset)>,
    by_key: BTreeSet<(u64, LogOffset)>,
}

impl Halves {
    pub(crate) fn insert(
        &mut self,
        extent: Extent,
        queue_offset: QueueOffset,
        next_check: Monotonic,
        key_hash: u64,
    ) {
        self.put(Half { extent, queue_offset, next_check, checks: 0, key_hash });
    }

    fn put(&mut self, half: Half) {
        let at = half.extent.at;
        self.waiting.insert(at, half);
        self.checks.insert((half.next_check, at));
        self.by_key.insert((half.key_hash, at));
    }

    /// The newest half whose key has the hash.
    fn by_key(&self, key_hash: u64) -> Option<Extent> {
        let all = (key_hash, LogOffset(0))..=(key_hash, LogOffset(u64::MAX));
        let (_, at) = self.by_key.range(all).next_back()?;
        self.waiting.get(at).map(|half| half.extent)
    }

    /// The place of the oldest one.
    pub(crate) fn first(&self) -> Option<LogOffset> {
        self.waiting.keys().next().copied()
    }

    /// All of them, for a checkpoint.
    pub(crate) fn save(&self, now: Now) -> impl Iterator<Item = SavedHalf> {
        self.waiting.values().map(move |half| SavedHalf {
            extent: half.extent,
            queue_offset: half.queue_offset,
            next_check: half.next_check.since(now.monotonic),
            checks: half.checks,
            key_hash: half.key_hash,
        })
    }

    /// Takes back what a checkpoint kept.
    pub(crate) fn restore(&mut self, saved: &SavedHalf, now: Now) {
        let SavedHalf { extent, queue_offset, next_check, checks, key_hash } = *saved;
        let next_check = now.monotonic.after(next_check);
        self.put(Half { extent, queue_offset, next_check, checks, key_hash });
    }

    /// Ends a half; tells whether it waited.
    pub(crate) fn remove(&mut self, at: LogOffset) -> bool {
        let Some(half) = self.waiting.remove(&at) else { return false };
        self.checks.remove(&(half.next_check, at));
        self.by_key.remove(&(half.key_hash, at));
        true
    }

    pub(crate) fn next_check(&self) -> Option<Monotonic> {
        self.checks.first().map(|(at, _)| *at)
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Takes a half whose producer is to be asked by `now`, and sets when to ask again.
    fn take_check(&mut self, now: Monotonic) -> Option<Half> {
        let (at, place) = *self.checks.first()?;
        if at > now {
            return None;
        }
        self.checks.remove(&(at, place));
        let half = self.waiting.get_mut(&place).expect("checks are of halves that wait");
        half.next_check = now.after(CHECK_EVERY);
        self.checks.insert((half.next_check, place));
        Some(*half)
    }

    fn count_check(&mut self, at: LogOffset) {
        if let Some(half) = self.waiting.get_mut(&at) {
            half.checks += 1;
        }
    }
}

/// When the producer of a half is first asked.
pub(crate) fn first_check(now: Monotonic, immunity: Option<&str>) -> Monotonic {
    let asked = immunity.and_then(|seconds| seconds.parse().ok()).map(Duration::from_secs);
    now.after(asked.unwrap_or(FIRST_CHECK).min(IMMUNITY_MAX))
}

impl Broker {
    /// Stores a half: like a message of the half topic, with its real topic and queue in its properties.
    pub(crate) fn append_half(
        &mut self,
        topic: &Topic,
        queue_id: QueueId,
        mut message: Message,
    ) -> (Extent, QueueOffset) {
        message.sys_flag &= !sys_flag::TRANSACTION_MASK;
        let key = message.properties.get(property::UNIQ_KEY).unwrap_or_default().to_owned();
        message.properties.set(property::TRANSACTION_ID, key.clone());
        message.properties.set(property::REAL_TOPIC, topic.name.as_str());
        message.properties.set(property::REAL_QID, queue_id.to_string());
        let halves = self.topics.get(&half_topic()).expect("system topics are made at the start").clone();
        let appended = self.append_message(&halves, QueueId(0), &message, LogOffset(0));
        let immunity = message.properties.get(property::CHECK_IMMUNITY_TIME_IN_SECONDS);
        let next_check = first_check(self.now.monotonic, immunity);
        let key_hash = store::key_hash(halves.id, &key);
        self.halves.insert(appended.extent, appended.queue_offset, next_check, key_hash);
        (appended.extent, appended.queue_offset)
    }

    pub(crate) fn end_transaction(&mut self, id: RequestId, ask: EndTransaction) {
        if let Some(why) = self.unwritable() {
            return self.reply_now(id, Reply::EndTransaction(Err(EndTransactionError::Unavailable { why })));
        }
        let half = match &ask.half {
            HalfName::Place(at) => self.halves.waiting.get(at).map(|half| half.extent),
            HalfName::Key(_, key) => self.half_by_key(key),
        };
        match half {
            Some(extent) => self.read(vec![extent], Then::EndTransaction(id, ask)),
            None => self.reply_now(id, Reply::EndTransaction(Err(EndTransactionError::HalfUnknown))),
        }
    }

    /// The newest half of that key. Another key may have the same hash; what was read is compared again.
    pub(crate) fn half_by_key(&self, key: &str) -> Option<Extent> {
        let halves = self.topics.by_name(HALF_TOPIC)?;
        self.halves.by_key(store::key_hash(halves, key))
    }

    /// The half was read: ends it.
    pub(crate) fn end_read(
        &mut self,
        id: RequestId,
        ask: &EndTransaction,
        bytes: Result<Vec<Bytes>, ReadError>,
    ) {
        let answer = match bytes {
            Err(error) => Err(EndTransactionError::Unreadable { why: error.to_string() }),
            Ok(bytes) => self.ended_half(ask, bytes.first()),
        };
        self.reply_safe(id, Reply::EndTransaction(answer));
    }

    fn ended_half(&mut self, ask: &EndTransaction, bytes: Option<&Bytes>) -> Result<(), EndTransactionError> {
        let unknown = EndTransactionError::HalfUnknown;
        let (message, placed) =
            bytes.and_then(|bytes| stored::decode(bytes).ok()).ok_or_else(|| unknown.clone())?;
        let real = message.properties.get(property::REAL_TOPIC).unwrap_or_default();
        if let HalfName::Key(topic, key) = &ask.half
            && (real != topic.as_str() || message.properties.get(property::UNIQ_KEY) != Some(key))
        {
            return Err(unknown);
        }
        let sent_by = message.properties.get(property::PGROUP).unwrap_or_default();
        if let Some(group) = ask.group.as_ref().filter(|group| *group != sent_by) {
            return Err(EndTransactionError::WrongGroup {
                sent_by: sent_by.to_owned(),
                group: group.clone(),
            });
        }
        if !self.halves.waiting.contains_key(&placed.log_offset) {
            return Err(unknown);
        }
        match ask.resolution {
            Resolution::Unknown => {}
            Resolution::Commit => self.commit_half(message, &placed),
            Resolution::Rollback => self.note_ended(&placed),
        }
        Ok(())
    }

    /// A half becomes a message of its real topic: now, or at the moment its properties say.
    fn commit_half(&mut self, mut message: Message, placed: &PlacedOwned) {
        self.halves.remove(placed.log_offset);
        self.forget_keys(placed, &message);
        let Some((topic, queue_id)) = self.real_place(&message) else {
            self.stats.orphaned += 1;
            return self.note_ended(placed);
        };
        message.sys_flag |= sys_flag::TRANSACTION_COMMIT;
        message.prepared_transaction_offset = placed.log_offset.0 as i64;
        // It was checked when the half came. Limits are rules of the door: one that is new since then, or a clock
        // that was set back, may not make a message early.
        let open = crate::Config { max_delay_ms: i64::MAX, timer_enabled: true, ..self.config.clone() };
        let Ok(wanted) = schedule::wanted(&message.properties, self.now, &open) else {
            return self.put_aside(&message, placed.log_offset);
        };
        message.properties.remove(property::REAL_TOPIC);
        message.properties.remove(property::REAL_QID);
        self.complete(&mut message, &topic, queue_id, wanted);
        match wanted {
            Wanted::Now => {
                self.stats.stored += 1;
                self.append_message(&topic, queue_id, &message, placed.log_offset);
            }
            Wanted::At { deliver_at, level, .. } => {
                self.stats.scheduled += 1;
                self.append_parked(&topic, queue_id, &message, deliver_at, level, placed.log_offset);
            }
        }
    }

    /// Puts a half where a person finds it.
    fn put_aside(&mut self, message: &Message, half: LogOffset) {
        let aside = self.topic_or_make(aside_topic(), 1);
        self.append_message(&aside, QueueId(0), message, half);
    }

    pub(crate) fn real_place(&self, message: &Message) -> Option<(Topic, QueueId)> {
        let topic = TopicName::new(message.properties.get(property::REAL_TOPIC)?).ok()?;
        let topic = self.topics.get(&topic)?.clone();
        let queue: u32 = message.properties.get(property::REAL_QID)?.parse().ok()?;
        let queue_id = QueueId(queue % topic.write_queues.max(1));
        Some((topic, queue_id))
    }

    /// The half no longer answers to its keys: its message does.
    fn forget_keys(&mut self, placed: &PlacedOwned, message: &Message) {
        let Some(halves) = self.topics.by_name(HALF_TOPIC) else { return };
        let extent = self.half_extent(halves, placed);
        for key in crate::append::keys(message) {
            if let Some(extent) = extent {
                self.keys.remove(halves, &key, extent);
            }
        }
    }

    fn half_extent(&self, halves: TopicId, placed: &PlacedOwned) -> Option<Extent> {
        let queue = self.store.queue(halves, QueueId(0))?;
        queue.get(placed.queue_offset).map(|entry| entry.extent)
    }

    /// Notes in the log that a half has ended without a message.
    fn note_ended(&mut self, placed: &PlacedOwned) {
        self.halves.remove(placed.log_offset);
        let topic = self.topic_or_make(op_topic(), 1);
        let mut note = self.own_message(format!("{},", placed.queue_offset));
        note.properties.set(property::TAGS, "d");
        self.append_message(&topic, QueueId(0), &note, placed.log_offset);
    }

    fn own_message(&self, body: String) -> Message {
        Message {
            flag: 0,
            sys_flag: 0,
            born_at: self.now.wall,
            born_host: self.config.store_host,
            reconsume_times: 0,
            prepared_transaction_offset: 0,
            properties: model::Properties::new(),
            body: Bytes::from(body),
        }
    }

    /// Asks producers what became of halves that have waited long enough.
    pub(crate) fn check_halves(&mut self) {
        for _ in 0..CHECKS_A_TICK {
            let Some(half) = self.halves.take_check(self.now.monotonic) else { break };
            self.read(vec![half.extent], Then::CheckHalf(half.extent, half.queue_offset, half.checks));
        }
    }

    /// A half to ask for was read.
    pub(crate) fn check_read(
        &mut self,
        extent: Extent,
        queue_offset: QueueOffset,
        checks: u32,
        bytes: Result<Vec<Bytes>, ReadError>,
    ) {
        let decoded = bytes.ok().and_then(|all| stored::decode(all.first()?).ok());
        let Some((mut message, placed)) = decoded else {
            self.stats.read_errors += 1;
            return;
        };
        if !self.halves.waiting.contains_key(&extent.at) || self.failing.is_some() {
            return;
        }
        if checks >= CHECKS_MAX {
            self.halves.remove(extent.at);
            return self.put_aside(&message, extent.at);
        }
        let group = message.properties.get(property::PGROUP).unwrap_or_default().to_owned();
        let Some(connection) = self.clients.producer(&group, checks) else { return };
        let Some((topic, queue_id)) = self.real_place(&message) else { return };
        self.halves.count_check(extent.at);
        message.properties.set(property::TRANSACTION_CHECK_TIMES, (checks + 1).to_string());
        let place = stored::Placed {
            topic: topic.name.as_str(),
            queue_id,
            queue_offset,
            log_offset: extent.at,
            stored_at: placed.stored_at,
            store_host: placed.store_host,
        };
        let mut shown = Vec::new();
        stored::encode(&fitting(&message), &place, &mut shown);
        let unique_key = message.properties.get(property::UNIQ_KEY).unwrap_or_default().to_owned();
        let check = Check { message: shown.into(), log_offset: extent.at, queue_offset, unique_key, group };
        self.notices.push_back(Work::Notify(connection, Notice::CheckTransaction(Box::new(check))));
    }
}

fn half_topic() -> TopicName {
    TopicName::new(HALF_TOPIC).expect("a constant name")
}

fn op_topic() -> TopicName {
    TopicName::new(OP_TOPIC).expect("a constant name")
}

fn aside_topic() -> TopicName {
    TopicName::new(ASIDE_TOPIC).expect("a constant name")
}
