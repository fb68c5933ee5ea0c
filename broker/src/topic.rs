//! Topics: made by an administrator or by a first send.

use crate::config::{Config, QUEUES_MAX};
use crate::transaction::{HALF_TOPIC, OP_TOPIC};
use crate::{Broker, Reply, RequestId};
use journal::Kind;
use model::{
    GroupName, NameError, Permission, QueueId, Topic, TopicId, TopicKind, TopicName, is_system_topic,
};
use std::collections::{BTreeMap, BTreeSet};
use wire::record;

/// A topic as it shall be.
#[derive(Clone, Debug)]
pub struct CreateTopic {
    /// Its name.
    pub name: TopicName,
    /// Queues to read, 1 to 1024.
    pub read_queues: u32,
    /// Queues to write, 1 to 1024.
    pub write_queues: u32,
    /// What may be done with it.
    pub permission: Permission,
    /// Its kind; `None` leaves that of a topic there is, and makes a new one NORMAL.
    pub kind: Option<TopicKind>,
    /// RocketMQ's `order` flag.
    pub order: bool,
    /// RocketMQ's `topicSysFlag`.
    pub sys_flag: u32,
}

/// Why a topic was not made or changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CreateTopicError {
    /// The caller's: the name is not allowed.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The caller's: the name belongs to the server.
    #[error("topic {name} belongs to the server")]
    SystemTopic {
        /// The name.
        name: TopicName,
    },
    /// The caller's: the name is that of a group's retries or dead letters, and there is no such group.
    #[error("topic {name} belongs to a group, and there is no such group")]
    NoGroup {
        /// The name.
        name: TopicName,
    },
    /// The caller's: a number of queues outside the range.
    #[error("{field} is {value}, allowed is 1 to {limit}")]
    Queues {
        /// Which number.
        field: &'static str,
        /// Its value.
        value: u32,
        /// The most allowed.
        limit: u32,
    },
    /// Ours, passing: the log cannot be written.
    #[error("the log cannot be written: {why}")]
    Unavailable {
        /// Why.
        why: String,
    },
}

/// A question for a topic.
#[derive(Clone, Debug)]
pub struct GetTopic {
    /// Its name.
    pub name: TopicName,
}

/// A question for all topics.
#[derive(Clone, Copy, Debug)]
pub struct GetTopics;

/// All topics, by name and by id.
#[derive(Debug, Default)]
pub(crate) struct Topics {
    ids: BTreeMap<TopicName, TopicId>,
    all: BTreeMap<TopicId, Topic>,
    /// The highest id that a topic ever had: a deleted topic's is not given again.
    last_id: u32,
    gone: Vec<TopicName>,
    /// The queue that the next message without one goes to.
    turns: BTreeMap<TopicId, u32>,
    changed: BTreeSet<TopicId>,
}

impl Topics {
    pub(crate) fn get(&self, name: &TopicName) -> Option<&Topic> {
        self.all.get(self.ids.get(name)?)
    }

    pub(crate) fn by_name(&self, name: &str) -> Option<TopicId> {
        self.ids.get(&TopicName::new(name).ok()?).copied()
    }

    pub(crate) fn by_id(&self, id: TopicId) -> Option<&Topic> {
        self.all.get(&id)
    }

    /// Takes a topic as it is now, in place of what it was.
    pub(crate) fn put(&mut self, topic: Topic) {
        self.ids.insert(topic.name.clone(), topic.id);
        self.changed.insert(topic.id);
        self.last_id = self.last_id.max(topic.id.0);
        self.all.insert(topic.id, topic);
    }

    /// Takes a topic out.
    pub(crate) fn remove(&mut self, id: TopicId) -> Option<Topic> {
        let topic = self.all.remove(&id)?;
        self.ids.remove(&topic.name);
        self.turns.remove(&id);
        self.changed.remove(&id);
        self.gone.push(topic.name.clone());
        Some(topic)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// All of them, by name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Topic> {
        self.ids.values().filter_map(|id| self.all.get(id))
    }

    /// The highest id that a topic ever had.
    pub(crate) fn last_id(&self) -> u32 {
        self.last_id
    }

