//! Send: `SEND_MESSAGE` (10), `SEND_MESSAGE_V2` (310), `SEND_BATCH_MESSAGE` (320).
//!
//! One header in two spellings: the first has words for names, the others have letters. The body is the
//! message's, or a [batch](super::batch).

use super::fields::{Field, FieldError, Fields, header};

/// How a header is spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// Words: code 10.
    V1,
    /// Letters: codes 310 and 320.
    V2,
}

/// What is sent, and how. Peer: `SendMessageRequestHeader`, `SendMessageRequestHeaderV2` (RocketMQ 5.x).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Who sends.
    pub producer_group: String,
    /// Where to.
    pub topic: String,
    /// The topic whose settings a new topic takes; `TBW102` where the client lets it be made.
    pub default_topic: String,
    /// The queues the client wishes a new topic to have.
    pub default_topic_queues: i32,
    /// The queue; negative lets the broker choose.
    pub queue_id: i32,
    /// See `wire::sys_flag`.
    pub sys_flag: i32,
    /// When the producer made it, in ms since the epoch by its clock.
    pub born_at: i64,
    /// The producer's own number.
    pub flag: i32,
    /// The message's properties, encoded; see `wire::property`.
    pub properties: Option<String>,
    /// How often the message was handed out in vain.
    pub reconsume_times: Option<i32>,
    /// Kept by no one.
    pub unit_mode: bool,
    /// The retries the client allows; counts on retry topics only.
    pub max_reconsume_times: Option<i32>,
    /// Whether the body is a batch.
    pub batch: bool,
    /// The broker the client believes it speaks to.
    pub broker: Option<String>,
}

const V1: [&str; 14] = [
    "producerGroup",
    "topic",
    "defaultTopic",
    "defaultTopicQueueNums",
    "queueId",
    "sysFlag",
    "bornTimestamp",
    "flag",
    "properties",
    "reconsumeTimes",
    "unitMode",
    "maxReconsumeTimes",
    "batch",
    "bname",
];
const V2: [&str; 14] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n"];

impl Spelling {
    const fn names(self) -> &'static [&'static str; 14] {
        match self {
            Self::V1 => &V1,
            Self::V2 => &V2,
        }
    }
}

impl Header {
    /// Reads it from a command's fields.
    pub fn read(fields: &Fields, spelling: Spelling) -> Result<Self, FieldError> {
        let names = spelling.names();
        Ok(Self {
            producer_group: Field::read(fields, names[0])?,
            topic: Field::read(fields, names[1])?,
            default_topic: Field::read(fields, names[2])?,
            default_topic_queues: Field::read(fields, names[3])?,
            queue_id: Field::read(fields, names[4])?,
            sys_flag: Field::read(fields, names[5])?,
            born_at: Field::read(fields, names[6])?,
            flag: Field::read(fields, names[7])?,
            properties: Field::read(fields, names[8])?,
            reconsume_times: Field::read(fields, names[9])?,
            unit_mode: Field::read(fields, names[10])?,
            max_reconsume_times: Field::read(fields, names[11])?,
            batch: Field::read(fields, names[12])?,
            broker: Field::read(fields, names[13])?,
        })
    }

    /// Sets a command's fields.
    pub fn write(&self, fields: &mut Fields, spelling: Spelling) {
        let names = spelling.names();
        self.producer_group.write(fields, names[0]);
        self.topic.write(fields, names[1]);
        self.default_topic.write(fields, names[2]);
        self.default_topic_queues.write(fields, names[3]);
        self.queue_id.write(fields, names[4]);
        self.sys_flag.write(fields, names[5]);
        self.born_at.write(fields, names[6]);
        self.flag.write(fields, names[7]);
        self.properties.write(fields, names[8]);
        self.reconsume_times.write(fields, names[9]);
        self.unit_mode.write(fields, names[10]);
        self.max_reconsume_times.write(fields, names[11]);
        self.batch.write(fields, names[12]);
        self.broker.write(fields, names[13]);
    }
}

header! {
    /// Where it was stored. Peer: `SendMessageResponseHeader` (RocketMQ 5.x).
    Answer {
        /// The offset message id; of a batch, all of them with commas between.
        message_id: String = "msgId",
        /// The queue.
        queue_id: i32 = "queueId",
        /// The offset in the queue; of a batch, the first one's.
        queue_offset: i64 = "queueOffset",
        /// The message's `UNIQ_KEY`.
        transaction_id: Option<String> = "transactionId",
        /// How to call it back, of a delayed one.
        recall_handle: Option<String> = "recallHandle",
    }
}

/// The field of every answer to a send that names the broker's region.
pub const REGION: &str = "MSG_REGION";

/// The field of every answer to a send that says whether producers shall trace.
pub const TRACE_ON: &str = "TRACE_ON";

/// The field that is `true` where nothing was stored, since a message with the same `DUEMQ_DEDUP_KEY` is there: all else
/// tells of that one. This project's own.
pub const DUPLICATE: &str = "duplicate";
