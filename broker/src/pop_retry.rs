//! Pop retry: where a pair of group and topic gets the messages again that it popped and did not ack.
//!
//! Each pair has a topic of its own. Its plain name, `%RETRY%group_topic`, may be another pair's too, or that of a
//! group which pulls; who comes second gets the form that no other pair has, `%RETRY%group+topic`. Which topic serves
//! whom is said in the log when the topic is made.

use crate::Broker;
use journal::Kind;
use model::{GroupName, Topic, TopicId, TopicName};
use std::collections::BTreeMap;
use wire::record;

/// Which retry topic serves which pair of group and topic.
#[derive(Debug, Default)]
pub(crate) struct PopRetries {
    pairs: BTreeMap<TopicId, (GroupName, TopicId)>,
    topics: BTreeMap<(GroupName, TopicId), TopicId>,
}

impl PopRetries {
    /// Says whom a retry topic serves.
    pub(crate) fn put(&mut self, retry: TopicId, group: GroupName, topic: TopicId) {
        self.pairs.insert(retry, (group.clone(), topic));
        self.topics.insert((group, topic), retry);
    }

    /// The retry topic of a pair.
    fn get(&self, group: &GroupName, topic: TopicId) -> Option<TopicId> {
        self.topics.get(&(group.clone(), topic)).copied()
    }

    /// Whom a retry topic serves.
    pub(crate) fn pair(&self, retry: TopicId) -> Option<(&GroupName, TopicId)> {
        self.pairs.get(&retry).map(|(group, topic)| (group, *topic))
    }

    /// The topic whose pops are woken by what arrives in `topic`.
    pub(crate) fn popped(&self, topic: TopicId) -> TopicId {
        self.pairs.get(&topic).map_or(topic, |(_, popped)| *popped)
    }

    /// The retry topics of those who pop a topic.
    pub(crate) fn of_topic(&self, topic: TopicId) -> Vec<TopicId> {
        self.pairs.iter().filter(|(_, (_, popped))| *popped == topic).map(|(retry, _)| *retry).collect()
    }

    /// The retry topics of a group.
    pub(crate) fn of_group(&self, group: &GroupName) -> Vec<TopicId> {
        self.pairs.iter().filter(|(_, (popping, _))| popping == group).map(|(retry, _)| *retry).collect()
    }

    /// All of them: the retry topic, and whom it serves.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (TopicId, &GroupName, TopicId)> {
        self.pairs.iter().map(|(retry, (group, topic))| (*retry, group, *topic))
    }

    /// Forgets a topic, be it a retry topic or one that is popped.
    pub(crate) fn drop_topic(&mut self, topic: TopicId) {
        self.pairs.retain(|retry, (_, popped)| *retry != topic && *popped != topic);
        self.topics.retain(|(_, popped), retry| *retry != topic && *popped != topic);
    }
}

impl Broker {
    /// The retry topic of a group that pops from `topic`, where there is one.
    pub(crate) fn pop_retry(&mut self, group: &GroupName, topic: TopicId) -> Option<TopicId> {
        if let Some(retry) = self.pop_retries.get(group, topic) {
            return Some(retry);
        }
        // Made by a version that did not say for whom: whoever asks first has it.
        let plain = TopicName::pop_retry(group, &self.topics.by_id(topic)?.name);
        let found = self.topics.get(&plain)?.id;
        (!self.serves_another(&plain)).then(|| self.claim_pop_retry(found, group, topic))
    }

    /// The same, made where there is none; `None` where there are so many topics that none is made any more.
    pub(crate) fn pop_retry_or_make(&mut self, group: &GroupName, topic: &Topic) -> Option<Topic> {
        let known = self.pop_retry(group, topic.id).and_then(|retry| self.topics.by_id(retry));
        if let Some(known) = known {
            return Some(known.clone());
        }
        if self.topics.len() >= self.config.topics_max {
            return None;
        }
        let plain = TopicName::pop_retry(group, &topic.name);
        let name = match self.serves_another(&plain) {
            true => TopicName::pop_retry_apart(group, &topic.name),
            false => plain,
        };
        let retry = self.topic_or_make(name, 1);
        self.claim_pop_retry(retry.id, group, topic.id);
        Some(retry)
    }

    /// Whether a plain name serves another pair, or a group that pulls.
    fn serves_another(&self, plain: &TopicName) -> bool {
        plain.retry_group().is_some_and(|group| self.groups.get(&group).is_some())
            || self.topics.get(plain).is_some_and(|found| self.pop_retries.pair(found.id).is_some())
    }

    fn claim_pop_retry(&mut self, retry: TopicId, group: &GroupName, topic: TopicId) -> TopicId {
        let mut payload = Vec::new();
        record::Meta::PopRetry { retry, topic, group: group.clone() }.encode(&mut payload);
        self.append_record(Kind::Meta, &payload);
        self.pop_retries.put(retry, group.clone(), topic);
        retry
    }
}
