//! Forbid: an administrator keeps a group away from one topic.
//!
//! Peer: `SubscriptionGroupManager#updateForbidden` (RocketMQ 5.x), whose pulls with a subscription of their own and
//! whose pops get by.

use crate::{Broker, Reply, RequestId};
use journal::Kind;
use model::{GroupName, TopicId, TopicName};
use std::collections::BTreeSet;
use wire::record;

/// A group shall be kept away from a topic, or no longer.
#[derive(Clone, Debug)]
pub struct Forbid {
    /// The group.
    pub group: GroupName,
    /// The topic.
    pub topic: TopicName,
    /// Whether it may not read; `None` only asks.
    pub forbidden: Option<bool>,
}

/// Why it stayed as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForbidError {
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
    /// Ours, passing: the log cannot be written.
    #[error("the log cannot be written: {why}")]
    Unavailable {
        /// Why.
        why: String,
    },
}

/// A question for all groups that are kept away from a topic.
#[derive(Clone, Copy, Debug)]
pub struct GetForbidden;

/// Which groups may not read which topics. Both there are, so their limits are its own.
#[derive(Debug, Default)]
pub(crate) struct Forbidden(BTreeSet<(GroupName, TopicId)>);

impl Forbidden {
    pub(crate) fn put(&mut self, group: GroupName, topic: TopicId, forbidden: bool) {
        match forbidden {
            true => self.0.insert((group, topic)),
            false => self.0.remove(&(group, topic)),
        };
    }

    pub(crate) fn holds(&self, group: &GroupName, topic: TopicId) -> bool {
        // A name is cloned only where any is forbidden anything.
        !self.0.is_empty() && self.0.contains(&(group.clone(), topic))
    }

    /// All that are kept away, and from what.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &(GroupName, TopicId)> {
        self.0.iter()
    }

    pub(crate) fn drop_topic(&mut self, topic: TopicId) {
        self.0.retain(|(_, of)| *of != topic);
    }

    pub(crate) fn drop_group(&mut self, group: &GroupName) {
        self.0.retain(|(of, _)| of != group);
    }
}

impl Broker {
    pub(crate) fn forbid(&mut self, id: RequestId, ask: Forbid) {
        let forbidden = self.forbidden_now(ask);
        self.reply_safe(id, Reply::Forbid(forbidden));
    }

    /// Whether the group may not read the topic, from now on.
    fn forbidden_now(&mut self, ask: Forbid) -> Result<bool, ForbidError> {
        let Forbid { group, topic, forbidden } = ask;
        let Some(topic) = self.topics.get(&topic).map(|topic| topic.id) else {
            return Err(ForbidError::TopicUnknown { topic });
        };
        if self.groups.get(&group).is_none() {
            return Err(ForbidError::GroupUnknown { group });
        }
        let was = self.forbidden.holds(&group, topic);
        let Some(forbidden) = forbidden.filter(|forbidden| *forbidden != was) else { return Ok(was) };
        if let Some(why) = self.unwritable() {
            return Err(ForbidError::Unavailable { why });
        }
        let mut payload = Vec::new();
        record::Meta::Forbidden { topic, group: group.clone(), forbidden }.encode(&mut payload);
        self.append_record(Kind::Meta, &payload);
        self.forbidden.put(group, topic, forbidden);
        Ok(forbidden)
    }

    pub(crate) fn get_forbidden(&mut self, id: RequestId) {
        let all = self.forbidden.0.iter();
        let all =
            all.filter_map(|(group, topic)| Some((group.clone(), self.topics.by_id(*topic)?.name.clone())));
        let all = all.collect();
        self.reply(id, Reply::GetForbidden(all));
    }
}
