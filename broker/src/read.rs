//! Read: messages come from memory where they are recent, else from a worker, and then it goes on.

use crate::look_up::{LookUpError, LookedUp};
use crate::pop::Taken;
use crate::pull::Reading;
use crate::transaction::EndTransaction;
use crate::work::{Outcome, ReadDone, Wanted};
use crate::{Broker, ReadId, ReadWork, Recall, RequestId, SendBack};
use bytes::Bytes;
use journal::{Extent, ReadError};
use model::{LogOffset, QueueOffset, Timestamp, TopicId};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use timer::Catalog;

/// What goes on once messages are read.
#[derive(Debug)]
pub(crate) enum Then {
    /// A pull is answered.
    Pull(Box<Reading>),
    /// A pop is answered.
    Pop(Box<Taken>),
    /// A look at what could be popped is answered; so much is left.
    Peek(RequestId, i64),
    /// Deliveries go on.
    Deliver(Vec<timer::Key>),
    /// A message is put into a retry or dead-letter topic.
    SendBack(RequestId, SendBack),
    /// Messages whose leases are over come again.
    Redeliver(Vec<crate::lease::Ended>),
    /// A message is called back, where it waits.
    Recall(RequestId, TopicId, Recall),
    /// The same, asked for by a send, which is answered.
    RecallByMessage(RequestId, TopicId, Recall, Box<crate::Sent>),
    /// What waits under a key is called back; so much of it was already.
    RecallByKey(RequestId, TopicId, crate::RecallByKey, crate::RecalledByKey, LogOffset),
    /// What of it can be read already is counted, and the recall answered.
    CountVisible(RequestId, TopicId, crate::RecallByKey, crate::RecalledByKey),
    /// Messages are stored, unless others of their keys are there. Of the hash of their keys, looked for in that topic by
    /// that key, of which memory knew up to that place.
    SendKeyed(u64, TopicId, String, Option<LogOffset>),
    /// What waits under a key is given another moment; so much of it was already.
    Reschedule(RequestId, TopicId, Box<crate::reschedule::Moving>),
    /// What of it can be read already is counted, and the request answered.
    CountTooLate(RequestId, TopicId, Box<crate::reschedule::Moving>),
    /// Messages of a key that wait are told.
    ListOfKey(RequestId, TopicId, crate::ListPending, Box<crate::list_pending::OfKey>),
    /// A page of what waits is told.
    ListPending(RequestId, crate::ListPending, Arc<Catalog>),
    /// It is told when what waits is due.
    Histogram(RequestId, crate::GetHistogram, Arc<Catalog>),
    /// Sends go on that wait until it is counted how many are due in the second of a moment.
    Send(Timestamp, Arc<Catalog>),
    /// A half message ends.
    EndTransaction(RequestId, EndTransaction),
    /// A half message that was put aside is asked for again.
    ResumeHalf(RequestId, crate::ResumeHalf),
    /// The producer of a half message, at that offset and asked so often before, is asked.
    CheckHalf(Extent, QueueOffset, u32),
    /// A search is answered.
    Query(RequestId, crate::Query),
    /// A look is answered.
    View(RequestId, crate::View),
    /// The same, of a record that only those can know that know its key.
    ViewParked(RequestId, crate::View, Bytes),
    /// The timer goes on with a bucket.
    Load,
}

/// Reads asked for and not yet done.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    next: u64,
    ready: VecDeque<ReadWork>,
    out: BTreeMap<ReadId, Then>,
}

impl Reads {
    pub(crate) fn poll(&mut self) -> Option<ReadWork> {
        self.ready.pop_front()
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.out.is_empty()
    }
}

impl Broker {
    /// Reads all of `extents` and goes on with `then`: at once where all are in memory.
    pub(crate) fn read(&mut self, extents: Vec<Extent>, then: Then) {
        match extents.iter().map(|&extent| self.in_memory(extent)).collect::<Option<Vec<Bytes>>>() {
            Some(bytes) => self.go_on(then, Ok(bytes)),
            None => self.read_from_disk(Wanted::Extents(extents), then),
        }
    }

    /// Hands a read to a worker.
    pub(crate) fn read_from_disk(&mut self, wanted: Wanted, then: Then) {
        self.reads.next += 1;
        let id = ReadId(self.reads.next);
        self.reads.out.insert(id, then);
        self.reads.ready.push_back(ReadWork { id, wanted, reader: self.log.reader() });
    }

