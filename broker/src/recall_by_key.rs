//! Recall by key: whoever knows an id or a key of their own calls back what waits under it, without a handle.

use crate::look_up::{KeyIn, LookUpError, LookedUp, OF_KEY};
use crate::read::Then;
use crate::{Broker, RecallError, Reply, RequestId};
use model::{LogOffset, TopicId, TopicName};
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
    /// The `UNIQ_KEY`s of those that waited, and are never delivered now. At most about 1000.
    pub recalled: Vec<String>,
    /// Whether it was asked for by the `UNIQ_KEY`, of one that was called back before.
    pub before: bool,
    /// How many of the newest 1024 can be read already: it is too late for them.
    pub visible: u64,
    /// Whether more may wait: ask again.
    pub more: bool,
}

impl RecalledByKey {
    /// The answer where it cannot go on: what was called back is told, and whoever asks for the rest hears why not.
    fn ended(self, why: RecallError) -> Result<Self, RecallError> {
        if self.recalled.is_empty() { Err(why) } else { Ok(Self { more: true, ..self }) }
    }
}

/// Messages that one answer tells of, about: more are called back by the next.
const ANSWER: usize = 1000;

impl Broker {
    pub(crate) fn recall_by_key(&mut self, id: RequestId, ask: RecallByKey) {
        let topic = self.topics.get(&ask.topic).map(|topic| topic.id);
        let refused = match (self.unwritable(), topic) {
            (Some(why), _) => RecallError::Unavailable { why },
            (None, None) => RecallError::TopicUnknown { topic: ask.topic },
            (None, Some(topic)) => {
                return self.recall_older(id, topic, ask, RecalledByKey::default(), LogOffset(u64::MAX));
            }
        };
        self.reply_now(id, Reply::RecallByKey(Err(refused)));
    }

    /// Looks at what waits under the key and is older than `before`.
    fn recall_older(
        &mut self,
        id: RequestId,
        topic: TopicId,
        ask: RecallByKey,
        done: RecalledByKey,
        before: LogOffset,
    ) {
        let key = ask.key.clone();
        self.look_up_waiting(topic, &key, before, Then::RecallByKey(id, topic, ask, done, before));
    }

    /// Messages of the key were read: calls back those that wait, and looks on where there are older ones.
    pub(crate) fn recall_by_key_read(
        &mut self,
        id: RequestId,
        topic: TopicId,
        ask: RecallByKey,
        mut done: RecalledByKey,
        before: LogOffset,
        found: Result<LookedUp, LookUpError>,
    ) {
        let refused = match (found, self.unwritable()) {
            (Err(error), _) => RecallError::Unreadable { why: error.to_string() },
            (_, Some(why)) => RecallError::Unavailable { why },
            (Ok(found), None) => match (self.recall_all(&ask, &found, &mut done), found.older) {
                // A checkpoint came in between. What is called back already stays so.
                (Err(Stale), _) => return self.recall_older(id, topic, ask, done, before),
                (Ok(()), Some(older)) if done.recalled.len() < ANSWER => {
                    return self.recall_older(id, topic, ask, done, older);
                }
                (Ok(()), older) => {
                    done.more = older.is_some();
                    let key = ask.key.clone();
                    return self.look_up(topic, &key, OF_KEY, Then::CountVisible(id, topic, ask, done));
                }
            },
        };
        self.reply_safe(id, Reply::RecallByKey(done.ended(refused)));
    }

    fn recall_all(
        &mut self,
        ask: &RecallByKey,
        found: &LookedUp,
        done: &mut RecalledByKey,
    ) -> Result<(), Stale> {
        for candidate in &found.candidates {
            let Ok(view) = View::parse(&candidate.bytes) else { continue };
            let is_one = KeyIn::unique(ask.unique).matches(&view, &ask.topic, &ask.key);
            if is_one && self.recall_one(&view, candidate.entry.as_ref(), found)? {
                done.recalled.push(view.property(property::UNIQ_KEY).unwrap_or_default().to_owned());
            }
        }
        Ok(())
    }

    /// The newest messages of the key were read, those among them that can be read already.
    pub(crate) fn visible_counted(
        &mut self,
        id: RequestId,
        topic: TopicId,
        ask: &RecallByKey,
        mut done: RecalledByKey,
        found: Result<LookedUp, LookUpError>,
    ) {
        let answer = match found {
            Err(error) => done.ended(RecallError::Unreadable { why: error.to_string() }),
            Ok(found) => {
                done.visible = found.visible(KeyIn::unique(ask.unique), &ask.topic, &ask.key);
                let was_recalled = || self.recalled.contains(topic, &ask.key, self.now.wall);
                done.before = ask.unique && done.recalled.is_empty() && was_recalled();
                Ok(done)
            }
        };
        self.reply_safe(id, Reply::RecallByKey(answer));
    }
}
