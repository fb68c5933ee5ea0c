//! What is said of a message that was called back.

use super::RecordError;
use super::fields::{Fields, push_count, push_text};
use model::TopicId;

const RECORD: &str = "recall";
const VERSION: u8 = 2;
/// Bytes of an empty key.
const KEY_BYTES_MIN: usize = 4;

/// A parked message that is never delivered. The record's header names it and its due moment; this names what else
/// was known of it, so that it can be forgotten without reading it.
///
/// | at | bytes | field    | meaning                                           |
/// |---:|------:|----------|---------------------------------------------------|
/// |  0 |     1 | version  | 2                                                 |
/// |  1 |     4 | topic    | the topic's id                                    |
/// |  5 |     8 | key hash | of its `UNIQ_KEY`                                 |
/// | 13 |     4 | count    | keys                                              |
/// | 17 |     … | keys     | what it was found by, texts                       |
///
/// Version 1 has no topic and no key hash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recall {
    /// The message's topic and the hash of its `UNIQ_KEY`; `None` in a record of version 1.
    pub of: Option<(TopicId, u64)>,
    /// The keys.
    pub keys: Vec<String>,
}

impl Recall {
    /// Adds the payload to `into`.
    pub fn encode(&self, into: &mut Vec<u8>) {
        match self.of {
            None => into.push(1),
            Some((topic, key_hash)) => {
                into.push(VERSION);
                into.extend_from_slice(&topic.0.to_le_bytes());
                into.extend_from_slice(&key_hash.to_le_bytes());
            }
        }
        push_count(self.keys.len(), into);
        self.keys.iter().for_each(|key| push_text(key, into));
    }

    /// Reads a payload.
    ///
    /// # Errors
    /// Another version, a key that is no text, or bytes that end too early or too late.
    pub fn decode(bytes: &[u8]) -> Result<Self, RecordError> {
        let mut fields = Fields::of(RECORD, VERSION, bytes)?;
        let of = match bytes[0] {
            1 => None,
            _ => Some((TopicId(fields.u32("topic")?), fields.i64("key hash")? as u64)),
        };
        let keys = fields.list("keys", KEY_BYTES_MIN, |fields| Ok(fields.text("key")?.to_owned()))?;
        fields.end()?;
        Ok(Self { of, keys })
    }
}