    /// Says which ids were ever given, topics that are gone among them.
    pub(crate) fn set_last_id(&mut self, last_id: u32) {
        self.last_id = self.last_id.max(last_id);
    }

    /// The id of the next topic that is made.
    fn next_id(&self) -> TopicId {
        TopicId(self.last_id + 1)
    }

    /// The next queue in turn, also of a topic that is only about to be made.
    pub(crate) fn next_queue(&mut self, topic: &Topic) -> QueueId {
        let turn = self.turns.entry(topic.id).or_default();
        *turn = turn.wrapping_add(1);
        QueueId(*turn % topic.write_queues.max(1))
    }

    pub(crate) fn take_gone(&mut self) -> Vec<TopicName> {
        std::mem::take(&mut self.gone)
    }

    pub(crate) fn take_changed(&mut self) -> Vec<Topic> {
        std::mem::take(&mut self.changed).into_iter().filter_map(|id| self.all.get(&id)).cloned().collect()
    }
}

impl Broker {
    pub(crate) fn create_topic(&mut self, id: RequestId, ask: &CreateTopic) {
        let made = self.created(ask);
        self.reply_safe(id, Reply::CreateTopic(made));
    }

    fn created(&mut self, ask: &CreateTopic) -> Result<Topic, CreateTopicError> {
        if let Some(why) = self.unwritable() {
            return Err(CreateTopicError::Unavailable { why });
        }
        if self.is_own(&ask.name) {
            return Err(CreateTopicError::SystemTopic { name: ask.name.clone() });
        }
        let of_a_group = ask.name.is_retry() || ask.name.is_dead_letter();
        if of_a_group && self.topics.get(&ask.name).is_none() && self.group_of(&ask.name).is_none() {
            return Err(CreateTopicError::NoGroup { name: ask.name.clone() });
        }
        for (field, value) in [("readQueueNums", ask.read_queues), ("writeQueueNums", ask.write_queues)] {
            if !(1..=QUEUES_MAX).contains(&value) {
                return Err(CreateTopicError::Queues { field, value, limit: QUEUES_MAX });
            }
        }
        let known = self.topics.get(&ask.name);
        let topic = Topic {
            name: ask.name.clone(),
            id: known.map_or_else(|| self.topics.next_id(), |topic| topic.id),
            read_queues: ask.read_queues,
            write_queues: ask.write_queues,
            permission: ask.permission,
            kind: ask.kind.or(known.map(|topic| topic.kind)).unwrap_or_default(),
            order: ask.order,
            sys_flag: ask.sys_flag,
        };
        if self.topics.get(&ask.name) != Some(&topic) {
            self.put_topic(topic.clone());
        }
        Ok(topic)
    }

    /// Whether a topic belongs to the server.
    pub(crate) fn is_own(&self, name: &TopicName) -> bool {
        let Config { cluster, broker_name, .. } = &self.config;
        let name = name.as_str();
        is_system_topic(name)
            || [cluster, broker_name].iter().any(|own| *own == name)
            || name == reply_topic(cluster)
    }

    /// The group whose retries or dead letters a topic holds.
    pub(crate) fn group_of(&self, name: &TopicName) -> Option<&GroupName> {
        let holds =
            |group: &&GroupName| [TopicName::retry(group), TopicName::dead_letter(group)].contains(name);
        self.groups.iter().map(|group| &group.name).find(holds)
    }

    pub(crate) fn get_topic(&mut self, id: RequestId, ask: &GetTopic) {
        let topic = self.topics.get(&ask.name).cloned();
        self.reply(id, Reply::GetTopic(topic));
    }

    pub(crate) fn get_topics(&mut self, id: RequestId) {
        let topics = self.topics.iter().cloned().collect();
        self.reply(id, Reply::GetTopics(topics));
    }

    /// A topic that there is not yet, with read and write permission. It is not made by this.
    pub(crate) fn new_topic(&self, name: TopicName, queues: u32, kind: TopicKind) -> Topic {
        Topic {
            name,
            id: self.topics.next_id(),
            read_queues: queues,
            write_queues: queues,
            permission: Permission::READ_WRITE,
            kind,
            order: false,
            sys_flag: 0,
        }
    }

