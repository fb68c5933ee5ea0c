//! Hand over: where members of a group come or go, its queues change hands while nothing of them is in a hand.
//!
//! A push consumer that hears of a change lets go at once of the queues that are no longer its own. What it is
//! handling at that moment it handles to the end and never commits, so that whoever gets the queue handles it
//! again. Therefore the members hear of it a moment later: they are given nothing more, and their waiting pulls
//! are answered empty, with which each comes back at once and says how far it has come. Once all that was given
//! out is handled they are told, and get nothing until each has asked who the members are, as it does just
//! before it lets go.
//!
//! Both waits are bounded. A member that is slow, or asks nothing, only loses its group this care.
//!
//! Peer: none. `ConsumerManager` (RocketMQ 5.x) tells the members at once.

use crate::Broker;
use crate::client::Notice;
use crate::park::Waiting;
use crate::pull::{Pull, PullOutcome};
use crate::work::Work;
use model::{ClientId, ConnectionId, ConsumeKind, GroupName, MessageModel, Monotonic, QueueId, TopicId};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How long members have to handle what they were given, before they are told.
const DRAIN_MAX: Duration = Duration::from_millis(500);
/// How often a member that has not handled all of a queue is asked how far it is.
const ASK_EVERY: Duration = Duration::from_millis(20);
/// How long members have to ask who the others are, once told: clients look at most once a second.
const SETTLE_MAX: Duration = Duration::from_millis(1500);
/// How long a member that has asked has to let go: it does so for one topic after the other.
const LET_GO: Duration = Duration::from_millis(50);
/// The longest that members get nothing, however many come and go meanwhile.
const QUIET_MAX: Duration = Duration::from_secs(3);

/// Which queues the members of groups pull, and the groups that hand over just now.
#[derive(Debug, Default)]
pub(crate) struct Handovers {
    held: BTreeMap<GroupName, BTreeMap<(TopicId, QueueId), Held>>,
    running: BTreeMap<GroupName, Handover>,
}

/// A queue in the hands of the member that pulled it last.
#[derive(Debug)]
struct Held {
    by: ConnectionId,
    /// Whether it was given messages of the queue at all.
    given: bool,
    /// Whether it has handled all that it was given.
    handled: bool,
}

#[derive(Debug)]
struct Handover {
    began: Monotonic,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    /// Members handle what they have.
    Drain { until: Monotonic },
    /// Members were told; those who have not asked since, and by when those who have asked will have let go.
    Settle { until: Monotonic, unheard: BTreeSet<ConnectionId>, let_go: Monotonic },
}

impl Handovers {
    /// A member asks for more of a queue.
    fn pulled(&mut self, by: ConnectionId, topic: TopicId, ask: &Pull) {
        let held = match self.held.get_mut(&ask.group) {
            Some(held) => held,
            None => self.held.entry(ask.group.clone()).or_default(),
        };
        let held = held.entry((topic, ask.queue_id)).or_insert(Held { by, given: false, handled: true });
        if held.by != by {
            *held = Held { by, given: false, handled: true };
        }
        // Where it has committed nothing yet, it says nothing.
        held.handled = ask.commit_offset.map_or(!held.given, |done| done >= ask.queue_offset);
    }

    /// A member is given messages of a queue.
    fn given(&mut self, by: ConnectionId, topic: TopicId, ask: &Pull) {
        let held = self.held.get_mut(&ask.group).and_then(|held| held.get_mut(&(topic, ask.queue_id)));
        if let Some(held) = held.filter(|held| held.by == by) {
            (held.given, held.handled) = (true, false);
        }
    }

    /// A member asks who the others are.
    pub(crate) fn asked(&mut self, group: &GroupName, by: ConnectionId, now: Monotonic) {
        if let Some(Handover { phase: Phase::Settle { unheard, let_go, .. }, .. }) =
            self.running.get_mut(group)
        {
            unheard.remove(&by);
            *let_go = now.after(LET_GO);
        }
    }

    /// A member has left.
    pub(crate) fn left(&mut self, group: &GroupName, connection: ConnectionId) {
        if let Some(held) = self.held.get_mut(group) {
            held.retain(|_, held| held.by != connection);
            if held.is_empty() {
                self.held.remove(group);
            }
        }
        if let Some(Handover { phase: Phase::Settle { unheard, .. }, .. }) = self.running.get_mut(group) {
            unheard.remove(&connection);
        }
    }

    pub(crate) fn drop_topic(&mut self, topic: TopicId) {
        self.held.retain(|_, held| {
            held.retain(|(of, _), _| *of != topic);
            !held.is_empty()
        });
    }

    pub(crate) fn drop_group(&mut self, group: &GroupName) {
        self.held.remove(group);
    }

    /// The queues of a group, each with its holder and whether that has handled all it was given.
    fn held(
        &self,
        group: &GroupName,
    ) -> impl Iterator<Item = (TopicId, QueueId, ConnectionId, bool)> + use<'_> {
        let held = self.held.get(group).into_iter().flatten();
        held.map(|(&(topic, queue_id), held)| (topic, queue_id, held.by, held.handled))
    }

    fn all_handled(&self, group: &GroupName) -> bool {
        self.held(group).all(|(.., handled)| handled)
    }

    /// When something may have to be done, at the latest.
    pub(crate) fn next(&self) -> Option<Monotonic> {
        let ends = self.running.values().map(|handover| match &handover.phase {
            Phase::Drain { until } => *until,
            Phase::Settle { until, unheard, .. } if !unheard.is_empty() => *until,
            Phase::Settle { until, let_go, .. } => (*until).min(*let_go),
        });
        ends.min()
    }

    /// The groups whose phase is over.
    fn over(&self, now: Monotonic) -> Vec<GroupName> {
        let over = |group: &GroupName, phase: &Phase| match phase {
            Phase::Drain { until } => *until <= now || self.all_handled(group),
            Phase::Settle { until, unheard, let_go } => {
                *until <= now || (unheard.is_empty() && *let_go <= now)
            }
        };
        let over = self.running.iter().filter(|(group, handover)| over(group, &handover.phase));
        over.map(|(group, _)| group.clone()).collect()
    }
}

