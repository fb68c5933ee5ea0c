//! Leases that pops took, changed or renewed.

use model::{QueueId, TopicId};

use super::RecordError;
use super::fields::{Fields, push_count, push_text};

const RECORD: &str = "leases";
const VERSION: u8 = 1;
/// Bytes of an entry with an empty group, no offsets and nothing optional.
const ENTRY_BYTES_MIN: usize = 4 + 4 + 4 * 8 + 1 + 4 + 4;

const ORDERED: u8 = 1;
const ATTEMPT_ID: u8 = 2;
const REPLACES: u8 = 4;
const RENEWED_FOR: u8 = 8;
const FLAGS_KNOWN: u8 = ORDERED | ATTEMPT_ID | REPLACES | RENEWED_FOR;

/// Leases taken since the last such record.
///
/// | at | bytes | field   | meaning                            |
/// |---:|------:|---------|------------------------------------|
/// |  0 |     1 | version | 1                                  |
/// |  1 |     4 | count   | entries                            |
/// |  5 |     … | entries | one after the other, in order      |
///
/// An entry, its fields in order:
///
/// | bytes | field        | meaning                                                           |
/// |------:|--------------|-------------------------------------------------------------------|
/// |     4 | topic id     | whose queue it is, the retry topic's where it was popped from there |
/// |     4 | queue id     |                                                                   |
/// |     8 | start offset | where the pop's read began                                        |
/// |     8 | pop time     | ms since the epoch; names the lease within group and queue        |
/// |     8 | invisible    | ms                                                                |
/// |     8 | next offset  | where the group's next pop of the queue begins                    |
/// |     1 | flags        | bit 0 ordered; what stands: 1 attempt id, 2 replaces, 3 renewed for |
/// |     … | group        | text                                                              |
/// |     … | attempt id   | text, by flag                                                     |
/// |     8 | replaces     | pop time of the lease this one stands for, by flag                |
/// |     … | renewed for  | text: the client whose lease is renewed until it acks, by flag    |
/// |     4 | count        | offsets                                                           |
/// | 8 × n | offsets      | what is leased                                                    |
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leases {
    /// The leases.
    pub entries: Vec<LeaseEntry>,
}

/// One group's lease on messages of one queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseEntry {
    /// The group.
    pub group: String,
    /// The topic whose queue it is: a normal one or a retry topic.
    pub topic: TopicId,
    /// The queue.
    pub queue_id: QueueId,
    /// Where the pop's read began.
    pub start_offset: i64,
    /// When the pop was, ms since the epoch; names the lease within group and queue.
    pub pop_time: i64,
    /// How long the messages are leased, in milliseconds.
    pub invisible_ms: i64,
    /// The offsets leased.
    pub offsets: Vec<i64>,
    /// Where the group's next pop of the queue begins.
    pub next_offset: i64,
    /// Whether the queue is popped in order.
    pub ordered: bool,
    /// The client's name for its attempt: the same one gets the same messages again.
    pub attempt_id: Option<String>,
    /// Pop time of the lease that this one changes or renews.
    pub replaces: Option<i64>,
    /// The client for whom the lease is renewed until it acks, where it is.
    pub renewed_for: Option<String>,
}

impl Leases {
    /// Adds the payload to `into`.
    pub fn encode(&self, into: &mut Vec<u8>) {
        into.push(VERSION);
        push_count(self.entries.len(), into);
        for entry in &self.entries {
            entry.encode(into);
        }
    }

    /// Reads a payload.
    ///
    /// # Errors
    /// Another version, a flag without a meaning, a text that is none, or bytes that end too early or too
    /// late.
    pub fn decode(bytes: &[u8]) -> Result<Self, RecordError> {
        let mut fields = Fields::of(RECORD, VERSION, bytes)?;
        let entries = fields.list("entries", ENTRY_BYTES_MIN, LeaseEntry::decode)?;
        fields.end()?;
        Ok(Self { entries })
    }
}

impl LeaseEntry {
    fn encode(&self, into: &mut Vec<u8>) {
        into.extend_from_slice(&self.topic.0.to_le_bytes());
        into.extend_from_slice(&self.queue_id.0.to_le_bytes());
        for number in [self.start_offset, self.pop_time, self.invisible_ms, self.next_offset] {
            into.extend_from_slice(&number.to_le_bytes());
        }
        let flag = |set: bool, bit: u8| if set { bit } else { 0 };
        into.push(
            flag(self.ordered, ORDERED)
                | flag(self.attempt_id.is_some(), ATTEMPT_ID)
                | flag(self.replaces.is_some(), REPLACES)
                | flag(self.renewed_for.is_some(), RENEWED_FOR),
        );
        push_text(&self.group, into);
        if let Some(attempt_id) = &self.attempt_id {
            push_text(attempt_id, into);
        }
        if let Some(pop_time) = self.replaces {
            into.extend_from_slice(&pop_time.to_le_bytes());
        }
        if let Some(client) = &self.renewed_for {
            push_text(client, into);
        }
        push_count(self.offsets.len(), into);
        for offset in &self.offsets {
            into.extend_from_slice(&offset.to_le_bytes());
        }
    }

    fn decode(fields: &mut Fields<'_>) -> Result<Self, RecordError> {
        let topic = TopicId(fields.u32("topic id")?);
        let queue_id = QueueId(fields.u32("queue id")?);
        let start_offset = fields.i64("start offset")?;
        let pop_time = fields.i64("pop time")?;
        let invisible_ms = fields.i64("invisible time")?;
        let next_offset = fields.i64("next offset")?;
        let flags = fields.u8("flags")?;
        if flags & !FLAGS_KNOWN != 0 {
            return Err(fields.unknown("flags", flags, FLAGS_KNOWN));
        }
        let group = fields.text("group")?.to_owned();
        let attempt_id =
            if flags & ATTEMPT_ID != 0 { Some(fields.text("attempt id")?.to_owned()) } else { None };
        let replaces = if flags & REPLACES != 0 { Some(fields.i64("replaced pop time")?) } else { None };
        let renewed_for =
            if flags & RENEWED_FOR != 0 { Some(fields.text("renewed for")?.to_owned()) } else { None };
        let offsets = fields.list("offsets", 8, |fields| fields.i64("offset"))?;
        let ordered = flags & ORDERED != 0;
        Ok(Self {
            group,
            topic,
            queue_id,
            start_offset,
            pop_time,
            invisible_ms,
            offsets,
            next_offset,
            ordered,
            attempt_id,
            replaces,
            renewed_for,
        })
    }
}
