//! Administration: headers and bodies that only tools send, RocketMQ's mqadmin and dashboard.
//!
//! | codes                   | of what                                                        |
//! |-------------------------|----------------------------------------------------------------|
//! | 26, 28, 315             | a broker's settings, runtime information and counts            |
//! | 32, 321                 | a queue's index                                                |
//! | 100, 101, 102, 219      | values kept by the name server                                 |
//! | 201, 207, 352           | groups                                                         |
//! | 202, 208, 303, 317      | progress; their maps have objects as keys                      |
//! | 203, 204, 328           | connections                                                    |
//! | 205, 327                | whether producers use a broker                                 |
//! | 215, 216, 224, 300, 343 | topics                                                         |
//! | 221, 222, 223, 307, 309 | offsets set anew; questions that a client answers              |
//! | 308, 323, 353, 907      | least offsets, halves put aside, forbidden topics, replication |

use super::fields::header;
use super::heartbeat::SubscriptionData;
use super::topic::TopicConfig;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

header! {
    /// A topic: 202, 215, 217, 300. Peer: `GetTopicStatsInfoRequestHeader` and its like.
    OfTopic {
        /// Its name.
        topic: String = "topic",
    }
}

header! {
    /// A topic in one cluster or in all: 216. Peer: `DeleteTopicFromNamesrvRequestHeader`.
    OfClusterTopic {
        /// Its name.
        topic: String = "topic",
        /// The cluster.
        cluster: Option<String> = "clusterName",
    }
}

header! {
    /// A group: 343, 345. Peer: `QueryTopicsByConsumerRequestHeader`, `QuerySubscriptionByConsumerRequestHeader`.
    OfGroup {
        /// Its name.
        group: String = "group",
        /// A topic (345).
        topic: Option<String> = "topic",
    }
}

header! {
    /// The members of a group: 203. Peer: `GetConsumerConnectionListRequestHeader`.
    OfConsumers {
        /// The group.
        group: String = "consumerGroup",
    }
}

header! {
    /// Producers of a group: 204. Peer: `GetProducerConnectionListRequestHeader`.
    OfProducers {
        /// The group.
        group: String = "producerGroup",
    }
}

header! {
    /// A cluster: 224. Peer: `GetTopicsByClusterRequestHeader`.
    OfCluster {
        /// Its name.
        cluster: String = "cluster",
    }
}

header! {
    /// A broker: 205, 327. Peer: `WipeWritePermOfBrokerRequestHeader`.
    OfBroker {
        /// Its name.
        broker: String = "brokerName",
    }
}

header! {
    /// A group that shall go: 207. Peer: `DeleteSubscriptionGroupRequestHeader`.
    DeleteGroup {
        /// Its name.
        group: String = "groupName",
    }
}

header! {
    /// A group's progress: 208. Peer: `GetConsumeStatsRequestHeader`.
    ConsumeStatsHeader {
        /// The group.
        group: String = "consumerGroup",
        /// In one topic.
        topic: Option<String> = "topic",
        /// In these topics, with semicolons between.
        topics: Option<String> = "topicList",
    }
}

header! {
    /// A group's time span in a topic: 303. Peer: `QueryConsumeTimeSpanRequestHeader`.
    TimeSpanHeader {
        /// The topic.
        topic: String = "topic",
        /// The group.
        group: String = "group",
    }
}

header! {
    /// Offsets to be set anew: 222. Peer: `ResetOffsetRequestHeader`.
    Reset {
        /// The topic.
        topic: String = "topic",
        /// The group.
        group: String = "group",
        /// The queue; none or a negative one: all.
        queue_id: Option<i32> = "queueId",
        /// The place, where a queue is named.
        offset: Option<i64> = "offset",
        /// The moment, in ms since the epoch; a negative one: the end.
        timestamp: Option<i64> = "timestamp",
        /// `false`: only back.
        force: Option<String> = "isForce",
    }
}

header! {
    /// How far all groups have read: 308. Peer: `QueryCorrectionOffsetHeader`.
    LeastOffsets {
        /// The topic.
        topic: String = "topic",
        /// Groups that do not count, with commas between.
        without: Option<String> = "filterGroups",
        /// A group that may lag behind.
        compare: String = "compareGroup",
    }
}

