//! Query: `QUERY_MESSAGE` (12), `VIEW_MESSAGE_BY_ID` (33). The answers' bodies are messages in their stored form.

use super::fields::header;

header! {
    /// Which messages are sought. Peer: `QueryMessageRequestHeader`.
    Header {
        /// The topic.
        topic: String = "topic",
        /// One word of `KEYS`, or the `UNIQ_KEY`.
        key: String = "key",
        /// Messages at most.
        max: i32 = "maxNum",
        /// Stored from then on, in ms since the epoch.
        begin: i64 = "beginTimestamp",
        /// Stored up to then; may be the greatest number there is.
        end: i64 = "endTimestamp",
        /// Whether the key is the `UNIQ_KEY`.
        unique: bool = "_UNIQUE_KEY_QUERY",
    }
}

header! {
    /// How far the index has come. Peer: `QueryMessageResponseHeader`.
    Answer {
        /// The last entry's moment, in ms since the epoch.
        index_at: i64 = "indexLastUpdateTimestamp",
        /// The last entry's log offset.
        index_log_offset: i64 = "indexLastUpdatePhyoffset",
    }
}

header! {
    /// Which message is to be seen. Peer: `ViewMessageRequestHeader`.
    View {
        /// Its log offset.
        log_offset: i64 = "offset",
        /// Its topic, as far as the client knows.
        topic: Option<String> = "topic",
    }
}
