//! Leases that acks ended.

use model::{QueueId, TopicId};

use super::RecordError;
use super::fields::{Fields, push_count, push_text};

const RECORD: &str = "acks";
const VERSION: u8 = 1;
/// Bytes of an entry with an empty group.
const ENTRY_BYTES_MIN: usize = 4 + 4 + 8 + 8 + 4;

/// Messages acknowledged since the last such record.
///
/// | at | bytes | field   | meaning                            |
/// |---:|------:|---------|------------------------------------|
/// |  0 |     1 | version | 1                                  |
/// |  1 |     4 | count   | entries                            |
/// |  5 |     … | entries | one after the other, in order      |
///
/// An entry: topic id u32, queue id u32, pop time i64 (ms since the epoch), offset i64, group text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Acks {
    /// The acks.
    pub entries: Vec<AckEntry>,
}

/// One message that a group is done with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AckEntry {
    /// The group.
    pub group: String,
    /// The topic whose queue it is: a normal one or a retry topic.
    pub topic: TopicId,
    /// The queue.
    pub queue_id: QueueId,
    /// Which lease of the queue, ms since the epoch.
    pub pop_time: i64,
    /// The message's place in the queue.
    pub offset: i64,
}

impl Acks {
    /// Adds the payload to `into`.
    pub fn encode(&self, into: &mut Vec<u8>) {
        into.push(VERSION);
        push_count(self.entries.len(), into);
        for AckEntry { group, topic, queue_id, pop_time, offset } in &self.entries {
            into.extend_from_slice(&topic.0.to_le_bytes());
            into.extend_from_slice(&queue_id.0.to_le_bytes());
            into.extend_from_slice(&pop_time.to_le_bytes());
            into.extend_from_slice(&offset.to_le_bytes());
            push_text(group, into);
        }
    }

    /// Reads a payload.
    ///
    /// # Errors
    /// Another version, a group that is no text, or bytes that end too early or too late.
    pub fn decode(bytes: &[u8]) -> Result<Self, RecordError> {
        let mut fields = Fields::of(RECORD, VERSION, bytes)?;
        let entries = fields.list("entries", ENTRY_BYTES_MIN, |fields| {
            Ok(AckEntry {
                topic: TopicId(fields.u32("topic id")?),
                queue_id: QueueId(fields.u32("queue id")?),
                pop_time: fields.i64("pop time")?,
                offset: fields.i64("offset")?,
                group: fields.text("group")?.to_owned(),
            })
        })?;
        fields.end()?;
        Ok(Self { entries })
    }
}
