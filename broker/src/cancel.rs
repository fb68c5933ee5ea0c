//! Cancel: whoever asked no longer listens.

use crate::RequestId;

/// A parked request whose answer nobody wants any more; one already answered is not touched.
#[derive(Clone, Copy, Debug)]
pub struct Cancel {
    /// Which.
    pub request: RequestId,
}

impl crate::Broker {
    pub(crate) fn cancel(&mut self, id: RequestId, ask: Cancel) {
        self.parked.remove(ask.request);
        self.reply(id, crate::Reply::Cancel(()));
    }
}
