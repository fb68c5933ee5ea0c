//! Pop: `POP_MESSAGE` (200050), `PEEK_MESSAGE` (200052), `NOTIFICATION` (200054), `POLLING_INFO` (200055). The body
//! of an answer with messages is these in their stored form, end to end.

use super::fields::header;
use crate::receipt_handle::{ReceiptHandle, Retry};
use std::fmt::Write as _;

header! {
    /// A take with leases. Peer: `PopMessageRequestHeader` (RocketMQ 5.x), whose `bornTime` says nothing here: a
    /// wait ends by the time of its arrival.
    Header {
        /// Who takes.
        group: String = "consumerGroup",
        /// The topic.
        topic: String = "topic",
        /// The queue; below 0 for any.
        queue_id: i32 = "queueId",
        /// Messages at most.
        max_messages: i32 = "maxMsgNums",
        /// How long each stays invisible to others, in ms.
        invisible_ms: i64 = "invisibleTime",
        /// How long to wait where there is nothing, in ms; 0 and below: not at all.
        wait_ms: i64 = "pollTime",
        /// Where a group without offsets begins: 0 the least, 1 the end.
        begin: i32 = "initMode",
        /// `TAG`, `SQL92` or nothing.
        expression_type: Option<String> = "expType",
        /// The expression; nothing for all.
        expression: Option<String> = "exp",
        /// Whether the group consumes in order.
        ordered: bool = "order",
        /// The same one gets the same messages again (ordered only).
        attempt_id: Option<String> = "attemptId",
    }
}

/// `initMode` of a group that begins at the least offset.
pub const BEGIN_AT_LEAST: i32 = 0;

header! {
    /// What was taken. All but the infos must be in every answer, also in one without messages. Peer:
    /// `PopMessageResponseHeader`.
    Answer {
        /// When, in ms since the epoch: part of each message's handle.
        pop_time: i64 = "popTime",
        /// How long each message is invisible, in ms.
        invisible_ms: i64 = "invisibleTime",
        /// RocketMQ's revive queue; 999 in ordered pops.
        revive_queue: i32 = "reviveQid",
        /// Messages left in the queues that were looked at.
        rest: i64 = "restNum",
        /// Where the read of each queue began: see [`Infos`].
        start_offset_info: String = "startOffsetInfo",
        /// The offsets of each queue's messages: see [`Infos`].
        message_offset_info: String = "msgOffsetInfo",
        /// How often each message was handed out before (ordered only): see [`Infos`].
        order_count_info: Option<String> = "orderCountInfo",
    }
}

/// From what a client builds the handles of the messages it gets: for each queue an entry of three parts,
/// separated by spaces, entries by `;`. Peer: `ExtraInfoUtil` (RocketMQ 5.x).
///
/// | text               | first | second                        | third                                          |
/// |--------------------|-------|-------------------------------|------------------------------------------------|
/// | `start_offset`     | retry | queue id                      | where the read began                           |
/// | `message_offset`   | retry | queue id                      | the messages' own offsets, with commas between |
/// | `order_count`      | retry | queue id, or `qo<id>%<offset>`| how often: all of the queue, or the message    |
///
/// `retry` is the sign of [`Retry`]. A client refuses an answer in which a queue has two entries, and reads the
/// offsets in the order of the messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Infos {
    /// `startOffsetInfo`.
    pub start_offset: String,
    /// `msgOffsetInfo`.
    pub message_offset: String,
    /// `orderCountInfo`.
    pub order_count: String,
}

impl Infos {
    /// Those of messages taken with these handles, and handed out so often before.
    pub fn of<'a>(messages: impl Iterator<Item = (&'a ReceiptHandle, u32)>) -> Self {
        let mut queues: Vec<QueueInfo<'a>> = Vec::new();
        for (handle, count) in messages {
            let (retry, queue_id) = (handle.retry, handle.queue_id);
            let known = queues.iter_mut().find(|queue| (queue.retry, queue.queue_id) == (retry, queue_id));
            match known {
                Some(queue) => queue.messages.push((handle, count)),
                None => queues.push(QueueInfo { retry, queue_id, messages: vec![(handle, count)] }),
            }
        }
        let mut infos = Self::default();
        for queue in queues {
            queue.add_to(&mut infos);
        }
        infos
    }
}

struct QueueInfo<'a> {
    retry: Retry,
    queue_id: u32,
    messages: Vec<(&'a ReceiptHandle, u32)>,
}

impl QueueInfo<'_> {
    fn add_to(&self, infos: &mut Infos) {
        let Self { retry, queue_id, messages } = self;
        let retry = retry.as_str();
        let start = messages.iter().map(|(handle, _)| handle.start_offset).min().unwrap_or_default();
        let offsets: Vec<String> =
            messages.iter().map(|(handle, _)| handle.queue_offset.to_string()).collect();
        entry(&mut infos.start_offset, format_args!("{retry} {queue_id} {start}"));
        entry(&mut infos.message_offset, format_args!("{retry} {queue_id} {}", offsets.join(",")));
        for (handle, count) in messages.iter().filter(|(_, count)| *count > 0) {
            let offset = handle.queue_offset;
            entry(&mut infos.order_count, format_args!("{retry} qo{queue_id}%{offset} {count}"));
        }
        // Older clients know a number for the whole queue only.
        let least = messages.iter().map(|(_, count)| *count).min().unwrap_or_default();
        entry(&mut infos.order_count, format_args!("{retry} {queue_id} {least}"));
    }
}

fn entry(text: &mut String, entry: std::fmt::Arguments<'_>) {
    if !text.is_empty() {
        text.push(';');
    }
    text.write_fmt(entry).expect("a string takes all");
}

header! {
    /// A look at what a pop would take. Peer: `PeekMessageRequestHeader`.
    Peek {
        /// Who would take.
        group: String = "consumerGroup",
        /// The topic.
        topic: String = "topic",
        /// The queue; below 0 for any.
        queue_id: i32 = "queueId",
        /// Messages at most.
        max_messages: i32 = "maxMsgNums",
    }
}

header! {
    /// A question for whether a pop would find something, which may wait for it. Peer:
    /// `NotificationRequestHeader`.
    Notification {
        /// Who would take.
        group: String = "consumerGroup",
        /// The topic.
        topic: String = "topic",
        /// The queue; below 0 for any.
        queue_id: i32 = "queueId",
        /// How long to wait, in ms.
        wait_ms: i64 = "pollTime",
        /// Whether the group consumes in order.
        ordered: bool = "order",
        /// As in a pop.
        attempt_id: Option<String> = "attemptId",
    }
}

header! {
    /// Peer: `NotificationResponseHeader`.
    NotificationAnswer {
        /// Whether there is something.
        has_message: bool = "hasMsg",
        /// Whether it could not wait, since too many do.
        polling_full: bool = "pollingFull",
    }
}

header! {
    /// A question for how many pops wait. Peer: `PollingInfoRequestHeader`.
    PollingInfo {
        /// Whose.
        group: String = "consumerGroup",
        /// The topic.
        topic: String = "topic",
        /// The queue that they name; below 0 for those that name none.
        queue_id: i32 = "queueId",
    }
}

header! {
    /// Peer: `PollingInfoResponseHeader`.
    PollingInfoAnswer {
        /// How many.
        count: i32 = "pollingNum",
    }
}

#[cfg(test)]
mod tests;
