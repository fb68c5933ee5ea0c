//! Messages that wait: `LIST_PENDING` (20001), `COUNT_PENDING` (20002), `RECALL_BY_KEY` (20003).
//!
//! Requests of this project's own: RocketMQ has none like them. The answer to a list holds messages in their stored
//! form, end to end, in the order in which they will leave.

use super::fields::header;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

header! {
    /// Which messages that wait are to be told.
    List {
        /// Of this topic; none: of all.
        topic: Option<String> = "topic",
        /// With this `UNIQ_KEY` or word of `KEYS`; needs a topic.
        key: Option<String> = "key",
        /// Due from then on, in ms since the epoch.
        from: Option<i64> = "from",
        /// Due by then, in ms since the epoch.
        until: Option<i64> = "until",
        /// Behind this moment and the place below: where the answer before ended.
        after_deliver_at: Option<i64> = "afterDeliverAt",
        /// Behind this log offset, among those of that moment.
        after_log_offset: Option<i64> = "afterLogOffset",
        /// Messages at most.
        max: Option<i32> = "maxNum",
    }
}

header! {
    /// Where the next answer begins; nothing where this one came to the end.
    Listed {
        /// Behind this moment, in ms since the epoch.
        next_deliver_at: Option<i64> = "nextDeliverAt",
        /// Behind this log offset, among those of that moment.
        next_log_offset: Option<i64> = "nextLogOffset",
        /// Whether so many messages wait under the key that some of the older ones were not looked at.
        more: bool = "more",
    }
}

header! {
    /// Which messages are to be called back.
    RecallByKey {
        /// The topic they were sent to.
        topic: String = "topic",
        /// Their `UNIQ_KEY`, or a word of their `KEYS`.
        key: String = "key",
        /// Whether the key is the `UNIQ_KEY`.
        unique: bool = "uniqueKey",
    }
}

/// How many messages wait: the body of the answer to 20002.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Counts {
    /// By topic; none that has none.
    pub pending: BTreeMap<String, u64>,
}

/// What became of the messages of a key: the body of the answer to 20003.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Recalled {
    /// Whether it was asked for by the `UNIQ_KEY`, of one that was called back before.
    pub before: bool,
    /// Whether more may wait: ask again.
    pub more: bool,
    /// The `UNIQ_KEY`s of those that waited, and are never delivered now.
    pub recalled: Vec<String>,
    /// How many can be read already.
    pub visible: u64,
}
