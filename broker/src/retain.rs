//! Retain: how long the log is kept. A message can be read for a while after it was delivered or sent; one that waits
//! is kept until it is delivered, whatever its age.
//!
//! The log goes a segment at a time, the oldest first. One goes once all of it is old enough, or the log is too
//! long, and nothing needs it: a checkpoint tells what it told, no waiting message has its body there, and no
//! half lies there. Queues then begin with their first message that is left.

use crate::Broker;
use model::{LogOffset, Timestamp};

impl Broker {
    /// Places of the log and by when all before each was there, `at` now among them: one in each segment at most.
    pub(crate) fn ages(&self, at: LogOffset) -> Vec<(LogOffset, Timestamp)> {
        let segment = |place: LogOffset| self.log.segments().position(|segment| segment.contains(&place));
        let mut ages = self.checkpoints.last.ages.clone();
        ages.retain(|(place, _)| *place > self.log.first());
        if ages.last().is_none_or(|(last, _)| segment(*last) != segment(at)) {
            ages.push((at, self.now.wall));
        }
        ages
    }

    /// Lets go of the segments that nobody is to read any more and nothing needs.
    pub(crate) fn expire_log(&mut self) {
        let last = &self.checkpoints.last;
        let needed = [Some(last.checkpoint), Some(last.timer.log_from()), self.halves.first()];
        let needed = needed.into_iter().flatten().min().unwrap_or_default();
        let kept_ms = i64::try_from(self.config.retention.as_millis()).unwrap_or(i64::MAX);
        let is_old = |at: &Timestamp| self.now.wall.millis_since(*at) >= kept_ms;
        let old = last.ages.iter().rev().find(|(_, at)| is_old(at)).map_or(LogOffset(0), |(place, _)| *place);
        let most = self.config.retention_bytes.unwrap_or(u64::MAX);
        let end = self.log.appended().0;
        let goes = |segment: &std::ops::Range<LogOffset>| {
            segment.end <= needed && (segment.end <= old || end - segment.start.0 > most)
        };
        let gone: Vec<_> = self.log.segments().take_while(goes).collect();
        let Some(first) = gone.last().map(|segment| segment.end) else { return };
        self.stats.segments_expired += gone.len() as u64;
        self.trim(first);
        self.log.forget(first);
    }

    /// Forgets what lies before `first` in the log.
    pub(crate) fn trim(&mut self, first: LogOffset) {
        for (topic, queue_id, min) in self.store.trim(first) {
            self.leases.trim(topic, queue_id, min);
        }
    }
}