    /// Takes a topic as it shall be from now on.
    pub(crate) fn put_topic(&mut self, topic: Topic) {
        let mut payload = Vec::new();
        record::Meta::Topic(topic.clone()).encode(&mut payload);
        self.append_record(Kind::Meta, &payload);
        let id = topic.id;
        self.topics.put(topic);
        self.let_go(id);
    }

    /// The topic of that name, made with `queues` queues where there is none.
    pub(crate) fn topic_or_make(&mut self, name: TopicName, queues: u32) -> Topic {
        match self.topics.get(&name) {
            Some(topic) => topic.clone(),
            None => {
                let topic = self.new_topic(name, queues, TopicKind::Normal);
                self.put_topic(topic.clone());
                topic
            }
        }
    }

    /// `%RETRY%group`, as many queues as the group says.
    pub(crate) fn retry_topic(&mut self, group: &GroupName) -> Topic {
        self.topic_or_make(TopicName::retry(group), self.retry_queues(group))
    }

    /// The retry topic that a group's first heartbeat makes, where there is none yet and it may.
    ///
    /// A client asks where it lies before that heartbeat, and then not again for half a minute, in which what it
    /// could not handle would wait beyond its time.
    pub fn coming_retry_topic(&self, name: &TopicName) -> Option<Topic> {
        let group = name.retry_group().filter(|_| self.topics.get(name).is_none())?;
        let queues = self.retry_queues(&group);
        let may = self.config.auto_create_groups && self.groups.len() < self.config.groups_max;
        may.then(|| self.new_topic(name.clone(), queues, TopicKind::Normal))
    }

    /// How many queues a group's retry topic is made with.
    pub(crate) fn retry_queues(&self, group: &GroupName) -> u32 {
        self.groups.get(group).map_or(1, |settings| settings.retry_queues.clamp(1, QUEUES_MAX))
    }

    /// `%DLQ%group`.
    pub(crate) fn dead_letter_topic(&mut self, group: &GroupName) -> Topic {
        self.topic_or_make(TopicName::dead_letter(group), 1)
    }

    /// Makes the topics that RocketMQ's clients and tools count on, where they are missing.
    pub(crate) fn make_system_topics(&mut self) {
        let inherit = Permission(7);
        let cluster = self.config.cluster.clone();
        let reply = reply_topic(&cluster);
        let broker = self.config.broker_name.clone();
        let levels = self.config.levels.max();
        let wanted = [
            ("TBW102", self.config.default_queues, inherit),
            (&cluster, 16, inherit),
            (&broker, 1, inherit),
            (&reply, 1, Permission::READ_WRITE),
            ("BenchmarkTest", QUEUES_MAX, Permission::READ_WRITE),
            ("OFFSET_MOVED_EVENT", 1, Permission::READ_WRITE),
            ("RMQ_SYS_TRACE_TOPIC", 1, Permission::READ_WRITE),
            ("SELF_TEST_TOPIC", 1, Permission::READ_WRITE),
            (SCHEDULE_TOPIC, levels, Permission::READ_WRITE),
            (TIMER_TOPIC, 1, Permission::READ_WRITE),
            (HALF_TOPIC, 1, Permission::READ_WRITE),
            (OP_TOPIC, 1, Permission::READ_WRITE),
        ];
        for (name, queues, permission) in wanted {
            let Ok(name) = TopicName::new(name) else {
                continue;
            };
            let known = self.topics.get(&name);
            if known.is_some_and(|topic| (topic.read_queues, topic.permission) == (queues, permission)) {
                continue;
            }
            let id = known.map_or_else(|| self.topics.next_id(), |topic| topic.id);
            let kind = TopicKind::Normal;
            self.put_topic(Topic {
                name,
                id,
                read_queues: queues,
                write_queues: queues,
                permission,
                kind,
                order: false,
                sys_flag: 0,
            });
        }
    }
}

/// Where answers to a cluster's requests go.
pub(crate) fn reply_topic(cluster: &str) -> String {
    format!("{cluster}_REPLY_TOPIC")
}

/// The view of messages delayed by level: queue = level - 1.
pub(crate) const SCHEDULE_TOPIC: &str = "SCHEDULE_TOPIC_XXXX";
/// The view of messages delayed to a moment: one queue.
pub(crate) const TIMER_TOPIC: &str = "rmq_sys_wheel_timer";
