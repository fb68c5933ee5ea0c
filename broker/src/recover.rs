//! Recover: all that is derived from the log is built anew from it, record by record.

use crate::append::keys_of;
use crate::checkpoint::Checkpoints;
use crate::lease::Key;
use crate::manifest::{self, Manifest, QUEUES, STATE};
use crate::transaction::{HALF_TOPIC, first_check};
use crate::{Broker, Config, Stats, schedule, state};
use env::Disk;
use journal::{Extent, Kind, OpenError, Record};
use model::{GroupName, LogOffset, Now, Timestamp};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use wire::stored::View;
use wire::{property, record, tag};

/// What a start found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// What the log says of itself.
    pub log: journal::Recovery,
    /// Messages that wait for their moment.
    pub pending: u64,
    /// Of these, how many are due already; of those in buckets that are not read yet, at most so many.
    pub overdue: u64,
    /// Records that could not be understood, though their checksum is right.
    pub unknown: u64,
    /// By how much the clock is behind the moment at which the last checkpoint was written.
    pub clock_behind: Option<Duration>,
}

pub(crate) fn open(disk: Arc<dyn Disk>, config: Config, now: Now) -> Result<(Broker, Recovered), OpenError> {
    let manifest = Manifest::read(&*disk)?.unwrap_or_default();
    manifest.tidy(&*disk)?;
    let mut replay = Replay::new(now);
    replay.restore(&manifest, &*disk)?;
    let behind_ms = u64::try_from(manifest.written_at.millis_since(now.wall)).unwrap_or(0);
    let clock_behind = (behind_ms > 0).then(|| Duration::from_millis(behind_ms));
    let (from, epoch) = (manifest.checkpoint, (manifest.generation > 0).then_some(manifest.epoch));
    let mut each = |record: Record<'_>| replay.apply(&record);
    let (log, recovery) = journal::Log::open_from(disk, config.log.clone(), from, epoch, &mut each)?;
    let Replay {
        store,
        offsets,
        keys,
        timer,
        topics,
        groups,
        leases,
        pop_retries,
        consume_modes,
        forbidden,
        views,
        recalled,
        halves,
        resets,
        values,
        unknown,
        ..
    } = replay;
    if manifest.generation == 0 && recovery.first > LogOffset(0) {
        let found = format!("a log that begins at {}", recovery.first);
        return Err(manifest::damaged(
            "the data folder",
            "a manifest, as the log's beginning is gone",
            &found,
        ));
    }
    let mut timer = timer.shaped(config.buckets);
    timer.count_seconds(config.pending_per_second_max.is_some());
    let pending = timer.len() as u64;
    let overdue = timer.overdue(now.wall);
    let mut broker = Broker {
        config,
        now,
        log,
        store,
        offsets,
        offsets_at: None,
        keys,
        keyed: crate::dedup::KeyedSends::default(),
        crowd: crate::crowd::Crowd::default(),
        checkpoints: Checkpoints::new(manifest, now),
        timer,
        topics,
        groups,
        clients: crate::client::Clients::default(),
        handovers: crate::handover::Handovers::default(),
        leases,
        pop_retries,
        consume_modes,
        forbidden,
        locks: crate::lock::Locks::default(),
        recalled,
        halves,
        resets,
        values,
        traffic: crate::traffic::Traffic::default(),
        opened_at: now.wall,
        parked: crate::park::Parked::default(),
        due: crate::deliver::DueQueue::default(),
        views,
        reads: crate::read::Reads::default(),
        replies: crate::reply::Replies::default(),
        with_leases: Vec::new(),
        touched: std::collections::BTreeSet::new(),
        pop_touched: std::collections::BTreeSet::new(),
        notices: std::collections::VecDeque::new(),
        failing: None,
        uniques: 0,
        stats: Stats::default(),
    };
    // What was let go of since the checkpoint is in its files all the same.
    broker.trim(broker.log.first());
    broker.make_system_topics();
    Ok((broker, Recovered { log: recovery, pending, overdue, unknown, clock_behind }))
}

