//! Traffic: how much is put and got, of which topic and by which group, over the last minute, hour and day.
//!
//! Counted when it happens, by a clock that never steps, and forgotten with the process. A window moves on in
//! slots: the newest is still filling, the oldest leaves as a whole.

use crate::{Broker, Reply, RequestId};
use model::{GroupName, Monotonic, Now, Timestamp, TopicId, TopicName};
use std::collections::BTreeMap;

/// What is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Messages that came to a topic, wanted now or later.
    Put(TopicName),
    /// Messages of a topic that a group got.
    Got(TopicName, GroupName),
    /// Messages of a topic that a group gave back.
    SentBack(TopicName, GroupName),
    /// All that came.
    AllPut,
    /// All that was got.
    AllGot,
}

/// A question for counts.
#[derive(Clone, Debug)]
pub struct GetTraffic {
    /// Of what.
    pub of: Counted,
}

/// What one window counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Requests.
    pub times: u64,
    /// Messages.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Count {
    fn add(&mut self, other: Self) {
        self.times += other.times;
        self.messages += other.messages;
        self.bytes += other.bytes;
    }
}

/// What was counted over the last minute, hour and day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Windows {
    /// The last 60 s.
    pub minute: Count,
    /// The last 60 minutes.
    pub hour: Count,
    /// The last 24 hours.
    pub day: Count,
}

/// Messages a second over the last 10 s, minute and 10 minutes.
pub type Rates = [f64; 3];

/// Totals as tools want them: since the start, and how many these were when yesterday and today began (UTC).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DayTotals {
    /// When yesterday began.
    pub yesterday_morning: u64,
    /// When today began.
    pub today_morning: u64,
    /// Now.
    pub now: u64,
}

/// A count of the last `SLOTS` slots of `SECONDS` each.
#[derive(Clone, Copy, Debug)]
struct Window<const SLOTS: usize, const SECONDS: u64> {
    newest: u64,
    slots: [Count; SLOTS],
}

impl<const SLOTS: usize, const SECONDS: u64> Window<SLOTS, SECONDS> {
    const fn new() -> Self {
        Self { newest: 0, slots: [Count { times: 0, messages: 0, bytes: 0 }; SLOTS] }
    }

    fn number(now: Monotonic) -> u64 {
        now.as_nanos() / (SECONDS * 1_000_000_000)
    }

    fn add(&mut self, now: Monotonic, count: Count) {
        let number = Self::number(now);
        let passed = number.saturating_sub(self.newest);
        for ahead in 1..=passed.min(SLOTS as u64) {
            self.slots[((self.newest + ahead) % SLOTS as u64) as usize] = Count::default();
        }
        // A far jump empties every slot, whichever they are.
        self.newest = self.newest.max(number);
        self.slots[(self.newest % SLOTS as u64) as usize].add(count);
    }

    /// The newest `count` slots.
    fn last(&self, now: Monotonic, count: u64) -> Count {
        let number = Self::number(now).max(self.newest);
        let mut sum = Count::default();
        for back in 0..count.min(SLOTS as u64) {
            let Some(slot) = number.checked_sub(back) else { break };
            if slot <= self.newest && self.newest - slot < SLOTS as u64 {
                sum.add(self.slots[(slot % SLOTS as u64) as usize]);
            }
        }
        sum
    }
}

/// One thing's counts.
#[derive(Clone, Debug)]
struct Meter {
    total: u64,
    minute: Window<12, 5>,
    hour: Window<12, 300>,
    day: Window<24, 3600>,
}

impl Default for Meter {
    fn default() -> Self {
        Self { total: 0, minute: Window::new(), hour: Window::new(), day: Window::new() }
    }
}

impl Meter {
    fn add(&mut self, now: Monotonic, messages: u64, bytes: u64) {
        let count = Count { times: 1, messages, bytes };
        self.total += messages;
        self.minute.add(now, count);
        self.hour.add(now, count);
        self.day.add(now, count);
    }

    fn windows(&self, now: Monotonic) -> Windows {
        Windows {
            minute: self.minute.last(now, 12),
            hour: self.hour.last(now, 12),
            day: self.day.last(now, 24),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a rate is read by people")]
    fn rates(&self, now: Monotonic) -> Rates {
        let per = |count: Count, seconds: f64| count.messages as f64 / seconds;
        [
            per(self.minute.last(now, 2), 10.0),
            per(self.minute.last(now, 12), 60.0),
            per(self.hour.last(now, 2), 600.0),
        ]
    }
}

/// Totals when a day began.
#[derive(Clone, Copy, Debug, Default)]
struct Mornings {
    put: [u64; 2],
    got: [u64; 2],
}

/// All counts. As many as there are topics, and pairs of topic and group.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    put: BTreeMap<TopicId, Meter>,
    got: BTreeMap<TopicId, BTreeMap<GroupName, Meter>>,
    sent_back: BTreeMap<TopicId, BTreeMap<GroupName, Meter>>,
    all_put: Meter,
    all_got: Meter,
    missed: Meter,
    scheduled: Meter,
    delivered: Meter,
    day: i64,
    mornings: Mornings,
}

const DAY_MS: i64 = 86_400_000;

impl Traffic {
    pub(crate) fn put(&mut self, topic: TopicId, bytes: u32, now: Now) {
        self.put.entry(topic).or_default().add(now.monotonic, 1, u64::from(bytes));
        self.all_put.add(now.monotonic, 1, u64::from(bytes));
    }

