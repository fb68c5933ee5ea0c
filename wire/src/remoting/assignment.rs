//! Assignment: `QUERY_ASSIGNMENT` (400), `SET_MESSAGE_REQUEST_MODE` (401). No headers; the second's answer has no body.

use super::lock::MessageQueue;
use serde::{Deserialize, Serialize};

/// Who asks which queues are its own. Peer: `QueryAssignmentRequestBody` (RocketMQ 5.x).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Query {
    /// The client.
    pub client_id: String,
    /// The group.
    pub consumer_group: String,
    /// `CLUSTERING` or `BROADCASTING`.
    pub message_model: String,
    /// How queues are shared: `AVG` or `AVG_BY_CIRCLE`.
    pub strategy_name: String,
    /// The topic.
    pub topic: String,
}

/// What is the client's own; nothing: it goes on as it is. Peer: `QueryAssignmentResponseBody`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Answer {
    /// The queues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_queue_assignments: Option<Vec<Assignment>>,
}

/// Peer: `MessageQueueAssignment`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Assignment {
    /// A queue; with -1 for its number all of the broker's.
    pub message_queue: MessageQueue,
    /// [`POP`] or [`PULL`].
    pub mode: String,
}

/// How a group's members get a topic's messages. Peer: `SetMessageRequestModeRequestBody`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SetMode {
    /// The group.
    pub consumer_group: String,
    /// [`POP`] or [`PULL`].
    pub mode: String,
    /// How many other members' queues each pops besides its own; 0 and below: all queues.
    pub pop_share_queue_num: i32,
    /// The topic.
    pub topic: String,
}

/// Messages are taken with leases.
pub const POP: &str = "POP";
/// Messages are read by offset.
pub const PULL: &str = "PULL";
