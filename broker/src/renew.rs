//! Renew: a lease goes on for longer, and its handle stays good. For consumers that are at work and do not know
//! how long it takes; `proxy` renews for them.

use crate::ack::NoLease;
use crate::{Broker, Reply, RequestId};
use model::{GroupName, TopicName};
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

impl Broker {
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
