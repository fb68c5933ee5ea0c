//! The message indexes: which messages a queue holds, how far each group has come, where a key occurs.
//!
//! Everything here is derived from the log. `broker` appends to the log and tells this room of each message
//! and where its record lies. At a checkpoint what has come since the last one is written to files
//! (`queue_file.rs`, `key_run.rs`), which any thread does from what [`Store::freeze`] and [`Keys::freeze`] give;
//! after a start only what came behind the checkpoint is told again.
//!
//! - [`Store`]: the [`ConsumeQueue`]s, one for each queue of each topic. The place of an entry is the
//!   message's queue offset.
//! - [`Offsets`]: what each group committed, and which of it the log does not know yet.
//! - [`Keys`]: where a topic's messages with a certain key lie: in memory what is not on disk, behind that the
//!   runs.
//!
//! This room knows no time: a moment here is a number that came with a message. It knows no message either,
//! only the place of its bytes, its tag's number and its keys' hashes. It never appends to the log.

mod consume_queue;
mod error;
mod key_index;
pub mod key_run;
mod keys;
mod offsets;
pub mod queue_file;

use std::collections::{BTreeMap, BTreeSet};

use model::{LogOffset, QueueId, QueueOffset, TopicId};

pub use consume_queue::{ConsumeQueue, Entry, Piece};
pub use error::FileError;
pub use key_index::{Found, KeyIndex, key_hash};
pub use key_run::KeyLine;
pub use keys::Keys;
pub use offsets::Offsets;

/// The consume queues of all topics. They are few beside their entries, and are kept in order.
#[derive(Debug, Default)]
pub struct Store {
    queues: BTreeMap<(TopicId, QueueId), ConsumeQueue>,
    /// Those that got messages which are not on disk.
    unsaved: BTreeSet<(TopicId, QueueId)>,
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
        self.unsaved.insert((topic, queue_id));
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

    /// Puts a queue back as it was at a checkpoint: its ends, and its messages in parts that follow each other.
    ///
    /// # Errors
    /// The first offset that is missing.
    pub fn restore(
        &mut self,
        topic: TopicId,
        queue_id: QueueId,
        min: QueueOffset,
        max: QueueOffset,
        parts: impl IntoIterator<Item = Piece>,
    ) -> Result<(), QueueOffset> {
        let mut parts =
            parts.into_iter().skip_while(|piece| piece.first + piece.entries.len() as i64 <= min.0);
        let Some(first) = parts.next() else {
            let queue = ConsumeQueue::restore(max, max.0, Vec::new());
            self.queues.insert((topic, queue_id), queue);
            return if min == max { Ok(()) } else { Err(min) };
        };
        let begin = first.first;
        let mut entries = std::sync::Arc::unwrap_or_clone(first.entries);
        for piece in parts {
            if piece.first != begin + entries.len() as i64 {
                return Err(QueueOffset(begin + entries.len() as i64));
            }
            entries.extend_from_slice(&piece.entries);
        }
        let end = begin + entries.len() as i64;
        if begin > min.0 || end != max.0 {
            return Err(if begin > min.0 { min } else { QueueOffset(end) });
        }
        self.queues.insert((topic, queue_id), ConsumeQueue::restore(min, begin, entries));
        Ok(())
    }

    /// Forgets the messages whose records lie before `first`: the log keeps them no longer. Gives the queues that begin
    /// elsewhere now.
    pub fn trim(&mut self, first: LogOffset) -> Vec<(TopicId, QueueId, QueueOffset)> {
        let mut moved = Vec::new();
        for (&(topic, queue_id), queue) in &mut self.queues {
            if queue.trim_before(first) {
                moved.push((topic, queue_id, queue.min()));
            }
        }
        moved
    }

    /// A checkpoint begins: gives what is not on disk, for another thread to write. Costs by the number of queues
    /// that have any.
    pub fn freeze(&mut self) -> Vec<queue_file::Part> {
        let mut parts = Vec::new();
        for &(topic, queue_id) in &self.unsaved {
            let Some(queue) = self.queues.get_mut(&(topic, queue_id)) else { continue };
            let pieces = queue.freeze().into_iter();
            parts.extend(pieces.map(|piece| queue_file::Part { topic, queue_id, piece }));
        }
        parts
    }

    /// The checkpoint stands: these parts are on disk.
    pub fn saved(&mut self, parts: &[queue_file::Part]) {
        for queue_file::Part { topic, queue_id, piece } in parts {
            if let Some(queue) = self.queues.get_mut(&(*topic, *queue_id)) {
                queue.saved(piece.end());
            }
        }
        let Self { queues, unsaved } = self;
        unsaved.retain(|at| queues.get(at).is_some_and(|queue| !queue.is_saved()));
    }

    /// Forgets a topic's queues; tells how many messages they held. The topic's entries in [`Offsets`] and
    /// [`Keys`] are dropped there.
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
