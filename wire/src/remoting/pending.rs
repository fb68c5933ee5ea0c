//! Messages that wait: `LIST_PENDING` (20001), `COUNT_PENDING` (20002), `RECALL_BY_KEY` (20003), `RESCHEDULE` (20004),
//! `PENDING_HISTOGRAM` (20005).
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
        /// The delay level of each message of the answer, with commas between; 0 where it was sent with a time.
        levels: Option<String> = "levels",
    }
}

header! {
    /// Which messages are to be called back.
    RecallByKey {
        /// The topic they were sent to.
        topic: String = "topic",
        /// Their `UNIQ_KEY`, or a word of their `KEYS`.
        key: String = "key",
        /// Whether the key is the `UNIQ_KEY`; `true` or `false`, and absent is `false`.
        unique: Option<bool> = "uniqueKey",
    }
}

header! {
    /// Which messages are to be given another moment, and which.
    Reschedule {
        /// The topic they were sent to.
        topic: String = "topic",
        /// Their `UNIQ_KEY`, or a word of their `KEYS`.
        key: String = "key",
        /// Whether the key is the `UNIQ_KEY`, and no word of `KEYS` counts; `true` or `false`, and absent is `false`.
        unique: Option<bool> = "uniqueKey",
        /// The moment, in ms since the epoch; one that has passed is now. This, or the delay.
        deliver_at: Option<i64> = "deliverAt",
        /// The delay, in ms from when the request is taken; less than 0 is 0.
        delay_ms: Option<i64> = "delayMs",
        /// Only those before this log offset: where the answer before ended.
        before: Option<i64> = "beforeLogOffset",
    }
}

header! {
    /// When what waits is due, in stretches of time.
    Histogram {
        /// Of this topic; none: of all.
        topic: Option<String> = "topic",
        /// Due from then on, in ms since the epoch.
        from: Option<i64> = "from",
        /// Due by then, in ms since the epoch.
        until: Option<i64> = "until",
        /// How long a stretch is, in ms.
        width_ms: i64 = "widthMs",
        /// Behind this moment and the place below: where the answer before ended.
        after_deliver_at: Option<i64> = "afterDeliverAt",
        /// Behind this log offset, among those of that moment.
        after_log_offset: Option<i64> = "afterLogOffset",
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

/// What became of the messages of a key that were to be given another moment: the body of the answer to 20004.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Rescheduled {
    /// The new moment, in ms since the epoch.
    pub deliver_at: i64,
    /// Those that wait for it now.
    pub moved: Vec<Moved>,
    /// Whether it is the `UNIQ_KEY` of one that was called back, and nothing waits.
    pub recalled: bool,
    /// How many can be read already.
    pub visible: u64,
    /// More may wait before this log offset: ask again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before_log_offset: Option<i64>,
}

/// A message that was given another moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Moved {
    /// The moment it had, in ms since the epoch.
    pub from: i64,
    /// Its `UNIQ_KEY`.
    pub id: String,
}

/// How many messages are due in each stretch of time: the body of the answer to 20005. Where it did not come to the
/// end, the header tells where the next begins, as [`Listed`] does; its counts add to these.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Stretches {
    /// By when each begins, in ms since the epoch; none is empty.
    pub counts: BTreeMap<i64, u64>,
}
