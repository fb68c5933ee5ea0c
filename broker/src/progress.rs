//! Progress: how far queues reach and how far groups have read, as tools want to know it.

use crate::lease::Key;
use crate::{Broker, GetBounds, Reply, RequestId};
use model::{GroupName, LogOffset, QueueId, QueueOffset, Timestamp, TopicName};
use std::collections::{BTreeMap, BTreeSet};

/// A question for a topic's queues.
#[derive(Clone, Debug)]
pub struct GetTopicStats {
    /// The topic.
    pub topic: TopicName,
}

/// A topic's queues.
#[derive(Clone, Debug, PartialEq)]
pub struct TopicStats {
    /// Each of them.
    pub queues: Vec<QueueStats>,
    /// Messages that came a second, over the last minute.
    pub put_per_second: f64,
}

/// One queue's ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueStats {
    /// The queue.
    pub queue_id: QueueId,
    /// Its first message.
    pub min: QueueOffset,
    /// Its next message.
    pub max: QueueOffset,
    /// When its last message was stored; 0 for none.
    pub stored_at: Timestamp,
}

/// A question for a group's progress.
#[derive(Clone, Debug)]
pub struct GetProgress {
    /// The group.
    pub group: GroupName,
    /// In these topics; none for all in which it has committed anything.
    pub topics: Vec<TopicName>,
}

/// A group's progress.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// In each queue.
    pub queues: Vec<QueueProgress>,
    /// Messages it got a second, over the last minute.
    pub got_per_second: f64,
}

/// A group's progress in one queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueProgress {
    /// The topic.
    pub topic: TopicName,
    /// The queue.
    pub queue_id: QueueId,
    /// The queue's first message.
    pub min: QueueOffset,
    /// The queue's next message.
    pub max: QueueOffset,
    /// All before it is finished.
    pub finished: QueueOffset,
    /// All before it was handed out.
    pub taken: QueueOffset,
    /// When the last finished message was stored; 0 for none.
    pub finished_stored_at: Timestamp,
    /// When the first message was stored; 0 for none.
    pub min_stored_at: Timestamp,
    /// When the last message was stored; 0 for none.
    pub max_stored_at: Timestamp,
}

/// A question for the groups that read a topic, or have.
#[derive(Clone, Debug)]
pub struct GetGroupsOf {
    /// The topic.
    pub topic: TopicName,
}

/// A question for the topics that a group reads, or has.
#[derive(Clone, Debug)]
pub struct GetTopicsOf {
    /// The group.
    pub group: GroupName,
}

/// A question for a part of a queue's index.
#[derive(Clone, Debug)]
pub struct GetEntries {
    /// The topic.
    pub topic: TopicName,
    /// The queue.
    pub queue_id: QueueId,
    /// From this message on.
    pub from: QueueOffset,
    /// So many at most; 128 is the server's own limit.
    pub count: u32,
}

/// A part of a queue's index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entries {
    /// The queue's first message.
    pub min: QueueOffset,
    /// The queue's next message.
    pub max: QueueOffset,
    /// The messages asked for.
    pub entries: Vec<IndexEntry>,
}

/// One message in a queue's index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexEntry {
    /// Where it lies.
    pub log_offset: LogOffset,
    /// Its bytes.
    pub length: u32,
    /// The number of its tag.
    pub tag_code: i64,
    /// When it was stored.
    pub stored_at: Timestamp,
}

/// Why there is no index to see.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GetEntriesError {
    /// No message has come to such a queue (1).
    #[error("topic {topic} has no queue {queue_id} with messages")]
    QueueUnknown {
        /// The topic.
        topic: TopicName,
        /// The queue.
        queue_id: QueueId,
    },
    /// It is a view of messages that wait for their moment (16).
    #[error(
        "topic {topic} is a view without an index; pending delayed messages are listed by `duemq pending list`"
    )]
    View {
        /// The topic.
        topic: TopicName,
    },
}

/// A question for the committed offsets of all groups.
#[derive(Clone, Copy, Debug)]
pub struct GetOffsets;

/// A question for the least offset that any group has committed in each queue of a topic.
#[derive(Clone, Debug)]
pub struct GetLeastOffsets {
    /// The topic.
    pub topic: TopicName,
    /// Groups that do not count.
    pub without: Vec<GroupName>,
    /// Where this group lags behind the least one, the answer is the end of all offsets.
    pub compare: GroupName,
}

/// Entries of an index in one answer, at most.
const ENTRIES_MAX: usize = 128;

impl Broker {
    pub(crate) fn get_topic_stats(&mut self, id: RequestId, ask: &GetTopicStats) {
        let stats = self.topics.get(&ask.topic).map(|topic| {
            let queues = (0..topic.queues()).map(QueueId).map(|queue_id| {
                let bounds = self.bounds(&GetBounds { topic: ask.topic.clone(), queue_id });
                let queue = self.store.queue(topic.id, queue_id);
                let last = queue.and_then(|queue| queue.get(queue.max().plus(-1)));
                let stored_at = last.map_or(Timestamp::default(), |last| last.stored_at);
                QueueStats { queue_id, min: bounds.min, max: bounds.max, stored_at }
            });
            let put_per_second = self.traffic.put_per_second(topic.id, self.now.monotonic);
            TopicStats { queues: queues.collect(), put_per_second }
        });
        self.reply(id, Reply::GetTopicStats(stats));
    }