header! {
    /// A half message that was put aside: 323. Peer: `ResumeCheckHalfMessageRequestHeader`.
    Half {
        /// The topic where it lies.
        topic: Option<String> = "topic",
        /// Its message id there.
        message_id: String = "msgId",
    }
}

header! {
    /// Whether a group may read a topic: 353. Peer: `UpdateGroupForbiddenRequestHeader`.
    Readable {
        /// The group.
        group: String = "group",
        /// The topic.
        topic: String = "topic",
        /// `true` or `false`; none only asks.
        readable: Option<String> = "readable",
    }
}

header! {
    /// Offsets to be taken over: 314. Peer: `CloneGroupOffsetRequestHeader`.
    Clone {
        /// Whose.
        from: String = "srcGroup",
        /// By whom.
        to: String = "destGroup",
        /// In one topic.
        topic: Option<String> = "topic",
    }
}

header! {
    /// Offsets as consumers hold them: 223. Peer: `GetConsumerStatusRequestHeader`.
    ConsumerStatus {
        /// The topic.
        topic: String = "topic",
        /// The group.
        group: String = "group",
        /// Of this client only.
        client: Option<String> = "clientAddr",
    }
}

header! {
    /// A question that a client answers: 307, 309. Peer: `GetConsumerRunningInfoRequestHeader`,
    /// `ConsumeMessageDirectlyResultRequestHeader`.
    OfClient {
        /// The group.
        group: String = "consumerGroup",
        /// The client.
        client: Option<String> = "clientId",
        /// The message (309).
        message_id: Option<String> = "msgId",
        /// Whether what its threads are at is wanted, too (307).
        jstack: bool = "jstackEnable",
    }
}

header! {
    /// A value: 100; without one 101 and 102. Peer: `PutKVConfigRequestHeader`.
    Value {
        /// Where its key is unique.
        namespace: String = "namespace",
        /// Its name.
        key: String = "key",
        /// It.
        value: Option<String> = "value",
    }
}

header! {
    /// A namespace: 219. Peer: `GetKVListByNamespaceRequestHeader`.
    Namespace {
        /// Its name.
        namespace: String = "namespace",
    }
}

header! {
    /// Counts: 315. Peer: `ViewBrokerStatsDataRequestHeader`.
    Stats {
        /// Of what kind.
        name: String = "statsName",
        /// Of what: a topic, `topic@group`, a cluster.
        key: String = "statsKey",
    }
}

header! {
    /// A part of a queue's index: 321. Peer: `QueryConsumeQueueRequestHeader`.
    Index {
        /// The topic.
        topic: String = "topic",
        /// The queue.
        queue_id: i32 = "queueId",
        /// From this message on.
        from: i64 = "index",
        /// So many.
        count: i32 = "count",
    }
}

/// Names: 224, 304, 305, 343. Peer: `TopicList`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct TopicList {
    /// A broker's address, where there is more to ask.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broker_addr: Option<String>,
    /// The names.
    pub topic_list: Vec<String>,
}

/// Which state something is in. Peer: `DataVersion`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DataVersion {
    /// Grows with each change.
    pub counter: i64,
    /// Grows when another member of a broker becomes its master; 0 where none is chosen.
    pub state_version: i64,
    /// When it last changed, in ms since the epoch.
    pub timestamp: i64,
}

/// All topics: 21. Peer: `TopicConfigAndMappingSerializeWrapper`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AllTopics {
    /// Their state.
    pub data_version: DataVersion,
    /// Always the first.
    pub mapping_data_version: DataVersion,
    /// They, by name.
    pub topic_config_table: BTreeMap<String, TopicConfig>,
    /// None.
    pub topic_queue_mapping_detail_map: BTreeMap<String, String>,
    /// None.
    pub topic_queue_mapping_info_map: BTreeMap<String, String>,
}

/// Topics to make or change: 18.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct TopicConfigs {
    /// They.
    pub topic_config_list: Vec<TopicConfig>,
}

