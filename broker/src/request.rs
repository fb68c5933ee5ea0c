//! What is asked of the broker, and what it answers: one variant a verb.

use crate::ack::{Ack, AckError};
use crate::assignment::{Assignment, GetAssignment, SetConsumeMode, SetConsumeModeError};
use crate::cancel::Cancel;
use crate::change_invisible::{ChangeInvisible, ChangeInvisibleError};
use crate::client::{Consumers, ConsumersError, Disconnect, Register, RegisterError, Unregister};
use crate::count_pending::{CountPending, GetHistogram, Histogram, HistogramError};
use crate::delete::{DeleteGroup, DeleteGroupError, DeleteTopic, DeleteTopicError, Deleted};
use crate::forbid::{Forbid, ForbidError, GetForbidden};
use crate::group::{CreateGroup, CreateGroupError, GetGroup, GetGroups};
use crate::kv::{GetValues, PutValue, PutValueError};
use crate::list_pending::{ListPending, ListPendingError, PendingPage};
use crate::lock::{Lock, LockError, Unlock};
use crate::members::{Client, FindRequester, GetMembers, GetProducers, Members, Requester};
use crate::notification::Notification;
use crate::offset::{
    Bounds, CommitOffset, CommitOffsetError, GetBounds, QueryOffset, QueryOffsetError, SearchOffset,
};
use crate::park::CountParked;
use crate::peek::{Peek, Peeked};
use crate::pop::{Pop, PopError, Popped};
use crate::progress::{
    Entries, GetEntries, GetEntriesError, GetGroupsOf, GetLeastOffsets, GetOffsets, GetProgress,
    GetTopicStats, GetTopicsOf, Progress, TopicStats,
};
use crate::pull::{Pull, PullError, Pulled};
use crate::query::{Query, QueryError, View, ViewError};
use crate::recall::{Recall, RecallError, Recalled};
use crate::recall_by_key::{RecallByKey, RecalledByKey};
use crate::renew::{GetRenewed, Renew, RenewError, Renewed};
use crate::reschedule::{Reschedule, RescheduleError, Rescheduled};
use crate::reset::{CloneOffsets, ResetOffset, ResetOffsetError};
use crate::resume::{ResumeHalf, ResumeHalfError};
use crate::runtime::{Configure, GetRuntime, Runtime};
use crate::send::{Send, SendError, Sent};
use crate::send_back::{SendBack, SendBackError};
use crate::topic::{CreateTopic, CreateTopicError, GetTopic, GetTopics};
use crate::traffic::{GetTraffic, Windows};
use crate::transaction::{EndTransaction, EndTransactionError};
use bytes::Bytes;
use model::{Group, GroupName, QueueId, QueueOffset, Topic, TopicName};
use std::collections::BTreeMap;

