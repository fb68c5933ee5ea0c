//! Group: `UPDATE_AND_CREATE_SUBSCRIPTIONGROUP` (200), `GET_SUBSCRIPTIONGROUP_CONFIG` (352).

use super::fields::header;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

header! {
    /// A question for a group: 352. Peer: `GetSubscriptionGroupConfigRequestHeader`.
    Get {
        /// Its name.
        group: String = "group",
    }
}

/// A group: the body of 200 and of the answer to 352. Peer: `SubscriptionGroupConfig` (RocketMQ 5.x), whose defaults
/// stand for what is absent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "the peer's body has that many")]
pub struct SubscriptionGroupConfig {
    /// None that mean anything here.
    pub attributes: BTreeMap<String, String>,
    /// Always 0.
    pub broker_id: i64,
    /// Whether it may consume in broadcast mode.
    pub consume_broadcast_enable: bool,
    /// Whether it may consume at all.
    pub consume_enable: bool,
    /// Always true.
    pub consume_from_min_enable: bool,
    /// Whether it consumes in order.
    pub consume_message_orderly: bool,
    /// Minutes a message may be in hand.
    pub consume_timeout_minute: i32,
    /// Its name.
    pub group_name: String,
    /// How the retries of gRPC consumers are spaced.
    pub group_retry_policy: RetryPolicy,
    /// Always 0.
    pub group_sys_flag: i32,
    /// Whether members hear when the membership changes.
    pub notify_consumer_ids_changed_enable: bool,
    /// Retries before the dead letters.
    pub retry_max_times: i32,
    /// Queues of its retry topic.
    pub retry_queue_nums: i32,
    /// Always 1.
    pub which_broker_when_consume_slowly: i64,
}

/// How retries are spaced. Peer: `GroupRetryPolicy`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RetryPolicy {
    /// The list of pauses, where it has one of its own.
    #[serde(rename = "customizedRetryPolicy", skip_serializing_if = "Option::is_none")]
    pub customized: Option<Customized>,
    /// The pauses that grow, where they are not the usual ones.
    #[serde(rename = "exponentialRetryPolicy", skip_serializing_if = "Option::is_none")]
    pub exponential: Option<Exponential>,
    /// `CUSTOMIZED` or `EXPONENTIAL`.
    #[serde(rename = "type")]
    pub kind: String,
}

/// Pauses one after the other. Peer: `CustomizedRetryPolicy`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Customized {
    /// In milliseconds.
    pub next: Vec<i64>,
}

/// Pauses of which each is so many times as long as the one before. Peer: `ExponentialRetryPolicy`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Exponential {
    /// The first, in milliseconds.
    pub initial: i64,
    /// The longest, in milliseconds.
    pub max: i64,
    /// How many times.
    pub multiplier: i64,
}

impl Default for Exponential {
    fn default() -> Self {
        Self { initial: 5000, max: 7_200_000, multiplier: 2 }
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { customized: None, exponential: None, kind: "CUSTOMIZED".into() }
    }
}

impl Default for SubscriptionGroupConfig {
    fn default() -> Self {
        Self {
            attributes: BTreeMap::new(),
            broker_id: 0,
            consume_broadcast_enable: true,
            consume_enable: true,
            consume_from_min_enable: true,
            consume_message_orderly: false,
            consume_timeout_minute: 15,
            group_name: String::new(),
            group_retry_policy: RetryPolicy::default(),
            group_sys_flag: 0,
            notify_consumer_ids_changed_enable: true,
            retry_max_times: 16,
            retry_queue_nums: 1,
            which_broker_when_consume_slowly: 1,
        }
    }
}
