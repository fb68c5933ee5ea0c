//! Resume: a half message that was put aside, since its producer never said what became of it, is asked for again.
//!
//! It becomes a half like one that was just sent. The copy that was put aside stays where a person found it.

use crate::read::Then;
use crate::transaction::ASIDE_TOPIC;
use crate::{Broker, Reply, RequestId};
use bytes::Bytes;
use journal::ReadError;
use model::{LogOffset, QueueId};
use wire::{property, stored};

/// A half that was put aside shall be asked for again.
#[derive(Clone, Copy, Debug)]
pub struct ResumeHalf {
    /// Where its copy lies that was put aside.
    pub log_offset: LogOffset,
}

/// Why it is not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResumeHalfError {
    /// The caller's: no half was put aside there.
    #[error("no half message that was put aside lies at {log_offset}")]
    NotAside {
        /// The place.
        log_offset: LogOffset,
    },
    /// The caller's: it is asked for already.
    #[error("a half message of the same UNIQ_KEY waits for its producer's word")]
    Waits,
    /// The operator's: the topic that it was for is gone.
    #[error("topic {topic} of the half message does not exist")]
    TopicUnknown {
        /// The topic.
        topic: String,
    },
    /// Ours: it could not be read.
    #[error("reading the half message: {why}")]
    Unreadable {
        /// Why.
        why: String,
    },
    /// Ours, passing: the log cannot be written.
    #[error("the log cannot be written: {why}")]
    Unavailable {
        /// Why.
        why: String,
    },
}

impl Broker {
    pub(crate) fn resume_half(&mut self, id: RequestId, ask: ResumeHalf) {
        let aside = self.topics.by_name(ASIDE_TOPIC).and_then(|aside| self.store.queue(aside, QueueId(0)));
        let found = aside.and_then(|queue| queue.get(queue.offset_of(ask.log_offset)?));
        match found.map(|entry| entry.extent) {
            Some(extent) => self.read(vec![extent], Then::ResumeHalf(id, ask)),
            None => {
                let unknown = ResumeHalfError::NotAside { log_offset: ask.log_offset };
                self.reply_now(id, Reply::ResumeHalf(Err(unknown)));
            }
        }
    }

    /// The half was read.
    pub(crate) fn resume_read(
        &mut self,
        id: RequestId,
        ask: ResumeHalf,
        bytes: Result<Vec<Bytes>, ReadError>,
    ) {
        let resumed = match bytes {
            Ok(bytes) => self.resumed(ask, bytes.first()),
            Err(error) => Err(ResumeHalfError::Unreadable { why: error.to_string() }),
        };
        self.reply_safe(id, Reply::ResumeHalf(resumed));
    }

    fn resumed(&mut self, ask: ResumeHalf, bytes: Option<&Bytes>) -> Result<(), ResumeHalfError> {
        if let Some(why) = self.unwritable() {
            return Err(ResumeHalfError::Unavailable { why });
        }
        let unknown = ResumeHalfError::NotAside { log_offset: ask.log_offset };
        let (message, _) = bytes.and_then(|bytes| stored::decode(bytes).ok()).ok_or(unknown)?;
        let key = message.properties.get(property::UNIQ_KEY).unwrap_or_default();
        if self.half_by_key(key).is_some() {
            return Err(ResumeHalfError::Waits);
        }
        let Some((topic, queue_id)) = self.real_place(&message) else {
            let topic = message.properties.get(property::REAL_TOPIC).unwrap_or_default().to_owned();
            return Err(ResumeHalfError::TopicUnknown { topic });
        };
        self.append_half(&topic, queue_id, message);
        Ok(())
    }
}