/// What is being rebuilt.
pub(crate) struct Replay {
    pub(crate) now: Now,
    store: store::Store,
    pub(crate) offsets: store::Offsets,
    keys: store::Keys,
    timer: timer::Timer,
    pub(crate) topics: crate::topic::Topics,
    pub(crate) groups: crate::group::Groups,
    pub(crate) leases: crate::lease::Leases,
    pub(crate) pop_retries: crate::pop_retry::PopRetries,
    pub(crate) consume_modes: crate::assignment::ConsumeModes,
    pub(crate) forbidden: crate::forbid::Forbidden,
    pub(crate) views: schedule::Views,
    pub(crate) recalled: crate::recall::RecalledMessages,
    pub(crate) halves: crate::transaction::Halves,
    pub(crate) resets: crate::reset::Resets,
    pub(crate) values: crate::kv::Values,
    unknown: u64,
}

impl Replay {
    fn new(now: Now) -> Self {
        Self {
            now,
            store: store::Store::new(),
            offsets: store::Offsets::new(),
            keys: store::Keys::new(),
            timer: timer::Timer::new(now.wall),
            topics: crate::topic::Topics::default(),
            groups: crate::group::Groups::default(),
            leases: crate::lease::Leases::default(),
            pop_retries: crate::pop_retry::PopRetries::default(),
            consume_modes: crate::assignment::ConsumeModes::default(),
            forbidden: crate::forbid::Forbidden::default(),
            views: schedule::Views::new(),
            recalled: crate::recall::RecalledMessages::default(),
            halves: crate::transaction::Halves::default(),
            resets: crate::reset::Resets::default(),
            values: crate::kv::Values::default(),
            unknown: 0,
        }
    }

    /// Takes what a checkpoint kept.
    fn restore(&mut self, manifest: &Manifest, disk: &dyn Disk) -> Result<(), OpenError> {
        if manifest.generation == 0 {
            return Ok(());
        }
        let file = manifest::name(STATE, manifest.generation);
        let bytes = manifest::read_file(disk, &file)?;
        let Some(rest) = state::apply(&bytes, self) else {
            return Err(manifest::damaged(
                &file,
                "a state of format 1",
                "another, or one with another checksum",
            ));
        };
        let catalog = Arc::clone(&manifest.timer);
        self.timer = timer::Timer::restore(self.now.wall, catalog, manifest.checkpoint, rest.pending);
        let mut parts: BTreeMap<_, Vec<store::Piece>> = BTreeMap::new();
        for file in &manifest.queues {
            let file = manifest::name(QUEUES, file.generation);
            for part in store::queue_file::read(disk, &file).map_err(index_error)? {
                parts.entry((part.topic, part.queue_id)).or_default().push(part.piece);
            }
        }
        for queue in rest.queues {
            let pieces = parts.remove(&(queue.topic, queue.queue_id)).unwrap_or_default();
            let restored = self.store.restore(queue.topic, queue.queue_id, queue.min, queue.max, pieces);
            restored.map_err(|missing| {
                let expected =
                    format!("offset {missing} of queue {} of topic {}", queue.queue_id, queue.topic);
                manifest::damaged(&file, &expected, "no file of queues that holds it")
            })?;
        }
        Ok(())
    }

    fn apply(&mut self, record: &Record<'_>) {
        if self.understood(record).is_none() {
            self.unknown += 1;
        }
    }

