//! Redeliver: a lease is over and nobody acked, so its message comes again; or, its attempts used up, never.

use crate::Broker;
use crate::config::LEASES_ENDED_MAX;
use crate::lease::{Ended, Progress};
use crate::read::Then;
use crate::send_back::mark_retry;
use bytes::Bytes;
use journal::ReadError;
use model::{GroupName, QueueId};
use wire::{message_id, stored};

impl Broker {
    /// Ends the leases whose time is over: their messages come again.
    pub(crate) fn expire_leases(&mut self) {
        let mut unordered = Vec::new();
        for _ in 0..LEASES_ENDED_MAX {
            let Some(ended) = self.leases.take_ended(self.now.monotonic) else {
                break;
            };
            let ordered = self.leases.get(&ended.key).is_some_and(Progress::is_ordered);
            let attempts = self.leases.attempts(&ended.key, ended.offset) + 1;
            if ordered && attempts < self.attempts_max(&ended.key.group) {
                self.again(&ended);
            } else {
                unordered.push(ended);
            }
        }
        let known = |ended: &Ended| {
            let queue = self.store.queue(ended.key.topic, ended.key.queue_id);
            queue.and_then(|queue| queue.get(ended.offset)).map(|entry| entry.extent)
        };
        let (found, lost): (Vec<_>, Vec<_>) = unordered.into_iter().partition(|ended| known(ended).is_some());
        let extents = found.iter().filter_map(known).collect();
        for ended in lost {
            self.finished(&ended);
        }
        if !found.is_empty() {
            self.read(extents, Then::Redeliver(found));
        }
    }

    fn attempts_max(&self, group: &GroupName) -> u32 {
        self.groups.get(group).map_or(16, |settings| settings.retry_max).saturating_add(1)
    }

    /// Puts messages whose leases are over into the retry topic, or among the dead letters.
    ///
    /// While they were read, what they belong to may have gone.
    pub(crate) fn redeliver(&mut self, all: Vec<Ended>, bytes: Result<Vec<Bytes>, ReadError>) {
        let Ok(bytes) = bytes else {
            // They cannot be read just now: their leases go on for a moment, and then it is tried again.
            for ended in all.into_iter().filter(|ended| self.leases.is_ending(ended)).collect::<Vec<_>>() {
                self.leases.prolong(&ended, self.now);
            }
            self.stats.read_errors += 1;
            return;
        };
        for (ended, bytes) in all.into_iter().zip(bytes) {
            if !self.leases.is_ending(&ended) {
                continue;
            }
            if self.redeliver_one(&ended, &bytes) {
                self.finished(&ended);
            } else {
                self.again(&ended);
            }
        }
    }

    /// A message whose lease has ended comes again from where it lies.
    fn again(&mut self, ended: &Ended) {
        self.leases.again(ended);
        self.pop_touched.insert(self.pop_retries.popped(ended.key.topic));
    }

    /// A message whose lease has ended lies elsewhere now, or nowhere: its queue goes on behind it. An ordered one
    /// was locked until now.
    fn finished(&mut self, ended: &Ended) {
        self.leases.ended(ended);
        self.commit_popped(&ended.key);
        self.pop_touched.insert(self.pop_retries.popped(ended.key.topic));
    }

    /// Puts a message where it comes from now, if anywhere; `false` where that can only be its own queue.
    fn redeliver_one(&mut self, ended: &Ended, bytes: &Bytes) -> bool {
        let group = &ended.key.group;
        let Ok((mut message, placed)) = stored::decode(bytes) else {
            return true;
        };
        let Some(topic) = self.topics.by_id(ended.key.topic).cloned() else {
            return true;
        };
        let attempts =
            message.reconsume_times.max(0) as u32 + 1 + self.leases.attempts(&ended.key, ended.offset);
        message.reconsume_times = message.reconsume_times.saturating_add(1);
        let id = message_id::encode(placed.store_host, placed.log_offset);
        mark_retry(&mut message, topic.name.as_str(), &id);
        if attempts >= self.attempts_max(group) {
            self.append_dead_letter(group, &mut message, placed.log_offset);
            return true;
        }
        let retry = match topic.name.is_retry() {
            true => Some(topic),
            false => self.pop_retry_or_make(group, &topic),
        };
        let Some(retry) = retry else { return false };
        self.stats.redelivered += 1;
        self.append_message(&retry, QueueId(0), &message, placed.log_offset);
        true
    }
}
