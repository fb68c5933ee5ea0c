//! Send back: a consumer could not handle a message, and gets it again later or, at last, never.

use crate::group::NoGroup;
use crate::read::Then;
use crate::transaction::HALF_TOPIC;
use crate::work::Wanted;
use crate::{Broker, Reply, RequestId, schedule};
use bytes::Bytes;
use model::{GroupName, LogOffset, Message, QueueId, Timestamp};
use wire::stored::PlacedOwned;
use wire::{message_id, property, stored};

/// A message given back by a consumer that pulled it. RocketMQ's `CONSUMER_SEND_MSG_BACK`.
#[derive(Clone, Debug)]
pub struct SendBack {
    /// The group that could not handle it.
    pub group: GroupName,
    /// The log offset of the copy that it got.
    pub log_offset: LogOffset,
    /// 0: by the number of tries; above: that delay level; below: to the dead letters at once.
    pub delay_level: i32,
    /// The retries the client allows, in place of the group's.
    pub max_reconsume_times: Option<i32>,
}

/// Why a message was not taken back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendBackError {
    /// The caller's: there is no such group, and it may not be made by this.
    #[error(transparent)]
    GroupUnknown(#[from] NoGroup),
    /// The caller's: no message of a queue lies there.
    #[error("look message by offset failed, {log_offset}")]
    MessageUnknown {
        /// The place.
        log_offset: LogOffset,
    },
    /// Ours, passing: the log cannot be written.
    #[error("the log cannot be written: {why}")]
    Unavailable {
        /// Why.
        why: String,
    },
}

impl Broker {
    pub(crate) fn send_back(&mut self, id: RequestId, ask: SendBack) {
        if let Some(why) = self.unwritable() {
            return self.reply_now(id, Reply::SendBack(Err(SendBackError::Unavailable { why })));
        }
        self.read_from_disk(Wanted::Message(ask.log_offset), Then::SendBack(id, ask));
    }

    pub(crate) fn send_back_read(&mut self, id: RequestId, ask: &SendBack, bytes: Option<Bytes>) {
        let answer = self.sent_back(ask, bytes);
        self.reply_safe(id, Reply::SendBack(answer));
    }

    fn sent_back(&mut self, ask: &SendBack, bytes: Option<Bytes>) -> Result<(), SendBackError> {
        if let Some(why) = self.unwritable() {
            return Err(SendBackError::Unavailable { why });
        }
        let unknown = SendBackError::MessageUnknown { log_offset: ask.log_offset };
        let found = bytes.and_then(|bytes| stored::decode(&bytes).ok());
        let (mut message, placed) =
            found.filter(|(_, placed)| self.may_be_had(ask.log_offset, placed)).ok_or(unknown)?;
        // Once there is a message, so that a refused request makes no group.
        let settings = self.group_or_make(&ask.group)?;
        let retry_max = ask.max_reconsume_times.unwrap_or(settings.retry_max as i32);
        let tries = message.reconsume_times;
        if let Some(topic) = self.topics.by_name(&placed.topic) {
            self.traffic.sent_back(topic, &ask.group, message.body.len(), self.now);
        }
        mark_retry(&mut message, &placed.topic, &message_id::encode(placed.store_host, placed.log_offset));
        message.reconsume_times = tries.saturating_add(1);
        if tries >= retry_max || ask.delay_level < 0 {
            self.append_dead_letter(&ask.group, &mut message, LogOffset(0));
            return Ok(());
        }
        let level = if ask.delay_level == 0 { tries.saturating_add(3) } else { ask.delay_level };
        let level = (level.max(1) as u32).min(self.config.levels.max());
        let topic = self.retry_topic(&ask.group);
        let queue_id = self.topics.next_queue(&topic);
        let deliver_at = self.now.wall_up().checked_add_millis(self.config.levels.delay_ms(level));
        let deliver_at = deliver_at.expect("a level's delay is far from the end of time");
        schedule::settle(&mut message.properties, Some(deliver_at));
        message.properties.set(property::REAL_TOPIC, topic.name.as_str());
        message.properties.set(property::REAL_QID, queue_id.to_string());
        self.stats.scheduled += 1;
        self.append_parked(
            &topic,
            queue_id,
            &message,
            deliver_at,
            u8::try_from(level).unwrap_or(u8::MAX),
            LogOffset(0),
        );
        Ok(())
    }

    /// Whether a consumer can have got the record at a place that it named: not a half, nor what waits for its moment.
    fn may_be_had(&self, at: LogOffset, placed: &PlacedOwned) -> bool {
        placed.topic != HALF_TOPIC
            && self.lies_in_queue(at, &placed.topic, placed.queue_id, placed.queue_offset)
    }

    /// Puts a message among the dead letters of a group, to be seen at once. Where it was leased, its record was
    /// at `of`, and the dead letter ends the lease.
    pub(crate) fn append_dead_letter(&mut self, group: &GroupName, message: &mut Message, of: LogOffset) {
        let topic = self.dead_letter_topic(group);
        let asked = message.properties.get(property::TIMER_DELIVER_MS).and_then(|ms| ms.parse().ok());
        schedule::settle(&mut message.properties, asked.map(Timestamp::from_millis));
        if let Some(origin) = message.properties.get(property::RETRY_TOPIC).map(str::to_owned) {
            message.properties.set(property::DLQ_ORIGIN_TOPIC, origin);
        }
        if let Some(id) = message.properties.get(property::UNIQ_KEY).map(str::to_owned) {
            message.properties.set(property::DLQ_ORIGIN_MESSAGE_ID, id);
        }
        self.stats.dead_letters += 1;
        self.append_message(&topic, QueueId(0), message, of);
    }
}

/// Says on a message that comes again where it came from, and takes the traces of its last delivery off.
pub(crate) fn mark_retry(message: &mut Message, topic: &str, id: &str) {
    let properties = &mut message.properties;
    properties.remove(property::TIMER_DEQUEUE_MS);
    properties.set(property::WAIT, "false");
    if properties.get(property::RETRY_TOPIC).is_none() {
        properties.set(property::RETRY_TOPIC, topic);
    }
    if properties.get(property::ORIGIN_MESSAGE_ID).is_none() {
        properties.set(property::ORIGIN_MESSAGE_ID, id);
    }
}
