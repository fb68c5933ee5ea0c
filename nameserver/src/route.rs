//! Routes: a topic's brokers, and its queues on each.

use model::{Permission, Topic, TopicName};
use std::collections::{BTreeMap, BTreeSet};

/// A broker and how it is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerAddress {
    /// Its cluster.
    pub cluster: String,
    /// Its name.
    pub name: String,
    /// Its address, `host:port`.
    pub address: String,
}

/// A broker in a route: its addresses by broker id, 0 for the master.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerData {
    /// Its cluster.
    pub cluster: String,
    /// Its name.
    pub name: String,
    /// Its addresses by broker id.
    pub addresses: BTreeMap<i64, String>,
}

/// A topic's queues on one broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueData {
    /// The broker's name.
    pub broker: String,
    /// Queues to read.
    pub read_queues: u32,
    /// Queues to write.
    pub write_queues: u32,
    /// What may be done with them.
    pub permission: Permission,
    /// RocketMQ's `topicSysFlag`.
    pub sys_flag: u32,
}

impl QueueData {
    fn of(broker: &str, topic: &Topic) -> Self {
        Self {
            broker: broker.to_owned(),
            read_queues: topic.read_queues,
            write_queues: topic.write_queues,
            permission: topic.permission,
            sys_flag: topic.sys_flag,
        }
    }
}

/// Where a topic lies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Route {
    /// The brokers that serve it.
    pub brokers: Vec<BrokerData>,
    /// Its queues on each.
    pub queues: Vec<QueueData>,
}

/// All brokers and the topics they serve.
#[derive(Debug, Default)]
pub struct NameServer {
    brokers: BTreeMap<String, BrokerData>,
    topics: BTreeMap<TopicName, BTreeMap<String, QueueData>>,
    /// Brokers that producers shall stay away from.
    unwritable: BTreeSet<String>,
}

impl NameServer {
    /// One that knows nobody.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes what `broker` (a master) serves, in place of all it registered before.
    pub fn register<'a>(&mut self, broker: &BrokerAddress, topics: impl IntoIterator<Item = &'a Topic>) {
        self.topics.retain(|_, queues| {
            queues.remove(&broker.name);
            !queues.is_empty()
        });
        let data = BrokerData {
            cluster: broker.cluster.clone(),
            name: broker.name.clone(),
            addresses: BTreeMap::from([(0, broker.address.clone())]),
        };
        self.brokers.insert(broker.name.clone(), data);
        for topic in topics {
            self.update(&broker.name, topic);
        }
    }

    /// Takes one topic that a registered broker serves, in place of what it registered of it before.
    pub fn update(&mut self, broker: &str, topic: &Topic) {
        let queues = QueueData::of(broker, topic);
        self.topics.entry(topic.name.clone()).or_default().insert(broker.to_owned(), queues);
    }

    /// A registered broker no longer serves a topic.
    pub fn remove(&mut self, broker: &str, topic: &TopicName) {
        if let Some(queues) = self.topics.get_mut(topic) {
            queues.remove(broker);
            if queues.is_empty() {
                self.topics.remove(topic);
            }
        }
    }

    /// Shows a broker's queues without write permission, or again as they are; tells how many topics that is.
    ///
    /// Peer: `RouteInfoManager#wipeWritePermOfBrokerByLock` (RocketMQ), which forgets it as well when it ends.
    pub fn set_writable(&mut self, broker: &str, writable: bool) -> usize {
        match writable {
            true => self.unwritable.remove(broker),
            false => self.brokers.contains_key(broker) && self.unwritable.insert(broker.to_owned()),
        };
        self.topics.values().filter(|queues| queues.contains_key(broker)).count()
    }

    /// Where `topic` lies; `None` where nobody serves it.
    pub fn route(&self, topic: &TopicName) -> Option<Route> {
        let shown = |queues: &QueueData| {
            let mut queues = queues.clone();
            if self.unwritable.contains(&queues.broker) {
                queues.permission.0 &= !Permission::WRITE;
            }
            queues
        };
        let queues: Vec<QueueData> = self.topics.get(topic)?.values().map(shown).collect();
        let brokers = queues.iter().filter_map(|queue| self.brokers.get(&queue.broker)).cloned().collect();
        Some(Route { brokers, queues })
    }

    /// Where `topic` will lie once `broker` serves it; `None` where that is not registered.
    pub fn coming_route(&self, broker: &str, topic: &Topic) -> Option<Route> {
        let brokers = vec![self.brokers.get(broker)?.clone()];
        Some(Route { brokers, queues: vec![QueueData::of(broker, topic)] })
    }

    /// All brokers, by name.
    pub fn brokers(&self) -> Vec<BrokerData> {
        self.brokers.values().cloned().collect()
    }

    /// The names of all topics.
    pub fn topics(&self) -> Vec<TopicName> {
        self.topics.keys().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{TopicId, TopicKind};

    fn broker() -> BrokerAddress {
        BrokerAddress { cluster: "c".into(), name: "b".into(), address: "127.0.0.1:10911".into() }
    }

    fn topic(name: &str, queues: u32) -> Topic {
        Topic {
            name: TopicName::new(name).unwrap(),
            id: TopicId(1),
            read_queues: queues,
            write_queues: queues,
            permission: Permission::READ_WRITE,
            kind: TopicKind::Normal,
            order: false,
            sys_flag: 0,
        }
    }

    #[test]
    fn a_broker_taken_out_of_writing_is_still_read() {
        let mut names = NameServer::new();
        names.register(&broker(), [&topic("one", 4), &topic("two", 1)]);
        assert_eq!(names.set_writable("b", false), 2);
        assert_eq!(names.set_writable("unknown", false), 0);
        let permission =
            |names: &NameServer| names.route(&TopicName::new("one").unwrap()).unwrap().queues[0].permission;
        assert_eq!(permission(&names), Permission(4));
        names.update("b", &topic("one", 4));
        assert_eq!(permission(&names), Permission(4), "a change of the topic does not end it");
        assert_eq!(names.set_writable("b", true), 2);
        assert_eq!(permission(&names), Permission::READ_WRITE);
    }

    #[test]
    fn a_deleted_topic_has_no_route() {
        let mut names = NameServer::new();
        names.register(&broker(), [&topic("one", 4), &topic("two", 1)]);
        names.remove("b", &TopicName::new("one").unwrap());
        assert_eq!(names.topics(), [TopicName::new("two").unwrap()]);
    }

    #[test]
    fn a_topic_no_longer_registered_has_no_route() {
        let mut names = NameServer::new();
        names.register(&broker(), [&topic("one", 4), &topic("two", 1)]);
        names.register(&broker(), [&topic("two", 8)]);
        assert_eq!(names.route(&TopicName::new("one").unwrap()), None);
        let two = names.route(&TopicName::new("two").unwrap()).unwrap();
        assert_eq!(
            (two.queues[0].read_queues, two.brokers[0].addresses[&0].as_str()),
            (8, "127.0.0.1:10911")
        );
    }
}
