//! Count: how many messages wait, by topic and by when they are due.

use crate::list_pending::PendingPlace;
use crate::look_up::LookUpError;
use crate::read::Then;
use crate::work::Wanted;
use crate::{Broker, Reply, RequestId};
use env::Disk;
use model::{Timestamp, TopicName};
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::ops::ControlFlow;
use std::sync::Arc;
use timer::{Catalog, Key, Scan};

/// A question for how many messages of each topic wait. The answer is exact; no topic in it has none.
#[derive(Clone, Copy, Debug)]
pub struct CountPending;

/// A question for when the messages that wait are due.
#[derive(Clone, Debug)]
pub struct GetHistogram {
    /// Of this topic; `None` for all.
    pub topic: Option<TopicName>,
    /// Due from then on.
    pub from: Timestamp,
    /// Due by then.
    pub until: Timestamp,
    /// How long the stretches are by which they are counted, in ms. They begin at whole multiples of it since the
    /// epoch.
    pub width_ms: NonZeroU64,
    /// Behind this place: where the answer before ended.
    pub after: Option<PendingPlace>,
}

/// How many messages are due in each stretch of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// By where each begins; none is empty. At most 10,000 of them.
    pub counts: BTreeMap<Timestamp, u64>,
    /// Where to go on: as many messages were looked at as one answer may. What follows adds to these counts. `None`
    /// where all were counted.
    pub next: Option<PendingPlace>,
}

/// Why nothing is counted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HistogramError {
    /// The caller's: the topic does not exist.
    #[error("topic {topic} does not exist")]
    TopicUnknown {
        /// The topic.
        topic: TopicName,
    },
    /// Ours: a file could not be read.
    #[error("reading what waits: {why}")]
    Unreadable {
        /// Why.
        why: String,
    },
}

/// Stretches of one answer, at most.
const STRETCHES_MAX: usize = 10_000;
/// Messages looked at for one answer, at most.
const LOOKS_MAX: usize = 1_000_000;

/// What is to be counted, on any thread.
#[derive(Debug)]
pub(crate) struct Counting {
    scan: Scan,
    width_ms: i64,
}

/// What was counted.
#[derive(Debug)]
pub(crate) struct Counts {
    counts: BTreeMap<Timestamp, u64>,
    next: Option<Key>,
}

impl Counting {
    pub(crate) fn run(&self, disk: &dyn Disk) -> Result<Counts, LookUpError> {
        let mut counts: BTreeMap<Timestamp, u64> = BTreeMap::new();
        let mut last = None;
        let mut is_full = false;
        let next = self.scan.run(disk, &mut |entry| {
            let stretch =
                entry.deliver_at.as_millis().div_euclid(self.width_ms).saturating_mul(self.width_ms);
            let begin = Timestamp::from_millis(stretch);
            if counts.len() == STRETCHES_MAX && !counts.contains_key(&begin) {
                is_full = true;
                return ControlFlow::Break(());
            }
            *counts.entry(begin).or_default() += 1;
            last = Some(entry.key());
            ControlFlow::Continue(())
        })?;
        Ok(Counts { counts, next: if is_full { last } else { next } })
    }
}

impl Broker {
    pub(crate) fn count_pending(&mut self, id: RequestId) {
        let mut counts: BTreeMap<TopicName, u64> = BTreeMap::new();
        let waiting = self.timer.counts().map(|(topic, _, count)| (topic, count));
        for (topic, count) in waiting.chain(self.due.counts()) {
            if let Some(topic) = self.topics.by_id(topic) {
                *counts.entry(topic.name.clone()).or_default() += count;
            }
        }
        self.reply(id, Reply::CountPending(counts));
    }

    pub(crate) fn get_histogram(&mut self, id: RequestId, ask: GetHistogram) {
        let topic = match self.topic_or_all(ask.topic.as_ref()) {
            Ok(topic) => topic,
            Err(topic) => {
                return self.reply_now(id, Reply::GetHistogram(Err(HistogramError::TopicUnknown { topic })));
            }
        };
        let scan = self.scan_pending(topic, ask.from, ask.until, ask.after, LOOKS_MAX);
        let catalog = Arc::clone(scan.catalog());
        let width_ms = i64::try_from(ask.width_ms.get()).unwrap_or(i64::MAX);
        let counting = Counting { scan, width_ms };
        self.read_from_disk(Wanted::Counting(Box::new(counting)), Then::Histogram(id, ask, catalog));
    }

    /// It was counted how things stood when it was asked for; or not, for a checkpoint has replaced a file: then it is
    /// counted anew.
    pub(crate) fn counted(
        &mut self,
        id: RequestId,
        ask: GetHistogram,
        catalog: &Arc<Catalog>,
        counts: Result<Counts, LookUpError>,
    ) {
        let answer = match counts {
            Err(_) if !Arc::ptr_eq(self.timer.catalog(), catalog) => return self.get_histogram(id, ask),
            Err(error) => Err(HistogramError::Unreadable { why: error.to_string() }),
            Ok(Counts { counts, next }) => Ok(Histogram { counts, next: next.map(PendingPlace::of) }),
        };
        self.reply(id, Reply::GetHistogram(answer));
    }
}