    fn understood(&mut self, record: &Record<'_>) -> Option<()> {
        let extent = Extent { at: record.at, length: record.payload.len() as u32 };
        match record.header.kind {
            Kind::Message => self.message(extent, record)?,
            Kind::TimerPut => self.parked(extent, record)?,
            Kind::Deliver => self.delivered(extent, record)?,
            Kind::Leases => {
                for entry in record::Leases::decode(record.payload).ok()?.entries {
                    self.leases.restore(entry, self.now);
                }
            }
            Kind::Acks => {
                for entry in &record::Acks::decode(record.payload).ok()?.entries {
                    self.leases.restore_ack(entry, self.now);
                }
            }
            Kind::Offsets => {
                for entry in record::Offsets::decode(record.payload).ok()?.entries {
                    let group = GroupName::new(&entry.group).ok()?;
                    // Only a reader that has heard of a reset commits again.
                    self.resets.take(&group, entry.topic, entry.queue_id);
                    self.offsets.restore(&group, entry.topic, entry.queue_id, entry.offset);
                }
            }
            Kind::Meta => match record::Meta::decode(record.payload).ok()? {
                record::Meta::Topic(topic) => self.topics.put(topic),
                record::Meta::Group(group) => self.groups.put(group),
                record::Meta::TopicDeleted { id } => self.topic_deleted(id),
                record::Meta::GroupDeleted { name } => self.group_deleted(&name),
                record::Meta::OffsetReset { group, topic, queue_id, offset } => {
                    self.offsets.restore(&group, topic, queue_id, offset);
                    self.leases.reset(&Key { group: group.clone(), topic, queue_id }, offset);
                    self.resets.put(group, topic, queue_id, offset);
                }
                record::Meta::Value { namespace, key, value } => self.values.put(namespace, key, value),
                record::Meta::PopRetry { retry, topic, group } => self.pop_retries.put(retry, group, topic),
                record::Meta::ConsumeMode { topic, group, mode } => {
                    self.consume_modes.put(group, topic, mode);
                }
                record::Meta::Forbidden { topic, group, forbidden } => {
                    self.forbidden.put(group, topic, forbidden);
                }
                record::Meta::BrokerName(_) => return None,
            },
            Kind::Checkpoint | Kind::Pad => {}
            Kind::TimerRecall => self.recalled(record)?,
            Kind::TimerReschedule => self.rescheduled(extent, record)?,
            Kind::DeliverRef => return None,
        }
        Some(())
    }

    /// Peer of [`Broker::delete_topic`]: what is derived is taken apart in the same way.
    fn topic_deleted(&mut self, topic: model::TopicId) {
        for (level, count) in self.timer.drop_topic(topic) {
            self.views.all_left(level, count);
        }
        self.store.drop_topic(topic);
        self.offsets.drop_topic(topic);
        self.leases.drop_topic(topic);
        self.pop_retries.drop_topic(topic);
        self.consume_modes.drop_topic(topic);
        self.forbidden.drop_topic(topic);
        self.resets.drop_topic(topic);
        self.recalled.drop_topic(topic);
        self.topics.remove(topic);
    }

    fn group_deleted(&mut self, group: &GroupName) {
        self.groups.remove(group);
        self.offsets.drop_group(group);
        self.leases.drop_group(group);
        self.consume_modes.drop_group(group);
        self.forbidden.drop_group(group);
        self.resets.drop_group(group);
    }

    fn message(&mut self, extent: Extent, record: &Record<'_>) -> Option<()> {
        let view = View::parse(record.payload).ok()?;
        let topic = self.topics.by_name(view.topic())?;
        if record.header.reference != LogOffset(0) && !self.halves.remove(record.header.reference) {
            let (copied_to, of) = (self.topics.by_id(topic)?, record.header.reference);
            self.leases.restore_ended(copied_to, of, &self.topics, &self.pop_retries, &self.store);
        }
        if view.topic() == HALF_TOPIC {
            let immunity = view.property(property::CHECK_IMMUNITY_TIME_IN_SECONDS);
            let next_check = first_check(self.now.monotonic, immunity);
            let key = view.property(property::UNIQ_KEY).unwrap_or_default();
            self.halves.insert(extent, view.queue_offset(), next_check, store::key_hash(topic, key));
        }
        self.visible(topic, extent, &view);
        Some(())
    }

    fn visible(&mut self, topic: model::TopicId, extent: Extent, view: &View<'_>) {
        let tag_code = view.property(property::TAGS).map_or(0, tag::code);
        let entry = store::Entry { extent, tag_code, stored_at: view.stored_at() };
        let offset = self.store.queue_mut_or_new(topic, view.queue_id()).append(entry);
        assert_eq!(offset, view.queue_offset(), "queue offsets are dense; record {}", extent.at);
        for key in keys_of(view) {
            self.keys.insert(topic, &key, extent);
        }
    }