/// All groups: 201. Peer: `SubscriptionGroupWrapper`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AllGroups {
    /// Their state.
    pub data_version: DataVersion,
    /// By group and topic what the group may not do there.
    pub forbidden_table: BTreeMap<String, BTreeMap<String, i32>>,
    /// They, by name.
    pub subscription_group_table: BTreeMap<String, super::group::SubscriptionGroupConfig>,
}

/// Groups to make or change: 225.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GroupConfigs {
    /// They.
    pub group_config_list: Vec<super::group::SubscriptionGroupConfig>,
}

/// Whether a group may read a topic: 353. Peer: `GroupForbidden`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GroupForbidden {
    /// The group.
    pub group: String,
    /// Whether it may.
    pub readable: bool,
    /// The topic.
    pub topic: String,
}

/// The bit of [`AllGroups::forbidden_table`] that says that a group may not read. Peer: `PermName.INDEX_PERM_READ`.
pub const FORBIDDEN_READ: i32 = 1 << 2;

/// How far all groups have read, by queue: 308. Peer: `QueryCorrectionOffsetBody`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CorrectionOffsets {
    /// The least offset, `i64::MAX` where the compared group lags behind it.
    pub correction_offsets: BTreeMap<u32, i64>,
}

/// A broker's replicas: 907. Peer: `HARuntimeInfo`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Replicas {
    /// They; none.
    pub ha_connection_info: Vec<String>,
    /// How many follow closely.
    pub in_sync_slave_nums: i32,
    /// Whether this broker may be written to.
    pub master: bool,
    /// The end of its log.
    pub master_commit_log_max_offset: u64,
}

/// Groups by name: 300. Peer: `GroupList`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GroupList {
    /// The names.
    pub group_list: Vec<String>,
}

/// A client's connection. Peer: `Connection`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Connection {
    /// Its address.
    pub client_addr: String,
    /// Its own name.
    pub client_id: String,
    /// Its language.
    pub language: String,
    /// Its version, as RocketMQ's ordinal.
    pub version: i32,
}

/// The members of a consumer group: 203. Peer: `ConsumerConnection`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ConsumerConnection {
    /// They.
    pub connection_set: Vec<Connection>,
    /// Where they begin without offsets.
    pub consume_from_where: String,
    /// How they get messages.
    pub consume_type: String,
    /// Shared or all.
    pub message_model: String,
    /// What they want, by topic.
    pub subscription_table: BTreeMap<String, SubscriptionData>,
}

/// The producers of a group: 204. Peer: `ProducerConnection`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ProducerConnection {
    /// They.
    pub connection_set: Vec<Connection>,
}

/// All producers: 328. Peer: `ProducerTableInfo`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProducerTable {
    /// They, by group.
    pub data: BTreeMap<String, Vec<ProducerInfo>>,
}

/// One producer. Peer: `ProducerInfo`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ProducerInfo {
    /// Its own name.
    pub client_id: String,
    /// Its language.
    pub language: String,
    /// When it was last heard of, in ms since the epoch.
    pub last_update_timestamp: i64,
    /// Its address.
    #[serde(rename = "remoteIP")]
    pub remote_ip: String,
    /// Its version, as RocketMQ's ordinal.
    pub version: i32,
}

/// What a group wants of a topic: 345.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SubscriptionOfGroup {
    /// The group.
    pub group: String,
    /// What it wants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subscription_data: Option<SubscriptionData>,
    /// The topic.
    pub topic: String,
}

/// Names and values: 28, 219. Peer: `KVTable`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Table {
    /// The values by name.
    pub table: BTreeMap<String, String>,
}

/// One queue's ends, in 202. Peer: `TopicOffset`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct TopicOffset {
    /// When its last message was stored, in ms since the epoch; 0 for none.
    pub last_update_timestamp: i64,
    /// Its next message.
    pub max_offset: i64,
    /// Its first message.
    pub min_offset: i64,
}

