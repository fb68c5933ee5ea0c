//! Notify: what the broker tells a client without being asked.

use super::fields::header;

header! {
    /// The members of a group have changed: `NOTIFY_CONSUMER_IDS_CHANGED` (40), one way.
    ConsumersChanged {
        /// The group.
        group: String = "consumerGroup",
    }
}
