//! Quota: how many messages may wait for their moment, in all and of one topic.
//!
//! It is a rule of the door. What was accepted before and waits once more (a retry, a committed half, a message given
//! another moment) is never lost to it; it is counted all the same.

use crate::{Broker, SendRefusal};
use model::Topic;

impl Broker {
    /// Whether a message of `topic` may wait besides those that do, and besides the `before` ones of the same send.
    pub(crate) fn has_room(&self, topic: &Topic, before: u64) -> Result<(), SendRefusal> {
        if let Some(limit) = self.config.pending_max {
            let pending = self.timer.len() as u64 + self.due.len() as u64 + before;
            if pending >= limit {
                return Err(SendRefusal::TooManyPending { pending, limit });
            }
        }
        if let Some(limit) = self.config.pending_per_topic_max {
            let waiting = self.timer.count(topic.id) + before;
            // Mostly what is due and has not left need not be looked through.
            if waiting + self.due.len() as u64 >= limit {
                let pending = waiting + self.due.count(topic.id);
                if pending >= limit {
                    let topic = topic.name.clone();
                    return Err(SendRefusal::TooManyPendingOfTopic { topic, pending, limit });
                }
            }
        }
        Ok(())
    }
}
