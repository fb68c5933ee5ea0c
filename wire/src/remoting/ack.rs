//! Ack: `ACK_MESSAGE` (200051), `BATCH_ACK_MESSAGE` (200151, no header), `CHANGE_MESSAGE_INVISIBLETIME` (200053).
//! No bodies but the batch's.

use super::fields::header;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Serialize};

header! {
    /// A message is finished. Peer: `AckMessageRequestHeader` (RocketMQ 5.x).
    Header {
        /// Who popped it.
        group: String = "consumerGroup",
        /// The topic it lies in: the retry topic where it came from there.
        topic: String = "topic",
        /// Its queue.
        queue_id: i32 = "queueId",
        /// Its handle: see `wire::ReceiptHandle`.
        handle: String = "extraInfo",
        /// Its place in the queue.
        queue_offset: i64 = "offset",
    }
}

header! {
    /// A lease is to end so long from now. Peer: `ChangeInvisibleTimeRequestHeader`.
    Change {
        /// Who popped the message.
        group: String = "consumerGroup",
        /// The topic it lies in: the retry topic where it came from there.
        topic: String = "topic",
        /// Its queue.
        queue_id: i32 = "queueId",
        /// Its handle.
        handle: String = "extraInfo",
        /// Its place in the queue.
        queue_offset: i64 = "offset",
        /// How long, in ms.
        invisible_ms: i64 = "invisibleTime",
    }
}

header! {
    /// From what the client builds the new handle; in every answer. Peer: `ChangeInvisibleTimeResponseHeader`.
    ChangeAnswer {
        /// Its pop time.
        pop_time: i64 = "popTime",
        /// How long its lease is, in ms.
        invisible_ms: i64 = "invisibleTime",
        /// RocketMQ's revive queue; 999 in ordered pops.
        revive_queue: i32 = "reviveQid",
    }
}

/// Messages that are finished, of several pops. Peer: `BatchAckMessageRequestBody`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Batch {
    /// The broker.
    pub broker_name: String,
    /// By pop and queue.
    pub acks: Vec<BatchAck>,
}

/// Messages of one pop and queue. Peer: `BatchAck`, whose short names and long ones are both read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BatchAck {
    /// Who popped them.
    #[serde(rename = "c", alias = "consumerGroup")]
    pub group: String,
    /// The topic that was popped, also where they come from its retry topic.
    #[serde(rename = "t", alias = "topic")]
    pub topic: String,
    /// The sign of `wire::receipt_handle::Retry`.
    #[serde(rename = "r", alias = "retry")]
    pub retry: String,
    /// Where the pop's read began.
    #[serde(rename = "so", alias = "startOffset")]
    pub start_offset: i64,
    /// The queue.
    #[serde(rename = "q", alias = "queueId")]
    pub queue_id: i32,
    /// RocketMQ's revive queue; 999 in ordered pops.
    #[serde(rename = "rq", alias = "reviveQueueId")]
    pub revive_queue: i32,
    /// When they were popped, in ms since the epoch.
    #[serde(rename = "pt", alias = "popTime")]
    pub pop_time: i64,
    /// For how long, in ms.
    #[serde(rename = "it", alias = "invisibleTime")]
    pub invisible_ms: i64,
    /// Which of them, in base 64: bit `i` stands for the offset `start_offset + i`.
    #[serde(rename = "b", alias = "bitSet")]
    pub bits: String,
}

/// Why the bits of a batch cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BitsError {
    /// No base 64.
    #[error("the field b of a batch ack is not base 64")]
    NotBase64,
    /// More than are taken in one request.
    #[error("a batch ack names over {limit} messages, the limit is {limit}")]
    TooMany {
        /// The most that are left of the request's.
        limit: usize,
    },
}

impl BatchAck {
    /// The offsets that the bits stand for, `limit` at most; those past what 64 bits hold are passed over.
    pub fn offsets(&self, limit: usize) -> Result<Vec<i64>, BitsError> {
        let bytes = BASE64_STANDARD.decode(&self.bits).map_err(|_| BitsError::NotBase64)?;
        let set = (0_i64..).zip(bytes).flat_map(|(at, byte)| {
            (0..8).filter(move |bit| byte >> bit & 1 == 1).map(move |bit| at * 8 + bit)
        });
        let offsets: Vec<i64> =
            set.filter_map(|bit| self.start_offset.checked_add(bit)).take(limit.saturating_add(1)).collect();
        if offsets.len() > limit { Err(BitsError::TooMany { limit }) } else { Ok(offsets) }
    }
}

#[cfg(test)]
mod tests;
