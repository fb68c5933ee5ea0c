//! A message: as gRPC's clients write it, and as it lies in the log.
//!
//! RocketMQ keeps all but body and topic as properties; the names are `wire`'s. The user's own stand among
//! them, so the names of all others are reserved. Peer: `SendMessageActivity`, `GrpcConverter` (RocketMQ 5.x).

use crate::accepted::Ends;
use crate::settings::Settings;
use crate::status::Refused;
use crate::time::{millis, now_ms, timestamp};
use broker::PoppedMessage;
use bytes::Bytes;
use md5::{Digest as _, Md5};
use model::{Message, Properties, Timestamp, TopicName};
use proto::v2::{self, Code, DigestType, Encoding, MessageType};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use wire::stored::{StoredError, View};
use wire::{message_id, property, sys_flag};

/// A message group has fewer bytes than this. Peer: `maxMessageGroupSize`.
const MESSAGE_GROUP_END: usize = 64;

/// How long a transaction may stay open before it is asked after, at most. Peer: `maxTransactionRecoverySecond`.
const RECOVERY_MAX_SECONDS: i64 = 3600;

/// Names that no user may give a property, in order. Peer: `MessageConst.STRING_HASH_SET` (RocketMQ 5.x).
const RESERVED: [&str; 51] = [
    "1ST_POP_TIME",
    "ARRIVE_TIME",
    "BORN_TIMESTAMP",
    "BUYER_ID",
    "CLUSTER",
    "CONSUME_START_TIME",
    "CORRECTION_FLAG",
    "CORRELATION_ID",
    "DELAY",
    "DLQ_ORIGIN_MESSAGE_ID",
    "DLQ_ORIGIN_TOPIC",
    "DUP_INFO",
    "EXTEND_UNIQ_INFO",
    "INNER_MULTI_QUEUE_OFFSET",
    "INSTANCE_ID",
    "KEYS",
    "MAX_OFFSET",
    "MAX_RECONSUME_TIMES",
    "MIN_OFFSET",
    "MQ2_FLAG",
    "MSG_REGION",
    "MSG_TYPE",
    "ORIGIN_MESSAGE_ID",
    "PGROUP",
    "POP_CK",
    "POP_CK_OFFSET",
    "PUSH_REPLY_TIME",
    "REAL_QID",
    "REAL_TOPIC",
    "RECONSUME_TIME",
    "REPLY_TO_CLIENT",
    "RETRY_TOPIC",
    "TAGS",
    "TIMER_DELAY_LEVEL",
    "TIMER_DELAY_MS",
    "TIMER_DELAY_SEC",
    "TIMER_DELIVER_MS",
    "TIMER_DEL_UNIQKEY",
    "TIMER_DEQUEUE_MS",
    "TIMER_ENQUEUE_MS",
    "TIMER_OUT_MS",
    "TIMER_ROLL_TIMES",
    "TRACE_ON",
    "TRANSFER_FLAG",
    "TRAN_MSG",
    "TRAN_PREPARED_QUEUE_OFFSET",
    "TTL",
    "UNIQ_KEY",
    "WAIT",
    "__BORNHOST",
    "__CRC32#",
];

fn is_reserved(name: &str) -> bool {
    RESERVED.binary_search(&name).is_ok()
}

/// Whether a consumer sees the property among the user's.
fn is_users(name: &str) -> bool {
    // The others are what a broker says to itself on a retry, and of a transaction.
    let brokers = [property::ORIGIN_GROUP, property::TRANSACTION_ID, property::TRANSACTION_CHECK_TIMES];
    !is_reserved(name) && !brokers.contains(&name)
}

/// A message as its producer means it, checked as far as that needs no topic.
///
/// Not looked at, because clients set them to anything: `queue_id`, `delivery_attempt`, `body_digest`,
/// `born_host` and all that a server sets.
pub(crate) fn entering(
    message: v2::Message,
    topic: &TopicName,
    ends: Ends,
    settings: &Settings,
) -> Result<Message, Refused> {
    let v2::Message { user_properties: users, system_properties, body, .. } = message;
    let system = system_properties.unwrap_or_default();
    check_body(body.len(), settings)?;
    check_properties(&users, &system, settings)?;
    check_system(&system)?;

    let mut properties: Properties = users.into_iter().collect();
    let mut flags = 0;
    let mut set = |name: &str, value: &str| {
        if !value.is_empty() {
            properties.set(name, value);
        }
    };
    set(property::UNIQ_KEY, &system.message_id);
    set(property::TAGS, system.tag());
    let keys: Vec<&str> = system.keys.iter().map(String::as_str).filter(|key| !key.is_empty()).collect();
    set(property::KEYS, &keys.join(" "));
    set(property::SHARDING_KEY, system.message_group());
    set(property::TRACE_CONTEXT, system.trace_context());
    if let Some(at) = system.delivery_timestamp {
        set(property::TIMER_DELIVER_MS, &millis(at).to_string());
    }
    if system.message_type() == MessageType::Transaction {
        flags |= sys_flag::TRANSACTION_PREPARED;
        set(property::TRAN_MSG, "true");
        // Who is asked after the transaction: gRPC's producers have no group, so the topic stands for it.
        set(property::PGROUP, topic.as_str());
        if let Some(recovery) = system.orphaned_transaction_recovery_duration {
            set(property::CHECK_IMMUNITY_TIME_IN_SECONDS, &recovery.seconds.to_string());
        }
    }
    if system.body_encoding() == Encoding::Gzip {
        flags |= sys_flag::COMPRESSED;
    }
    Ok(Message {
        flag: 0,
        sys_flag: flags,
        born_at: Timestamp::from_millis(system.born_timestamp.map_or_else(now_ms, millis)),
        born_host: ends.peer,
        reconsume_times: 0,
        prepared_transaction_offset: 0,
        properties,
        body,
    })
}

