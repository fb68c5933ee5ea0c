//! Renewal: messages that a push consumer is at work on stay its own, however long it takes; up to a limit.
//!
//! A push consumer names no time: it gets a lease of a minute, and whoever is alive has it renewed shortly
//! before it ends, for longer each time. [`Renewals`] is what is to be renewed when: told the time and who is
//! alive, it decides; the front carries it out. A handle that is acked, changed or given up leaves it. What has
//! been held for too long is given back, and so is all that a client held which is gone: others get it at once.
//!
//! The broker keeps for whom a lease is renewed. After a restart the front takes up where the one before it ended,
//! and waits a moment for the clients to come back.
//!
//! Peer: `DefaultReceiptHandleManager`, `RenewStrategyPolicy` (RocketMQ 5.x), whose renewals change the handle.

use crate::Proxy;
use crate::clients::{Known, MOMENT};
use broker::{ChangeInvisible, GetRenewed, PoppedMessage, Renew, Renewed};
use futures_util::future::join_all;
use model::{ClientId, GroupName, TopicName};
use service::{ServiceExt, Unavailable};
use std::collections::{BTreeSet, HashMap};
use std::convert::Infallible;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, MissedTickBehavior};
use wire::ReceiptHandle;
use wire::receipt_handle::Retry;

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
/// How soon what could not be asked for is tried again.
const AGAIN: Duration = Duration::from_secs(1);
/// How long after a restart clients may take to come back: they need up to half a minute to find that the server
/// was gone.
const COMING_BACK: Duration = Duration::from_secs(40);
/// How long what is given back stays invisible after that. Peer: `invisibleTimeMillisWhenClear`.
const GIVEN_BACK_FOR: Duration = Duration::from_secs(1);
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

/// What names a lease: a handle's text says more, which does not matter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct LeaseName {
    group: GroupName,
    topic: TopicName,
    retry: Retry,
    queue_id: u32,
    queue_offset: i64,
    pop_time: i64,
}

impl LeaseName {
    fn of(group: &GroupName, topic: &TopicName, handle: &ReceiptHandle) -> Self {
        let (group, topic) = (group.clone(), topic.clone());
        let ReceiptHandle { retry, queue_id, queue_offset, pop_time, .. } = *handle;
        Self { group, topic, retry, queue_id, queue_offset, pop_time }
    }
}

/// What is renewed, by lease, and for whom.
#[derive(Debug, Default)]
pub(crate) struct Renewals {
    held: HashMap<LeaseName, Held>,
    due: BTreeSet<(Instant, LeaseName)>,
    holders: HashMap<ClientId, Holder>,
}

#[derive(Debug)]
struct Held {
    renewal: Renewal,
    /// When it has been held for too long.
    until: Instant,
    times: usize,
    due: Instant,
}

/// A client that holds leases.
#[derive(Debug)]
struct Holder {
    leases: usize,
    /// Until when it counts as there, whatever its settings and streams.
    there_until: Instant,
}

/// What is to be done now.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Due {
    /// Leases to renew.
    pub(crate) renew: Vec<Renewal>,
    /// Leases to give back.
    pub(crate) give_back: Vec<Renewal>,
}

impl Renewals {
    /// Begins with a message handed out at `now` under a lease of `renewal.invisible`.
    pub(crate) fn begin(&mut self, renewal: Renewal, now: Instant) {
        let due = now + renewal.invisible.saturating_sub(AHEAD);
        self.hold(renewal, due, now + LONGEST, now + MOMENT);
    }

    /// Takes up what was renewed before a restart.
    pub(crate) fn resume(&mut self, renewed: Renewed, now: Instant) {
        let Renewed { client, group, topic, handle, held, left } = renewed;
        let until = now + LONGEST.saturating_sub(held);
        let renewal = Renewal { client, group, topic, handle, invisible: left };
        self.hold(renewal, now + left.saturating_sub(AHEAD), until, now + COMING_BACK);
    }

    fn hold(&mut self, renewal: Renewal, due: Instant, until: Instant, there_until: Instant) {
        if self.held.len() >= RENEWED_MAX {
            return;
        }
        let name = LeaseName::of(&renewal.group, &renewal.topic, &renewal.handle);
        let due = due.min(until);
        self.remove(&name);
        let holder = self.holders.entry(renewal.client.clone()).or_insert(Holder { leases: 0, there_until });
        holder.leases += 1;
        holder.there_until = holder.there_until.max(there_until);
        self.due.insert((due, name.clone()));
        self.held.insert(name, Held { renewal, until, times: 0, due });
    }

    /// A client was heard of, of whom nothing else is known.
    pub(crate) fn hear(&mut self, client: &ClientId, now: Instant) {
        if let Some(holder) = self.holders.get_mut(client) {
            holder.there_until = holder.there_until.max(now + MOMENT);
        }
    }

    /// Ends with a message: it was acked, changed or given up.
    pub(crate) fn end(&mut self, group: &GroupName, topic: &TopicName, handle: &ReceiptHandle) {
        self.remove(&LeaseName::of(group, topic, handle));
    }

    fn remove(&mut self, name: &LeaseName) -> Option<Renewal> {
        let held = self.held.remove(name)?;
        self.due.remove(&(held.due, name.clone()));
        let holder = self.holders.get_mut(&held.renewal.client).expect("who holds a lease is a holder");
        holder.leases -= 1;
        if holder.leases == 0 {
            self.holders.remove(&held.renewal.client);
        }
        Some(held.renewal)
    }

