//! How far each group has come.

use std::collections::{BTreeMap, BTreeSet};

use model::{GroupName, QueueId, QueueOffset, TopicId};

/// The offsets that groups committed: in each queue the next one a group wants.
///
/// Every commit counts at once; the log is told of many together. What it has not been told of is kept by
/// name, so that [`Self::take_dirty`] costs by what changed.
#[derive(Debug, Default)]
pub struct Offsets {
    groups: BTreeMap<GroupName, BTreeMap<(TopicId, QueueId), QueueOffset>>,
    dirty: BTreeSet<(GroupName, TopicId, QueueId)>,
}

impl Offsets {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a group's place; the log is to be told where it changed. It may also go back.
    pub fn commit(&mut self, group: &GroupName, topic: TopicId, queue_id: QueueId, offset: QueueOffset) {
        if self.set(group, topic, queue_id, offset) {
            self.dirty.insert((group.clone(), topic, queue_id));
        }
    }

    /// Sets a group's place as the log tells it.
    pub fn restore(&mut self, group: &GroupName, topic: TopicId, queue_id: QueueId, offset: QueueOffset) {
        self.set(group, topic, queue_id, offset);
    }

    /// A group's place; `None` where it never committed one.
    pub fn get(&self, group: &GroupName, topic: TopicId, queue_id: QueueId) -> Option<QueueOffset> {
        self.groups.get(group)?.get(&(topic, queue_id)).copied()
    }

    /// A group's places, by topic and queue.
    pub fn of_group(&self, group: &GroupName) -> impl Iterator<Item = (TopicId, QueueId, QueueOffset)> {
        self.groups
            .get(group)
            .into_iter()
            .flatten()
            .map(|(&(topic, queue_id), &offset)| (topic, queue_id, offset))
    }

    /// All places, by group, topic and queue.
    pub fn iter(&self) -> impl Iterator<Item = (&GroupName, TopicId, QueueId, QueueOffset)> {
        self.groups.iter().flat_map(|(group, places)| {
            places.iter().map(move |(&(topic, queue_id), &offset)| (group, topic, queue_id, offset))
        })
    }

    /// The groups that committed anything in a topic, in order.
    pub fn groups_of(&self, topic: TopicId) -> impl Iterator<Item = &GroupName> {
        let all = (topic, QueueId(0))..=(topic, QueueId(u32::MAX));
        self.groups
            .iter()
            .filter(move |(_, places)| places.range(all.clone()).next().is_some())
            .map(|(group, _)| group)
    }

    /// What changed since the last call, by group, topic and queue: each place once, as it is now. What was
    /// dropped since is not among it.
    pub fn take_dirty(&mut self) -> Vec<(GroupName, TopicId, QueueId, QueueOffset)> {
        let dirty = std::mem::take(&mut self.dirty);
        let place = |(group, topic, queue_id): (GroupName, TopicId, QueueId)| {
            let offset = self.get(&group, topic, queue_id)?;
            Some((group, topic, queue_id, offset))
        };
        dirty.into_iter().filter_map(place).collect()
    }

    /// Forgets a group's places.
    pub fn drop_group(&mut self, group: &GroupName) {
        self.groups.remove(group);
    }

    /// Forgets every group's places in a topic.
    pub fn drop_topic(&mut self, topic: TopicId) {
        self.groups.retain(|_, places| {
            places.retain(|&(of, _), _| of != topic);
            !places.is_empty()
        });
    }

    /// Sets a place; tells whether that changed anything.
    fn set(&mut self, group: &GroupName, topic: TopicId, queue_id: QueueId, offset: QueueOffset) -> bool {
        // A group's name is cloned only for its first place.
        let places = match self.groups.get_mut(group) {
            Some(places) => places,
            None => self.groups.entry(group.clone()).or_default(),
        };
        places.insert((topic, queue_id), offset) != Some(offset)
    }
}

#[cfg(test)]
mod tests;
