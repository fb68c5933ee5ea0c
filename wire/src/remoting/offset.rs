//! Offsets: `QUERY_CONSUMER_OFFSET` (14), `UPDATE_CONSUMER_OFFSET` (15), `SEARCH_OFFSET_BY_TIMESTAMP` (29),
//! `GET_MAX_OFFSET` (30), `GET_MIN_OFFSET` (31). No bodies.

use super::fields::header;

header! {
    /// Whose offset is asked for. Peer: `QueryConsumerOffsetRequestHeader`.
    Query {
        /// The group.
        group: String = "consumerGroup",
        /// The topic.
        topic: String = "topic",
        /// The queue.
        queue_id: i32 = "queueId",
        /// `false`: a group without an offset is told so; else a young queue's is 0.
        zero_if_young: Option<String> = "setZeroIfNotFound",
    }
}

header! {
    /// How far a group has read. Peer: `UpdateConsumerOffsetRequestHeader`.
    Commit {
        /// The group.
        group: String = "consumerGroup",
        /// The topic.
        topic: String = "topic",
        /// The queue.
        queue_id: i32 = "queueId",
        /// The next message to read.
        queue_offset: i64 = "commitOffset",
    }
}

header! {
    /// Which queue's end is asked for. Peer: `GetMaxOffsetRequestHeader`, `GetMinOffsetRequestHeader`.
    Queue {
        /// The topic.
        topic: String = "topic",
        /// The queue.
        queue_id: i32 = "queueId",
    }
}

header! {
    /// Which moment's offset is asked for. Peer: `SearchOffsetRequestHeader`.
    Search {
        /// The topic.
        topic: String = "topic",
        /// The queue.
        queue_id: i32 = "queueId",
        /// The moment, in ms since the epoch.
        at: i64 = "timestamp",
        /// `UPPER` for the last message up to the moment, else the first from it on; in any case of letters.
        boundary: Option<String> = "boundaryType",
    }
}

header! {
    /// The answer to 14, 29, 30 and 31.
    Answer {
        /// The offset.
        queue_offset: i64 = "offset",
    }
}

impl Query {
    /// Whether a group without an offset may begin at 0 where the queue is young: unless the client says no.
    pub fn may_be_zero(&self) -> bool {
        !self.zero_if_young.as_deref().is_some_and(|word| word.eq_ignore_ascii_case("false"))
    }
}

impl Search {
    /// Whether the last message up to the moment is wanted.
    pub fn is_upper(&self) -> bool {
        self.boundary.as_deref().is_some_and(|word| word.eq_ignore_ascii_case("UPPER"))
    }
}
