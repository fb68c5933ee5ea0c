//! Reset: an administrator sets how far a group has read.
//!
//! Its consumers may be reading: until each has heard of it, what they commit is not taken. A pull hears of it
//! at once, as an offset that moved; a pop reads on from the new place, and its old leases are over.
//!
//! Peer: `ConsumerOffsetManager#assignResetOffset` (RocketMQ 5.x), which forgets a reset when it ends.

use crate::lease::Key;
use crate::{Broker, Reply, RequestId};
use journal::Kind;
use model::{GroupName, QueueId, QueueOffset, Timestamp, TopicId, TopicName};
use std::collections::BTreeMap;
use wire::record;

/// A group shall read on from another place.
#[derive(Clone, Debug)]
pub struct ResetOffset {
    /// The group.
    pub group: GroupName,
    /// The topic.
    pub topic: TopicName,
    /// The queue; `None` for all.
    pub queue_id: Option<QueueId>,
    /// The place.
    pub to: ResetTo,
    /// Whether a place behind what it has read is left as it is.
    pub only_back: bool,
}

/// Where a group shall read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetTo {
    /// From this message on.
    Offset(QueueOffset),
    /// From the first message stored from then on.
    Stored(Timestamp),
    /// Behind the last message.
    End,
}

/// Why nothing was reset.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResetOffsetError {
    /// The caller's (17).
    #[error("topic {topic} does not exist")]
    TopicUnknown {
        /// The topic.
        topic: TopicName,
    },
    /// The caller's (26).
    #[error("group {group} does not exist")]
    GroupUnknown {
        /// The group.
        group: GroupName,
    },
    /// The caller's (1).
    #[error("queue {queue_id} of topic {topic} does not exist, it has {queues} to read")]
    QueueUnknown {
        /// The topic.
        topic: TopicName,
        /// The queue.
        queue_id: QueueId,
        /// How many there are.
        queues: u32,
    },
    /// The caller's (1): a place outside the queue.
    #[error("offset {offset} is outside queue {queue_id} of topic {topic}, which holds {min} to {max}")]
    OffsetOutside {
        /// The topic.
        topic: TopicName,
        /// The queue.
        queue_id: QueueId,
        /// The place.
        offset: QueueOffset,
        /// The queue's first message.
        min: QueueOffset,
        /// The queue's next message.
        max: QueueOffset,
    },
    /// Ours, passing: the log cannot be written.
    #[error("the log cannot be written: {why}")]
    Unavailable {
        /// Why.
        why: String,
    },
}

/// A group shall have read as far as another has.
#[derive(Clone, Debug)]
pub struct CloneOffsets {
    /// The group whose places are taken.
    pub from: GroupName,
    /// The group that gets them.
    pub to: GroupName,
    /// Of one topic; `None` for all.
    pub topic: Option<TopicName>,
}

/// Resets that the readers have not heard of.
#[derive(Debug, Default)]
pub(crate) struct Resets(BTreeMap<(GroupName, TopicId, QueueId), QueueOffset>);

impl Resets {
    /// Whether a reader has still to hear of one.
    pub(crate) fn is_waiting(&self, group: &GroupName, topic: TopicId, queue_id: QueueId) -> bool {
        !self.0.is_empty() && self.0.contains_key(&(group.clone(), topic, queue_id))
    }

    /// Takes the one that a reader hears of now.
    pub(crate) fn take(
        &mut self,
        group: &GroupName,
        topic: TopicId,
        queue_id: QueueId,
    ) -> Option<QueueOffset> {
        if self.0.is_empty() { None } else { self.0.remove(&(group.clone(), topic, queue_id)) }
    }

    pub(crate) fn put(&mut self, group: GroupName, topic: TopicId, queue_id: QueueId, offset: QueueOffset) {
        self.0.insert((group, topic, queue_id), offset);
    }

    /// All that wait to be heard of.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (GroupName, TopicId, QueueId, QueueOffset)> {
        self.0.iter().map(|((group, topic, queue_id), offset)| (group.clone(), *topic, *queue_id, *offset))
    }

    pub(crate) fn drop_topic(&mut self, topic: TopicId) {
        self.0.retain(|&(_, of, _), _| of != topic);
    }

    pub(crate) fn drop_group(&mut self, group: &GroupName) {
        self.0.retain(|(of, ..), _| of != group);
    }
}

