//! Lock: a member of a group that consumes in order holds queues for itself, for a minute at a time.
//!
//! Peer: `RebalanceLockManager` (RocketMQ), whose locks also last 60 s. Nothing of it is kept over a restart.

use crate::config::CLIENT_ID_MAX;
use crate::{Broker, Reply, RequestId};
use model::{ClientId, GroupName, Monotonic, QueueId, TopicName};
use std::collections::BTreeMap;
use std::time::Duration;

/// How long a lock lasts unless its holder asks again.
const LOCK_LASTS: Duration = Duration::from_secs(60);

/// Queues that a member wants for itself.
#[derive(Clone, Debug)]
pub struct Lock {
    /// The group.
    pub group: GroupName,
    /// The member.
    pub client: ClientId,
    /// The queues.
    pub queues: Vec<(TopicName, QueueId)>,
}

/// Why no queue was locked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LockError {
    /// The caller's: no heartbeat has made the group, nor an administrator (26).
    #[error("group {group} does not exist")]
    GroupUnknown {
        /// The group.
        group: GroupName,
    },
    /// The caller's: the member's name is too long to be kept (29).
    #[error("the client's id has {length} bytes, the limit is {limit}")]
    ClientIdTooLong {
        /// Its bytes.
        length: usize,
        /// The limit.
        limit: usize,
    },
    /// Ours, passing: all groups together hold so many that none is added (2).
    #[error("{locks} queues are locked, the limit is {limit}")]
    Full {
        /// How many are held, with those of this request.
        locks: usize,
        /// The limit.
        limit: usize,
    },
}

/// Queues that a member no longer needs for itself.
#[derive(Clone, Debug)]
pub struct Unlock {
    /// The group.
    pub group: GroupName,
    /// The member.
    pub client: ClientId,
    /// The queues.
    pub queues: Vec<(TopicName, QueueId)>,
}

type Queue = (TopicName, QueueId);

/// Who holds which queue, and until when.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    groups: BTreeMap<GroupName, BTreeMap<Queue, (ClientId, Monotonic)>>,
    /// How many there are at most: some may be over, or gone.
    at_most: usize,
    /// How many there may be before those that are over are looked for in all groups, and when that was done last.
    sweep_at: usize,
    swept: Option<Monotonic>,
}

/// Locks that are kept though they may be over.
const SWEEP_MIN: usize = 10_000;
/// How long is waited before those that are over are looked for again: a full table is a long one.
const SWEEP_PAUSE: Duration = Duration::from_secs(1);

impl Locks {
    /// Whether a group holds any queue: it then consumes in order.
    pub(crate) fn any(&self, group: &GroupName, now: Monotonic) -> bool {
        self.groups.get(group).is_some_and(|queues| queues.values().any(|(_, until)| *until > now))
    }

    /// How many more than `limit` there were with `more`; before that is said, those that are over are forgotten.
    fn beyond(&mut self, more: usize, limit: usize, now: Monotonic) -> Option<usize> {
        let wanted = self.at_most + more;
        let rests = self.swept.is_some_and(|at| now.since(at) < SWEEP_PAUSE);
        if wanted > self.sweep_at.min(limit) && !rests {
            self.groups.retain(|_, queues| {
                queues.retain(|_, (_, until)| *until > now);
                !queues.is_empty()
            });
            self.at_most = self.groups.values().map(BTreeMap::len).sum();
            self.sweep_at = (2 * self.at_most).max(SWEEP_MIN);
            self.swept = Some(now);
        }
        let locks = self.at_most + more;
        (more > 0 && locks > limit).then_some(locks)
    }

    pub(crate) fn drop_topic(&mut self, topic: &TopicName) {
        for queues in self.groups.values_mut() {
            queues.retain(|(of, _), _| of != topic);
        }
    }

    pub(crate) fn drop_group(&mut self, group: &GroupName) {
        self.groups.remove(group);
    }
}

impl Broker {
    pub(crate) fn lock(&mut self, id: RequestId, ask: Lock) {
        let locked = self.locked(ask);
        self.reply_now(id, Reply::Lock(locked));
    }

    /// The queues that the member now holds: of those it wants, the ones that there are and that nobody else holds.
    fn locked(&mut self, ask: Lock) -> Result<Vec<Queue>, LockError> {
        let (length, limit) = (ask.client.0.len(), CLIENT_ID_MAX);
        if length > limit {
            return Err(LockError::ClientIdTooLong { length, limit });
        }
        if self.groups.get(&ask.group).is_none() {
            return Err(LockError::GroupUnknown { group: ask.group });
        }
        let now = self.now.monotonic;
        let held = self.locks.groups.get(&ask.group);
        let new =
            ask.queues.iter().filter(|queue| held.is_none_or(|held| !held.contains_key(*queue))).count();
        let limit = self.config.locks_max;
        if let Some(locks) = self.locks.beyond(new, limit, now) {
            return Err(LockError::Full { locks, limit });
        }
        let held = self.locks.groups.entry(ask.group).or_default();
        held.retain(|_, (_, until)| *until > now);
        let mut locked = Vec::new();
        for queue in ask.queues {
            if self.topics.get(&queue.0).is_none_or(|topic| queue.1.0 >= topic.queues()) {
                continue;
            }
            let (holder, until) = held.entry(queue.clone()).or_insert_with(|| {
                self.locks.at_most += 1;
                (ask.client.clone(), now)
            });
            if *holder == ask.client {
                *until = now.after(LOCK_LASTS);
                locked.push(queue);
            }
        }
        Ok(locked)
    }

    pub(crate) fn unlock(&mut self, id: RequestId, ask: &Unlock) {
        if let Some(held) = self.locks.groups.get_mut(&ask.group) {
            for queue in &ask.queues {
                if held.get(queue).is_some_and(|(holder, _)| *holder == ask.client) {
                    held.remove(queue);
                }
            }
        }
        self.reply_now(id, Reply::Unlock(()));
    }
}