    pub(crate) fn got(&mut self, topic: TopicId, group: &GroupName, messages: usize, bytes: usize, now: Now) {
        let (messages, bytes) = (messages as u64, bytes as u64);
        if messages == 0 {
            return self.missed.add(now.monotonic, 1, 0);
        }
        meter_of(&mut self.got, topic, group).add(now.monotonic, messages, bytes);
        self.all_got.add(now.monotonic, messages, bytes);
    }

    pub(crate) fn sent_back(&mut self, topic: TopicId, group: &GroupName, bytes: usize, now: Now) {
        meter_of(&mut self.sent_back, topic, group).add(now.monotonic, 1, bytes as u64);
    }

    pub(crate) fn scheduled(&mut self, now: Now) {
        self.scheduled.add(now.monotonic, 1, 0);
    }

    pub(crate) fn delivered(&mut self, now: Now) {
        self.delivered.add(now.monotonic, 1, 0);
    }

    pub(crate) fn drop_topic(&mut self, topic: TopicId) {
        self.put.remove(&topic);
        self.got.remove(&topic);
        self.sent_back.remove(&topic);
    }

    pub(crate) fn drop_group(&mut self, group: &GroupName) {
        for groups in self.got.values_mut().chain(self.sent_back.values_mut()) {
            groups.remove(group);
        }
    }

    /// Notes the totals where a new day has begun.
    pub(crate) fn turn_day(&mut self, now: Timestamp) {
        let day = now.as_millis().div_euclid(DAY_MS);
        if day != self.day {
            self.day = day;
            self.mornings.put = [self.mornings.put[1], self.all_put.total];
            self.mornings.got = [self.mornings.got[1], self.all_got.total];
        }
    }

    pub(crate) fn put_per_second(&self, topic: TopicId, now: Monotonic) -> f64 {
        self.put.get(&topic).map_or(0.0, |meter| meter.rates(now)[1])
    }

    pub(crate) fn got_per_second(&self, topic: TopicId, group: &GroupName, now: Monotonic) -> f64 {
        self.got.get(&topic).and_then(|groups| groups.get(group)).map_or(0.0, |meter| meter.rates(now)[1])
    }

    /// What runtime information tells of it.
    pub(crate) fn figures(&self, now: Monotonic) -> Figures {
        let totals = |mornings: [u64; 2], meter: &Meter| DayTotals {
            yesterday_morning: mornings[0],
            today_morning: mornings[1],
            now: meter.total,
        };
        let day = self.all_put.day.last(now, 24);
        Figures {
            put: self.all_put.rates(now),
            got: self.all_got.rates(now),
            missed: self.missed.rates(now),
            scheduled: self.scheduled.rates(now),
            delivered: self.delivered.rates(now),
            put_total: totals(self.mornings.put, &self.all_put),
            got_total: totals(self.mornings.got, &self.all_got),
            put_day: day,
        }
    }
}

/// What there is to tell of all traffic together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// Messages that came.
    pub put: Rates,
    /// Messages that were got.
    pub got: Rates,
    /// Reads that found nothing.
    pub missed: Rates,
    /// Messages that began to wait for their moment.
    pub scheduled: Rates,
    /// Messages delivered at their moment.
    pub delivered: Rates,
    /// Messages that came since the start.
    pub put_total: DayTotals,
    /// Messages that were got since the start.
    pub got_total: DayTotals,
    /// What came within the last day.
    pub put_day: Count,
}

fn meter_of<'a>(
    all: &'a mut BTreeMap<TopicId, BTreeMap<GroupName, Meter>>,
    topic: TopicId,
    group: &GroupName,
) -> &'a mut Meter {
    let groups = all.entry(topic).or_default();
    // A group's name is cloned only the first time.
    if !groups.contains_key(group) {
        groups.insert(group.clone(), Meter::default());
    }
    groups.get_mut(group).expect("just put there")
}

impl Broker {
    pub(crate) fn get_traffic(&mut self, id: RequestId, ask: &GetTraffic) {
        let now = self.now.monotonic;
        let of_group = |all: &BTreeMap<TopicId, BTreeMap<GroupName, Meter>>, topic: &TopicName, group| {
            let meter = all.get(&self.topics.get(topic)?.id)?.get(group)?;
            Some(meter.windows(now))
        };
        let windows = match &ask.of {
            Counted::Put(topic) => self
                .topics
                .get(topic)
                .and_then(|topic| self.traffic.put.get(&topic.id))
                .map(|m| m.windows(now)),
            Counted::Got(topic, group) => of_group(&self.traffic.got, topic, group),
            Counted::SentBack(topic, group) => of_group(&self.traffic.sent_back, topic, group),
            Counted::AllPut => Some(self.traffic.all_put.windows(now)),
            Counted::AllGot => Some(self.traffic.all_got.windows(now)),
        };
        self.reply(id, Reply::GetTraffic(windows));
    }
}

#[cfg(test)]
mod tests;
