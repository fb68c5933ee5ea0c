//! A message's properties: their text form, and the names RocketMQ gives a meaning.
//!
//! The text form is `name U+0001 value U+0002`, once for each property, in UTF-8 and without escapes.
//! Peer: `MessageDecoder#messageProperties2String`, `#string2messageProperties`, `MessageConst` (RocketMQ 5.x).

use model::Properties;

/// The most bytes the text form may have: a message's layout counts them in a signed 16-bit number.
pub const MAX_BYTES: usize = 32_767;

const NAME_END: char = '\u{1}';
const VALUE_END: char = '\u{2}';

/// By the producer: words to find the message by, separated by spaces.
pub const KEYS: &str = "KEYS";
/// By the producer: the tag.
pub const TAGS: &str = "TAGS";
/// By the producer: `false` where the answer need not wait for durability.
pub const WAIT: &str = "WAIT";
/// By the producer: the delay level, decimal.
pub const DELAY: &str = "DELAY";
/// By the producer: delay in seconds from acceptance, decimal.
pub const TIMER_DELAY_SEC: &str = "TIMER_DELAY_SEC";
/// By the producer: delay in milliseconds from acceptance, decimal.
pub const TIMER_DELAY_MS: &str = "TIMER_DELAY_MS";
/// By the producer: the moment of delivery, milliseconds since the epoch, decimal.
pub const TIMER_DELIVER_MS: &str = "TIMER_DELIVER_MS";
/// By RocketMQ's broker: the slot in which a message waits. Dropped where a client sends it.
pub const TIMER_OUT_MS: &str = "TIMER_OUT_MS";
/// By RocketMQ's broker: when a message entered its wheel.
pub const TIMER_ENQUEUE_MS: &str = "TIMER_ENQUEUE_MS";
/// By the broker: when a message was delivered, milliseconds since the epoch, decimal.
pub const TIMER_DEQUEUE_MS: &str = "TIMER_DEQUEUE_MS";
/// By RocketMQ's broker: how often a message was put back into its wheel.
pub const TIMER_ROLL_TIMES: &str = "TIMER_ROLL_TIMES";
/// By whoever recalls: the unique key of the message to recall, with or without `topic+` before it.
pub const TIMER_DEL_UNIQKEY: &str = "TIMER_DEL_UNIQKEY";
/// Declared by RocketMQ and used by none of its brokers.
pub const TIMER_DELAY_LEVEL: &str = "TIMER_DELAY_LEVEL";
/// By the producer, or the broker where it sent none: the message's identity within its topic.
pub const UNIQ_KEY: &str = "UNIQ_KEY";
/// By the broker: the topic of a message that waits elsewhere.
pub const REAL_TOPIC: &str = "REAL_TOPIC";
/// By the broker: the queue of a message that waits elsewhere, decimal.
pub const REAL_QID: &str = "REAL_QID";
/// By the broker: the topic of which a message in a retry topic is.
pub const RETRY_TOPIC: &str = "RETRY_TOPIC";
/// By the broker: the offset id of the first attempt.
pub const ORIGIN_MESSAGE_ID: &str = "ORIGIN_MESSAGE_ID";
/// By a client that sends back by itself: attempts so far.
pub const RECONSUME_TIME: &str = "RECONSUME_TIME";
/// By a client that sends back by itself: its limit of attempts.
pub const MAX_RECONSUME_TIMES: &str = "MAX_RECONSUME_TIMES";
/// By the producer: `true` on a half message.
pub const TRAN_MSG: &str = "TRAN_MSG";
/// By the producer: its group, asked about its transactions.
pub const PGROUP: &str = "PGROUP";
/// By the producer: how long a half message is not asked about, seconds.
pub const CHECK_IMMUNITY_TIME_IN_SECONDS: &str = "CHECK_IMMUNITY_TIME_IN_SECONDS";
/// By RocketMQ's broker: how often a half message was asked about.
pub const TRANSACTION_CHECK_TIMES: &str = "TRANSACTION_CHECK_TIMES";
/// By RocketMQ's broker: the place of the first copy of a half message.
pub const TRAN_PREPARED_QUEUE_OFFSET: &str = "TRAN_PREPARED_QUEUE_OFFSET";
/// By the client: the transaction's id.
pub const TRANSACTION_ID: &str = "__transactionId__";
/// By the broker: the region of its settings.
pub const MSG_REGION: &str = "MSG_REGION";
/// By the broker: whether traces are switched on.
pub const TRACE_ON: &str = "TRACE_ON";
/// By the broker: its cluster.
pub const CLUSTER: &str = "CLUSTER";
/// By the broker: the receipt handle of a message popped from a retry topic.
pub const POP_CK: &str = "POP_CK";
/// By the broker and clients: when the message was popped first, milliseconds since the epoch.
pub const FIRST_POP_TIME: &str = "1ST_POP_TIME";
/// By the broker: the group for which a message is tried again.
pub const ORIGIN_GROUP: &str = "ORIGIN_GROUP";
/// By the broker: the topic a dead letter came from.
pub const DLQ_ORIGIN_TOPIC: &str = "DLQ_ORIGIN_TOPIC";
/// By the broker: the id a dead letter had.
pub const DLQ_ORIGIN_MESSAGE_ID: &str = "DLQ_ORIGIN_MESSAGE_ID";
/// By the producer: messages of one value keep their order.
pub const SHARDING_KEY: &str = "__SHARDINGKEY";
/// By clients: when the message was made, where the field cannot tell.
pub const BORN_TIMESTAMP: &str = "BORN_TIMESTAMP";
/// By clients: who made the message, where the field cannot tell.
pub const BORN_HOST: &str = "__BORNHOST";
/// By gRPC's clients: the trace the message belongs to.
pub const TRACE_CONTEXT: &str = "TRACE_CONTEXT";
/// By the consumer's client: when consumption began.
pub const CONSUME_START_TIME: &str = "CONSUME_START_TIME";
/// By clients: joins a request and its reply.
pub const CORRELATION_ID: &str = "CORRELATION_ID";
/// By clients: who waits for the reply.
pub const REPLY_TO_CLIENT: &str = "REPLY_TO_CLIENT";
/// By clients: how long the requester waits, milliseconds.
pub const TTL: &str = "TTL";
/// By clients: `reply` on a reply.
pub const MSG_TYPE: &str = "MSG_TYPE";
/// By the broker: when a reply arrived.
pub const ARRIVE_TIME: &str = "ARRIVE_TIME";
/// By the broker: when a reply was handed on.
pub const PUSH_REPLY_TIME: &str = "PUSH_REPLY_TIME";
/// Legacy, from the namespaces of a cloud.
pub const INSTANCE_ID: &str = "INSTANCE_ID";
/// By the broker, for inner batches: how many messages.
pub const INNER_NUM: &str = "INNER_NUM";
/// By the broker, for inner batches: the offset of the first.
pub const INNER_BASE: &str = "INNER_BASE";
/// By the broker, where it is told to: a checksum over the record. It must be the last property.
pub const CRC32: &str = "__CRC32#";
/// By the producer: a second message of the topic with the same value is not stored.
pub const DUEMQ_DEDUP_KEY: &str = "DUEMQ_DEDUP_KEY";
/// By the broker, in answers to queries only: what has become of the message.
pub const DUEMQ_STATE: &str = "DUEMQ_STATE";

