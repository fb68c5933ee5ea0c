//! The keys that are not on disk yet: what has come since the last checkpoint, and what one is just writing.

use std::sync::Arc;

use journal::Extent;
use model::TopicId;

use crate::key_index::{Found, KeyIndex};

/// Where keys occur, as far as no run tells it.
///
/// A message may be told by a key that it has no more, because it was delivered or called back since: who finds
/// something by this looks whether it still is what it was.
#[derive(Debug, Default)]
pub struct Keys {
    fresh: KeyIndex,
    /// Of checkpoints that are being written, or could not be.
    frozen: Vec<Arc<KeyIndex>>,
}

impl Keys {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a message that is visible.
    pub fn insert(&mut self, topic: TopicId, key: &str, extent: Extent) {
        self.fresh.insert(topic, key, Found { extent, parked: false });
    }

    /// Adds a message that waits for its moment.
    pub fn insert_parked(&mut self, topic: TopicId, key: &str, extent: Extent) {
        self.fresh.insert(topic, key, Found { extent, parked: true });
    }

    /// Takes a message with the key away, where it came since the last checkpoint began.
    pub fn remove(&mut self, topic: TopicId, key: &str, extent: Extent) {
        self.fresh.remove(topic, key, extent);
    }

    /// A message that waited with the key is visible now, at another place.
    pub fn replace(&mut self, topic: TopicId, key: &str, parked: Extent, extent: Extent) {
        self.fresh.replace(topic, key, parked, Found { extent, parked: false });
    }

    /// The messages that may have the key and that no run tells of, in the order of the log, the newest last.
    /// The caller compares topic and key, and bounds how many it looks at.
    pub fn find(&self, topic: TopicId, key: &str) -> impl DoubleEndedIterator<Item = Found> {
        self.frozen.iter().flat_map(move |index| index.find(topic, key)).chain(self.fresh.find(topic, key))
    }

    /// How many pairs of key and message came since the last checkpoint.
    pub fn len(&self) -> u64 {
        self.fresh.len() + self.frozen.iter().map(|index| index.len()).sum::<u64>()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A checkpoint begins: gives all that is in no run, for another thread to write. Costs nothing by its number.
    pub fn freeze(&mut self) -> Vec<Arc<KeyIndex>> {
        let fresh = std::mem::take(&mut self.fresh);
        if !fresh.is_empty() {
            self.frozen.push(Arc::new(fresh));
        }
        self.frozen.clone()
    }

    /// The checkpoint stands: all that [`Self::freeze`] gave is in runs.
    pub fn saved(&mut self) {
        self.frozen.clear();
    }
}
