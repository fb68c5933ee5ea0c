//! Groups: made by an administrator or by a first heartbeat.

use crate::{Broker, Reply, RequestId};
use journal::Kind;
use model::{Group, GroupName};
use std::collections::BTreeMap;
use wire::record;

/// A group as it shall be. Its retry topic is made with it.
#[derive(Clone, Debug)]
pub struct CreateGroup {
    /// It.
    pub group: Group,
}

/// Why a group was not made or changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CreateGroupError {
    /// Ours, passing: the log cannot be written.
    #[error("the log cannot be written: {why}")]
    Unavailable {
        /// Why.
        why: String,
    },
}

/// Why there is no such group (26).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoGroup {
    /// The caller's: nobody made it, and it is not made by being named.
    #[error("group {group} does not exist")]
    Unknown {
        /// The group.
        group: GroupName,
    },
    /// The operator's: so many are there that none is made by being named any more.
    #[error(
        "group {group} does not exist, and naming it makes none: there are {groups} groups, the limit is {limit}"
    )]
    TooMany {
        /// The group.
        group: GroupName,
        /// How many there are.
        groups: usize,
        /// How many there may be for one to be made so.
        limit: usize,
    },
}

/// A question for a group.
#[derive(Clone, Debug)]
pub struct GetGroup {
    /// Its name.
    pub name: GroupName,
}

/// A question for all groups.
#[derive(Clone, Copy, Debug)]
pub struct GetGroups;

/// All groups, by name.
#[derive(Debug, Default)]
pub(crate) struct Groups(BTreeMap<GroupName, Group>);

impl Groups {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn get(&self, name: &GroupName) -> Option<&Group> {
        self.0.get(name)
    }

    /// Takes a group as it is now.
    pub(crate) fn put(&mut self, group: Group) {
        self.0.insert(group.name.clone(), group);
    }

    /// Takes a group out.
    pub(crate) fn remove(&mut self, name: &GroupName) -> Option<Group> {
        self.0.remove(name)
    }

    /// All of them, by name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Group> {
        self.0.values()
    }
}

impl Broker {
    pub(crate) fn create_group(&mut self, id: RequestId, ask: CreateGroup) {
        let made = match self.unwritable() {
            Some(why) => Err(CreateGroupError::Unavailable { why }),
            None => {
                self.put_group(&ask.group);
                Ok(ask.group)
            }
        };
        self.reply_safe(id, Reply::CreateGroup(made));
    }

    pub(crate) fn get_group(&mut self, id: RequestId, ask: &GetGroup) {
        let group = self.groups.get(&ask.name).cloned();
        self.reply(id, Reply::GetGroup(group));
    }

    pub(crate) fn get_groups(&mut self, id: RequestId) {
        let groups = self.groups.iter().cloned().collect();
        self.reply(id, Reply::GetGroups(groups));
    }

    /// The group of that name, made where there is none and a client may make one.
    pub(crate) fn group_or_make(&mut self, name: &GroupName) -> Result<Group, NoGroup> {
        if let Some(group) = self.groups.get(name) {
            return Ok(group.clone());
        }
        if !self.config.auto_create_groups || self.failing.is_some() {
            return Err(NoGroup::Unknown { group: name.clone() });
        }
        let (groups, limit) = (self.groups.len(), self.config.groups_max);
        if groups >= limit {
            return Err(NoGroup::TooMany { group: name.clone(), groups, limit });
        }
        let group = Group::new(name.clone());
        self.put_group(&group);
        Ok(group)
    }

    /// Takes a group, and makes its retry topic: tools ask for that topic's route.
    fn put_group(&mut self, group: &Group) {
        if self.groups.get(&group.name) != Some(group) {
            let mut payload = Vec::new();
            record::Meta::Group(group.clone()).encode(&mut payload);
            self.append_record(Kind::Meta, &payload);
            self.groups.put(group.clone());
        }
        self.retry_topic(&group.name);
    }
}
