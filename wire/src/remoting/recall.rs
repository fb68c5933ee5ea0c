//! Recall: `RECALL_MESSAGE` (370). No body.

use super::fields::header;

header! {
    /// Which message is not to be delivered. Peer: `RecallMessageRequestHeader` (RocketMQ 5.x).
    Header {
        /// Who asks.
        producer_group: Option<String> = "producerGroup",
        /// The message's topic.
        topic: String = "topic",
        /// What the send gave; see `wire::recall_handle`.
        handle: String = "recallHandle",
    }
}

header! {
    /// Peer: `RecallMessageResponseHeader`.
    Answer {
        /// The `UNIQ_KEY` of the message called back.
        message_id: String = "msgId",
    }
}

/// The field of an answer that says what became of the recall, more finely than its code: `recalled`,
/// `too_late`, `unknown` or `illegal`. Ours; no client of RocketMQ looks for it.
pub const OUTCOME: &str = "outcome";
