//! Running: what a consumer tells of itself (307), and of a message it was given directly (309).

use super::heartbeat::SubscriptionData;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a consumer tells of itself: the body of the answer to 307. Peer: `ConsumerRunningInfo`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ConsumerRunningInfo {
    /// What its threads are at, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jstack: Option<String>,
    /// `PROP_CONSUME_TYPE`, `PROP_CONSUMER_START_TIMESTAMP` (ms since the epoch) and their like.
    pub properties: BTreeMap<String, String>,
    /// What it wants.
    pub subscription_set: Vec<SubscriptionData>,
}

/// What became of a message given to a consumer directly: the body of the answer to 309. Peer:
/// `ConsumeMessageDirectlyResult`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ConsumedDirectly {
    /// Whether the consumer finishes what it consumes by itself.
    pub auto_commit: bool,
    /// `CR_SUCCESS`, `CR_LATER`, `CR_RETURN_NULL` and their like.
    pub consume_result: String,
    /// Whether it consumes in order.
    pub order: bool,
    /// Whatever it says.
    pub remark: String,
    /// How long it took.
    pub spent_time_mills: i64,
}
