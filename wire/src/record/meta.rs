//! Changes of topics, groups and names.

use model::{
    ConsumeMode, Group, GroupName, Pauses, Permission, QueueId, QueueOffset, Topic, TopicId, TopicKind,
    TopicName,
};

use super::RecordError;
use super::fields::{Fields, push_count, push_text};

const RECORD: &str = "meta";
const VERSION: u8 = 1;

const TOPIC: u8 = 1;
const TOPIC_DELETED: u8 = 2;
const GROUP: u8 = 3;
const GROUP_DELETED: u8 = 4;
const BROKER_NAME: u8 = 5;
const OFFSET_RESET: u8 = 6;
const VALUE: u8 = 7;
const VALUE_REMOVED: u8 = 8;
const POP_RETRY: u8 = 9;
const CONSUME_MODE: u8 = 10;
const FORBIDDEN: u8 = 11;

/// The kinds a topic can have, at the numbers they are written by.
const KINDS: [TopicKind; 5] =
    [TopicKind::Normal, TopicKind::Fifo, TopicKind::Delay, TopicKind::Transaction, TopicKind::Mixed];

/// Flags of a group that has pauses of its own.
const LISTED: u8 = 16;
const GROWING: u8 = 32;

/// One change of what the server knows beside messages. The later one stands.
///
/// | at | bytes | field   | meaning                                                               |
/// |---:|------:|---------|-----------------------------------------------------------------------|
/// |  0 |     1 | version | 1                                                                     |
/// |  1 |     1 | change  | 1 topic, 2 topic deleted, 3 group, 4 group deleted, 5 broker name,    |
/// |    |       |         | 6 offset reset, 7 value, 8 value removed, 9 pop retry, 10 consume     |
/// |    |       |         | mode, 11 forbidden                                                    |
/// |  2 |     … |         | by the change, below                                                  |
///
/// | change        | fields in order                                                                    |
/// |---------------|------------------------------------------------------------------------------------|
/// | topic         | id u32, read queues u32, write queues u32, permission u32, sys flag u32, kind u8 (0 normal, 1 FIFO, 2 delay, 3 transaction, 4 mixed), order u8, name text |
/// | topic deleted | id u32                                                                             |
/// | group         | retry queues u32, retry max u32, flags u8 (bit 0 consume, 1 broadcast, 2 ordered, 3 notify, 4 listed pauses, 5 growing pauses), name text; by flag 4 count u32 and so many pauses u64; by flag 5 initial u64, max u64, multiplier u32; all ms |
/// | group deleted | name text                                                                          |
/// | broker name   | name text                                                                          |
/// | offset reset  | topic id u32, queue id u32, offset i64, group text                                 |
/// | value         | namespace text, key text, value text                                               |
/// | value removed | namespace text, key text                                                           |
/// | pop retry     | retry topic id u32, topic id u32, group text                                       |
/// | consume mode  | topic id u32, share i32, pop u8 (0 pull, 1 pop), group text                        |
/// | forbidden     | topic id u32, forbidden u8 (0 or 1), group text                                    |
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meta {
    /// A topic was made or changed.
    Topic(Topic),
    /// A topic was deleted, and everything in it.
    TopicDeleted {
        /// Its identity, which no other topic gets.
        id: TopicId,
    },
    /// A group was made or changed.
    Group(Group),
    /// A group was deleted, with its offsets and leases.
    GroupDeleted {
        /// Its name.
        name: GroupName,
    },
    /// The broker's name, chosen at the first start: recall handles carry it.
    BrokerName(String),
    /// A group's place in a queue was set by an administrator; its readers hear of it at their next read.
    OffsetReset {
        /// The group.
        group: GroupName,
        /// The queue's topic.
        topic: TopicId,
        /// The queue.
        queue_id: QueueId,
        /// The next message it reads.
        offset: QueueOffset,
    },
    /// A value that tools keep under a name.
    Value {
        /// Where its key is unique.
        namespace: String,
        /// Its name.
        key: String,
        /// It; `None` where it was taken away.
        value: Option<String>,
    },
    /// A topic is the retry topic of a group that pops from another.
    PopRetry {
        /// The retry topic.
        retry: TopicId,
        /// The topic popped from.
        topic: TopicId,
        /// The group.
        group: GroupName,
    },
    /// A group is kept away from a topic, or no longer.
    Forbidden {
        /// The topic.
        topic: TopicId,
        /// The group.
        group: GroupName,
        /// Whether it may not read.
        forbidden: bool,
    },
    /// How the members of a group that leave that to the server get a topic's messages.
    ConsumeMode {
        /// The topic.
        topic: TopicId,
        /// The group.
        group: GroupName,
        /// How.
        mode: ConsumeMode,
    },
}

