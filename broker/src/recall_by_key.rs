//! Recall by key: whoever knows an id or a key of their own calls back what waits under it, without a handle.

use crate::look_up::{KeyIn, LookUpError, LookedUp, OF_KEY};
use crate::read::Then;
use crate::{Broker, RecallError, Reply, RequestId};
use model::{TopicId, TopicName};
use timer::Stale;
use wire::property;
use wire::stored::View;

/// Messages to call back.
#[derive(Clone, Debug)]
pub struct RecallByKey {
    /// The topic they were sent to.
    pub topic: TopicName,
    /// Their `UNIQ_KEY`, or one word of their `KEYS`.
    pub key: String,
    /// Whether `key` is the `UNIQ_KEY`.
    pub unique: bool,
}

/// What became of the messages of a key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecalledByKey {
    /// The `UNIQ_KEY`s of those that waited, and are never delivered now.
    pub recalled: Vec<String>,
    /// How many can be read already: it is too late for them.
    pub visible: u64,
    /// Whether there were more than are looked at: ask again.
    pub more: bool,
}

impl Broker {
    pub(crate) fn recall_by_key(&mut self, id: RequestId, ask: RecallByKey) {
        let topic = self.topics.get(&ask.topic).map(|topic| topic.id);
        let refused = match (self.unwritable(), topic) {
            (Some(why), _) => RecallError::Unavailable { why },
            (None, None) => RecallError::TopicUnknown { topic: ask.topic },
            (None, Some(topic)) => return self.look_for_key(id, topic, ask, RecalledByKey::default()),
        };
        self.reply_now(id, Reply::RecallByKey(Err(refused)));
    }

    fn look_for_key(&mut self, id: RequestId, topic: TopicId, ask: RecallByKey, done: RecalledByKey) {
        let key = ask.key.clone();
        self.look_up(topic, &key, OF_KEY, Then::RecallByKey(id, topic, ask, done));
    }

    /// Messages of the key were read: calls back those that wait.
    pub(crate) fn recall_by_key_read(
        &mut self,
        id: RequestId,
        topic: TopicId,
        ask: RecallByKey,
        mut done: RecalledByKey,
        found: Result<LookedUp, LookUpError>,
    ) {
        let answer = match (found, self.unwritable()) {
            (Err(error), _) => Err(RecallError::Unreadable { why: error.to_string() }),
            (_, Some(why)) => Err(RecallError::Unavailable { why }),
            (Ok(found), None) => match self.recall_all(&ask, &found, &mut done) {
                Ok(()) => Ok(done),
                // A checkpoint came in between. What is called back already stays so.
                Err(Stale) => return self.look_for_key(id, topic, ask, done),
            },
        };
        self.reply_safe(id, Reply::RecallByKey(answer));
    }

    fn recall_all(
        &mut self,
        ask: &RecallByKey,
        found: &LookedUp,
        done: &mut RecalledByKey,
    ) -> Result<(), Stale> {
        (done.visible, done.more) = (0, found.is_cut);
        for candidate in &found.candidates {
            let Ok(view) = View::parse(&candidate.bytes) else { continue };
            if !KeyIn::unique(ask.unique).matches(&view, &ask.topic, &ask.key) {
                continue;
            }
            if !candidate.parked {
                done.visible += 1;
            } else if self.recall_one(&view, candidate.entry.as_ref(), found)? {
                done.recalled.push(view.property(property::UNIQ_KEY).unwrap_or_default().to_owned());
            }
        }
        Ok(())
    }
}
