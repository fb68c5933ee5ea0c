//! Notification: whether a pop would find something, waited for. Proxies that hold their clients' polls ask it.

use crate::config::WAIT_MAX;
use crate::lease::{Key, Progress};
use crate::park::Waiting;
use crate::{Broker, Reply, RequestId};
use model::{GroupName, QueueId, TopicId, TopicName};
use std::time::Duration;

/// A question for whether there is something to pop. Peer: `NOTIFICATION`.
#[derive(Clone, Debug)]
pub struct Notification {
    /// Who would take.
    pub group: GroupName,
    /// The topic.
    pub topic: TopicName,
    /// The queue; `None` for any.
    pub queue_id: Option<QueueId>,
    /// How long to wait where there is nothing; zero for not at all.
    pub wait: Duration,
    /// Whether the group consumes in order.
    pub ordered: bool,
    /// As in a pop: what this attempt has taken is there for it (ordered only).
    pub attempt_id: Option<String>,
}

impl Broker {
    pub(crate) fn notification(&mut self, id: RequestId, ask: Notification) {
        let topic = match self.may_take(&ask.group, &ask.topic, ask.queue_id, 1) {
            Ok(topic) => topic,
            Err(refused) => return self.reply_now(id, Reply::Notification(Err(refused))),
        };
        let deadline = self.now.monotonic.after(ask.wait.min(WAIT_MAX));
        match self.notification_again(topic, id, ask) {
            None => {}
            Some(_) if deadline <= self.now.monotonic => self.notification_ended(id),
            Some(ask) => {
                let waiting = Waiting::Notification(ask);
                if let Err(full) = self.parked.park_new(topic, id, deadline, waiting, &self.config) {
                    self.reply_now(id, Reply::Notification(Err(full.into())));
                }
            }
        }
    }

    /// Answers where there is something; gives the question back where it must go on waiting.
    pub(crate) fn notification_again(
        &mut self,
        topic: TopicId,
        id: RequestId,
        ask: Notification,
    ) -> Option<Notification> {
        let order = self.pop_order(topic, &ask.group, ask.queue_id, ask.ordered);
        let found = order.into_iter().any(|(topic, queue_id)| self.would_find(topic, queue_id, &ask));
        if !found {
            return Some(ask);
        }
        self.reply(id, Reply::Notification(Ok(true)));
        None
    }

    /// Ends the wait: nothing came.
    pub(crate) fn notification_ended(&mut self, id: RequestId) {
        self.reply(id, Reply::Notification(Ok(false)));
    }

    fn would_find(&self, topic: TopicId, queue_id: QueueId, ask: &Notification) -> bool {
        let key = Key { group: ask.group.clone(), topic, queue_id };
        let progress = self.leases.get(&key);
        if ask.ordered && progress.is_some_and(|progress| progress.lease_count() > 0) {
            return progress.is_some_and(|progress| progress.is_attempt(ask.attempt_id.as_deref()));
        }
        let again = progress.map(Progress::again).is_some_and(|again| !again.is_empty());
        again || self.store.queue(topic, queue_id).is_some_and(|queue| self.untaken_from(&key) < queue.max())
    }
}