/// Why bytes are not the text form of properties.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PropertiesError {
    /// More bytes than a message can carry.
    #[error("the properties have {length} bytes, the limit is {MAX_BYTES}")]
    TooLong {
        /// How many bytes there are.
        length: usize,
    },
    /// Not UTF-8.
    #[error("the properties are not UTF-8 at byte {at}")]
    NotUtf8 {
        /// The first byte that is not.
        at: usize,
    },
}

/// Adds the text form of `properties` to `into`; each property ends with U+0002, the last one too.
///
/// A property that the form cannot carry (an empty name or value, U+0002 in either, U+0001 in the name)
/// is left out: a reader could not tell it from others.
pub fn encode(properties: &Properties, into: &mut Vec<u8>) {
    for (name, value) in carried(properties) {
        push(name, value, into);
    }
}

/// Bytes that [`encode`] adds.
pub fn encoded_len(properties: &Properties) -> usize {
    carried(properties).map(|(name, value)| pair_len(name, value)).sum()
}

/// Reads properties, as leniently as RocketMQ does: a piece without a name or without a value is passed
/// over, the end of the last value may be missing, and the later of two values of a name wins.
///
/// # Errors
/// Not UTF-8, or more than [`MAX_BYTES`].
pub fn decode(bytes: &[u8]) -> Result<Properties, PropertiesError> {
    if bytes.len() > MAX_BYTES {
        return Err(PropertiesError::TooLong { length: bytes.len() });
    }
    let text = std::str::from_utf8(bytes).map_err(|e| PropertiesError::NotUtf8 { at: e.valid_up_to() })?;
    Ok(pairs(text).collect())
}

/// The names and values of a text form, in order, a name that stands twice twice.
pub(crate) fn pairs(text: &str) -> impl DoubleEndedIterator<Item = (&str, &str)> {
    text.split(VALUE_END)
        .filter_map(|piece| piece.split_once(NAME_END))
        .filter(|(name, value)| !name.is_empty() && !value.is_empty())
}

/// Adds one property.
pub(crate) fn push(name: &str, value: &str, into: &mut Vec<u8>) {
    into.extend_from_slice(name.as_bytes());
    into.push(NAME_END as u8);
    into.extend_from_slice(value.as_bytes());
    into.push(VALUE_END as u8);
}

/// Bytes of one property.
pub(crate) const fn pair_len(name: &str, value: &str) -> usize {
    name.len() + value.len() + 2
}

fn carried(properties: &Properties) -> impl Iterator<Item = (&str, &str)> {
    properties.iter().filter(|(name, value)| {
        !name.is_empty()
            && !value.is_empty()
            && !name.contains([NAME_END, VALUE_END])
            && !value.contains(VALUE_END)
    })
}

#[cfg(test)]
mod tests;