    /// The message, where it is in memory.
    pub(crate) fn in_memory(&self, extent: Extent) -> Option<Bytes> {
        self.log.read_tail(extent)
    }

    pub(crate) fn read_done(&mut self, id: ReadId, done: ReadDone) {
        let then = self.reads.out.remove(&id).expect("a read comes back once");
        match done.0 {
            Outcome::Bytes(bytes) => self.go_on(then, bytes),
            Outcome::LookedUp(look_up, found) => self.look_up_done(then, &look_up, found),
            Outcome::Bucket(done) => self.bucket_loaded(done),
            Outcome::Bodies(bytes) => match then {
                Then::Deliver(places) => self.staged(places, bytes),
                other => unreachable!("no reading ahead goes on with {other:?}"),
            },
            Outcome::Listed(listed) => match then {
                Then::ListPending(id, ask, catalog) => self.listed(id, ask, &catalog, listed),
                other => unreachable!("no page goes on with {other:?}"),
            },
            Outcome::Counted(counts) => match then {
                Then::Histogram(id, ask, catalog) => self.counted(id, ask, &catalog, counts),
                other => unreachable!("no histogram goes on with {other:?}"),
            },
            Outcome::SecondCounted(counted) => match then {
                Then::Send(at, catalog) => self.second_counted(at, &catalog, counted),
                other => unreachable!("no count of a second goes on with {other:?}"),
            },
        }
    }

    /// Messages were looked up by a key.
    pub(crate) fn looked_up(&mut self, then: Then, found: Result<LookedUp, LookUpError>) {
        match then {
            Then::Recall(id, topic, ask) => self.recall_read(id, topic, ask, found),
            Then::RecallByMessage(id, topic, ask, sent) => {
                self.recall_by_message_read(id, topic, ask, sent, found);
            }
            Then::RecallByKey(id, topic, ask, done, before) => {
                self.recall_by_key_read(id, topic, ask, done, before, found);
            }
            Then::SendKeyed(hash, topic, key, newest) => {
                self.send_keyed_read(hash, topic, key, newest, found);
            }
            Then::Reschedule(id, topic, moving) => self.reschedule_read(id, topic, moving, found),
            Then::CountTooLate(id, topic, moving) => self.too_late_counted(id, topic, *moving, found),
            Then::ListOfKey(id, topic, ask, of_key) => self.list_of_key_read(id, topic, ask, *of_key, found),
            Then::CountVisible(id, topic, ask, done) => self.visible_counted(id, topic, &ask, done, found),
            Then::Query(id, ask) => self.query_read(id, &ask, found),
            Then::ViewParked(id, ask, bytes) => self.view_parked_read(id, ask, bytes, found),
            other => unreachable!("no look-up goes on with {other:?}"),
        }
    }

    fn go_on(&mut self, then: Then, bytes: Result<Vec<Bytes>, ReadError>) {
        match then {
            Then::Pull(reading) => self.pull_read(*reading, bytes),
            Then::Pop(taken) => self.pop_read(*taken, bytes),
            Then::Peek(id, rest) => self.peek_read(id, rest, bytes),
            Then::SendBack(id, ask) => {
                self.send_back_read(id, &ask, bytes.ok().and_then(|all| all.into_iter().next()));
            }
            Then::Redeliver(ended) => self.redeliver(ended, bytes),
            Then::EndTransaction(id, ask) => self.end_read(id, &ask, bytes),
            Then::ResumeHalf(id, ask) => self.resume_read(id, ask, bytes),
            Then::CheckHalf(extent, offset, checks) => self.check_read(extent, offset, checks, bytes),
            Then::View(id, ask) => {
                let found = bytes.ok().and_then(|all| all.into_iter().next());
                self.view_read(id, ask, found);
            }
            Then::Recall(..)
            | Then::RecallByMessage(..)
            | Then::RecallByKey(..)
            | Then::CountVisible(..)
            | Then::SendKeyed(..)
            | Then::Reschedule(..)
            | Then::CountTooLate(..)
            | Then::ListOfKey(..)
            | Then::ListPending(..)
            | Then::Histogram(..)
            | Then::Send(..)
            | Then::Query(..)
            | Then::ViewParked(..)
            | Then::Load
            | Then::Deliver(_) => {
                unreachable!("these are read in other ways")
            }
        }
    }
}
