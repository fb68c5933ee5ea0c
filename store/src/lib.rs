//! The message indexes: which messages a queue holds, how far each group has come, where a key occurs.
//!
//! Everything here is derived from the log. `broker` appends to the log and tells this room of each message
//! and where its record lies; after a start it tells the same again while it reads the log. So nothing here
//! is ever the truth, and nothing is saved: what is lost is told anew.
//!
//! - [`Store`]: the [`ConsumeQueue`]s, one for each queue of each topic. The place of an entry is the
//!   message's queue offset.
//! - [`Offsets`]: what each group committed, and which of it the log does not know yet.
//! - [`KeyIndex`]: where a topic's messages with a certain key lie.
//!
//! This version keeps them in memory. Callers see only these types, so that a later one can keep them in
//! files.
//!
//! This room knows no time: a moment here is a number that came with a message. It knows no message either,
//! only the place of its bytes, its tag's number and its keys' hashes. It never appends to the log.

mod consume_queue;
mod key_index;
mod offsets;

use std::collections::BTreeMap;

use model::{QueueId, TopicId};

pub use consume_queue::{ConsumeQueue, Entry};
pub use key_index::{KeyIndex, key_hash};
pub use offsets::Offsets;

/// The consume queues of all topics. They are few beside their entries, and are kept in order.
#[derive(Debug, Default)]
pub struct Store {
    queues: BTreeMap<(TopicId, QueueId), ConsumeQueue>,
}

impl Store {
    /// No queue at all.
    pub fn new() -> Self {
        Self::default()
    }

    /// A queue; `None` where no message came to it yet, which reads like an empty queue.
    pub fn queue(&self, topic: TopicId, queue_id: QueueId) -> Option<&ConsumeQueue> {
        self.queues.get(&(topic, queue_id))
    }

    /// A queue to append to, made where it is not there yet. Whether the topic has such a queue is the
    /// caller's question.
    pub fn queue_mut_or_new(&mut self, topic: TopicId, queue_id: QueueId) -> &mut ConsumeQueue {
        self.queues.entry((topic, queue_id)).or_default()
    }

    /// All queues to which messages came, by topic and queue.
    pub fn queues(&self) -> impl Iterator<Item = (TopicId, QueueId, &ConsumeQueue)> {
        self.queues.iter().map(|(&(topic, queue_id), queue)| (topic, queue_id, queue))
    }

    /// The queues of one topic to which messages came, in order.
    pub fn queues_of(&self, topic: TopicId) -> impl Iterator<Item = (QueueId, &ConsumeQueue)> {
        let all = (topic, QueueId(0))..=(topic, QueueId(u32::MAX));
        self.queues.range(all).map(|(&(_, queue_id), queue)| (queue_id, queue))
    }

    /// Forgets a topic's queues; tells how many messages they held. The topic's entries in [`Offsets`] and
    /// [`KeyIndex`] are dropped there.
    pub fn drop_topic(&mut self, topic: TopicId) -> u64 {
        let mut dropped = 0;
        self.queues.retain(|&(of, _), queue| {
            dropped += if of == topic { queue.len() } else { 0 };
            of != topic
        });
        dropped
    }
}

#[cfg(test)]
mod tests;
