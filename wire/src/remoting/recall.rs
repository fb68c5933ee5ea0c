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
