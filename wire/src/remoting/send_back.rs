//! Send back: `CONSUMER_SEND_MSG_BACK` (36). No body; the answer has no fields.

use super::fields::header;

header! {
    /// Which message comes back, and when it is wanted again. Peer: `ConsumerSendMsgBackRequestHeader`.
    Header {
        /// The log offset of the copy the consumer got.
        log_offset: i64 = "offset",
        /// Whose it was.
        group: String = "group",
        /// 0: by the number of tries; above: that delay level; below: to the dead letters.
        delay_level: i32 = "delayLevel",
        /// Its message id at first.
        origin_message_id: Option<String> = "originMsgId",
        /// Its topic at first.
        origin_topic: Option<String> = "originTopic",
        /// Kept by no one.
        unit_mode: bool = "unitMode",
        /// The retries the client allows.
        max_reconsume_times: Option<i32> = "maxReconsumeTimes",
    }
}
