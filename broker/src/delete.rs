//! Delete: a topic or a group goes, and all that is its own with it.
//!
//! One record in the log says so; what is derived from the log is taken apart the same way when it is read
//! again. A topic made later under the same name has another id, so nothing of the old one comes back.

use crate::park::Waiting;
use crate::{Broker, PopError, PullError, Reply, RequestId};
use journal::Kind;
use model::{GroupName, TopicId, TopicName};
use wire::record;

/// A topic that shall go.
#[derive(Clone, Debug)]
pub struct DeleteTopic {
    /// Its name.
    pub name: TopicName,
}

/// What went with a topic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deleted {
    /// Messages that consumers could still read.
    pub messages: u64,
    /// Messages that waited for their moment.
    pub pending: u64,
}

/// Why a topic was not deleted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeleteTopicError {
    /// The caller's: the topic belongs to the server.
    #[error("topic {name} belongs to the server")]
    SystemTopic {
        /// The name.
        name: TopicName,
    },
    /// The caller's: the topic holds what a group gets again, and goes with that group.
    #[error("topic {name} belongs to group {group}, and goes when that is deleted")]
    RetryTopic {
        /// The name.
        name: TopicName,
        /// The group.
        group: GroupName,
    },
    /// Ours, passing: the log cannot be written.
    #[error("the log cannot be written: {why}")]
    Unavailable {
        /// Why.
        why: String,
    },
}

/// A group that shall go.
#[derive(Clone, Debug)]
pub struct DeleteGroup {
    /// Its name.
    pub name: GroupName,
}

/// Why a group was not deleted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeleteGroupError {
    /// Ours, passing: the log cannot be written.
    #[error("the log cannot be written: {why}")]
    Unavailable {
        /// Why.
        why: String,
    },
}

impl Broker {
    pub(crate) fn delete_topic(&mut self, id: RequestId, ask: &DeleteTopic) {
        let deleted = self.topic_deleted(&ask.name);
        self.reply_safe(id, Reply::DeleteTopic(deleted));
    }

    /// Deletes a topic where it is there: a tool asks every broker of a cluster.
    fn topic_deleted(&mut self, name: &TopicName) -> Result<Deleted, DeleteTopicError> {
        if let Some(why) = self.unwritable() {
            return Err(DeleteTopicError::Unavailable { why });
        }
        if self.is_own(name) {
            return Err(DeleteTopicError::SystemTopic { name: name.clone() });
        }
        if let Some(group) = self.group_of(name).filter(|_| name.is_retry()).cloned() {
            return Err(DeleteTopicError::RetryTopic { name: name.clone(), group });
        }
        // The retry topics go first: after a crash in between, the topic is still there to be deleted again.
        let Some(topic) = self.topics.get(name).map(|topic| topic.id) else {
            return Ok(Deleted::default());
        };
        for retry in self.pop_retries.of_topic(topic) {
            self.drop_topic(retry);
        }
        Ok(self.drop_topic(topic))
    }

    /// Says in the log that a topic is gone, and forgets all that is its own.
    fn drop_topic(&mut self, topic: TopicId) -> Deleted {
        self.write_leases();
        let mut payload = Vec::new();
        record::Meta::TopicDeleted { id: topic }.encode(&mut payload);
        self.append_record(Kind::Meta, &payload);
        for (id, waiting) in self.parked.take_topic(topic) {
            match waiting {
                Waiting::Pull(ask) => {
                    self.reply_now(id, Reply::Pull(Err(PullError::TopicUnknown { topic: ask.topic })));
                }
                Waiting::Pop(ask) => {
                    self.reply_now(id, Reply::Pop(Err(PopError::TopicUnknown { topic: ask.topic })));
                }
                Waiting::Notification(ask) => {
                    let unknown = PopError::TopicUnknown { topic: ask.topic };
                    self.reply_now(id, Reply::Notification(Err(unknown)));
                }
            }
        }
        self.put_back_due();
        let mut pending = 0;
        for (level, count) in self.timer.drop_topic(topic) {
            self.views.all_left(level, count);
            pending += count;
        }
        let messages = self.store.drop_topic(topic);
        self.offsets.drop_topic(topic);
        self.leases.drop_topic(topic);
        self.pop_retries.drop_topic(topic);
        self.consume_modes.drop_topic(topic);
        self.handovers.drop_topic(topic);
        self.forbidden.drop_topic(topic);
        self.resets.drop_topic(topic);
        self.recalled.drop_topic(topic);
        self.traffic.drop_topic(topic);
        if let Some(gone) = self.topics.remove(topic) {
            self.locks.drop_topic(&gone.name);
        }
        Deleted { messages, pending }
    }

    pub(crate) fn delete_group(&mut self, id: RequestId, ask: &DeleteGroup) {
        let deleted = match self.unwritable() {
            Some(why) => Err(DeleteGroupError::Unavailable { why }),
            None => {
                self.drop_group(&ask.name);
                Ok(())
            }
        };
        self.reply_safe(id, Reply::DeleteGroup(deleted));
    }

    /// Says in the log that a group is gone, and forgets its places, its leases and what waits for it to be
    /// tried again. Its dead letters stay.
    fn drop_group(&mut self, group: &GroupName) {
        let plain = self.topics.get(&TopicName::retry(group)).map(|retry| retry.id);
        let plain = plain.filter(|&retry| self.pop_retries.pair(retry).is_none());
        for retry in self.pop_retries.of_group(group).into_iter().chain(plain) {
            self.drop_topic(retry);
        }
        if self.groups.remove(group).is_none() && self.offsets.of_group(group).next().is_none() {
            return;
        }
        self.write_leases();
        let mut payload = Vec::new();
        record::Meta::GroupDeleted { name: group.clone() }.encode(&mut payload);
        self.append_record(Kind::Meta, &payload);
        self.offsets.drop_group(group);
        self.leases.drop_group(group);
        self.consume_modes.drop_group(group);
        self.handovers.drop_group(group);
        self.forbidden.drop_group(group);
        self.resets.drop_group(group);
        self.locks.drop_group(group);
        self.traffic.drop_group(group);
    }
}
