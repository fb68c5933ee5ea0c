//! Assignment: which queues of a topic a member of a group reads, and whether it pulls or pops them. For members that
//! leave both to the server.
//!
//! Peer: `QueryAssignmentProcessor` (RocketMQ 5.x).

use crate::group::NoGroup;
use crate::{Broker, Reply, RequestId};
use journal::Kind;
use model::{ClientId, ConsumeMode, GroupName, MessageModel, QueueId, TopicId, TopicName};
use std::collections::BTreeMap;
use wire::record;

/// A member's question for its queues.
#[derive(Clone, Debug)]
pub struct GetAssignment {
    /// The group.
    pub group: GroupName,
    /// The topic.
    pub topic: TopicName,
    /// The member.
    pub client: ClientId,
    /// Shared or all.
    pub model: MessageModel,
    /// How the queues are shared.
    pub strategy: Strategy,
}

/// How the queues of a topic are shared among the members of a group, both in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Each member gets a run of queues. RocketMQ's `AVG`.
    Runs,
    /// The queues are dealt to the members in turn. RocketMQ's `AVG_BY_CIRCLE`.
    Turns,
}

/// What a member reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// Whether it pops; else it pulls.
    pub pop: bool,
    /// Its queues; `None` for one that stands for all of them.
    pub queues: Vec<Option<QueueId>>,
}

/// The members of a group shall get a topic's messages in another way.
#[derive(Clone, Debug)]
pub struct SetConsumeMode {
    /// The group.
    pub group: GroupName,
    /// The topic.
    pub topic: TopicName,
    /// How.
    pub mode: ConsumeMode,
}

/// Why the mode is as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetConsumeModeError {
    /// The caller's: what is sent back is always pulled (16).
    #[error("topic {topic} is a retry topic, which is always pulled")]
    RetryTopic {
        /// The topic.
        topic: TopicName,
    },
    /// The caller's (17).
    #[error("topic {topic} does not exist")]
    TopicUnknown {
        /// The topic.
        topic: TopicName,
    },
    /// The caller's: no such group, and it may not be made by this (26).
    #[error(transparent)]
    GroupUnknown(#[from] NoGroup),
    /// Ours, passing: the log cannot be written.
    #[error("the log cannot be written: {why}")]
    Unavailable {
        /// Why.
        why: String,
    },
}

/// How groups get the messages of topics, where an administrator has said so.
#[derive(Debug, Default)]
pub(crate) struct ConsumeModes(BTreeMap<(GroupName, TopicId), ConsumeMode>);

impl ConsumeModes {
    pub(crate) fn put(&mut self, group: GroupName, topic: TopicId, mode: ConsumeMode) {
        self.0.insert((group, topic), mode);
    }

    /// All that was said.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&GroupName, TopicId, ConsumeMode)> {
        self.0.iter().map(|((group, topic), mode)| (group, *topic, *mode))
    }

    fn get(&self, group: &GroupName, topic: TopicId) -> Option<ConsumeMode> {
        self.0.get(&(group.clone(), topic)).copied()
    }

    pub(crate) fn drop_topic(&mut self, topic: TopicId) {
        self.0.retain(|(_, of), _| *of != topic);
    }

    pub(crate) fn drop_group(&mut self, group: &GroupName) {
        self.0.retain(|(of, _), _| of != group);
    }
}

impl Broker {
    pub(crate) fn get_assignment(&mut self, id: RequestId, ask: &GetAssignment) {
        self.member_asked(&ask.group, &ask.client);
        let assignment = self.assigned(ask);
        self.reply(id, Reply::GetAssignment(assignment));
    }

    /// What a member reads; `None` where that cannot be told: it then goes on as it is.
    fn assigned(&self, ask: &GetAssignment) -> Option<Assignment> {
        let topic = self.topics.get(&ask.topic).filter(|topic| topic.permission.readable())?;
        let mode = self.consume_modes.get(&ask.group, topic.id).unwrap_or_default();
        let mut queues: Vec<_> = (0..topic.read_queues).map(QueueId).collect();
        if ask.model == MessageModel::Clustering {
            let members = self.clients.ids(&ask.group);
            let me = members.binary_search(&ask.client).ok()?;
            if mode.pop && pops_all(mode, members.len()) {
                return Some(Assignment { pop: true, queues: vec![None] });
            }
            queues = match mode.pop {
                true => popped(ask.strategy, &queues, me, members.len(), mode.share),
                false => share(ask.strategy, &queues, me, members.len()),
            };
        }
        Some(Assignment { pop: mode.pop, queues: queues.into_iter().map(Some).collect() })
    }

    pub(crate) fn set_consume_mode(&mut self, id: RequestId, ask: SetConsumeMode) {
        let set = self.consume_mode_set(ask);
        self.reply_safe(id, Reply::SetConsumeMode(set));
    }

    fn consume_mode_set(&mut self, ask: SetConsumeMode) -> Result<(), SetConsumeModeError> {
        let SetConsumeMode { group, topic, mode } = ask;
        if let Some(why) = self.unwritable() {
            return Err(SetConsumeModeError::Unavailable { why });
        }
        if topic.is_retry() {
            return Err(SetConsumeModeError::RetryTopic { topic });
        }
        let Some(topic) = self.topics.get(&topic).map(|topic| topic.id) else {
            return Err(SetConsumeModeError::TopicUnknown { topic });
        };
        self.group_or_make(&group)?;
        if self.consume_modes.get(&group, topic) != Some(mode) {
            let mut payload = Vec::new();
            record::Meta::ConsumeMode { topic, group: group.clone(), mode }.encode(&mut payload);
            self.append_record(Kind::Meta, &payload);
            self.consume_modes.put(group.clone(), topic, mode);
            self.tell_members(&group);
        }
        Ok(())
    }
}

/// Whether each member pops from all queues.
fn pops_all(mode: ConsumeMode, members: usize) -> bool {
    usize::try_from(mode.share).map_or(true, |share| share == 0 || share + 1 >= members)
}

/// The queues that a member pops: its own, and those of the members behind it.
fn popped(strategy: Strategy, queues: &[QueueId], me: usize, members: usize, share: i32) -> Vec<QueueId> {
    if members > queues.len() {
        return queues.get(me % queues.len().max(1)).copied().into_iter().collect();
    }
    let shared = usize::try_from(share).unwrap_or(0);
    (0..=shared).flat_map(|ahead| self::share(strategy, queues, (me + ahead) % members, members)).collect()
}

/// The queues of a member among `members`; each queue is one member's. Peer: `AllocateMessageQueueAveragely`,
/// `AllocateMessageQueueAveragelyByCircle`.
fn share(strategy: Strategy, queues: &[QueueId], me: usize, members: usize) -> Vec<QueueId> {
    match strategy {
        Strategy::Turns => queues.iter().skip(me).step_by(members).copied().collect(),
        Strategy::Runs => {
            let (each, more) = (queues.len() / members, queues.len() % members);
            let begin = me * each + me.min(more);
            queues[begin..begin + each + usize::from(me < more)].to_vec()
        }
    }
}

#[cfg(test)]
mod tests;
