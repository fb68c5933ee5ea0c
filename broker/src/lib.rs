//! What happens to a message: one verb a file, one thread owns it all.
//!
//! A message enters by `send`; wanted now, it is appended to the log and to its queue in `store`; wanted
//! later, it is parked in the log and told to `timer` (`schedule`). When its moment has come, `deliver`
//! appends it anew, with its real topic and queue, and whoever waits there is woken (`park`). Consumers
//! read by offset (`pull`) or take with leases (`pop`, `ack`, `change_invisible`).
//!
//! The [`Broker`] is driven from outside by seven methods and told the time at each. A turn is
//! `handle`* → `tick` → `write` → `poll_work` → `poll_reply`; no answer leaves before what it tells of is
//! written (SYNC: before what it promises is durable). Only this room appends to the log; `store` and `timer`
//! are told what lies where.
//!
//! It knows no socket, no protocol of a front, no thread and no file but through `journal`.

mod ack;
mod append;
mod assignment;
mod cancel;
mod change_invisible;
mod checkpoint;
mod client;
mod config;
mod count_pending;
mod crowd;
mod dedup;
mod delete;
mod deliver;
mod filter;
mod forbid;
mod group;
mod handover;
mod kv;
mod lease;
mod list_pending;
mod lock;
mod look_up;
mod manifest;
mod members;
mod notification;
mod offset;
mod park;
mod peek;
mod pop;
mod pop_retry;
mod progress;
mod pull;
mod query;
mod quota;
mod read;
mod recall;
mod recall_by_key;
mod recover;
mod redeliver;
mod renew;
mod reply;
mod request;
mod reschedule;
mod reset;
mod resume;
mod retain;
mod runtime;
mod schedule;
mod send;
mod send_back;
mod state;
mod stats;
mod topic;
mod traffic;
mod transaction;
mod work;

pub use ack::{Ack, AckError};
pub use assignment::{Assignment, GetAssignment, SetConsumeMode, SetConsumeModeError, Strategy};
pub use cancel::Cancel;
pub use change_invisible::{ChangeInvisible, ChangeInvisibleError};
pub use checkpoint::{CheckpointDone, CheckpointJob};
pub use client::{
    Consumer, Consumers, ConsumersError, Disconnect, Notice, Register, RegisterError, Subscription,
    Unregister,
};
pub use config::{Config, Flush};
pub use count_pending::{CountPending, GetHistogram, Histogram, HistogramError};
pub use delete::{DeleteGroup, DeleteGroupError, DeleteTopic, DeleteTopicError, Deleted};
pub use filter::{Filter, Sql, SqlError, Tags, TagsError};
pub use forbid::{Forbid, ForbidError, GetForbidden};
pub use group::{CreateGroup, CreateGroupError, GetGroup, GetGroups, NoGroup};
pub use kv::{GetValues, PutValue, PutValueError};
pub use list_pending::{ListPending, ListPendingError, PendingMessage, PendingPage, PendingPlace, Which};
pub use lock::{Lock, LockError, Unlock};
pub use members::{Client, FindRequester, GetMembers, GetProducers, Members, Requester};
pub use notification::Notification;
pub use offset::{
    Bounds, CommitOffset, CommitOffsetError, GetBounds, QueryOffset, QueryOffsetError, SearchOffset,
};
pub use park::CountParked;
pub use park::ParkedFull;
pub use peek::{Peek, Peeked};
pub use pop::{Pop, PopError, Popped, PoppedMessage};
pub use progress::{
    Entries, GetEntries, GetEntriesError, GetGroupsOf, GetLeastOffsets, GetOffsets, GetProgress,
    GetTopicStats, GetTopicsOf, IndexEntry, Progress, QueueProgress, QueueStats, TopicStats,
};
pub use pull::{Pull, PullError, PullOutcome, Pulled};
pub use query::{Query, QueryError, View, ViewError};
pub use recall::{Recall, RecallError, Recalled};
pub use recall_by_key::{RecallByKey, RecalledByKey};
pub use recover::Recovered;
pub use renew::{GetRenewed, Renew, RenewError, Renewed};
pub use request::{Reply, Request, RequestId, Verb};
pub use reschedule::{Moved, NewMoment, Reschedule, RescheduleError, Rescheduled};
pub use reset::{CloneOffsets, ResetOffset, ResetOffsetError, ResetTo};
pub use resume::{ResumeHalf, ResumeHalfError};
pub use runtime::{Configure, GetRuntime, Runtime};
pub use send::{AutoCreate, Send, SendError, SendRefusal, Sent};
pub use send_back::{SendBack, SendBackError};
pub use stats::Stats;
pub use topic::{CreateTopic, CreateTopicError, GetTopic, GetTopics};
pub use traffic::{Count, Counted, DayTotals, Figures, GetTraffic, Rates, Windows};
pub use transaction::{Check, EndTransaction, EndTransactionError, HalfName, Resolution};
pub use work::{Done, ReadDone, ReadId, ReadWork, Work};