fn check_body(length: usize, settings: &Settings) -> Result<(), Refused> {
    if length == 0 {
        return Err(Refused::new(Code::MessageBodyEmpty, "the body is empty"));
    }
    if length > settings.body_max {
        let text = format!("the body has {length} bytes, the limit is {}", settings.body_max);
        return Err(Refused::new(Code::MessageBodyTooLarge, text));
    }
    Ok(())
}

/// The checks of user properties, tag and keys, in RocketMQ's order.
fn check_properties(
    users: &BTreeMap<String, String>,
    system: &v2::SystemProperties,
    settings: &Settings,
) -> Result<(), Refused> {
    if users.len() > settings.properties_max {
        let text =
            format!("there are {} user properties, the limit is {}", users.len(), settings.properties_max);
        return Err(Refused::new(Code::MessagePropertiesTooLarge, text));
    }
    for (name, value) in users {
        let problem = if is_reserved(name) {
            "has a reserved name"
        } else if has_control(name) || has_control(value) {
            "holds a control character"
        } else if name.is_empty() || value.is_empty() {
            // RocketMQ's stored form cannot tell such a property from none.
            "has an empty name or value"
        } else {
            continue;
        };
        let text = format!("user property {:?} {problem}", beginning(name));
        return Err(Refused::new(Code::IllegalMessagePropertyKey, text));
    }
    let tag = system.tag();
    if !tag.is_empty() && (is_blank(tag) || tag.contains('|') || has_control(tag)) {
        let text = format!("the tag {:?} is blank or holds | or a control character", beginning(tag));
        return Err(Refused::new(Code::IllegalMessageTag, text));
    }
    for key in &system.keys {
        if !key.is_empty() && (is_blank(key) || has_control(key)) {
            let text = format!("the key {:?} is blank or holds a control character", beginning(key));
            return Err(Refused::new(Code::IllegalMessageKey, text));
        }
    }
    let bytes = users.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>()
        + tag.len()
        + system.keys.iter().map(String::len).sum::<usize>();
    if bytes > settings.property_bytes_max {
        let limit = settings.property_bytes_max;
        let text = format!("user properties, tag and keys have {bytes} bytes, the limit is {limit}");
        return Err(Refused::new(Code::MessagePropertiesTooLarge, text));
    }
    Ok(())
}

/// The checks of the other system properties. How late a message may be wanted is the broker's to know.
fn check_system(system: &v2::SystemProperties) -> Result<(), Refused> {
    if is_blank(&system.message_id) || has_control(&system.message_id) {
        let text =
            format!("message_id {:?} is blank or holds a control character", beginning(&system.message_id));
        return Err(Refused::new(Code::IllegalMessageId, text));
    }
    let recovery = system.orphaned_transaction_recovery_duration.map_or(0, |recovery| recovery.seconds);
    if system.message_type() == MessageType::Transaction && recovery > RECOVERY_MAX_SECONDS {
        let text = format!(
            "orphaned_transaction_recovery_duration is {recovery} s, the limit is {RECOVERY_MAX_SECONDS} s"
        );
        return Err(Refused::new(Code::BadRequest, text));
    }
    let group = system.message_group();
    if !group.is_empty() && (is_blank(group) || has_control(group) || group.len() >= MESSAGE_GROUP_END) {
        let text = format!(
            "message_group {:?} is blank, holds a control character or has {MESSAGE_GROUP_END} bytes or more",
            beginning(group)
        );
        return Err(Refused::new(Code::IllegalMessageGroup, text));
    }
    if has_control(system.trace_context()) {
        let text = "trace_context holds a control character";
        return Err(Refused::new(Code::IllegalMessagePropertyKey, text));
    }
    if !system.lite_topic().is_empty() || system.message_type() == MessageType::Lite {
        return Err(Refused::new(Code::IllegalLiteTopic, "there are no lite topics here"));
    }
    if system.priority.is_some() || system.message_type() == MessageType::Priority {
        let text = "messages with a priority are not supported";
        return Err(Refused::new(Code::MessagePropertyConflictWithType, text));
    }
    Ok(())
}

