//! Renewal: messages that a push consumer is at work on stay its own, however long it takes; up to a limit.
//!
//! A push consumer names no time: it gets a lease of a minute, and whoever is alive has it renewed shortly
//! before it ends, for longer each time. [`Renewals`] is what is to be renewed when: told the time and who is
//! alive, it decides; the front carries it out. A handle that is acked, changed or given up leaves it; so does
//! one whose client is gone, which then comes to another as soon as its lease is over.
//!
//! Peer: `DefaultReceiptHandleManager`, `RenewStrategyPolicy` (RocketMQ 5.x), whose renewals change the handle.

use crate::Proxy;
use broker::{PoppedMessage, Renew};
use futures_util::future::join_all;
use model::{ClientId, GroupName, TopicName};
use service::ServiceExt;
use std::collections::{BTreeSet, HashMap};
use std::convert::Infallible;
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, MissedTickBehavior};
use wire::ReceiptHandle;

/// How long before its end a lease is renewed. Peer: `renewAheadTimeMillis`.
const AHEAD: Duration = Duration::from_secs(10);
/// For how long: the first time, the second, and so on; the last for all that follow.
const STEPS: [Duration; 6] = [
    Duration::from_mins(1),
    Duration::from_mins(3),
    Duration::from_mins(5),
    Duration::from_mins(10),
    Duration::from_mins(30),
    Duration::from_hours(1),
];
/// How long after it was handed out a message is renewed no more. Peer: `renewMaxTimeMillis`.
const LONGEST: Duration = Duration::from_hours(3);
/// How soon a renewal that could not be asked for is tried again.
const AGAIN: Duration = Duration::from_secs(1);
/// Messages under renewal, at most; more keep the lease they have.
const RENEWED_MAX: usize = 500_000;

/// A lease that is to be renewed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Renewal {
    pub(crate) client: ClientId,
    pub(crate) group: GroupName,
    pub(crate) topic: TopicName,
    pub(crate) handle: ReceiptHandle,
    /// How long from now.
    pub(crate) invisible: Duration,
}

/// What is renewed, by handle.
#[derive(Debug, Default)]
pub(crate) struct Renewals {
    held: HashMap<String, Held>,
    due: BTreeSet<(Instant, String)>,
}

#[derive(Debug)]
struct Held {
    renewal: Renewal,
    since: Instant,
    times: usize,
    due: Instant,
}

impl Renewals {
    /// Begins with a message handed out at `now` under a lease of `renewal.invisible`.
    pub(crate) fn begin(&mut self, renewal: Renewal, now: Instant) {
        if self.held.len() >= RENEWED_MAX {
            return;
        }
        let text = renewal.handle.to_string();
        let due = now + renewal.invisible.saturating_sub(AHEAD);
        self.end(&text);
        self.due.insert((due, text.clone()));
        self.held.insert(text, Held { renewal, since: now, times: 0, due });
    }

    /// Ends with a message: it was acked, changed or given up.
    pub(crate) fn end(&mut self, handle: &str) {
        if let Some(held) = self.held.remove(handle) {
            self.due.remove(&(held.due, handle.to_owned()));
        }
    }

    /// What is to be renewed by `now`. What has been renewed for too long, or whose client is not `alive`, is
    /// left to its lease, and ended with.
    pub(crate) fn take_due(&mut self, now: Instant, alive: impl Fn(&ClientId) -> bool) -> Vec<Renewal> {
        let mut all = Vec::new();
        while let Some((due, text)) = self.due.first().cloned().filter(|(due, _)| *due <= now) {
            let held = self.held.get_mut(&text).expect("each that is due is held");
            if !alive(&held.renewal.client) || now.duration_since(held.since) >= LONGEST {
                self.end(&text);
                continue;
            }
            let step = STEPS[held.times.min(STEPS.len() - 1)];
            held.times += 1;
            held.due = now + step.saturating_sub(AHEAD);
            self.due.remove(&(due, text.clone()));
            self.due.insert((held.due, text));
            all.push(Renewal { invisible: step, ..held.renewal.clone() });
        }
        all
    }

    /// A renewal could not be asked for: it is due again in a moment.
    pub(crate) fn again(&mut self, handle: &str, now: Instant) {
        if let Some(held) = self.held.get_mut(handle) {
            self.due.remove(&(held.due, handle.to_owned()));
            held.times = held.times.saturating_sub(1);
            held.due = now + AGAIN;
            self.due.insert((held.due, handle.to_owned()));
        }
    }

    /// How many messages are under renewal.
    #[cfg(test)]
    fn len(&self) -> usize {
        assert_eq!(self.held.len(), self.due.len(), "each that is held is due once");
        self.held.len()
    }
}

/// How often it is looked at what is to be renewed.
const EVERY: Duration = Duration::from_secs(1);

/// Renews what is due, for ever.
pub(crate) async fn renew(proxy: Proxy) -> Infallible {
    let mut every = tokio::time::interval(EVERY);
    every.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        every.tick().await;
        let now = Instant::now();
        let due = proxy.renewals().take_due(now, |client| proxy.clients.is_alive(client, now));
        join_all(due.into_iter().map(|renewal| renew_one(&proxy, renewal))).await;
    }
}

async fn renew_one(proxy: &Proxy, renewal: Renewal) {
    let Renewal { client, group, topic, handle, invisible } = renewal;
    let text = handle.to_string();
    match proxy.service.ask(Renew { group, topic, handle, invisible }).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            tracing::debug!(%client, handle = text, %error, "a lease is not renewed");
            proxy.renewals().end(&text);
        }
        Err(error) => {
            tracing::warn!(%client, handle = text, %error, "a lease could not be renewed, it is tried again");
            proxy.renewals().again(&text, Instant::now());
        }
    }
}

impl Proxy {
    pub(crate) fn renewals(&self) -> MutexGuard<'_, Renewals> {
        // Nothing that is done under the lock leaves an entry half changed.
        self.renewals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to renew what was handed out to a client that named no time.
    pub(crate) fn renew_for(
        &self,
        client: &ClientId,
        group: &GroupName,
        topic: &TopicName,
        popped: &[PoppedMessage],
    ) {
        let (now, invisible) = (Instant::now(), self.settings.lease_auto);
        let mut renewals = self.renewals();
        for message in popped {
            let (client, group, topic) = (client.clone(), group.clone(), topic.clone());
            renewals.begin(Renewal { client, group, topic, handle: message.handle.clone(), invisible }, now);
        }
    }
}

#[cfg(test)]
mod tests;
