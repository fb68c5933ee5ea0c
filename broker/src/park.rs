//! Park: requests that wait for messages, woken when some arrive, answered empty when their time is over.

use crate::filter::Filter;
use crate::{Broker, Config, Notification, Pop, PopError, Pull, Reply, RequestId};
use model::{GroupName, Monotonic, QueueId, TopicId, TopicName};
use std::collections::{BTreeMap, BTreeSet};

/// A request that waits.
#[derive(Debug)]
pub(crate) enum Waiting {
    /// For messages in one queue.
    Pull(Pull),
    /// For messages of a topic, or of its retry topic.
    Pop(Pop),
    /// To hear that there are some.
    Notification(Notification),
}

/// A question for how many pops wait.
#[derive(Clone, Debug)]
pub struct CountParked {
    /// Whose.
    pub group: GroupName,
    /// The topic.
    pub topic: TopicName,
    /// The queue that they name; `None` for those that name none.
    pub queue_id: Option<QueueId>,
}

/// Why a request may not wait: too much waits already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{parked} {unit} wait already, the limit is {limit}")]
pub struct ParkedFull {
    /// Of what there is too much: requests, or bytes of what they want.
    pub unit: &'static str,
    /// How much waits.
    pub parked: usize,
    /// The limit.
    pub limit: usize,
}

#[derive(Debug)]
struct Place {
    topic: TopicId,
    deadline: Monotonic,
    waiting: Waiting,
}

impl Waiting {
    /// Bytes that it fills with what it wants, about.
    fn bytes(&self) -> usize {
        match self {
            Self::Pull(ask) => ask.filter.as_ref().map_or(0, Filter::bytes),
            Self::Pop(ask) => ask.filter.bytes() + ask.attempt_id.as_ref().map_or(0, String::len),
            Self::Notification(ask) => ask.attempt_id.as_ref().map_or(0, String::len),
        }
    }
}

/// All requests that wait, by id: those of a topic are woken in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Parked {
    places: BTreeMap<RequestId, Place>,
    by_topic: BTreeMap<TopicId, BTreeSet<RequestId>>,
    deadlines: BTreeSet<(Monotonic, RequestId)>,
    bytes: usize,
}

impl Parked {
    /// Lets a request wait, where there is room for one more.
    pub(crate) fn park_new(
        &mut self,
        topic: TopicId,
        id: RequestId,
        deadline: Monotonic,
        waiting: Waiting,
        config: &Config,
    ) -> Result<(), ParkedFull> {
        let (parked, limit) = (self.len(), config.parked_max);
        if parked >= limit {
            return Err(ParkedFull { unit: "requests", parked, limit });
        }
        let (parked, limit) = (self.bytes, config.parked_bytes_max);
        if parked + waiting.bytes() > limit {
            return Err(ParkedFull { unit: "bytes of requests", parked, limit });
        }
        self.park(topic, id, deadline, waiting);
        Ok(())
    }

    /// Lets a request wait that has waited before.
    pub(crate) fn park(&mut self, topic: TopicId, id: RequestId, deadline: Monotonic, waiting: Waiting) {
        self.by_topic.entry(topic).or_default().insert(id);
        self.deadlines.insert((deadline, id));
        self.bytes += waiting.bytes();
        self.places.insert(id, Place { topic, deadline, waiting });
    }

    /// Takes a request out, where it waits.
    pub(crate) fn remove(&mut self, id: RequestId) -> Option<(TopicId, Monotonic, Waiting)> {
        let Place { topic, deadline, waiting } = self.places.remove(&id)?;
        self.deadlines.remove(&(deadline, id));
        self.bytes -= waiting.bytes();
        if let Some(ids) = self.by_topic.get_mut(&topic) {
            ids.remove(&id);
            if ids.is_empty() {
                self.by_topic.remove(&topic);
            }
        }
        Some((topic, deadline, waiting))
    }

    /// Takes out all that wait for a topic.
    pub(crate) fn take_topic(&mut self, topic: TopicId) -> Vec<(RequestId, Waiting)> {
        let ids = self.by_topic.get(&topic).cloned().unwrap_or_default();
        ids.into_iter().filter_map(|id| Some((id, self.remove(id)?.2))).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    pub(crate) fn next_deadline(&self) -> Option<Monotonic> {
        self.deadlines.first().map(|(at, _)| *at)
    }

    /// A request whose time is over by `now`.
    fn expired(&self, now: Monotonic) -> Option<RequestId> {
        self.deadlines.first().filter(|(at, _)| *at <= now).map(|(_, id)| *id)
    }

    /// The requests that wait for a topic and that `fits`, first come first.
    pub(crate) fn waiting_for(&self, topic: TopicId, fits: impl Fn(&Waiting) -> bool) -> Vec<RequestId> {
        let ids = self.by_topic.get(&topic).into_iter().flatten();
        ids.filter(|id| fits(&self.places[id].waiting)).copied().collect()
    }
}

impl Broker {
    /// Looks again for all who wait where something has arrived.
    pub(crate) fn wake(&mut self) {
        for (topic, queue_id) in std::mem::take(&mut self.touched) {
            let ids = self.parked.waiting_for(topic, |waiting| match waiting {
                Waiting::Pull(pull) => pull.queue_id == queue_id,
                Waiting::Pop(_) | Waiting::Notification(_) => false,
            });
            self.look_again(ids);
            self.pop_touched.insert(self.pop_retries.popped(topic));
        }
        for topic in std::mem::take(&mut self.pop_touched) {
            let ids = self.parked.waiting_for(topic, |waiting| !matches!(waiting, Waiting::Pull(_)));
            self.look_again(ids);
        }
    }

    fn look_again(&mut self, ids: Vec<RequestId>) {
        for id in ids {
            let (topic, deadline, waiting) = self.parked.remove(id).expect("it waits");
            let left = match waiting {
                Waiting::Pull(ask) => self.pull_again(topic, id, ask, deadline).map(Waiting::Pull),
                Waiting::Pop(ask) => self.pop_again(topic, id, ask, deadline).map(Waiting::Pop),
                Waiting::Notification(ask) => {
                    self.notification_again(topic, id, ask).map(Waiting::Notification)
                }
            };
            if let Some(waiting) = left {
                self.parked.park(topic, id, deadline, waiting);
            }
        }
    }

    /// Answers those whose time is over.
    pub(crate) fn expire_parked(&mut self) {
        while let Some(id) = self.parked.expired(self.now.monotonic) {
            let (topic, _, waiting) = self.parked.remove(id).expect("it waits");
            match waiting {
                Waiting::Pull(ask) => self.pull_ended(topic, id, ask),
                Waiting::Pop(ask) => self.pop_ended(id, &ask),
                Waiting::Notification(_) => self.notification_ended(id),
            }
        }
    }

    pub(crate) fn count_parked(&mut self, id: RequestId, ask: &CountParked) {
        let counted = self.parked_pops(ask);
        self.reply(id, Reply::CountParked(counted));
    }

    fn parked_pops(&mut self, ask: &CountParked) -> Result<usize, PopError> {
        let topic = self.may_take(&ask.group, &ask.topic, ask.queue_id, 1)?;
        let counts = |waiting: &Waiting| match waiting {
            Waiting::Pop(pop) => pop.group == ask.group && pop.queue_id == ask.queue_id,
            Waiting::Pull(_) | Waiting::Notification(_) => false,
        };
        Ok(self.parked.waiting_for(topic, counts).len())
    }
}