    /// What is to be renewed by `now`, and what is to be given back: what has been held for too long, and all
    /// leases of a client that is not `alive`. The latter are ended with.
    pub(crate) fn take_due(&mut self, now: Instant, alive: impl Fn(&ClientId) -> bool) -> Due {
        let gone = self.holders.iter().filter(|(client, holder)| holder.there_until <= now && !alive(client));
        let gone: Vec<ClientId> = gone.map(|(client, _)| client.clone()).collect();
        let mut due = Due::default();
        for client in gone {
            due.give_back.extend(self.take_all_of(&client));
        }
        while let Some((at, name)) = self.due.first().cloned().filter(|(at, _)| *at <= now) {
            let held = self.held.get_mut(&name).expect("each that is due is held");
            if held.until <= now {
                due.give_back.extend(self.remove(&name));
                continue;
            }
            let step = STEPS[held.times.min(STEPS.len() - 1)];
            held.times += 1;
            held.due = (now + step.saturating_sub(AHEAD)).min(held.until);
            self.due.remove(&(at, name.clone()));
            self.due.insert((held.due, name));
            due.renew.push(Renewal { invisible: step, ..held.renewal.clone() });
        }
        due
    }

    /// Ends with all that a client holds, and gives it.
    pub(crate) fn take_all_of(&mut self, client: &ClientId) -> Vec<Renewal> {
        if !self.holders.contains_key(client) {
            return Vec::new();
        }
        let names = self.held.iter().filter(|(_, held)| held.renewal.client == *client);
        // In order, so that they go the same way each time.
        let names: BTreeSet<LeaseName> = names.map(|(name, _)| name.clone()).collect();
        names.iter().filter_map(|name| self.remove(name)).collect()
    }

    /// A renewal could not be asked for: it is due again in a moment.
    fn again(&mut self, renewal: &Renewal, now: Instant) {
        let name = LeaseName::of(&renewal.group, &renewal.topic, &renewal.handle);
        if let Some(held) = self.held.get_mut(&name) {
            self.due.remove(&(held.due, name.clone()));
            held.times = held.times.saturating_sub(1);
            held.due = now + AGAIN;
            self.due.insert((held.due, name));
        }
    }

    /// How many messages are under renewal.
    #[cfg(test)]
    fn len(&self) -> usize {
        assert_eq!(self.held.len(), self.due.len(), "each that is held is due once");
        let of_holders: usize = self.holders.values().map(|holder| holder.leases).sum();
        assert_eq!(self.held.len(), of_holders, "each that is held is somebody's");
        self.held.len()
    }
}

/// How often it is looked at what is to be renewed.
const EVERY: Duration = Duration::from_secs(1);

/// Renews what is due, for ever.
pub(crate) async fn renew(proxy: Proxy) -> Infallible {
    resume(&proxy).await;
    let mut every = tokio::time::interval(EVERY);
    every.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        every.tick().await;
        let now = Instant::now();
        let due = proxy.renewals().take_due(now, |client| proxy.clients.is_alive(client, now));
        proxy.give_back(due.give_back);
        join_all(due.renew.into_iter().map(|renewal| renew_one(&proxy, renewal))).await;
    }
}

/// Takes up what was renewed before a restart.
async fn resume(proxy: &Proxy) {
    let renewed = loop {
        match proxy.service.ask(GetRenewed).await {
            Ok(renewed) => break renewed,
            Err(Unavailable::Busy) => tokio::time::sleep(AGAIN).await,
            Err(Unavailable::Stopping) => return,
        }
    };
    if !renewed.is_empty() {
        tracing::info!(leases = renewed.len(), "leases are renewed on, if their clients come back");
    }
    let now = Instant::now();
    let mut renewals = proxy.renewals();
    for one in renewed {
        renewals.resume(one, now);
    }
}

async fn renew_one(proxy: &Proxy, renewal: Renewal) {
    let Renewal { client, group, topic, handle, invisible } = renewal.clone();
    match proxy.service.ask(Renew { group, topic, handle, invisible }).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            tracing::debug!(%client, handle = %renewal.handle, %error, "a lease is not renewed");
            proxy.renewals().end(&renewal.group, &renewal.topic, &renewal.handle);
        }
        Err(error) => {
            tracing::warn!(%client, handle = %renewal.handle, %error, "a lease could not be renewed, it is tried again");
            proxy.renewals().again(&renewal, Instant::now());
        }
    }
}

impl Proxy {
    pub(crate) fn renewals(&self) -> MutexGuard<'_, Renewals> {
        // Nothing that is done under the lock leaves an entry half changed.
        self.renewals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a client said of itself, which has just been heard of again.
    pub(crate) fn known(&self, client: &ClientId) -> Option<Known> {
        let known = self.clients.known(client);
        if known.is_none() {
            // It may not have found yet that the server was restarted: what it held before is still its own.
            self.renewals().hear(client, Instant::now());
        }
        known
    }

    /// Makes leases end in a moment, so that others get their messages.
    pub(crate) fn give_back(&self, all: Vec<Renewal>) {
        if all.is_empty() {
            return;
        }
        tracing::debug!(client = %all[0].client, count = all.len(), "messages are given back");
        let service = Arc::clone(&self.service);
        tokio::spawn(async move {
            for Renewal { group, topic, handle, .. } in all {
                let ask = ChangeInvisible { group, topic, handle, invisible: GIVEN_BACK_FOR };
                // Refused where the lease is over already. Where nobody listens it is said again, since it may last
                // for an hour yet.
                while let Err(Unavailable::Busy) = service.ask(ask.clone()).await {
                    tokio::time::sleep(AGAIN).await;
                }
            }
        });
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
