//! Where a topic's messages with a certain key lie.

use std::collections::BTreeMap;

use journal::Extent;
use model::{LogOffset, TopicId};

/// The hash of a key within a topic: 64-bit FNV-1a over the topic's id (little-endian) and the key's bytes,
/// stirred at the end so that every bit depends on all others.
///
/// It is the same on every machine and at every start. Different keys may share a hash: whoever finds
/// something by it compares the key itself.
pub fn key_hash(topic: TopicId, key: &str) -> u64 {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let bytes = topic.0.to_le_bytes().into_iter().chain(key.bytes());
    let hash = bytes.fold(BASIS, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
    // FNV leaves the highest bits poor; this is the finish of MurmurHash3.
    let hash = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let hash = (hash ^ hash >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ hash >> 33
}

/// Where keys occur.
#[derive(Debug, Default)]
pub struct KeyIndex {
    entries: BTreeMap<(u64, LogOffset), u32>,
}

impl KeyIndex {
    /// Empty.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a message with the key.
    pub fn insert(&mut self, topic: TopicId, key: &str, extent: Extent) {
        self.entries.insert((key_hash(topic, key), extent.at), extent.length);
    }

    /// Takes a message with the key away; tells whether it was there.
    pub fn remove(&mut self, topic: TopicId, key: &str, extent: Extent) -> bool {
        self.entries.remove(&(key_hash(topic, key), extent.at)).is_some()
    }

    /// The messages that may have the key, in the order of the log, the newest last. The caller compares
    /// topic and key, and bounds how many it looks at.
    pub fn find(&self, topic: TopicId, key: &str) -> impl DoubleEndedIterator<Item = Extent> {
        let hash = key_hash(topic, key);
        let all = (hash, LogOffset(0))..=(hash, LogOffset(u64::MAX));
        self.entries.range(all).map(|(&(_, at), &length)| Extent { at, length })
    }

    /// How many pairs of key and message there are.
    pub fn len(&self) -> u64 {
        self.entries.len() as u64
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests;