/// Names a request until it is answered; the caller's choice, unique among those not answered yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// Defines [`Request`] and [`Reply`] with a variant for each verb.
macro_rules! verbs {
    ($($(#[doc = $doc:literal])* $verb:ident($ask:ty) -> $answer:ty;)*) => {
        /// What may be asked.
        #[derive(Debug)]
        pub enum Request {
            $($(#[doc = $doc])* $verb($ask),)*
        }

        /// The answer to the request of the same name.
        #[derive(Debug)]
        pub enum Reply {
            $($(#[doc = $doc])* $verb($answer),)*
        }

        $(
            impl From<$ask> for Request {
                fn from(ask: $ask) -> Self {
                    Self::$verb(ask)
                }
            }

            impl Verb for $ask {
                type Answer = $answer;

                fn answer(reply: Reply) -> Option<$answer> {
                    match reply {
                        Reply::$verb(answer) => Some(answer),
                        _ => None,
                    }
                }
            }
        )*
    };
}

/// A thing that may be asked, and the type of its answer: what lets a caller ask with one generic call.
pub trait Verb: Into<Request> {
    /// What is answered.
    type Answer;

    /// The answer in `reply`; `None` where it answers another verb.
    fn answer(reply: Reply) -> Option<Self::Answer>;
}

verbs! {
    /// Store messages, now or for later.
    Send(Send) -> Result<Vec<Sent>, SendError>;
    /// Give a message back for a later retry.
    SendBack(SendBack) -> Result<(), SendBackError>;
    /// Read by offset.
    Pull(Pull) -> Result<Pulled, PullError>;
    /// Hold queues for one member.
    Lock(Lock) -> Result<Vec<(model::TopicName, model::QueueId)>, LockError>;
    /// Let go of queues.
    Unlock(Unlock) -> ();
    /// Call a delayed message back.
    Recall(Recall) -> Result<Recalled, RecallError>;
    /// Call back what waits under an id or a key.
    RecallByKey(RecallByKey) -> Result<RecalledByKey, RecallError>;
    /// Give what waits under an id or a key another moment.
    Reschedule(Reschedule) -> Result<Rescheduled, RescheduleError>;
    /// See messages that wait.
    ListPending(ListPending) -> Result<PendingPage, ListPendingError>;
    /// Count messages that wait, by topic.
    CountPending(CountPending) -> BTreeMap<TopicName, u64>;
    /// Count messages that wait, by when they are due.
    GetHistogram(GetHistogram) -> Result<Histogram, HistogramError>;
    /// Commit or roll back a half message.
    EndTransaction(EndTransaction) -> Result<(), EndTransactionError>;
    /// Ask again for a half message that was put aside.
    ResumeHalf(ResumeHalf) -> Result<(), ResumeHalfError>;
    /// Take with leases.
    Pop(Pop) -> Result<Popped, PopError>;
    /// Look at what a pop would take.
    Peek(Peek) -> Result<Peeked, PopError>;
    /// Ask whether a pop would find something.
    Notification(Notification) -> Result<bool, PopError>;
    /// Ask how many pops wait.
    CountParked(CountParked) -> Result<usize, PopError>;
    /// Ask which queues a member of a group reads.
    GetAssignment(GetAssignment) -> Option<Assignment>;
    /// Set how a group's members get a topic's messages.
    SetConsumeMode(SetConsumeMode) -> Result<(), SetConsumeModeError>;
    /// Finish what was popped.
    Ack(Ack) -> Vec<Result<(), AckError>>;
    /// Let a lease end at another time.
    ChangeInvisible(ChangeInvisible) -> Result<wire::ReceiptHandle, ChangeInvisibleError>;
    /// Let a lease go on for longer.
    Renew(Renew) -> Result<(), RenewError>;
    /// Ask for all leases that are renewed.
    GetRenewed(GetRenewed) -> Vec<Renewed>;
    /// Ask for a committed offset.
    QueryOffset(QueryOffset) -> Result<QueueOffset, QueryOffsetError>;
    /// Commit an offset.
    CommitOffset(CommitOffset) -> Result<(), CommitOffsetError>;
    /// Ask for the least and greatest offset of a queue.
    GetBounds(GetBounds) -> Bounds;
    /// Ask which offset was stored at a moment.
    SearchOffset(SearchOffset) -> QueueOffset;
    /// Make or change a topic.
    CreateTopic(CreateTopic) -> Result<Topic, CreateTopicError>;
    /// Ask for a topic.
    GetTopic(GetTopic) -> Option<Topic>;
    /// Ask for all topics.
    GetTopics(GetTopics) -> Vec<Topic>;
    /// Delete a topic and all that is its own.
    DeleteTopic(DeleteTopic) -> Result<Deleted, DeleteTopicError>;
    /// Ask how far a topic's queues reach.
    GetTopicStats(GetTopicStats) -> Option<TopicStats>;
    /// Ask for a part of a queue's index.
    GetEntries(GetEntries) -> Result<Entries, GetEntriesError>;
    /// Make or change a group.
    CreateGroup(CreateGroup) -> Result<Group, CreateGroupError>;
    /// Ask for a group.
    GetGroup(GetGroup) -> Option<Group>;
    /// Ask for all groups.
    GetGroups(GetGroups) -> Vec<Group>;
    /// Delete a group and all that is its own.
    DeleteGroup(DeleteGroup) -> Result<(), DeleteGroupError>;
    /// Keep a group away from a topic, or no longer; tells whether it is.
    Forbid(Forbid) -> Result<bool, ForbidError>;
    /// Ask who is kept away from what.
    GetForbidden(GetForbidden) -> Vec<(GroupName, TopicName)>;
    /// Ask how far a group has read.
    GetProgress(GetProgress) -> Progress;
    /// Ask who reads a topic.
    GetGroupsOf(GetGroupsOf) -> Vec<GroupName>;
    /// Ask what a group reads.
    GetTopicsOf(GetTopicsOf) -> Vec<TopicName>;
    /// Ask for all committed offsets.
    GetOffsets(GetOffsets) -> Vec<(GroupName, TopicName, QueueId, QueueOffset)>;
    /// Ask how far all groups have read.
    GetLeastOffsets(GetLeastOffsets) -> BTreeMap<QueueId, QueueOffset>;
    /// Set how far a group has read.
    ResetOffset(ResetOffset) -> Result<Vec<(QueueId, QueueOffset)>, ResetOffsetError>;
    /// Set how far a group has read to where another has.
    CloneOffsets(CloneOffsets) -> ();
    /// Ask for the members of a group and what they want.
    GetMembers(GetMembers) -> Option<Members>;
    /// Ask for connected producers.
    GetProducers(GetProducers) -> BTreeMap<String, Vec<Client>>;
    /// Ask where the reply to a client's request goes.
    FindRequester(FindRequester) -> Option<Requester>;
    /// Keep a value, or let go of it.
    PutValue(PutValue) -> Result<(), PutValueError>;
    /// Ask for the values of a namespace.
    GetValues(GetValues) -> BTreeMap<String, String>;
    /// Ask how the broker does.
    GetRuntime(GetRuntime) -> Box<Runtime>;
    /// Ask how much is put and got.
    GetTraffic(GetTraffic) -> Option<Windows>;
    /// Change settings.
    Configure(Configure) -> ();
    /// Say what a client produces and consumes.
    Register(Register) -> Result<(), RegisterError>;
    /// Take a client out of its groups.
    Unregister(Unregister) -> ();
    /// A connection is gone.
    Disconnect(Disconnect) -> ();
    /// Stop waiting for a parked request.
    Cancel(Cancel) -> ();
    /// Ask who is in a group.
    Consumers(Consumers) -> Result<Vec<model::ClientId>, ConsumersError>;
    /// Find messages by key.
    Query(Query) -> Result<Vec<Bytes>, QueryError>;
    /// Read one message by its log offset.
    View(View) -> Result<Bytes, ViewError>;
}
