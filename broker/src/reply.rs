//! Replies wait until what they promise holds: written, or durable.

use crate::request::{Reply, RequestId};
use model::LogOffset;
use std::collections::VecDeque;

/// When a reply may be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Once {
    /// All that the log holds at the moment of the call is written.
    Written,
    /// All that the log holds at the moment of the call is durable.
    Durable,
}

/// Replies that wait for the log, in order for each promise.
#[derive(Debug, Default)]
pub(crate) struct Replies {
    ready: VecDeque<(RequestId, Reply)>,
    written: VecDeque<(LogOffset, RequestId, Reply)>,
    durable: VecDeque<(LogOffset, RequestId, Reply)>,
}

impl Replies {
    /// Keeps a reply until the log is `once` up to `end`.
    pub(crate) fn push(&mut self, once: Once, end: LogOffset, id: RequestId, reply: Reply) {
        match once {
            Once::Written => self.written.push_back((end, id, reply)),
            Once::Durable => self.durable.push_back((end, id, reply)),
        }
    }

    /// Gives a reply that promises nothing of the log.
    pub(crate) fn push_ready(&mut self, id: RequestId, reply: Reply) {
        self.ready.push_back((id, reply));
    }

    /// The next reply whose promise holds.
    pub(crate) fn poll(&mut self, written: LogOffset, durable: LogOffset) -> Option<(RequestId, Reply)> {
        if let Some(ready) = self.ready.pop_front() {
            return Some(ready);
        }
        for (queue, reached) in [(&mut self.durable, durable), (&mut self.written, written)] {
            if queue.front().is_some_and(|(end, ..)| *end <= reached) {
                return queue.pop_front().map(|(_, id, reply)| (id, reply));
            }
        }
        None
    }

    /// Replies waiting.
    pub(crate) fn len(&self) -> usize {
        self.ready.len() + self.written.len() + self.durable.len()
    }
}