    pub(crate) fn get_progress(&mut self, id: RequestId, ask: &GetProgress) {
        let mut topics = ask.topics.clone();
        if topics.is_empty() {
            topics = self.topics_read_by(&ask.group).into_iter().collect();
            // What an online group no longer wants is of no interest.
            if let Some(members) = self.clients.members(&ask.group) {
                let wanted: BTreeSet<&TopicName> = members.subscriptions.iter().map(|s| &s.topic).collect();
                let retry = format!("{}_", TopicName::retry(&ask.group));
                topics.retain(|topic| wanted.contains(topic) || topic.as_str().starts_with(&retry));
            }
        }
        let mut progress = Progress::default();
        for topic in &topics {
            let Some(topic) = self.topics.get(topic) else { continue };
            let (name, id) = (topic.name.clone(), topic.id);
            progress.got_per_second += self.traffic.got_per_second(id, &ask.group, self.now.monotonic);
            progress.queues.extend(
                (0..topic.read_queues)
                    .map(|queue_id| self.queue_progress(&ask.group, &name, id, QueueId(queue_id))),
            );
        }
        self.reply(id, Reply::GetProgress(progress));
    }

    fn queue_progress(
        &self,
        group: &GroupName,
        topic: &TopicName,
        id: model::TopicId,
        queue_id: QueueId,
    ) -> QueueProgress {
        let queue = self.store.queue(id, queue_id);
        let stored_at = |offset: QueueOffset| {
            queue.and_then(|queue| queue.get(offset)).map_or(Timestamp::default(), |entry| entry.stored_at)
        };
        let (min, max) = queue.map_or_else(Default::default, |queue| (queue.min(), queue.max()));
        let finished = self.offsets.get(group, id, queue_id).unwrap_or_default();
        let popped = self.leases.get(&Key { group: group.clone(), topic: id, queue_id });
        let taken = popped.map_or(finished, |popped| popped.next().max(finished));
        QueueProgress {
            topic: topic.clone(),
            queue_id,
            min,
            max,
            finished,
            taken,
            finished_stored_at: stored_at(finished.plus(-1)),
            min_stored_at: stored_at(min),
            max_stored_at: stored_at(max.plus(-1)),
        }
    }

    /// The topics in which a group has committed anything.
    fn topics_read_by(&self, group: &GroupName) -> BTreeSet<TopicName> {
        let ids: BTreeSet<_> = self.offsets.of_group(group).map(|(topic, ..)| topic).collect();
        ids.into_iter().filter_map(|id| self.topics.by_id(id)).map(|topic| topic.name.clone()).collect()
    }

    pub(crate) fn get_groups_of(&mut self, id: RequestId, ask: &GetGroupsOf) {
        let mut groups: BTreeSet<GroupName> = self.clients.groups_wanting(&ask.topic).cloned().collect();
        if let Some(topic) = self.topics.get(&ask.topic) {
            groups.extend(self.offsets.groups_of(topic.id).cloned());
        }
        self.reply(id, Reply::GetGroupsOf(groups.into_iter().collect()));
    }

    pub(crate) fn get_topics_of(&mut self, id: RequestId, ask: &GetTopicsOf) {
        let mut topics = self.topics_read_by(&ask.group);
        let wanted = self.clients.members(&ask.group).into_iter().flat_map(|members| members.subscriptions);
        topics.extend(wanted.map(|subscription| subscription.topic));
        self.reply(id, Reply::GetTopicsOf(topics.into_iter().collect()));
    }

    pub(crate) fn get_offsets(&mut self, id: RequestId) {
        let all = self.offsets.iter().filter_map(|(group, topic, queue_id, offset)| {
            Some((group.clone(), self.topics.by_id(topic)?.name.clone(), queue_id, offset))
        });
        let all = all.collect();
        self.reply(id, Reply::GetOffsets(all));
    }

    /// Peer: `AdminBrokerProcessor#queryCorrectionOffset`, which forgets the offsets of the groups that do not count.
    pub(crate) fn get_least_offsets(&mut self, id: RequestId, ask: &GetLeastOffsets) {
        let mut least: BTreeMap<QueueId, QueueOffset> = BTreeMap::new();
        if let Some(topic) = self.topics.get(&ask.topic).map(|topic| topic.id) {
            for group in self.offsets.groups_of(topic).filter(|group| !ask.without.contains(*group)) {
                for (_, queue_id, offset) in self.offsets.of_group(group).filter(|(of, ..)| *of == topic) {
                    let known = least.entry(queue_id).or_insert(offset);
                    *known = offset.min(*known);
                }
            }
            for (queue_id, offset) in &mut least {
                if self.offsets.get(&ask.compare, topic, *queue_id).is_some_and(|compared| compared < *offset)
                {
                    *offset = QueueOffset(i64::MAX);
                }
            }
        }
        self.reply(id, Reply::GetLeastOffsets(least));
    }

    pub(crate) fn get_entries(&mut self, id: RequestId, ask: &GetEntries) {
        let entries = self.entries(ask);
        self.reply(id, Reply::GetEntries(entries));
    }

    fn entries(&self, ask: &GetEntries) -> Result<Entries, GetEntriesError> {
        if crate::schedule::Views::level_of(ask.topic.as_str(), ask.queue_id).is_some() {
            return Err(GetEntriesError::View { topic: ask.topic.clone() });
        }
        let queue = self.topics.get(&ask.topic).and_then(|topic| self.store.queue(topic.id, ask.queue_id));
        let Some(queue) = queue else {
            return Err(GetEntriesError::QueueUnknown { topic: ask.topic.clone(), queue_id: ask.queue_id });
        };
        let from = ask.from.max(queue.min());
        let entries = queue.iter_from(from).take((ask.count as usize).min(ENTRIES_MAX));
        let entries = entries.map(|entry| IndexEntry {
            log_offset: entry.extent.at,
            length: entry.extent.length,
            tag_code: entry.tag_code,
            stored_at: entry.stored_at,
        });
        Ok(Entries { min: queue.min(), max: queue.max(), entries: entries.collect() })
    }
}