impl Broker {
    /// The members of a group, or what they want, have changed: they hear of it, as soon as nothing of the
    /// group's queues is in their hands.
    pub(crate) fn members_changed(&mut self, group: &GroupName) {
        let now = self.now.monotonic;
        let settings = self.groups.get(group);
        if settings.is_some_and(|settings| !settings.notify_changes) {
            return;
        }
        if self.handovers.held(group).next().is_none() {
            return self.tell_members(group);
        }
        let began = self.handovers.running.get(group).map_or(now, |running| running.began);
        match self.handovers.running.get(group) {
            Some(Handover { phase: Phase::Drain { .. }, .. }) => return,
            Some(_) if began.after(QUIET_MAX) <= now => return self.tell_members(group),
            _ => {}
        }
        let phase = Phase::Drain { until: now.after(DRAIN_MAX).min(began.after(QUIET_MAX)) };
        self.handovers.running.insert(group.clone(), Handover { began, phase });
        self.ask_how_far(group);
    }

    /// Answers the waiting pulls of members that have not said that they have handled all they were given:
    /// they come back at once, and say it.
    fn ask_how_far(&mut self, group: &GroupName) {
        let unsaid: Vec<_> = self.handovers.held(group).filter(|(.., handled)| !handled).collect();
        for (topic, queue_id, by, _) in unsaid {
            let ids = self.parked.waiting_for(topic, |waiting| match waiting {
                Waiting::Pull(ask) => {
                    ask.queue_id == queue_id && ask.member == Some(by) && ask.group == *group
                }
                Waiting::Pop(_) | Waiting::Notification(_) => false,
            });
            for id in ids {
                if let Some((topic, _, Waiting::Pull(ask))) = self.parked.remove(id) {
                    self.pull_ended(topic, id, ask);
                }
            }
        }
    }

    /// A member asks which queues are its own: it then lets go of the others.
    pub(crate) fn member_asked(&mut self, group: &GroupName, client: &ClientId) {
        for (connection, member) in self.clients.consumers.get(group).into_iter().flatten() {
            if member.about.id == *client {
                self.handovers.asked(group, *connection, self.now.monotonic);
            }
        }
    }

    pub(crate) fn tell_members(&mut self, group: &GroupName) {
        for connection in self.clients.connections(group) {
            let notice = Notice::ConsumersChanged { group: group.clone() };
            self.notices.push_back(Work::Notify(connection, notice));
        }
    }

    /// Tells the groups that have handled all, and gives again to those that have let go.
    pub(crate) fn hand_over(&mut self) {
        let now = self.now.monotonic;
        for group in self.handovers.over(now) {
            let running = &self.handovers.running[&group];
            if let Phase::Settle { .. } = running.phase {
                self.give_again(&group);
                continue;
            }
            let until = now.after(SETTLE_MAX).min(running.began.after(QUIET_MAX));
            let unheard = self.handovers.held(&group).map(|(_, _, by, _)| by).collect();
            let phase = Phase::Settle { until, unheard, let_go: now };
            self.handovers.running.get_mut(&group).expect("it runs").phase = phase;
            self.tell_members(&group);
        }
    }

    /// The group's queues are in new hands: whoever waits gets what has come meanwhile.
    fn give_again(&mut self, group: &GroupName) {
        self.handovers.running.remove(group);
        self.touched.extend(self.handovers.held(group).map(|(topic, queue_id, ..)| (topic, queue_id)));
    }

    /// Notes who pulls, where a member does that may have to let go of the queue.
    pub(crate) fn note_pull(&mut self, topic: TopicId, ask: &mut Pull) {
        let member = ask.member.and_then(|by| self.clients.consumers.get(&ask.group)?.get(&by));
        let shares = member.is_some_and(|member| {
            member.kind == ConsumeKind::Push && member.model == MessageModel::Clustering
        });
        match ask.member.filter(|_| shares) {
            Some(by) => self.handovers.pulled(by, topic, ask),
            None => ask.member = None,
        }
    }

    /// Notes that a pull is answered with messages.
    pub(crate) fn note_given(&mut self, topic: TopicId, ask: &Pull) {
        if let Some(by) = ask.member {
            self.handovers.given(by, topic, ask);
        }
    }

    /// Whether a pull gets no messages just now, since its group hands over. One whose offset lies outside the
    /// queue hears so all the same.
    pub(crate) fn is_quiet(&self, ask: &Pull, outcome: PullOutcome) -> bool {
        ask.member.is_some()
            && outcome != PullOutcome::OffsetMoved
            && self.handovers.running.contains_key(&ask.group)
    }

    /// By when a pull of a group that hands over is answered: soon, where it has more to say.
    pub(crate) fn quiet_until(&self, topic: TopicId, ask: &Pull, deadline: Monotonic) -> Monotonic {
        let held = self.handovers.held.get(&ask.group).and_then(|held| held.get(&(topic, ask.queue_id)));
        let draining = self
            .handovers
            .running
            .get(&ask.group)
            .is_some_and(|running| matches!(running.phase, Phase::Drain { .. }));
        match draining && held.is_some_and(|held| !held.handled) {
            true => deadline.min(self.now.monotonic.after(ASK_EVERY)),
            false => deadline,
        }
    }
}
