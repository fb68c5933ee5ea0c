//! Schedule: when a message is wanted, as its properties say. The one gate on the way to the log.
//!
//! Two doors lead to one timer: a delay level becomes a moment here, once, when the message is accepted.

use crate::config::Config;
use crate::send::SendRefusal;
use crate::topic::{SCHEDULE_TOPIC, TIMER_TOPIC};
use model::{Now, Properties, QueueId, QueueOffset, Timestamp};
use wire::property;

/// When a message is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// At once.
    Now,
    /// At a moment, asked for by a level (1 and up) or (0) by a time.
    At {
        /// The moment.
        deliver_at: Timestamp,
        /// The level, 0 for none.
        level: u8,
        /// The level asked for, where it lies above the last.
        clamped_from: Option<i32>,
    },
}

/// The delay properties in the order in which they win, after `DELAY`.
const TIMES: [&str; 3] = [property::TIMER_DELAY_SEC, property::TIMER_DELAY_MS, property::TIMER_DELIVER_MS];

/// The first property that asks for a delay, whatever its value.
pub(crate) fn delay_property(properties: &Properties) -> Option<&'static str> {
    std::iter::once(property::DELAY).chain(TIMES).find(|name| properties.get(name).is_some())
}

/// When a message with these properties, accepted `now`, is wanted. A delay counts from `now` to the nanosecond, and ends at
/// the millisecond after it: by no clock that goes finer is it too short.
///
/// `DELAY` above zero wins, then `TIMER_DELAY_SEC`, `TIMER_DELAY_MS`, `TIMER_DELIVER_MS`. A level at or below
/// zero is none; a moment that has passed is now. Peer: `HookUtils#handleScheduleMessage` (5.x), which lets a
/// value that is no number through in places.
pub(crate) fn wanted(properties: &Properties, now: Now, config: &Config) -> Result<Wanted, SendRefusal> {
    if let Some(value) = properties.get(property::DELAY) {
        let level: i32 = number(property::DELAY, value)?;
        if level > 0 {
            let max = config.levels.max();
            let taken = (level as u32).min(max);
            return Ok(Wanted::At {
                deliver_at: ahead(
                    property::DELAY,
                    value,
                    now.wall_up(),
                    Some(config.levels.delay_ms(taken)),
                    i64::MAX,
                )?,
                level: u8::try_from(taken).unwrap_or(u8::MAX),
                clamped_from: (level as u32 > max).then_some(level),
            });
        }
    }
    let Some(name) = TIMES.into_iter().find(|name| properties.get(name).is_some()) else {
        return Ok(Wanted::Now);
    };
    if !config.timer_enabled {
        return Err(SendRefusal::TimerDisabled);
    }
    let value = properties.get(name).expect("just found");
    let asked: i64 = number(name, value)?;
    let (from, delay_ms) = match name {
        property::TIMER_DELAY_SEC => (now.wall_up(), asked.checked_mul(1000)),
        property::TIMER_DELAY_MS => (now.wall_up(), Some(asked)),
        _ => (now.wall, asked.checked_sub(now.wall.as_millis())),
    };
    if delay_ms.unwrap_or(asked) <= 0 {
        return Ok(Wanted::Now);
    }
    let deliver_at = ahead(name, value, from, delay_ms, config.max_delay_ms)?;
    Ok(Wanted::At { deliver_at, level: 0, clamped_from: None })
}

/// The delay level to take for the moment that a message asks for, where it asks for one. A moment past the
/// limit is refused as it is without levels; one that has passed takes the shortest.
///
/// Peer: `SendMessageActivity#fillDelayMessageProperty` with `useDelayLevel` (5.x), where the level wins as well.
pub(crate) fn as_level(
    properties: &Properties,
    now: Now,
    config: &Config,
) -> Result<Option<u32>, SendRefusal> {
    let name = property::TIMER_DELIVER_MS;
    let Some(value) = properties.get(name) else { return Ok(None) };
    let asked: i64 = number(name, value)?;
    let delay_ms = asked.saturating_sub(now.wall.as_millis());
    ahead(name, value, now.wall, Some(delay_ms), config.max_delay_ms)?;
    Ok(Some(config.levels.longer_than(delay_ms)))
}

fn number<N: std::str::FromStr>(property: &'static str, value: &str) -> Result<N, SendRefusal> {
    value
        .parse()
        .map_err(|_| SendRefusal::DelayNotANumber { property, value: value.chars().take(64).collect() })
}

fn ahead(
    property: &'static str,
    value: &str,
    now: Timestamp,
    delay_ms: Option<i64>,
    limit_ms: i64,
) -> Result<Timestamp, SendRefusal> {
    let at = delay_ms.filter(|&ms| ms <= limit_ms).and_then(|ms| now.checked_add_millis(ms));
    at.ok_or_else(|| SendRefusal::TooFar {
        property,
        value: value.chars().take(64).collect(),
        ahead_ms: delay_ms.unwrap_or(i64::MAX),
        limit_ms,
    })
}

/// Takes every live delay instruction out of a message and says, for consumers, when it was wanted.
///
/// `TIMER_DELIVER_MS` stands in the delivered copy: it shows the type and the moment, and a copy that is
/// forwarded with all its properties asks for a moment that has passed.
pub(crate) fn settle(properties: &mut Properties, deliver_at: Option<Timestamp>) {
    properties.remove(property::DELAY);
    for name in TIMES {
        properties.remove(name);
    }
    if let Some(at) = deliver_at {
        properties.set(property::TIMER_DELIVER_MS, at.to_string());
    }
}

/// How many messages each view has accepted: index 0 the timer's, then the levels'. Tools see these as the
/// queues of `rmq_sys_wheel_timer` and `SCHEDULE_TOPIC_XXXX`.
#[derive(Debug)]
pub(crate) struct Views {
    accepted: Vec<i64>,
    delivered: Vec<i64>,
}

impl Views {
    pub(crate) fn new() -> Self {
        Self { accepted: vec![0; 256], delivered: vec![0; 256] }
    }

    /// Counts one more; gives its number in the view.
    pub(crate) fn accepted(&mut self, level: u8) -> QueueOffset {
        let count = &mut self.accepted[usize::from(level)];
        *count += 1;
        QueueOffset(*count - 1)
    }

    /// Counts one that has left the view.
    pub(crate) fn left(&mut self, level: u8) {
        self.all_left(level, 1);
    }

    /// Counts so many that have left the view.
    pub(crate) fn all_left(&mut self, level: u8, count: u64) {
        self.delivered[usize::from(level)] += count as i64;
    }

    /// Sets what a level's view has counted.
    pub(crate) fn restore(&mut self, level: u8, accepted: i64, left: i64) {
        self.accepted[usize::from(level)] = accepted;
        self.delivered[usize::from(level)] = left;
    }

    /// The level whose view a queue is, where it is one.
    pub(crate) fn level_of(topic: &str, queue_id: QueueId) -> Option<u8> {
        match (topic, u8::try_from(queue_id.0)) {
            (SCHEDULE_TOPIC, Ok(queue)) => Some(queue.saturating_add(1)),
            (TIMER_TOPIC, Ok(0)) => Some(0),
            _ => None,
        }
    }

    /// What the view of a level shows: how many have left, and how many were ever accepted.
    pub(crate) fn bounds(&self, level: u8) -> (QueueOffset, QueueOffset) {
        (QueueOffset(self.delivered[usize::from(level)]), QueueOffset(self.accepted[usize::from(level)]))
    }
}

#[cfg(test)]
mod tests;
