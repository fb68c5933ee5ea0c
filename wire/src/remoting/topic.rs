//! Topic: `UPDATE_AND_CREATE_TOPIC` (17), `GET_TOPIC_CONFIG` (351), `GET_ALL_TOPIC_LIST_FROM_NAMESERVER` (206).

use super::fields::header;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

header! {
    /// A topic as it shall be: 17. Peer: `CreateTopicRequestHeader` (RocketMQ 5.x).
    Header {
        /// Its name.
        topic: String = "topic",
        /// The topic whose settings it takes; read by nobody.
        default_topic: Option<String> = "defaultTopic",
        /// Queues to read.
        read_queues: i32 = "readQueueNums",
        /// Queues to write.
        write_queues: i32 = "writeQueueNums",
        /// What may be done: 4 read, 2 write, 1 inherit.
        permission: i32 = "perm",
        /// `SINGLE_TAG`.
        filter_type: Option<String> = "topicFilterType",
        /// RocketMQ's `topicSysFlag`.
        sys_flag: Option<i32> = "topicSysFlag",
        /// Whether its queues are in order.
        order: bool = "order",
        /// Changes to its attributes, `+name=value` or `-name`, with commas between.
        attributes: Option<String> = "attributes",
    }
}

header! {
    /// A question for a topic: 351. Peer: `GetTopicConfigRequestHeader`.
    Get {
        /// Its name.
        topic: String = "topic",
    }
}

/// A topic: the body of the answer to 351. Peer: `TopicConfig` (RocketMQ 5.x).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct TopicConfig {
    /// Its attributes, `message.type` among them.
    pub attributes: BTreeMap<String, String>,
    /// Whether its queues are in order.
    pub order: bool,
    /// What may be done.
    pub perm: u32,
    /// Queues to read.
    pub read_queue_nums: u32,
    /// `SINGLE_TAG`.
    pub topic_filter_type: String,
    /// Its name.
    pub topic_name: String,
    /// RocketMQ's `topicSysFlag`.
    pub topic_sys_flag: u32,
    /// Queues to write.
    pub write_queue_nums: u32,
}

impl Default for TopicConfig {
    fn default() -> Self {
        Self {
            attributes: BTreeMap::new(),
            order: false,
            perm: 6,
            read_queue_nums: 16,
            topic_filter_type: "SINGLE_TAG".into(),
            topic_name: String::new(),
            topic_sys_flag: 0,
            write_queue_nums: 16,
        }
    }
}

/// Topics by name: the body of the answer to 206. Peer: `TopicList`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct TopicList {
    /// The names.
    pub topic_list: Vec<String>,
}
