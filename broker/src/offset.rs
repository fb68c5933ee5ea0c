//! Offsets: how far groups have read, and how far queues reach.

use crate::config::{OFFSETS_EVERY, RECORD_ENTRIES_MAX, YOUNG_BYTES};
use crate::group::NoGroup;
use crate::schedule::Views;
use crate::{Broker, Reply, RequestId};
use journal::Kind;
use model::{GroupName, Monotonic, QueueId, QueueOffset, Timestamp, TopicId, TopicName};
use wire::record;

/// A question for a group's committed offset.
#[derive(Clone, Debug)]
pub struct QueryOffset {
    /// Who.
    pub group: GroupName,
    /// Of which topic.
    pub topic: TopicName,
    /// Of which queue.
    pub queue_id: QueueId,
    /// Whether a group without an offset may begin at 0 where the queue is young.
    pub zero_if_young: bool,
}

/// Why there is no offset to tell.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryOffsetError {
    /// None is committed (22).
    #[error("Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first")]
    NotCommitted,
}

/// A group has read up to an offset.
#[derive(Clone, Debug)]
pub struct CommitOffset {
    /// Who.
    pub group: GroupName,
    /// Of which topic.
    pub topic: TopicName,
    /// Of which queue.
    pub queue_id: QueueId,
    /// The next message to read; beyond the queue's end it counts as that.
    pub queue_offset: QueueOffset,
}

/// Why an offset was not committed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommitOffsetError {
    /// The caller's (17).
    #[error("topic {topic} does not exist")]
    TopicUnknown {
        /// The topic.
        topic: TopicName,
    },
    /// The caller's (29).
    #[error("queue {queue_id} of topic {topic} does not exist, it has {queues}")]
    QueueUnknown {
        /// The topic.
        topic: TopicName,
        /// The queue.
        queue_id: QueueId,
        /// How many there are.
        queues: u32,
    },
    /// The caller's: no such group, and it may not be made by this (26).
    #[error(transparent)]
    GroupUnknown(#[from] NoGroup),
}

/// A question for a queue's ends.
#[derive(Clone, Debug)]
pub struct GetBounds {
    /// The topic.
    pub topic: TopicName,
    /// The queue.
    pub queue_id: QueueId,
}

/// A queue's ends; both 0 where there is no such queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Its first message.
    pub min: QueueOffset,
    /// Its next message.
    pub max: QueueOffset,
}

/// A question for the offset of a moment. Peer: `ConsumeQueue.binarySearchInQueueByTime`.
#[derive(Clone, Debug)]
pub struct SearchOffset {
    /// The topic.
    pub topic: TopicName,
    /// The queue.
    pub queue_id: QueueId,
    /// The moment a message was stored (delivered).
    pub at: Timestamp,
    /// The last message up to the moment rather than the first from it on.
    pub upper: bool,
}

impl Broker {
    pub(crate) fn query_offset(&mut self, id: RequestId, ask: &QueryOffset) {
        let committed = self.topics.get(&ask.topic).and_then(|topic| {
            let committed = self.offsets.get(&ask.group, topic.id, ask.queue_id);
            committed.or_else(|| {
                (ask.zero_if_young && self.is_young(topic.id, ask.queue_id)).then_some(QueueOffset(0))
            })
        });
        self.reply(id, Reply::QueryOffset(committed.ok_or(QueryOffsetError::NotCommitted)));
    }

    /// Whether a group without an offset may begin with the queue's first message: that is offset 0 and lies
    /// among the newest bytes of the log.
    pub(crate) fn is_young(&self, topic: TopicId, queue_id: QueueId) -> bool {
        let Some(queue) = self.store.queue(topic, queue_id) else {
            return true;
        };
        queue.min() == QueueOffset(0)
            && queue
                .get(QueueOffset(0))
                .is_none_or(|first| self.log.appended().0 - first.extent.at.0 <= YOUNG_BYTES)
    }

    pub(crate) fn commit_offset(&mut self, id: RequestId, ask: &CommitOffset) {
        let answer = self.committed(ask);
        self.reply(id, Reply::CommitOffset(answer));
    }

    fn committed(&mut self, ask: &CommitOffset) -> Result<(), CommitOffsetError> {
        let Some(topic) = self.topics.get(&ask.topic) else {
            return Err(CommitOffsetError::TopicUnknown { topic: ask.topic.clone() });
        };
        let (id, queues) = (topic.id, topic.queues());
        if ask.queue_id.0 >= queues {
            return Err(CommitOffsetError::QueueUnknown {
                topic: ask.topic.clone(),
                queue_id: ask.queue_id,
                queues,
            });
        }
        // Last, so that a refused commit makes no group.
        self.group_or_make(&ask.group)?;
        self.commit(&ask.group, id, ask.queue_id, ask.queue_offset);
        Ok(())
    }

    /// Commits, within what the queue holds; not while the group has yet to hear of a reset. It is written to the log a moment later.
    pub(crate) fn commit(
        &mut self,
        group: &GroupName,
        topic: TopicId,
        queue_id: QueueId,
        offset: QueueOffset,
    ) {
        let max = self.store.queue(topic, queue_id).map_or(QueueOffset(0), store::ConsumeQueue::max);
        let offset = offset.clamp(QueueOffset(0), max);
        if self.resets.is_waiting(group, topic, queue_id) {
            return;
        }
        if self.offsets.get(group, topic, queue_id) != Some(offset) {
            self.offsets.commit(group, topic, queue_id, offset);
            let due = self.now.monotonic.after(OFFSETS_EVERY);
            self.offsets_at.get_or_insert(due);
        }
    }

    /// When committed offsets are to be written.
    pub(crate) fn offsets_due(&self) -> Option<Monotonic> {
        self.offsets_at
    }

    /// Writes what was committed, once it has waited long enough.
    pub(crate) fn write_offsets(&mut self) {
        if self.offsets_at.is_none_or(|at| at > self.now.monotonic) {
            return;
        }
        self.write_offsets_now();
    }

    /// Writes what was committed.
    pub(crate) fn write_offsets_now(&mut self) {
        self.offsets_at = None;
        let entries = self.offsets.take_dirty().into_iter().map(|(group, topic, queue_id, offset)| {
            record::OffsetEntry { group: group.to_string(), topic, queue_id, offset }
        });
        let entries: Vec<_> = entries.collect();
        for some in entries.chunks(RECORD_ENTRIES_MAX) {
            let mut payload = Vec::new();
            record::Offsets { entries: some.to_vec() }.encode(&mut payload);
            self.append_record(Kind::Offsets, &payload);
        }
    }

    pub(crate) fn get_bounds(&mut self, id: RequestId, ask: &GetBounds) {
        let bounds = self.bounds(ask);
        self.reply(id, Reply::GetBounds(bounds));
    }

    pub(crate) fn bounds(&self, ask: &GetBounds) -> Bounds {
        let (min, max) = match Views::level_of(ask.topic.as_str(), ask.queue_id) {
            Some(level) => self.views.bounds(level),
            None => {
                let queue = self.topics.get(&ask.topic).and_then(|t| self.store.queue(t.id, ask.queue_id));
                queue.map_or_else(Default::default, |queue| (queue.min(), queue.max()))
            }
        };
        Bounds { min, max }
    }

    pub(crate) fn search_offset(&mut self, id: RequestId, ask: &SearchOffset) {
        let queue = self.topics.get(&ask.topic).and_then(|topic| self.store.queue(topic.id, ask.queue_id));
        let offset = queue.map_or(QueueOffset(0), |queue| queue.search(ask.at, ask.upper));
        self.reply(id, Reply::SearchOffset(offset));
    }
}
