//! Crowd: how many messages may be due in one second.
//!
//! How many wait for a second is mostly known at once: what has come since the last checkpoint is counted as it comes,
//! and where the bucket on disk holds fewer than the limit, that is enough to know. Else the second is counted in the
//! bucket's file, by a worker, and sends for it wait for that; from then on it is known.

use crate::read::Then;
use crate::schedule::{self, Wanted};
use crate::work;
use crate::{Broker, Reply, RequestId, Send, SendError, SendRefusal};
use model::{Now, Properties, Timestamp};
use std::collections::BTreeMap;
use timer::InSecond;
use wire::property;

/// Sends that wait for a count, at most, and bytes of them; one always fits.
const WAITING_MAX: usize = 16_384;
const WAITING_BYTES_MAX: usize = 64 << 20;
/// Messages of one send whose seconds are counted for it, at most: fewer than there are seconds that stay known.
const COUNTED_MAX: usize = 1024;

/// Sends that wait until it is counted how many messages are due in a second, by that second, in the order in which they
/// came.
#[derive(Debug, Default)]
pub(crate) struct Crowd {
    waiting: BTreeMap<i64, Vec<Waiting>>,
    count: usize,
    bytes: usize,
}

/// A send, and when it came.
#[derive(Debug)]
struct Waiting {
    id: RequestId,
    ask: Send,
    came: Now,
}

fn bytes_of(ask: &Send) -> usize {
    let one = |message: &model::Message| message.body.len() + property::encoded_len(&message.properties);
    ask.messages.iter().map(one).sum()
}

/// The second that a moment lies in, counted from the epoch.
pub(crate) fn second_of(at: Timestamp) -> i64 {
    at.as_millis().div_euclid(1000)
}

impl Crowd {
    /// Takes a send in; tells whether it is the only one of its second. `None` where there is no room.
    fn push(&mut self, second: i64, one: Waiting) -> Option<bool> {
        let bytes = bytes_of(&one.ask);
        let is_full = self.count == WAITING_MAX || self.bytes + bytes > WAITING_BYTES_MAX;
        if is_full && self.count > 0 {
            return None;
        }
        (self.count, self.bytes) = (self.count + 1, self.bytes + bytes);
        let same = self.waiting.entry(second).or_default();
        same.push(one);
        Some(same.len() == 1)
    }

    fn take(&mut self, second: i64) -> Vec<Waiting> {
        let all = self.waiting.remove(&second).unwrap_or_default();
        self.count -= all.len();
        self.bytes -= all.iter().map(|one| bytes_of(&one.ask)).sum::<usize>();
        all
    }
}

impl Broker {
    /// Whether a message may be due at that moment besides those that are due in its second, and besides the `before`
    /// ones of the same send that are.
    pub(crate) fn has_room_in_second(&self, at: Timestamp, before: u64) -> Result<(), SendRefusal> {
        let Some(limit) = self.config.pending_per_second_max else { return Ok(()) };
        match self.timer.due_in_second(at) {
            Some(InSecond::Exactly(pending)) if pending + before >= limit => {
                let second = Timestamp::from_millis(second_of(at).saturating_mul(1000));
                Err(SendRefusal::TooManyPendingInSecond { second, pending: pending + before, limit })
            }
            // A checkpoint came while the message's key was looked for; or the send has very many messages.
            Some(InSecond::AtMost(most)) if most + before >= limit => Err(SendRefusal::Busy {
                what: "how many messages are due in that second is yet to be counted",
            }),
            _ => Ok(()),
        }
    }

    /// A moment that a send asks for, of whose second it is to be counted how many are due in it.
    pub(crate) fn uncounted_second(&self, ask: &Send, came: Now) -> Option<Timestamp> {
        let limit = self.config.pending_per_second_max?;
        if ask.topic.is_retry() {
            return None;
        }
        let is_uncounted = |at: &Timestamp| match self.timer.due_in_second(*at) {
            // With all of this send, were they due in that second.
            Some(InSecond::AtMost(most)) => most + ask.messages.len() as u64 > limit,
            _ => false,
        };
        let messages = ask.messages.iter().take(COUNTED_MAX);
        let moments = messages.filter_map(|message| self.moment_of(ask, &message.properties, came));
        moments.filter(is_uncounted).min()
    }

    /// The moment that a message would be due at, where it would wait.
    fn moment_of(&self, ask: &Send, properties: &Properties, came: Now) -> Option<Timestamp> {
        let config = &self.config;
        if ask.as_level
            && let Ok(Some(level)) = schedule::as_level(properties, came, config)
        {
            return came.wall_up().checked_add_millis(config.levels.delay_ms(level));
        }
        match schedule::wanted(properties, came, config) {
            Ok(Wanted::At { deliver_at, .. }) => Some(deliver_at),
            _ => None,
        }
    }

    /// Handles a send once it is counted how many messages are due in the second of `at`.
    pub(crate) fn send_once_counted(&mut self, id: RequestId, at: Timestamp, ask: Send, came: Now) {
        match self.crowd.push(second_of(at), Waiting { id, ask, came }) {
            Some(true) => self.count_second(at),
            Some(false) => {}
            None => {
                let why = SendRefusal::Busy { what: "too many messages wait for their second to be counted" };
                self.reply_now(id, Reply::Send(Err(SendError { index: 0, why })));
            }
        }
    }

    fn count_second(&mut self, at: Timestamp) {
        let scan = self.timer.count_second(at);
        let then = Then::Send(at, std::sync::Arc::clone(scan.catalog()));
        self.read_from_disk(work::Wanted::Second(Box::new(scan)), then);
    }

    /// It was counted: the sends that waited go on, in their order.
    pub(crate) fn second_counted(
        &mut self,
        at: Timestamp,
        catalog: &std::sync::Arc<timer::Catalog>,
        counted: Result<u64, timer::FileError>,
    ) {
        let is_same = std::sync::Arc::ptr_eq(self.timer.catalog(), catalog);
        match counted {
            _ if !is_same => self.count_second(at),
            Err(error) => {
                for Waiting { id, .. } in self.crowd.take(second_of(at)) {
                    let why = SendRefusal::SecondUncounted { why: error.to_string() };
                    self.reply_now(id, Reply::Send(Err(SendError { index: 0, why })));
                }
            }
            Ok(count) => {
                self.timer.second_counted(at, count);
                for Waiting { id, ask, came } in self.crowd.take(second_of(at)) {
                    self.send_of(id, ask, came);
                }
            }
        }
    }
}
