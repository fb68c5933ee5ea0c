//! Heartbeat: `HEART_BEAT` (34), which has no header.

use super::fields::header;
use serde::{Deserialize, Serialize};

header! {
    /// What a client may spare itself next time. Peer: `HeartbeatV2Result` (RocketMQ 5.x).
    Answer {
        /// Whether later heartbeats may leave their subscriptions out.
        supports_v2: bool = "IS_SUPPORT_HEART_BEAT_V2",
        /// Whether the next one must have them.
        subscriptions_changed: bool = "IS_SUB_CHANGE",
    }
}

/// All that a client produces and consumes. Peer: `HeartbeatData`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HeartbeatData {
    /// The client's own name.
    #[serde(rename = "clientID")]
    pub client_id: String,
    /// The groups it consumes for.
    pub consumer_data_set: Vec<ConsumerData>,
    /// A number that stands for the subscriptions; 0 for none.
    pub heartbeat_fingerprint: i32,
    /// The groups it produces for.
    pub producer_data_set: Vec<ProducerData>,
    /// Whether the subscriptions are left out.
    pub without_sub: bool,
}

/// A member of a producer group. Peer: `ProducerData`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ProducerData {
    /// The group.
    pub group_name: String,
}

/// A member of a consumer group. Peer: `ConsumerData`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ConsumerData {
    /// Where it begins without offsets: `CONSUME_FROM_LAST_OFFSET` and its like.
    pub consume_from_where: String,
    /// `CONSUME_ACTIVELY`, `CONSUME_PASSIVELY` or `CONSUME_POP`.
    pub consume_type: String,
    /// The group.
    pub group_name: String,
    /// `CLUSTERING` or `BROADCASTING`.
    pub message_model: String,
    /// What it wants.
    pub subscription_data_set: Vec<SubscriptionData>,
    /// Kept by no one.
    pub unit_mode: bool,
}

/// A topic a consumer wants. Peer: `SubscriptionData`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SubscriptionData {
    /// Always false.
    pub class_filter_mode: bool,
    /// The tags' codes; see `wire::tag`.
    pub code_set: Vec<i32>,
    /// `TAG`, `SQL92` or nothing.
    pub expression_type: String,
    /// The expression.
    pub sub_string: String,
    /// Its version, greater is newer.
    pub sub_version: i64,
    /// The tags.
    pub tags_set: Vec<String>,
    /// The topic.
    pub topic: String,
}
