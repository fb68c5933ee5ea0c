//! Peek: what a pop would take, looked at only.

use crate::config::{ANSWER_BYTES_MAX, MESSAGES_MAX};
use crate::lease::{Key, Progress};
use crate::read::Then;
use crate::{Broker, PopError, Reply, RequestId};
use bytes::Bytes;
use journal::{Extent, ReadError};
use model::{GroupName, QueueId, TopicName};

/// A look at a topic and its retry topic. Peer: `PEEK_MESSAGE`, which like this one asks for no filter.
#[derive(Clone, Debug)]
pub struct Peek {
    /// Who would take.
    pub group: GroupName,
    /// The topic.
    pub topic: TopicName,
    /// The queue; `None` for any.
    pub queue_id: Option<QueueId>,
    /// Messages at most, 1 to 32.
    pub max_messages: u32,
}

/// What a look found.
#[derive(Clone, Debug)]
pub struct Peeked {
    /// The messages as stored, in order; their topic is the retry topic's where they come from there.
    pub messages: Vec<Bytes>,
    /// Messages that the group has not taken, in the queues that were looked at.
    pub rest: i64,
}

impl Broker {
    pub(crate) fn peek(&mut self, id: RequestId, ask: &Peek) {
        let topic = match self.may_take(&ask.group, &ask.topic, ask.queue_id, ask.max_messages) {
            Ok(topic) => topic,
            Err(refused) => return self.reply_now(id, Reply::Peek(Err(refused))),
        };
        let (mut extents, mut bytes, mut rest) = (Vec::new(), 0, 0);
        for (topic, queue_id) in self.pop_order(topic, &ask.group, ask.queue_id, false) {
            let key = Key { group: ask.group.clone(), topic, queue_id };
            let Some(queue) = self.store.queue(topic, queue_id) else { continue };
            let next = self.untaken_from(&key);
            rest += queue.max().0 - next.0;
            let again = self.leases.get(&key).map(Progress::again).unwrap_or_default();
            let again = again.into_iter().filter_map(|at| queue.get(at));
            for entry in again.chain(queue.iter_from(next)) {
                bytes += u64::from(entry.extent.length);
                let full = bytes > u64::from(ANSWER_BYTES_MAX) && !extents.is_empty();
                if full || extents.len() == ask.max_messages.clamp(1, MESSAGES_MAX) as usize {
                    break;
                }
                extents.push(entry.extent);
            }
        }
        self.answer_peek(id, extents, rest);
    }

    fn answer_peek(&mut self, id: RequestId, extents: Vec<Extent>, rest: i64) {
        match extents.is_empty() {
            true => self.reply(id, Reply::Peek(Ok(Peeked { messages: Vec::new(), rest }))),
            false => self.read(extents, Then::Peek(id, rest)),
        }
    }

    /// The messages of a look were read.
    pub(crate) fn peek_read(&mut self, id: RequestId, rest: i64, bytes: Result<Vec<Bytes>, ReadError>) {
        let peeked = match bytes {
            Ok(messages) => Ok(Peeked { messages, rest }),
            Err(error) => Err(PopError::Unreadable { why: error.to_string() }),
        };
        self.reply(id, Reply::Peek(peeked));
    }
}