/// One queue's progress, in 208. Peer: `OffsetWrapper`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct OffsetWrapper {
    /// The queue's next message.
    pub broker_offset: i64,
    /// All before it is finished.
    pub consumer_offset: i64,
    /// When the last finished message was stored, in ms since the epoch; 0 for none.
    pub last_timestamp: i64,
    /// All before it was handed out.
    pub pull_offset: i64,
}

/// One queue's time span, in 303. Peer: `QueueTimeSpan`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct QueueTimeSpan {
    /// When the last finished message was stored.
    pub consume_time_stamp: i64,
    /// How much later the newest message was stored.
    pub delay_time: i64,
    /// When the newest message was stored.
    pub max_time_stamp: i64,
    /// The queue.
    pub message_queue: super::lock::MessageQueue,
    /// When the oldest message was stored.
    pub min_time_stamp: i64,
}

/// Time spans: 303. Peer: `QueryConsumeTimeSpanBody`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct TimeSpans {
    /// Of each queue.
    pub consume_time_span_set: Vec<QueueTimeSpan>,
}

/// Counts of one window, in 315. Peer: `BrokerStatsItem`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StatsItem {
    /// What is counted for each request.
    pub avgpt: f64,
    /// All of it.
    pub sum: u64,
    /// All of it, a second.
    pub tps: f64,
}

/// Counts: 315. Peer: `BrokerStatsData`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct StatsData {
    /// Over the last day.
    pub stats_day: StatsItem,
    /// Over the last hour.
    pub stats_hour: StatsItem,
    /// Over the last minute.
    pub stats_minute: StatsItem,
}

/// One message in a queue's index, in 321. Peer: `ConsumeQueueData`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct IndexData {
    /// Always false.
    pub eval: bool,
    /// Where it lies.
    pub physic_offset: i64,
    /// Its bytes.
    pub physic_size: i32,
    /// The number of its tag.
    pub tags_code: i64,
}

/// A part of a queue's index: 321. Peer: `QueryConsumeQueueResponseBody`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct IndexPart {
    /// The queue's next message.
    pub max_queue_index: i64,
    /// The queue's first message.
    pub min_queue_index: i64,
    /// The messages.
    pub queue_data: Vec<IndexData>,
}

/// Reads settings as they stand in a file of Java's: lines of `name=value`. Lines without one, blanks around both
/// and comments are passed over; a backslash before a sign stands for the sign.
pub fn read_properties(text: &str) -> Vec<(String, String)> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', '!']));
    let pairs = lines.filter_map(|line| line.split_once('='));
    let plain = |text: &str| {
        let mut plain = String::with_capacity(text.len());
        let mut signs = text.trim().chars();
        while let Some(sign) = signs.next() {
            plain.extend(if sign == '\\' { signs.next() } else { Some(sign) });
        }
        plain
    };
    pairs.map(|(name, value)| (plain(name), plain(value))).collect()
}

/// Writes settings the same way.
pub fn write_properties<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    use std::fmt::Write as _;
    let mut text = String::new();
    for (name, value) in pairs {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name}={}", value.replace('\\', "\\\\").replace('\n', " "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_are_read_as_they_are_written() {
        let pairs = [("a", "1s 5s"), ("path", "c:\\x"), ("empty", "")];
        let text = write_properties(pairs);
        let read = read_properties(&text);
        assert!(read.iter().map(|(name, value)| (name.as_str(), value.as_str())).eq(pairs), "{text}");
        let odd = "# comment\n\n name = va\\:lue \nnothing\n\\";
        assert_eq!(read_properties(odd), [("name".to_owned(), "va:lue".to_owned())]);
    }

    #[test]
    fn a_list_of_names_has_an_address_only_where_there_is_more_to_ask() {
        let text = |list: &TopicList| String::from_utf8(crate::remoting::json::write(list).to_vec()).unwrap();
        let mut list = TopicList { broker_addr: None, topic_list: vec!["T".into()] };
        assert_eq!(text(&list), r#"{"topicList":["T"]}"#);
        list.broker_addr = Some("h:1".into());
        assert_eq!(text(&list), r#"{"brokerAddr":"h:1","topicList":["T"]}"#);
    }
}