    fn parked(&mut self, extent: Extent, record: &Record<'_>) -> Option<()> {
        let view = View::parse(record.payload).ok()?;
        let topic = self.topics.by_name(view.topic())?;
        let level = record.header.flags;
        self.views.accepted(level);
        self.halves.remove(record.header.reference);
        self.waits(topic, extent, record, &view)
    }

    /// A message waits, as its record says.
    fn waits(
        &mut self,
        topic: model::TopicId,
        extent: Extent,
        record: &Record<'_>,
        view: &View<'_>,
    ) -> Option<()> {
        for key in keys_of(view) {
            self.keys.insert_parked(topic, &key, extent);
        }
        self.timer.schedule(timer::Entry {
            deliver_at: Timestamp::from_millis(i64::try_from(record.header.due_ms).ok()?),
            log_offset: extent.at,
            length: extent.length,
            topic,
            key_hash: view.property(property::UNIQ_KEY).map_or(0, |key| store::key_hash(topic, key)),
            position: timer::IN_LOG,
            level: record.header.flags,
        });
        Some(())
    }

    /// Peer of [`Broker::reschedule`].
    fn rescheduled(&mut self, extent: Extent, record: &Record<'_>) -> Option<()> {
        let view = View::parse(record.payload).ok()?;
        let topic = self.topics.by_name(view.topic())?;
        let (was, at) = (Timestamp::from_millis(view.queue_offset().0), record.header.reference);
        if at < self.timer.checkpoint() {
            self.timer.replay_removed((was, at), topic, record.header.flags);
        } else {
            let old = self.timer.remove(was, at)?;
            for key in keys_of(&view) {
                self.keys.remove(topic, &key, Extent { at, length: old.length });
            }
        }
        self.waits(topic, extent, record, &view)
    }

    fn recalled(&mut self, record: &Record<'_>) -> Option<()> {
        let record::Recall { of, keys } = record::Recall::decode(record.payload).ok()?;
        let deliver_at = Timestamp::from_millis(i64::try_from(record.header.due_ms).ok()?);
        if record.header.reference < self.timer.checkpoint() {
            let ((topic, key_hash), level) = (of?, record.header.flags);
            self.timer.replay_removed((deliver_at, record.header.reference), topic, level);
            self.views.left(level);
            self.recalled.insert(topic, key_hash, deliver_at);
            return Some(());
        }
        let entry = self.timer.remove(deliver_at, record.header.reference)?;
        let extent = Extent { at: entry.log_offset, length: entry.length };
        for key in &keys {
            self.keys.remove(entry.topic, key, extent);
        }
        self.views.left(entry.level);
        self.recalled.insert(entry.topic, entry.key_hash, deliver_at);
        Some(())
    }

    fn delivered(&mut self, extent: Extent, record: &Record<'_>) -> Option<()> {
        let view = View::parse(record.payload).ok()?;
        let topic = self.topics.by_name(view.topic())?;
        let deliver_at = Timestamp::from_millis(i64::try_from(record.header.due_ms).ok()?);
        if record.header.reference < self.timer.checkpoint() {
            self.timer.replay_removed((deliver_at, record.header.reference), topic, record.header.flags);
            self.views.left(record.header.flags);
        } else if let Some(entry) = self.timer.remove(deliver_at, record.header.reference) {
            let parked = Extent { at: entry.log_offset, length: entry.length };
            for key in keys_of(&view) {
                self.keys.remove(topic, &key, parked);
            }
            self.views.left(entry.level);
        }
        self.visible(topic, extent, &view);
        Some(())
    }
}

fn index_error(error: store::FileError) -> OpenError {
    match error {
        store::FileError::Io { doing, file, source } => OpenError::Io { doing, file, source },
        store::FileError::Sync { file, source } => OpenError::Io { doing: "syncing", file, source },
        store::FileError::Damaged { file, length, expected, found } => {
            OpenError::Corrupt { file, at: length, expected: expected.to_owned(), found: found.to_owned() }
        }
    }
}