impl Broker {
    pub(crate) fn reset_offset(&mut self, id: RequestId, ask: &ResetOffset) {
        let answer = self.offsets_reset(ask);
        self.reply_safe(id, Reply::ResetOffset(answer));
    }

    fn offsets_reset(&mut self, ask: &ResetOffset) -> Result<Vec<(QueueId, QueueOffset)>, ResetOffsetError> {
        if let Some(why) = self.unwritable() {
            return Err(ResetOffsetError::Unavailable { why });
        }
        let Some(topic) = self.topics.get(&ask.topic) else {
            return Err(ResetOffsetError::TopicUnknown { topic: ask.topic.clone() });
        };
        if self.groups.get(&ask.group).is_none() {
            return Err(ResetOffsetError::GroupUnknown { group: ask.group.clone() });
        }
        let (topic, queues) = (topic.id, topic.read_queues);
        if let Some(queue_id) = ask.queue_id.filter(|queue| queue.0 >= queues) {
            return Err(ResetOffsetError::QueueUnknown { topic: ask.topic.clone(), queue_id, queues });
        }
        let wanted = ask.queue_id.map_or(0..queues, |queue| queue.0..queue.0 + 1).map(QueueId);
        let mut places = Vec::new();
        for queue_id in wanted {
            let place = self.place(topic, queue_id, ask)?;
            let known = self.offsets.get(&ask.group, topic, queue_id);
            let ahead = known.is_none_or(|known| place >= known);
            places.push((queue_id, if ask.only_back && ahead { known.unwrap_or(place) } else { place }));
        }
        // What was committed before is in the log before, so that none of it looks like an answer to the reset.
        self.write_offsets_now();
        self.write_leases();
        for &(queue_id, offset) in &places {
            self.reset_one(&ask.group, topic, queue_id, offset);
        }
        Ok(places)
    }

    /// Where the group shall read on in one queue.
    fn place(
        &self,
        topic: TopicId,
        queue_id: QueueId,
        ask: &ResetOffset,
    ) -> Result<QueueOffset, ResetOffsetError> {
        let queue = self.store.queue(topic, queue_id);
        let (min, max) = queue.map_or_else(Default::default, |queue| (queue.min(), queue.max()));
        match ask.to {
            ResetTo::Offset(offset) if !(min..=max).contains(&offset) => {
                let topic = ask.topic.clone();
                Err(ResetOffsetError::OffsetOutside { topic, queue_id, offset, min, max })
            }
            ResetTo::Offset(offset) => Ok(offset),
            ResetTo::Stored(at) => Ok(queue.map_or(QueueOffset(0), |queue| queue.search(at, false))),
            ResetTo::End => Ok(max),
        }
    }

    fn reset_one(&mut self, group: &GroupName, topic: TopicId, queue_id: QueueId, offset: QueueOffset) {
        let reset = record::Meta::OffsetReset { group: group.clone(), topic, queue_id, offset };
        let mut payload = Vec::new();
        reset.encode(&mut payload);
        self.append_record(Kind::Meta, &payload);
        self.offsets.restore(group, topic, queue_id, offset);
        self.leases.reset(&Key { group: group.clone(), topic, queue_id }, offset);
        self.resets.put(group.clone(), topic, queue_id, offset);
        // Whoever waits there hears of it.
        self.touched.insert((topic, queue_id));
    }

    pub(crate) fn clone_offsets(&mut self, id: RequestId, ask: &CloneOffsets) {
        let only = ask.topic.as_ref().map(|name| self.topics.get(name).map(|topic| topic.id));
        let places: Vec<_> = self
            .offsets
            .of_group(&ask.from)
            .filter(|(topic, ..)| only.is_none_or(|only| only == Some(*topic)))
            .collect();
        for (topic, queue_id, offset) in places {
            self.commit(&ask.to, topic, queue_id, offset);
        }
        self.reply(id, Reply::CloneOffsets(()));
    }
}