impl Meta {
    /// Adds the payload to `into`.
    pub fn encode(&self, into: &mut Vec<u8>) {
        into.push(VERSION);
        match self {
            Self::Topic(topic) => {
                into.push(TOPIC);
                let Topic { name, id, read_queues, write_queues, permission, kind, order, sys_flag } = topic;
                for number in [id.0, *read_queues, *write_queues, permission.0, *sys_flag] {
                    into.extend_from_slice(&number.to_le_bytes());
                }
                into.extend_from_slice(&[number_of(*kind), u8::from(*order)]);
                push_text(name.as_str(), into);
            }
            Self::TopicDeleted { id } => {
                into.push(TOPIC_DELETED);
                into.extend_from_slice(&id.0.to_le_bytes());
            }
            Self::Group(group) => {
                into.push(GROUP);
                let Group {
                    name,
                    consume_enabled,
                    broadcast_enabled,
                    ordered,
                    retry_queues,
                    retry_max,
                    notify_changes,
                    pauses,
                } = group;
                into.extend_from_slice(&retry_queues.to_le_bytes());
                into.extend_from_slice(&retry_max.to_le_bytes());
                let listed = matches!(pauses, Some(Pauses::Listed(_)));
                let growing = matches!(pauses, Some(Pauses::Growing { .. }));
                let flags =
                    [*consume_enabled, *broadcast_enabled, *ordered, *notify_changes, listed, growing];
                into.push(flags.iter().enumerate().map(|(bit, &set)| u8::from(set) << bit).sum());
                push_text(name.as_str(), into);
                match pauses {
                    None => {}
                    Some(Pauses::Listed(all)) => {
                        push_count(all.len(), into);
                        for ms in all {
                            into.extend_from_slice(&ms.to_le_bytes());
                        }
                    }
                    Some(Pauses::Growing { initial_ms, max_ms, multiplier }) => {
                        into.extend_from_slice(&initial_ms.to_le_bytes());
                        into.extend_from_slice(&max_ms.to_le_bytes());
                        into.extend_from_slice(&multiplier.to_le_bytes());
                    }
                }
            }
            Self::GroupDeleted { name } => {
                into.push(GROUP_DELETED);
                push_text(name.as_str(), into);
            }
            Self::BrokerName(name) => {
                into.push(BROKER_NAME);
                push_text(name, into);
            }
            Self::OffsetReset { group, topic, queue_id, offset } => {
                into.push(OFFSET_RESET);
                into.extend_from_slice(&topic.0.to_le_bytes());
                into.extend_from_slice(&queue_id.0.to_le_bytes());
                into.extend_from_slice(&offset.0.to_le_bytes());
                push_text(group.as_str(), into);
            }
            Self::Value { namespace, key, value } => {
                into.push(if value.is_some() { VALUE } else { VALUE_REMOVED });
                push_text(namespace, into);
                push_text(key, into);
                if let Some(value) = value {
                    push_text(value, into);
                }
            }
            Self::PopRetry { retry, topic, group } => {
                into.push(POP_RETRY);
                into.extend_from_slice(&retry.0.to_le_bytes());
                into.extend_from_slice(&topic.0.to_le_bytes());
                push_text(group.as_str(), into);
            }
            Self::Forbidden { topic, group, forbidden } => {
                into.push(FORBIDDEN);
                into.extend_from_slice(&topic.0.to_le_bytes());
                into.push(u8::from(*forbidden));
                push_text(group.as_str(), into);
            }
            Self::ConsumeMode { topic, group, mode: ConsumeMode { pop, share } } => {
                into.push(CONSUME_MODE);
                into.extend_from_slice(&topic.0.to_le_bytes());
                into.extend_from_slice(&share.to_le_bytes());
                into.push(u8::from(*pop));
                push_text(group.as_str(), into);
            }
        }
    }

