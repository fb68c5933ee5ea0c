//! What is said of a message that was called back.

use super::RecordError;
use super::fields::{Fields, push_count, push_text};

const RECORD: &str = "recall";
const VERSION: u8 = 1;
/// Bytes of an empty key.
const KEY_BYTES_MIN: usize = 4;

/// A parked message that is never delivered. The record's header names it and its due moment; this names the
/// keys by which it was found, so that they can be forgotten without reading it.
///
/// | at | bytes | field   | meaning                                         |
/// |---:|------:|---------|-------------------------------------------------|
/// |  0 |     1 | version | 1                                               |
/// |  1 |     4 | count   | keys                                            |
/// |  5 |     … | keys    | its `UNIQ_KEY` and the words of its `KEYS`, texts |
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recall {
    /// The keys.
    pub keys: Vec<String>,
}

impl Recall {
    /// Adds the payload to `into`.
    pub fn encode(&self, into: &mut Vec<u8>) {
        into.push(VERSION);
        push_count(self.keys.len(), into);
        self.keys.iter().for_each(|key| push_text(key, into));
    }

    /// Reads a payload.
    ///
    /// # Errors
    /// Another version, a key that is no text, or bytes that end too early or too late.
    pub fn decode(bytes: &[u8]) -> Result<Self, RecordError> {
        let mut fields = Fields::of(RECORD, VERSION, bytes)?;
        let keys = fields.list("keys", KEY_BYTES_MIN, |fields| Ok(fields.text("key")?.to_owned()))?;
        fields.end()?;
        Ok(Self { keys })
    }
}
