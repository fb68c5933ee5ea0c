//! Renew: a lease goes on for longer, and its handle stays good. For consumers that are at work and do not know
//! how long it takes; `proxy` renews for them.

use crate::ack::NoLease;
use crate::lease::{Key, Progress};
use crate::pop::ORDERED;
use crate::{Broker, Reply, RequestId};
use model::{ClientId, GroupName, Monotonic, QueueOffset, TopicName};
use std::time::Duration;
use wire::ReceiptHandle;

pub use crate::ack::AckError as RenewError;

/// A lease is to end so long from now, or later where it already does.
#[derive(Clone, Debug)]
pub struct Renew {
    /// The group that popped the message.
    pub group: GroupName,
    /// The topic that was popped, or its retry topic where it comes from there.
    pub topic: TopicName,
    /// What it was popped with; it stays good.
    pub handle: ReceiptHandle,
    /// How long from now.
    pub invisible: Duration,
}

/// A question for all leases that are renewed for a client: who renews them asks once, after a start.
#[derive(Clone, Copy, Debug)]
pub struct GetRenewed;

/// A lease that is renewed for a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renewed {
    /// Who holds it.
    pub client: ClientId,
    /// The group that popped the message.
    pub group: GroupName,
    /// The topic that was popped (not its retry topic).
    pub topic: TopicName,
    /// What names the lease. The client's own handle may say of it when it was to end, and where the pop began to
    /// read, which is not known any more.
    pub handle: ReceiptHandle,
    /// How long it has been held.
    pub held: Duration,
    /// How long it lasts if it is not renewed.
    pub left: Duration,
}

impl Broker {
    /// Answers with all leases that are renewed.
    pub(crate) fn get_renewed(&mut self, id: RequestId) {
        let all: Vec<Renewed> = self.leases.renewed().filter_map(|lease| self.renewed_one(lease)).collect();
        self.reply(id, Reply::GetRenewed(all));
    }

    fn renewed_one(
        &self,
        (key, offset, pop_time, ends, client): (&Key, QueueOffset, i64, Monotonic, &ClientId),
    ) -> Option<Renewed> {
        let popped = self.topics.by_id(self.pop_retries.popped(key.topic))?.name.clone();
        let extent = self.store.queue(key.topic, key.queue_id)?.get(offset)?.extent;
        let ordered = self.leases.get(key).is_some_and(Progress::is_ordered);
        let left = ends.since(self.now.monotonic);
        let held_ms = self.now.wall.as_millis().saturating_sub(pop_time);
        let held = Duration::from_millis(u64::try_from(held_ms).unwrap_or(0));
        let handle = ReceiptHandle {
            start_offset: offset.0,
            pop_time,
            invisible_ms: i64::try_from((held + left).as_millis()).unwrap_or(i64::MAX),
            revive_queue: if ordered { ORDERED } else { 0 },
            retry: self.retry_form(key.topic, &key.group, &popped),
            broker: self.config.broker_name.clone(),
            queue_id: key.queue_id.0,
            queue_offset: offset.0,
            log_offset: Some(extent.at),
        };
        Some(Renewed { client: client.clone(), group: key.group.clone(), topic: popped, handle, held, left })
    }

    pub(crate) fn renew(&mut self, id: RequestId, ask: &Renew) {
        let answer = match self.valid_lease(&ask.group, &ask.topic, &ask.handle) {
            Ok((key, offset)) => {
                self.leases.renew(&key, offset, ask.invisible, self.now);
                Ok(())
            }
            Err(NoLease::AckedBefore) => Err(RenewError::LeaseOver),
            Err(NoLease::Refused(refused)) => Err(refused),
        };
        self.reply_with_leases(id, Reply::Renew(answer));
    }
}
