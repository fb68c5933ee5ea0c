//! Routes: a topic's brokers, and its queues on each.

use crate::foreign::Foreign;
use model::{Permission, Topic, TopicName};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

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

/// A broker as it is told of: its addresses by broker id, 0 for the master.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerData {
    /// Its cluster.
    pub cluster: String,
    /// Its name.
    pub name: String,
    /// Its addresses by broker id.
    pub addresses: BTreeMap<i64, String>,
    /// Whether it is the broker of this process.
    pub local: bool,
}

/// What may be done with a topic's queues on one broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queues {
    /// Queues to read.
    pub read: u32,
    /// Queues to write.
    pub write: u32,
    /// What may be done with them.
    pub permission: Permission,
    /// RocketMQ's `topicSysFlag`.
    pub sys_flag: u32,
}

/// A topic's queues on one broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueData {
    /// The broker's name.
    pub broker: String,
    /// Whether that is the broker of this process.
    pub local: bool,
    /// They.
    pub queues: Queues,
}

/// Where a topic lies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Route {
    /// The brokers that serve it.
    pub brokers: Vec<BrokerData>,
    /// Its queues on each.
    pub queues: Vec<QueueData>,
}

/// A broker's name, shared by all of its entries.
pub(crate) type BrokerName = Arc<str>;

/// All brokers and the topics they serve.
#[derive(Debug, Default)]
pub struct NameServer {
    pub(crate) own: Option<BrokerAddress>,
    pub(crate) foreign: Foreign,
    /// Every topic's queues, the brokers of one topic side by side.
    pub(crate) queues: BTreeMap<(TopicName, BrokerName), Queues>,
    /// Brokers that producers shall stay away from.
    unwritable: BTreeSet<String>,
}

impl From<&Topic> for Queues {
    fn from(topic: &Topic) -> Self {
        Self {
            read: topic.read_queues,
            write: topic.write_queues,
            permission: topic.permission,
            sys_flag: topic.sys_flag,
        }
    }
}

impl NameServer {
    /// One that knows nobody.
    pub fn new() -> Self {
        Self::default()
    }

    /// One that knows the broker of this process, a master.
    pub fn beside(own: BrokerAddress) -> Self {
        Self { own: Some(own), ..Self::default() }
    }

    /// The broker of this process serves a topic as it is now. Nothing where there is no such broker.
    pub fn update(&mut self, topic: &Topic) {
        if let Some(own) = &self.own {
            self.queues.insert((topic.name.clone(), own.name.as_str().into()), topic.into());
        }
    }

    /// The broker of this process no longer serves a topic.
    pub fn remove(&mut self, topic: &TopicName) {
        if let Some(own) = &self.own {
            self.queues.remove(&(topic.clone(), own.name.as_str().into()));
        }
    }

    /// Shows a broker's queues without write permission, or again as they are; tells how many topics that is.
    ///
    /// Peer: `RouteInfoManager#wipeWritePermOfBrokerByLock` (RocketMQ), which forgets it as well when it ends.
    pub fn set_writable(&mut self, broker: &str, writable: bool) -> usize {
        match writable {
            true => self.unwritable.remove(broker),
            false => self.broker(broker).is_some() && self.unwritable.insert(broker.to_owned()),
        };
        self.queues.keys().filter(|(_, name)| &**name == broker).count()
    }

    /// Where `topic` lies; `None` where nobody serves it.
    pub fn route(&self, topic: &TopicName) -> Option<Route> {
        let from = (topic.clone(), BrokerName::from(""));
        let mut route = Route::default();
        for ((_, name), queues) in self.queues.range(from..).take_while(|((of, _), _)| of == topic) {
            let Some(broker) = self.broker(name) else { continue };
            let mut queues = *queues;
            if self.unwritable.contains(&**name) {
                queues.permission.0 &= !Permission::WRITE;
            }
            route.queues.push(QueueData { broker: broker.name.clone(), local: broker.local, queues });
            route.brokers.push(broker);
        }
        (!route.queues.is_empty()).then_some(route)
    }

    /// Adds to a route that the broker of this process will serve `topic`.
    pub fn add_coming(&self, route: &mut Route, topic: &Topic) {
        if let Some(own) = &self.own {
            route.queues.push(QueueData { broker: own.name.clone(), local: true, queues: topic.into() });
            route.brokers.push(own_data(own));
        }
    }

    /// All brokers, by name.
    pub fn brokers(&self) -> Vec<BrokerData> {
        let own = self.own.iter().map(own_data);
        let mut all: Vec<BrokerData> = own.chain(self.foreign.brokers()).collect();
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all
    }

    /// The names of all topics, or of those that a cluster's brokers serve.
    pub fn topics(&self, cluster: Option<&str>) -> Vec<TopicName> {
        let mut brokers = self.brokers();
        brokers.retain(|broker| cluster.is_none_or(|cluster| broker.cluster == cluster));
        let brokers: BTreeSet<&str> = brokers.iter().map(|broker| broker.name.as_str()).collect();
        let entries = self.queues.keys().filter(|(_, name)| brokers.contains(&**name));
        let mut topics: Vec<TopicName> = entries.map(|(topic, _)| topic.clone()).collect();
        topics.dedup();
        topics
    }

    /// A broker; `None` where it is not here.
    pub fn broker(&self, name: &str) -> Option<BrokerData> {
        match &self.own {
            Some(own) if own.name == name => Some(own_data(own)),
            _ => self.foreign.broker(name),
        }
    }

    /// A broker is no longer known: neither are its queues, nor that producers shall stay away from it.
    pub(crate) fn forget(&mut self, name: &str) {
        self.queues.retain(|(_, broker), _| **broker != *name);
        self.unwritable.remove(name);
    }
}

fn own_data(own: &BrokerAddress) -> BrokerData {
    BrokerData {
        cluster: own.cluster.clone(),
        name: own.name.clone(),
        addresses: BTreeMap::from([(0, own.address.clone())]),
        local: true,
    }
}
