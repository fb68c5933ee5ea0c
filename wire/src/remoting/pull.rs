//! Pull: `PULL_MESSAGE` (11), `LITE_PULL_MESSAGE` (361). The answer's body is messages in their stored form, end to end.

use super::fields::header;

/// Bit of `sysFlag`: commit the offset in the header first.
pub const COMMIT_OFFSET: i32 = 1;
/// Bit of `sysFlag`: wait where there is nothing.
pub const SUSPEND: i32 = 2;
/// Bit of `sysFlag`: the subscription stands in the header.
pub const SUBSCRIPTION: i32 = 4;

header! {
    /// What is wanted from a queue. Peer: `PullMessageRequestHeader` (RocketMQ 5.x).
    Header {
        /// Who reads.
        group: String = "consumerGroup",
        /// The topic.
        topic: String = "topic",
        /// The queue.
        queue_id: i32 = "queueId",
        /// From where on.
        queue_offset: i64 = "queueOffset",
        /// Messages at most.
        max_messages: i32 = "maxMsgNums",
        /// The bits above, and others that mean nothing here.
        sys_flag: i32 = "sysFlag",
        /// The offset to commit, where its bit is set.
        commit_offset: Option<i64> = "commitOffset",
        /// How long to wait, in ms, where its bit is set.
        suspend_ms: Option<i64> = "suspendTimeoutMillis",
        /// The expression, where its bit is set.
        subscription: Option<String> = "subscription",
        /// The subscription's version.
        subscription_version: Option<i64> = "subVersion",
        /// `TAG`, `SQL92` or nothing.
        expression_type: Option<String> = "expressionType",
        /// Bytes at most.
        max_bytes: Option<i32> = "maxMsgBytes",
    }
}

header! {
    /// Where the queue stands; all of it must be in every answer but errors. Peer: `PullMessageResponseHeader`.
    Answer {
        /// The broker to ask next: 0, the master.
        suggested_broker: i64 = "suggestWhichBrokerId",
        /// Where the next pull begins.
        next_offset: i64 = "nextBeginOffset",
        /// The queue's least offset.
        min_offset: i64 = "minOffset",
        /// That of its next message.
        max_offset: i64 = "maxOffset",
    }
}