    /// Reads a payload.
    ///
    /// # Errors
    /// Another version, a change or number without a meaning, a name that breaks the rules, or bytes that
    /// end too early or too late.
    pub fn decode(bytes: &[u8]) -> Result<Self, RecordError> {
        let mut fields = Fields::of(RECORD, VERSION, bytes)?;
        let meta = match fields.u8("change")? {
            TOPIC => Self::Topic(topic(&mut fields)?),
            TOPIC_DELETED => Self::TopicDeleted { id: TopicId(fields.u32("topic id")?) },
            GROUP => Self::Group(group(&mut fields)?),
            GROUP_DELETED => {
                let name = fields.text("group")?;
                Self::GroupDeleted { name: fields.name(GroupName::new(name))? }
            }
            BROKER_NAME => Self::BrokerName(fields.text("broker name")?.to_owned()),
            OFFSET_RESET => {
                let topic = TopicId(fields.u32("topic id")?);
                let queue_id = QueueId(fields.u32("queue id")?);
                let offset = QueueOffset(fields.i64("offset")?);
                let group = fields.text("group")?;
                Self::OffsetReset { group: fields.name(GroupName::new(group))?, topic, queue_id, offset }
            }
            change @ (VALUE | VALUE_REMOVED) => {
                let namespace = fields.text("namespace")?.to_owned();
                let key = fields.text("key")?.to_owned();
                let value = (change == VALUE).then(|| fields.text("value").map(str::to_owned)).transpose()?;
                Self::Value { namespace, key, value }
            }
            POP_RETRY => {
                let retry = TopicId(fields.u32("retry topic id")?);
                let topic = TopicId(fields.u32("topic id")?);
                let group = fields.text("group")?;
                Self::PopRetry { retry, topic, group: fields.name(GroupName::new(group))? }
            }
            CONSUME_MODE => {
                let topic = TopicId(fields.u32("topic id")?);
                let share = fields.i32("share")?;
                let pop = fields.truth("pop")?;
                let group = fields.text("group")?;
                let group = fields.name(GroupName::new(group))?;
                Self::ConsumeMode { topic, group, mode: ConsumeMode { pop, share } }
            }
            FORBIDDEN => {
                let topic = TopicId(fields.u32("topic id")?);
                let forbidden = fields.truth("forbidden")?;
                let group = fields.text("group")?;
                Self::Forbidden { topic, group: fields.name(GroupName::new(group))?, forbidden }
            }
            found => return Err(fields.unknown("change", found, FORBIDDEN)),
        };
        fields.end()?;
        Ok(meta)
    }
}

fn number_of(kind: TopicKind) -> u8 {
    match kind {
        TopicKind::Normal => 0,
        TopicKind::Fifo => 1,
        TopicKind::Delay => 2,
        TopicKind::Transaction => 3,
        TopicKind::Mixed => 4,
    }
}

fn topic(fields: &mut Fields<'_>) -> Result<Topic, RecordError> {
    let id = TopicId(fields.u32("topic id")?);
    let read_queues = fields.u32("read queues")?;
    let write_queues = fields.u32("write queues")?;
    let permission = Permission(fields.u32("permission")?);
    let sys_flag = fields.u32("sys flag")?;
    let kind = fields.u8("kind")?;
    let kind =
        *KINDS.get(usize::from(kind)).ok_or_else(|| fields.unknown("kind", kind, KINDS.len() as u8 - 1))?;
    let order = fields.truth("order")?;
    let name = fields.text("topic")?;
    let name = fields.name(TopicName::new(name))?;
    Ok(Topic { name, id, read_queues, write_queues, permission, kind, order, sys_flag })
}

fn group(fields: &mut Fields<'_>) -> Result<Group, RecordError> {
    let retry_queues = fields.u32("retry queues")?;
    let retry_max = fields.u32("retry max")?;
    let flags = fields.u8("flags")?;
    if flags > 0b11_1111 {
        return Err(fields.unknown("flags", flags, 0b11_1111));
    }
    let name = fields.text("group")?;
    let name = fields.name(GroupName::new(name))?;
    let pauses = match (flags & LISTED != 0, flags & GROWING != 0) {
        (false, false) => None,
        (true, false) => Some(Pauses::Listed(fields.list("pauses", 8, |fields| fields.u64("pause"))?)),
        (false, true) => Some(Pauses::Growing {
            initial_ms: fields.u64("initial pause")?,
            max_ms: fields.u64("longest pause")?,
            multiplier: fields.u32("multiplier")?,
        }),
        (true, true) => return Err(fields.unknown("flags", flags, GROWING)),
    };
    Ok(Group {
        name,
        consume_enabled: flags & 1 != 0,
        broadcast_enabled: flags & 2 != 0,
        ordered: flags & 4 != 0,
        retry_queues,
        retry_max,
        notify_changes: flags & 8 != 0,
        pauses,
    })
}
