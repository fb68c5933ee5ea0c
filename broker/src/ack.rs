//! Ack: what was popped is finished, for good.

use crate::lease::{Held, Key};
use crate::{Broker, Reply, RequestId};
use model::{GroupName, QueueId, QueueOffset, TopicName};
use wire::ReceiptHandle;
use wire::receipt_handle::Retry;

/// Messages of one topic that a group has finished.
#[derive(Clone, Debug)]
pub struct Ack {
    /// The group that popped them.
    pub group: GroupName,
    /// The topic that was popped, or its retry topic where all of them come from there.
    pub topic: TopicName,
    /// What they were popped with.
    pub handles: Vec<wire::ReceiptHandle>,
}

/// Why an ack did nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AckError {
    /// The caller's: the lease is over, or its end was changed and another handle given.
    #[error("receipt handle is expired")]
    LeaseOver,
    /// The caller's: there never was such a lease.
    #[error("offset is illegal, key:{topic}@{queue_id}, commit:{offset}")]
    OffsetUnknown {
        /// The topic.
        topic: TopicName,
        /// The queue.
        queue_id: u32,
        /// The offset in the handle.
        offset: i64,
    },
    /// The caller's: no such queue.
    #[error("queueId[{queue_id}] is illegal, topic {topic} has {queues} to read")]
    QueueUnknown {
        /// The topic.
        topic: TopicName,
        /// The queue.
        queue_id: u32,
        /// How many there are.
        queues: u32,
    },
    /// The caller's: the lease would be longer than one may be.
    #[error("the invisible time is {asked_ms} ms, the limit is {limit_ms} ms")]
    InvisibleTooLong {
        /// What was asked for, in ms.
        asked_ms: u128,
        /// The limit, in ms.
        limit_ms: u128,
    },
    /// The caller's: the topic does not exist.
    #[error("topic {topic} does not exist")]
    TopicUnknown {
        /// The topic.
        topic: TopicName,
    },
    /// Ours, passing: the log cannot be written.
    #[error("the log cannot be written: {why}")]
    Unavailable {
        /// Why.
        why: String,
    },
}

impl Broker {
    pub(crate) fn ack(&mut self, id: RequestId, ask: &Ack) {
        let answers = ask.handles.iter().map(|handle| self.ack_one(&ask.group, &ask.topic, handle)).collect();
        self.reply_with_leases(id, Reply::Ack(answers));
    }

    fn ack_one(
        &mut self,
        group: &GroupName,
        topic: &TopicName,
        handle: &ReceiptHandle,
    ) -> Result<(), AckError> {
        let (key, offset) = match self.valid_lease(group, topic, handle) {
            Ok(lease) => lease,
            Err(NoLease::AckedBefore) => return Ok(()),
            Err(NoLease::Refused(refused)) => return Err(refused),
        };
        self.leases.finish(&key, offset, handle.pop_time, self.now);
        self.commit_popped(&key);
        // An ordered queue is free again once its last message is finished.
        self.pop_touched.insert(self.pop_retries.popped(key.topic));
        Ok(())
    }

    /// The lease a handle names, where it goes on.
    pub(crate) fn valid_lease(
        &self,
        group: &GroupName,
        topic: &TopicName,
        handle: &ReceiptHandle,
    ) -> Result<(Key, QueueOffset), NoLease> {
        if let Some(why) = self.unwritable() {
            return Err(NoLease::Refused(AckError::Unavailable { why }));
        }
        let name = match handle.retry {
            Retry::RetryV1 if !topic.is_retry() => TopicName::pop_retry(group, topic),
            Retry::RetryV2 if !topic.is_retry() => TopicName::pop_retry_apart(group, topic),
            _ => topic.clone(),
        };
        let Some(found) = self.topics.get(&name) else {
            return Err(NoLease::Refused(AckError::TopicUnknown { topic: topic.clone() }));
        };
        let queues = found.queues();
        let key = Key { group: group.clone(), topic: found.id, queue_id: QueueId(handle.queue_id) };
        let offset = QueueOffset(handle.queue_offset);
        match self.leases.held(&key, offset, handle.pop_time, self.now) {
            Held::Valid => Ok((key, offset)),
            Held::Acked => Err(NoLease::AckedBefore),
            Held::Over => Err(NoLease::Refused(AckError::LeaseOver)),
            Held::Unknown if handle.queue_id >= queues => Err(NoLease::Refused(AckError::QueueUnknown {
                topic: topic.clone(),
                queue_id: handle.queue_id,
                queues,
            })),
            Held::Unknown => Err(NoLease::Refused(AckError::OffsetUnknown {
                topic: topic.clone(),
                queue_id: handle.queue_id,
                offset: handle.queue_offset,
            })),
        }
    }
}

/// Why a handle names no lease that goes on.
pub(crate) enum NoLease {
    /// It was acked, and its time is not over.
    AckedBefore,
    /// Anything else.
    Refused(AckError),
}