use crate::reply::{Once, Replies};
use env::Disk;
use model::Now;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// How much of what is due one [`Broker::tick`] may deliver, so that sends are served between rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Messages at most.
    pub messages: usize,
    /// Bytes at most; one message always fits.
    pub bytes: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { messages: 2000, bytes: 1 << 20 }
    }
}

/// One broker: the log and all that is derived from it. See the crate's page for how it is driven.
pub struct Broker {
    config: Config,
    now: Now,
    log: journal::Log,
    store: store::Store,
    offsets: store::Offsets,
    offsets_at: Option<model::Monotonic>,
    keys: store::Keys,
    keyed: dedup::KeyedSends,
    crowd: crowd::Crowd,
    checkpoints: checkpoint::Checkpoints,
    timer: timer::Timer,
    topics: topic::Topics,
    groups: group::Groups,
    clients: client::Clients,
    handovers: handover::Handovers,
    leases: lease::Leases,
    pop_retries: pop_retry::PopRetries,
    consume_modes: assignment::ConsumeModes,
    forbidden: forbid::Forbidden,
    locks: lock::Locks,
    recalled: recall::RecalledMessages,
    halves: transaction::Halves,
    resets: reset::Resets,
    values: kv::Values,
    traffic: traffic::Traffic,
    opened_at: model::Timestamp,
    parked: park::Parked,
    due: deliver::DueQueue,
    views: schedule::Views,
    reads: read::Reads,
    replies: Replies,
    /// Replies that tell of leases whose records are appended at the next write.
    with_leases: Vec<(RequestId, Reply)>,
    touched: BTreeSet<(model::TopicId, model::QueueId)>,
    pop_touched: BTreeSet<model::TopicId>,
    notices: VecDeque<Work>,
    failing: Option<Failing>,
    uniques: u64,
    stats: Stats,
}

/// The log takes nothing just now.
#[derive(Debug)]
struct Failing {
    why: String,
    /// When to try again, growing; `None` once a sync has failed: never.
    retry: Option<(model::Monotonic, Duration)>,
}

