//! Change invisible: a lease ends at another time; its handle is replaced.

use crate::ack::NoLease;
use crate::pop::too_long;
use crate::{Broker, Reply, RequestId};
use model::{GroupName, TopicName};
use std::time::Duration;
use wire::ReceiptHandle;

pub use crate::ack::AckError as ChangeInvisibleError;

/// A lease is to end so long from now.
#[derive(Clone, Debug)]
pub struct ChangeInvisible {
    /// The group that popped the message.
    pub group: GroupName,
    /// The topic that was popped, or its retry topic where it comes from there.
    pub topic: TopicName,
    /// What it was popped with.
    pub handle: wire::ReceiptHandle,
    /// How long from now; zero makes it visible at once.
    pub invisible: Duration,
}

impl Broker {
    pub(crate) fn change_invisible(&mut self, id: RequestId, ask: ChangeInvisible) {
        if let Some((asked_ms, limit_ms)) = too_long(ask.invisible) {
            let refused = ChangeInvisibleError::InvisibleTooLong { asked_ms, limit_ms };
            return self.reply_now(id, Reply::ChangeInvisible(Err(refused)));
        }
        let answer = match self.valid_lease(&ask.group, &ask.topic, &ask.handle) {
            Ok((key, offset)) => {
                let pop_time = self.leases.change(&key, offset, ask.invisible, self.now);
                let invisible_ms = ask.invisible.as_millis() as i64;
                Ok(ReceiptHandle { start_offset: offset.0, pop_time, invisible_ms, ..ask.handle })
            }
            Err(NoLease::AckedBefore) => Err(ChangeInvisibleError::LeaseOver),
            Err(NoLease::Refused(refused)) => Err(refused),
        };
        self.reply_with_leases(id, Reply::ChangeInvisible(answer));
    }
}
