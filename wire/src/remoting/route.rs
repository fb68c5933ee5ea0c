//! Route: `GET_ROUTEINFO_BY_TOPIC` (105).

use super::fields::header;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

header! {
    /// Which topic is sought. Peer: `GetRouteInfoRequestHeader`.
    Header {
        /// The topic.
        topic: String = "topic",
        /// Whether the client wants numbers as keys in quotes, which it always gets.
        standard_json: bool = "acceptStandardJsonOnly",
    }
}

/// Where a topic lies. Peer: `TopicRouteData` (RocketMQ 5.x).
///
/// Go's reader takes `brokerAddrs` apart by hand: without white space, and without commas in an address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct TopicRouteData {
    /// The brokers.
    pub broker_datas: Vec<BrokerData>,
    /// Always empty.
    pub filter_server_table: BTreeMap<String, Vec<String>>,
    /// The topic's queues on each.
    pub queue_datas: Vec<QueueData>,
}

/// A broker. Peer: `BrokerData`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct BrokerData {
    /// Its addresses, `host:port`, by broker id; 0 is the master.
    pub broker_addrs: BTreeMap<i64, String>,
    /// Its name.
    pub broker_name: String,
    /// Its cluster.
    pub cluster: String,
    /// Always false.
    pub enable_acting_master: bool,
}

/// A topic's queues on one broker. Peer: `QueueData`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct QueueData {
    /// The broker's name.
    pub broker_name: String,
    /// What may be done: 4 read, 2 write, 1 inherit.
    pub perm: u32,
    /// Queues to read.
    pub read_queue_nums: u32,
    /// The topic's `topicSysFlag`.
    pub topic_sys_flag: u32,
    /// Queues to write.
    pub write_queue_nums: u32,
}