/// A sync of the log failed: nothing may be answered any more. The process must end and start again.
#[derive(Debug, thiserror::Error)]
#[error("the log can no longer be trusted")]
pub struct Halted(#[from] journal::SyncFailed);

impl Broker {
    /// Opens the log on `disk`, makes it where there is none, and rebuilds all that is derived from it.
    pub fn open(
        disk: Arc<dyn Disk>,
        config: Config,
        now: Now,
    ) -> Result<(Self, Recovered), journal::OpenError> {
        recover::open(disk, config, now)
    }

    /// Takes a request and decides. Its reply comes from [`Broker::poll_reply`], at once, after a wait, or,
    /// for a request that is cancelled while it waits, never.
    pub fn handle(&mut self, now: Now, id: RequestId, request: Request) {
        self.now = now;
        match request {
            Request::Send(ask) => self.send(id, ask),
            Request::SendBack(ask) => self.send_back(id, ask),
            Request::Pull(ask) => self.pull(id, ask),
            Request::Lock(ask) => self.lock(id, ask),
            Request::Unlock(ask) => self.unlock(id, &ask),
            Request::Recall(ask) => self.recall(id, ask),
            Request::RecallByKey(ask) => self.recall_by_key(id, ask),
            Request::Reschedule(ask) => self.reschedule(id, ask),
            Request::ListPending(ask) => self.list_pending(id, ask),
            Request::CountPending(CountPending) => self.count_pending(id),
            Request::GetHistogram(ask) => self.get_histogram(id, ask),
            Request::EndTransaction(ask) => self.end_transaction(id, ask),
            Request::ResumeHalf(ask) => self.resume_half(id, ask),
            Request::Renew(ask) => self.renew(id, &ask),
            Request::GetRenewed(GetRenewed) => self.get_renewed(id),
            Request::Pop(ask) => self.pop(id, ask),
            Request::Peek(ask) => self.peek(id, &ask),
            Request::Notification(ask) => self.notification(id, ask),
            Request::CountParked(ask) => self.count_parked(id, &ask),
            Request::GetAssignment(ask) => self.get_assignment(id, &ask),
            Request::SetConsumeMode(ask) => self.set_consume_mode(id, ask),
            Request::Ack(ask) => self.ack(id, &ask),
            Request::ChangeInvisible(ask) => self.change_invisible(id, ask),
            Request::QueryOffset(ask) => self.query_offset(id, &ask),
            Request::CommitOffset(ask) => self.commit_offset(id, &ask),
            Request::GetBounds(ask) => self.get_bounds(id, &ask),
            Request::SearchOffset(ask) => self.search_offset(id, &ask),
            Request::CreateTopic(ask) => self.create_topic(id, &ask),
            Request::GetTopic(ask) => self.get_topic(id, &ask),
            Request::GetTopics(_) => self.get_topics(id),
            Request::DeleteTopic(ask) => self.delete_topic(id, &ask),
            Request::GetTopicStats(ask) => self.get_topic_stats(id, &ask),
            Request::GetEntries(ask) => self.get_entries(id, &ask),
            Request::CreateGroup(ask) => self.create_group(id, ask),
            Request::GetGroup(ask) => self.get_group(id, &ask),
            Request::GetGroups(_) => self.get_groups(id),
            Request::DeleteGroup(ask) => self.delete_group(id, &ask),
            Request::Forbid(ask) => self.forbid(id, ask),
            Request::GetForbidden(_) => self.get_forbidden(id),
            Request::GetProgress(ask) => self.get_progress(id, &ask),
            Request::GetGroupsOf(ask) => self.get_groups_of(id, &ask),
            Request::GetTopicsOf(ask) => self.get_topics_of(id, &ask),
            Request::GetOffsets(_) => self.get_offsets(id),
            Request::GetLeastOffsets(ask) => self.get_least_offsets(id, &ask),
            Request::ResetOffset(ask) => self.reset_offset(id, &ask),
            Request::CloneOffsets(ask) => self.clone_offsets(id, &ask),
            Request::GetMembers(ask) => self.get_members(id, &ask),
            Request::GetProducers(ask) => self.get_producers(id, &ask),
            Request::FindRequester(ask) => self.find_requester(id, &ask),
            Request::PutValue(ask) => self.put_value(id, ask),
            Request::GetValues(ask) => self.get_values(id, &ask),
            Request::GetRuntime(_) => self.get_runtime(id),
            Request::GetTraffic(ask) => self.get_traffic(id, &ask),
            Request::Configure(ask) => self.configure(id, ask),
            Request::Register(ask) => self.register(id, ask),
            Request::Unregister(ask) => self.unregister(id, &ask),
            Request::Disconnect(ask) => self.disconnect(id, ask),
            Request::Cancel(ask) => self.cancel(id, ask),
            Request::Consumers(ask) => self.consumers(id, &ask),
            Request::Query(ask) => self.query(id, &ask),
            Request::View(ask) => self.view(id, ask),
        }
    }

    /// Does what the time asks for: delivers what is due, within `budget`; ends leases and waits.
    pub fn tick(&mut self, now: Now, budget: Budget) {
        self.now = now;
        self.expire_parked();
        self.hand_over();
        self.traffic.turn_day(now.wall);
        if self.failing.is_none() {
            self.expire_leases();
            self.deliver(budget);
            self.check_halves();
            self.recalled.forget(now.wall);
            self.write_offsets();
            self.checkpoint();
        }
    }

    /// Writes all that was appended since the last call, and wakes whoever waits for it. Nothing of it is
    /// answered before. Where the disk refuses, what was appended is kept and written later.
    pub fn write(&mut self) {
        if let Some(Failing { retry, .. }) = &self.failing {
            match retry {
                Some((at, _)) if *at <= self.now.monotonic => {}
                _ => return,
            }
        }
        self.wake();
        self.write_leases();
        for (id, reply) in std::mem::take(&mut self.with_leases) {
            self.reply(id, reply);
        }
        match self.log.write() {
            Ok(_) => self.failing = None,
            Err(error) => self.write_failed(&error),
        }
    }

    /// The next thing to be done outside, until there is none.
    pub fn poll_work(&mut self) -> Option<Work> {
        if let Some(notice) = self.notices.pop_front() {
            return Some(notice);
        }
        if let Some(job) = self.log.poll_job() {
            return Some(Work::Log(job));
        }
        self.poll_load();
        if let Some(read) = self.reads.poll() {
            return Some(Work::Read(read));
        }
        self.poll_checkpoint().map(Work::Checkpoint)
    }

    /// Work came back. [`Halted`]: nothing more may be answered, end the process.
    pub fn done(&mut self, now: Now, done: Done) -> Result<(), Halted> {
        self.now = now;
        match done {
            Done::Log(done) => {
                if let Err(failed) = self.log.done(done) {
                    return Err(self.halt(failed));
                }
            }
            Done::Read(id, done) => self.read_done(id, done),
            Done::Checkpoint(done) => self.checkpoint_done(done)?,
        }
        Ok(())
    }

    /// What a clean stop leaves to be done, one thing after the other, once nothing is asked any more and all else
    /// is done: it makes the next start read little, and believe what it reads.
    pub fn shutdown_work(&mut self) -> Option<Work> {
        if let Some(job) = self.checkpoint_at_stop() {
            return Some(Work::Checkpoint(job));
        }
        self.log.shutdown_job().map(Work::Log)
    }

    /// A sync failed: nothing is written or answered any more.
    fn halt(&mut self, failed: journal::SyncFailed) -> Halted {
        self.failing = Some(Failing { why: failed.to_string(), retry: None });
        failed.into()
    }

    /// Whether all that was accepted is durable and answered, but for requests that wait for messages.
    pub fn is_settled(&self) -> bool {
        let safe = self.log.durable() == self.log.appended();
        safe && self.replies.len() == 0
            && self.with_leases.is_empty()
            && self.offsets_at.is_none()
            && self.reads.is_idle()
            && !self.checkpoints.is_busy()
    }

    /// The next reply whose promise holds, until there is none for now.
    pub fn poll_reply(&mut self) -> Option<(RequestId, Reply)> {
        self.replies.poll(self.log.written(), self.log.durable())
    }

    /// How long the driver may sleep if nothing comes; `None`: until something comes.
    pub fn next_wakeup(&self, now: Now) -> Option<Duration> {
        if let Some(failing) = &self.failing {
            let retry = failing.retry.map(|(at, _)| at);
            let ends = [retry, self.parked.next_deadline(), self.handovers.next()];
            return ends.into_iter().flatten().min().map(|at| at.since(now.monotonic));
        }
        let touched = !self.touched.is_empty() || !self.pop_touched.is_empty();
        let moves = !self.with_leases.is_empty() || touched;
        if moves || self.log.appended() > self.log.written() {
            return Some(Duration::ZERO);
        }
        let monotonic = [
            self.parked.next_deadline(),
            self.handovers.next(),
            self.leases.next_end(),
            self.offsets_due(),
            self.halves.next_check(),
            self.checkpoint_due(),
        ];
        let monotonic = monotonic.into_iter().flatten().map(|at| at.since(now.monotonic));
        monotonic.chain(self.next_delivery(now)).min()
    }

    /// What the broker has counted.
    pub fn stats(&self) -> Stats {
        let mut stats = self.stats;
        stats.pending = self.timer.len() as u64 + self.due.len() as u64;
        stats.held = self.due.held() as u64;
        stats.halves = self.halves.len() as u64;
        stats.parked = self.parked.len() as u64;
        stats.unanswered = (self.replies.len() + self.with_leases.len()) as u64;
        stats
    }

    /// The settings it runs with.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Topics that are new or changed since the last call.
    pub fn take_changed_topics(&mut self) -> Vec<model::Topic> {
        self.topics.take_changed()
    }

    /// Topics that were deleted since the last call; one of them may have been made again since.
    pub fn take_deleted_topics(&mut self) -> Vec<model::TopicName> {
        self.topics.take_gone()
    }

    /// A reply that tells of what is in memory: given once all that it may tell of is written.
    fn reply(&mut self, id: RequestId, reply: Reply) {
        self.replies.push(Once::Written, self.log.appended(), id, reply);
    }

    /// A reply that tells of leases: given once what has changed of them is written.
    fn reply_with_leases(&mut self, id: RequestId, reply: Reply) {
        self.with_leases.push((id, reply));
    }

    /// A reply that tells of nothing that is not written: a refusal, or what has long been there.
    fn reply_now(&mut self, id: RequestId, reply: Reply) {
        self.replies.push_ready(id, reply);
    }

    /// A reply that promises that what was appended stays.
    fn reply_safe(&mut self, id: RequestId, reply: Reply) {
        let once = match self.config.flush {
            Flush::Sync => Once::Durable,
            Flush::Async => Once::Written,
        };
        self.replies.push(once, self.log.appended(), id, reply);
    }

    /// Why nothing can be stored just now, where that is so.
    fn unwritable(&self) -> Option<String> {
        self.failing.as_ref().map(|failing| failing.why.clone())
    }

    fn write_failed(&mut self, error: &journal::WriteError) {
        let pause = match &self.failing {
            Some(Failing { retry: Some((_, pause)), .. }) => (*pause * 2).min(Duration::from_secs(5)),
            _ => Duration::from_millis(100),
        };
        let why = std::iter::successors(Some(error as &dyn std::error::Error), |e| e.source());
        let why = why.map(ToString::to_string).collect::<Vec<_>>().join(": ");
        let retry = match error {
            journal::WriteError::Poisoned => None,
            journal::WriteError::Io { .. } => Some((self.now.monotonic.after(pause), pause)),
        };
        self.stats.write_errors += 1;
        self.failing = Some(Failing { why, retry });
    }
}

#[cfg(test)]
mod tests;