/// Control characters, as Java has them; two of them end names and values in the stored form.
fn has_control(text: &str) -> bool {
    text.chars().any(char::is_control)
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// Enough of a text to know it by.
fn beginning(text: &str) -> String {
    text.chars().take(64).collect()
}

/// A message as a consumer gets it, as one of `topic`, wherever it was taken from.
pub(crate) fn leaving(popped: &PoppedMessage, topic: &v2::Resource) -> Result<v2::Message, StoredError> {
    let mut message = shown(&popped.bytes, topic)?;
    if let Some(system) = &mut message.system_properties {
        system.receipt_handle = Some(popped.handle.to_string());
        system.delivery_attempt = Some(i32::try_from(popped.attempt).unwrap_or(i32::MAX));
    }
    Ok(message)
}

/// A stored message as one of `topic`, without a word of its delivery.
pub(crate) fn shown(bytes: &Bytes, topic: &v2::Resource) -> Result<v2::Message, StoredError> {
    let view = View::parse(bytes)?;
    let body = bytes.slice_ref(view.body());
    let properties = view.properties();
    let owned = |name| properties.get(name).map(str::to_owned);
    let dead_letter = || {
        Some(v2::DeadLetterQueue {
            topic: owned(property::DLQ_ORIGIN_TOPIC)?,
            message_id: owned(property::DLQ_ORIGIN_MESSAGE_ID)?,
        })
    };
    let zipped = view.sys_flag() & sys_flag::COMPRESSED != 0;
    let deliver_at = properties.get(property::TIMER_DELIVER_MS).and_then(|ms| ms.parse().ok());
    let keys = properties.get(property::KEYS).unwrap_or_default();
    let system = v2::SystemProperties {
        tag: owned(property::TAGS),
        keys: keys.split(' ').filter(|key| !key.is_empty()).map(str::to_owned).collect(),
        message_id: owned(property::UNIQ_KEY)
            .unwrap_or_else(|| message_id::encode(view.store_host(), view.log_offset())),
        body_digest: Some(v2::Digest { r#type: DigestType::Md5.into(), checksum: md5(&body) }),
        body_encoding: if zipped { Encoding::Gzip } else { Encoding::Identity }.into(),
        message_type: kind(&properties).into(),
        born_timestamp: Some(timestamp(view.born_at().as_millis())),
        born_host: view.born_host().to_string(),
        store_timestamp: Some(timestamp(view.stored_at().as_millis())),
        store_host: view.store_host().to_string(),
        delivery_timestamp: deliver_at.map(timestamp),
        receipt_handle: None,
        queue_id: i32::try_from(view.queue_id().0).unwrap_or(i32::MAX),
        queue_offset: Some(view.queue_offset().0),
        invisible_duration: None,
        delivery_attempt: None,
        message_group: owned(property::SHARDING_KEY),
        trace_context: owned(property::TRACE_CONTEXT),
        orphaned_transaction_recovery_duration: None,
        dead_letter_queue: dead_letter(),
        lite_topic: None,
        priority: None,
    };
    let users = properties.iter().filter(|(name, _)| is_users(name));
    Ok(v2::Message {
        topic: Some(topic.clone()),
        user_properties: users.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        system_properties: Some(system),
        body,
    })
}

/// The kind of a message, as its properties tell. Any sign of a delay makes it one of kind DELAY.
fn kind(properties: &Properties) -> MessageType {
    let has = |name| properties.get(name).is_some();
    if properties.get(property::TRAN_MSG) == Some("true") {
        MessageType::Transaction
    } else if [
        property::DELAY,
        property::TIMER_DELIVER_MS,
        property::TIMER_DELAY_SEC,
        property::TIMER_DELAY_MS,
    ]
    .into_iter()
    .any(has)
    {
        MessageType::Delay
    } else if has(property::SHARDING_KEY) {
        MessageType::Fifo
    } else {
        MessageType::Normal
    }
}

/// The checksum that every client can verify: MD5, in upper-case hexadecimal.
fn md5(body: &[u8]) -> String {
    let digest = Md5::digest(body);
    let mut text = String::with_capacity(2 * digest.len());
    for byte in digest {
        write!(text, "{byte:02X}").expect("a string takes all that is written to it");
    }
    text
}

#[cfg(test)]
mod tests;
