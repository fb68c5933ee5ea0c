//! Transactions: `END_TRANSACTION` (37), one way, and `CHECK_TRANSACTION_STATE` (39), which the broker asks.

use super::fields::header;

/// `commitOrRollback`: the half becomes a message.
pub const COMMIT: i32 = 8;
/// `commitOrRollback`: it never does.
pub const ROLLBACK: i32 = 12;

header! {
    /// What becomes of a half message. Peer: `EndTransactionRequestHeader`.
    End {
        /// Who sent it.
        producer_group: String = "producerGroup",
        /// Its offset among the halves.
        queue_offset: i64 = "tranStateTableOffset",
        /// Its record's place.
        log_offset: i64 = "commitLogOffset",
        /// [`COMMIT`], [`ROLLBACK`], or 0 for not known yet.
        resolution: i32 = "commitOrRollback",
    }
}

header! {
    /// A question: what became of this half? Its body is the half, as stored. Peer:
    /// `CheckTransactionStateRequestHeader`.
    Check {
        /// Its topic.
        topic: Option<String> = "topic",
        /// Its offset among the halves.
        queue_offset: i64 = "tranStateTableOffset",
        /// Its record's place.
        log_offset: i64 = "commitLogOffset",
        /// Its `UNIQ_KEY`.
        message_id: Option<String> = "msgId",
        /// The same.
        transaction_id: Option<String> = "transactionId",
        /// Its id by place.
        offset_message_id: Option<String> = "offsetMsgId",
    }
}
