//! Lock: `LOCK_BATCH_MQ` (41), `UNLOCK_BATCH_MQ` (42). No headers; the second's answer has no body.

use serde::{Deserialize, Serialize};

/// Queues that a member of a group wants for itself, or no longer. Peer: `LockBatchRequestBody` and
/// `UnlockBatchRequestBody` (RocketMQ 5.x).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Body {
    /// The member.
    pub client_id: String,
    /// The group.
    pub consumer_group: String,
    /// The queues.
    pub mq_set: Vec<MessageQueue>,
    /// Always false.
    pub only_this_broker: bool,
}

/// The queues it now holds. Peer: `LockBatchResponseBody`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Answer {
    /// Those of the queues asked for.
    #[serde(rename = "lockOKMQSet")]
    pub locked: Vec<MessageQueue>,
}

/// A queue as clients name it. Peer: `MessageQueue`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MessageQueue {
    /// Its broker.
    pub broker_name: String,
    /// Its number.
    pub queue_id: i32,
    /// Its topic.
    pub topic: String,
}
