//! Committed offsets.

use model::{QueueId, QueueOffset, TopicId};

use super::RecordError;
use super::fields::{Fields, push_count, push_text};

const RECORD: &str = "offsets";
const VERSION: u8 = 1;
/// Bytes of an entry with an empty group.
const ENTRY_BYTES_MIN: usize = 4 + 4 + 8 + 4;

/// Offsets that groups committed since the last such record.
///
/// | at | bytes | field   | meaning                            |
/// |---:|------:|---------|------------------------------------|
/// |  0 |     1 | version | 1                                  |
/// |  1 |     4 | count   | entries                            |
/// |  5 |     … | entries | one after the other, in order      |
///
/// An entry: topic id u32, queue id u32, offset i64, group text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offsets {
    /// What was committed.
    pub entries: Vec<OffsetEntry>,
}

/// One group's place in one queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetEntry {
    /// The group.
    pub group: String,
    /// The queue's topic.
    pub topic: TopicId,
    /// The queue.
    pub queue_id: QueueId,
    /// The next offset the group wants.
    pub offset: QueueOffset,
}

impl Offsets {
    /// Adds the payload to `into`.
    pub fn encode(&self, into: &mut Vec<u8>) {
        into.push(VERSION);
        push_count(self.entries.len(), into);
        for OffsetEntry { group, topic, queue_id, offset } in &self.entries {
            into.extend_from_slice(&topic.0.to_le_bytes());
            into.extend_from_slice(&queue_id.0.to_le_bytes());
            into.extend_from_slice(&offset.0.to_le_bytes());
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
            Ok(OffsetEntry {
                topic: TopicId(fields.u32("topic id")?),
                queue_id: QueueId(fields.u32("queue id")?),
                offset: QueueOffset(fields.i64("offset")?),
                group: fields.text("group")?.to_owned(),
            })
        })?;
        fields.end()?;
        Ok(Self { entries })
    }
}
