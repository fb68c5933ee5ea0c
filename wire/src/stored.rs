//! A message as it lies in the log and as it travels to consumers: the same bytes.
//!
//! Big-endian, as RocketMQ's clients read it in answers to pull, pop, query and view:
//!
//! | at | bytes  | field               | meaning                                                        |
//! |---:|-------:|---------------------|----------------------------------------------------------------|
//! |  0 |      4 | total size          | bytes of the whole message, these included                     |
//! |  4 |      4 | magic               | `0xDAA320A7`, or `0xDAA320AB` where the topic has over 127 bytes |
//! |  8 |      4 | body checksum       | CRC-32 (IEEE) of the body, without its highest bit             |
//! | 12 |      4 | queue id            |                                                                |
//! | 16 |      4 | flag                | the producer's own                                             |
//! | 20 |      8 | queue offset        |                                                                |
//! | 28 |      8 | log offset          | of the log's record, RocketMQ's physical offset                |
//! | 36 |      4 | sys flag            | see [`sys_flag`]; bits 4 and 5 tell the lengths of the hosts   |
//! | 40 |      8 | born at             | ms since the epoch, the producer's clock                       |
//! | 48 | 8 or 20 | born host          | address of 4 or 16 bytes, then the port in 4                   |
//! |  … |      8 | stored at           | ms since the epoch, our clock                                  |
//! |  … | 8 or 20 | store host         | as born host                                                   |
//! |  … |      4 | reconsume times     |                                                                |
//! |  … |      8 | prepared offset     | log offset of the half message, or 0                           |
//! |  … |  4 + n | body                | its length, then its bytes                                     |
//! |  … | 1 or 2, + n | topic          | its length (2 bytes under the second magic), then its bytes    |
//! |  … |  2 + n | properties          | their length, then [`property`]'s text form                    |
//!
//! Go's client overlooks the second magic and always reads one byte of topic length, so it is written only
//! where the topic leaves no choice.
//!
//! Peer: `MessageExtEncoder`, `MessageDecoder#decode` (RocketMQ 5.x). See docs/formats.md.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::Range;

use bytes::Bytes;
use model::{LogOffset, Message, Properties, QueueId, QueueOffset, Timestamp};

use crate::property::{self, PropertiesError};
use crate::sys_flag;

const MAGIC_V1: u32 = 0xDAA3_20A7;
const MAGIC_V2: u32 = 0xDAA3_20AB;
/// The longest topic whose length fits one byte, as Java and Go read it.
const SHORT_TOPIC_MAX: usize = 127;
const LONG_TOPIC_MAX: usize = 32_767;

const MAGIC_AT: usize = 4;
const BODY_CRC_AT: usize = 8;
const QUEUE_ID_AT: usize = 12;
const FLAG_AT: usize = 16;
const QUEUE_OFFSET_AT: usize = 20;
const LOG_OFFSET_AT: usize = 28;
const SYS_FLAG_AT: usize = 36;
const BORN_AT_AT: usize = 40;
const BORN_HOST_AT: usize = 48;

/// Digits in which a delivered copy tells its moment: enough to the year 2286.
const DELIVERED_AT_DIGITS: usize = 13;
const DELIVERED_AT_MAX: i64 = 9_999_999_999_999;
/// Bytes that delivery adds to the properties: `TIMER_DEQUEUE_MS`, the moment, and the two ends.
const DELIVERED_AT_BYTES: usize = property::TIMER_DEQUEUE_MS.len() + DELIVERED_AT_DIGITS + 2;

/// The place a message is given when it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed<'a> {
    /// Its topic.
    pub topic: &'a str,
    /// Its queue.
    pub queue_id: QueueId,
    /// Its place in the queue.
    pub queue_offset: QueueOffset,
    /// The log offset of its record.
    pub log_offset: LogOffset,
    /// When it is stored.
    pub stored_at: Timestamp,
    /// The server's advertised address: clients connect to it to view a message by its id.
    pub store_host: SocketAddr,
}

/// The place of a message that was read: as [`Placed`], with a topic of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedOwned {
    /// Its topic.
    pub topic: String,
    /// Its queue.
    pub queue_id: QueueId,
    /// Its place in the queue.
    pub queue_offset: QueueOffset,
    /// The log offset of its record.
    pub log_offset: LogOffset,
    /// When it was stored.
    pub stored_at: Timestamp,
    /// The server that stored it.
    pub store_host: SocketAddr,
}

/// Why bytes are not a stored message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoredError {
    /// The bytes end too early.
    #[error(
        "the message ends within its {field}: {needed} bytes are needed at byte {at}, there are {length} in all"
    )]
    Short {
        /// What was being read.
        field: &'static str,
        /// Where it begins.
        at: usize,
        /// How many bytes it has.
        needed: usize,
        /// How many bytes there are in all.
        length: usize,
    },
    /// Another kind of record, or none.
    #[error("the message's magic is {found:#010x}, expected {MAGIC_V1:#010x} or {MAGIC_V2:#010x}")]
    Magic {
        /// What stands there.
        found: u32,
    },
    /// A length below zero.
    #[error("the length of the message's {field} is {found}")]
    Length {
        /// Whose length.
        field: &'static str,
        /// What stands there.
        found: i64,
    },
    /// The lengths inside do not add up to the total.
    #[error("the message says it has {stated} bytes, its fields have {found}")]
    Size {
        /// The total it states.
        stated: usize,
        /// The sum of its fields.
        found: usize,
    },
    /// No port.
    #[error("the port of the message's {field} is {found}, the limit is 65535")]
    Port {
        /// Whose port.
        field: &'static str,
        /// What stands there.
        found: u32,
    },
    /// A topic that is no text.
    #[error("the message's topic is not UTF-8")]
    Topic,
    /// Properties that are none.
    #[error("reading the message's properties")]
    Properties(#[from] PropertiesError),
    /// The body is not the one that was stored.
    #[error("the body's checksum is {found:#010x}, the message says {expected:#010x}")]
    BodyCrc {
        /// What the message says.
        expected: u32,
        /// What its body has.
        found: u32,
    },
}

/// Bytes that [`encode`] adds for `message` in `topic`, stored by `store_host`.
pub fn encoded_len(message: &Message, topic: &str, store_host: SocketAddr) -> usize {
    BORN_HOST_AT
        + host_len(message.born_host)
        + 8
        + host_len(store_host)
        + 4
        + 8
        + 4
        + message.body.len()
        + topic_len(topic)
        + 2
        + property::encoded_len(&message.properties)
}

/// Adds `message` at its place to `into`.
///
/// The two address bits of the sys flag follow from the hosts, whatever `message` says of them; an IPv4
/// address in IPv6 clothes (`::ffff:a.b.c.d`) is written as the IPv4 address it is.
///
/// # Panics
/// Where the properties have over [`property::MAX_BYTES`], the topic over 32767 bytes, or the whole over
/// 2 GiB: the broker refuses such a message before it gives it a place.
pub fn encode(message: &Message, placed: &Placed<'_>, into: &mut Vec<u8>) {
    let begin = into.len();
    let total = encoded_len(message, placed.topic, placed.store_host);
    let properties_len = property::encoded_len(&message.properties);
    assert!(properties_len <= property::MAX_BYTES, "properties of {properties_len} bytes given a place");

    let mut flags = message.sys_flag & !(sys_flag::BORN_HOST_V6 | sys_flag::STORE_HOST_V6);
    if is_v6(message.born_host) {
        flags |= sys_flag::BORN_HOST_V6;
    }
    if is_v6(placed.store_host) {
        flags |= sys_flag::STORE_HOST_V6;
    }

    into.reserve(total);
    into.extend_from_slice(&total_size(total));
    into.extend_from_slice(&magic_for(placed.topic).to_be_bytes());
    into.extend_from_slice(&body_crc(&message.body).to_be_bytes());
    into.extend_from_slice(&placed.queue_id.0.to_be_bytes());
    into.extend_from_slice(&message.flag.to_be_bytes());
    into.extend_from_slice(&placed.queue_offset.0.to_be_bytes());
    into.extend_from_slice(&placed.log_offset.0.to_be_bytes());
    into.extend_from_slice(&flags.to_be_bytes());
    into.extend_from_slice(&message.born_at.as_millis().to_be_bytes());
    push_host(message.born_host, into);
    into.extend_from_slice(&placed.stored_at.as_millis().to_be_bytes());
    push_host(placed.store_host, into);
    into.extend_from_slice(&message.reconsume_times.to_be_bytes());
    into.extend_from_slice(&message.prepared_transaction_offset.to_be_bytes());
    into.extend_from_slice(&(message.body.len() as u32).to_be_bytes());
    into.extend_from_slice(&message.body);
    push_topic(placed.topic, into);
    into.extend_from_slice(&(properties_len as u16).to_be_bytes());
    property::encode(&message.properties, into);
    assert_eq!(into.len() - begin, total, "a message's length was told wrong");
}

/// Bytes that [`deliver`] adds for a parked message.
pub fn delivered_len(parked: &View<'_>) -> usize {
    parked.total_size() + if parked.has_room_for_moment() { DELIVERED_AT_BYTES } else { 0 }
}

/// Adds a parked message to `into` as it is delivered: at its new place, and with the moment of delivery
/// as its last property, `TIMER_DEQUEUE_MS` (13 digits; the year 2286 stands for every later moment).
///
/// Everything else is copied. Where the properties have no room left for the moment, it is not told.
///
/// # Panics
/// Where the message would have over 2 GiB: none as long as that is parked.
pub fn deliver(
    parked: &View<'_>,
    queue_id: QueueId,
    queue_offset: QueueOffset,
    log_offset: LogOffset,
    stored_at: Timestamp,
    into: &mut Vec<u8>,
) {
    let begin = into.len();
    let total = delivered_len(parked);
    into.reserve(total);
    into.extend_from_slice(parked.bytes);

    if parked.has_room_for_moment() {
        let digits = moment_digits(stored_at);
        let moment = std::str::from_utf8(&digits).unwrap_or_default();
        property::push(property::TIMER_DEQUEUE_MS, moment, into);
        let properties_len = parked.properties.len() + DELIVERED_AT_BYTES;
        let length_at = begin + parked.total_size() - parked.properties.len() - 2;
        put(into, length_at, &(properties_len as u16).to_be_bytes());
    }
    put(into, begin, &total_size(total));
    put(into, begin + QUEUE_ID_AT, &queue_id.0.to_be_bytes());
    put(into, begin + QUEUE_OFFSET_AT, &queue_offset.0.to_be_bytes());
    put(into, begin + LOG_OFFSET_AT, &log_offset.0.to_be_bytes());
    put(into, begin + parked.stored_at_at(), &stored_at.as_millis().to_be_bytes());
    assert_eq!(into.len() - begin, total, "a delivered message's length was told wrong");
}

/// The moment of a delivery as its message tells it.
fn moment_digits(at: Timestamp) -> [u8; DELIVERED_AT_DIGITS] {
    let mut rest = at.as_millis().clamp(0, DELIVERED_AT_MAX);
    let mut digits = [b'0'; DELIVERED_AT_DIGITS];
    for digit in digits.iter_mut().rev() {
        *digit += (rest % 10) as u8;
        rest /= 10;
    }
    digits
}

/// The stored message `bytes` shown under another topic, with the properties `extra` set.
///
/// The extra ones always stand. Where they leave no room, other properties are left out from the last on:
/// a consumer can do without a word of the producer's, but not without the handle it acks by.
///
/// # Panics
/// Where `bytes` is not a whole stored message, or `extra` alone is past [`property::MAX_BYTES`].
pub fn with_topic(bytes: &[u8], topic: &str, extra: &[(&str, &str)]) -> Vec<u8> {
    let view = View::of_parked(bytes);
    let mut set = Vec::new();
    for (name, value) in extra {
        property::push(name, value, &mut set);
    }
    assert!(set.len() <= property::MAX_BYTES, "extra properties of {} bytes", set.len());

    let mut properties = Vec::with_capacity(view.properties.len() + set.len());
    let others = std::str::from_utf8(view.properties).map(property::pairs).into_iter().flatten();
    for (name, value) in others.filter(|(name, _)| extra.iter().all(|(set, _)| set != name)) {
        if properties.len() + property::pair_len(name, value) + set.len() > property::MAX_BYTES {
            break;
        }
        property::push(name, value, &mut properties);
    }
    properties.extend_from_slice(&set);

    let total = view.body.end + topic_len(topic) + 2 + properties.len();
    let mut shown = Vec::with_capacity(total);
    shown.extend_from_slice(&view.bytes[..view.body.end]);
    push_topic(topic, &mut shown);
    shown.extend_from_slice(&(properties.len() as u16).to_be_bytes());
    shown.extend_from_slice(&properties);
    put(&mut shown, 0, &total_size(total));
    put(&mut shown, MAGIC_AT, &magic_for(topic).to_be_bytes());
    shown
}

/// Reads the first message of `bytes` whole; its body is a slice of them.
///
/// The two address bits of the sys flag are cleared: the hosts tell.
///
/// # Errors
/// As [`View::parse`]; also where the properties are no text or the body is not the one the checksum is of.
pub fn decode(bytes: &Bytes) -> Result<(Message, PlacedOwned), StoredError> {
    let view = View::parse(bytes)?;
    let (expected, found) = (view.body_crc(), body_crc(view.body()));
    if expected != found {
        return Err(StoredError::BodyCrc { expected, found });
    }
    let message = Message {
        flag: view.flag(),
        sys_flag: view.sys_flag() & !(sys_flag::BORN_HOST_V6 | sys_flag::STORE_HOST_V6),
        born_at: view.born_at(),
        born_host: view.born_host(),
        reconsume_times: view.reconsume_times(),
        prepared_transaction_offset: view.prepared_transaction_offset(),
        properties: property::decode(view.properties)?,
        body: bytes.slice(view.body.clone()),
    };
    let placed = PlacedOwned {
        topic: view.topic().to_owned(),
        queue_id: view.queue_id(),
        queue_offset: view.queue_offset(),
        log_offset: view.log_offset(),
        stored_at: view.stored_at(),
        store_host: view.store_host(),
    };
    Ok((message, placed))
}

/// A stored message looked at where it lies. Cheap: nothing is copied, the body is not read.
#[derive(Clone)]
pub struct View<'a> {
    bytes: &'a [u8],
    born_host: SocketAddr,
    store_host: SocketAddr,
    body: Range<usize>,
    topic: &'a str,
    properties: &'a [u8],
}

impl<'a> View<'a> {
    /// The first message of `bytes`; the next one, where there is one, begins [`Self::total_size`] bytes on.
    ///
    /// # Errors
    /// Where a length, the magic, a port or the topic's text does not fit. The checksum is not looked at.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, StoredError> {
        let stated = Fields { bytes, at: 0 }.length("total size")?;
        let bytes = bytes.get(..stated).ok_or(StoredError::Short {
            field: "total size",
            at: 0,
            needed: stated,
            length: bytes.len(),
        })?;
        let mut fields = Fields { bytes, at: 0 };
        fields.take("total size", MAGIC_AT)?;
        let long_topic = match fields.u32("magic")? {
            MAGIC_V1 => false,
            MAGIC_V2 => true,
            found => return Err(StoredError::Magic { found }),
        };
        fields.take("fixed fields", SYS_FLAG_AT - BODY_CRC_AT)?;
        let flags = fields.u32("sys flag")? as i32;
        fields.take("born at", 8)?;
        let born_host = fields.host("born host", flags & sys_flag::BORN_HOST_V6 != 0)?;
        fields.take("stored at", 8)?;
        let store_host = fields.host("store host", flags & sys_flag::STORE_HOST_V6 != 0)?;
        fields.take("reconsume times", 4)?;
        fields.take("prepared offset", 8)?;
        let body_len = fields.length("body")?;
        let body = fields.at..fields.at + fields.take("body", body_len)?.len();
        let topic_len =
            if long_topic { fields.short_length("topic")? } else { usize::from(fields.take("topic", 1)?[0]) };
        let topic = std::str::from_utf8(fields.take("topic", topic_len)?).map_err(|_| StoredError::Topic)?;
        let properties_len = fields.short_length("properties")?;
        let properties = fields.take("properties", properties_len)?;
        if fields.at != stated {
            return Err(StoredError::Size { stated, found: fields.at });
        }
        Ok(Self { bytes, born_host, store_host, body, topic, properties })
    }

    fn of_parked(bytes: &'a [u8]) -> Self {
        match Self::parse(bytes) {
            Ok(view) if view.total_size() == bytes.len() => view,
            Ok(view) => panic!("a stored message of {} bytes lies in {}", view.total_size(), bytes.len()),
            Err(error) => panic!("a record of {} bytes holds no stored message: {error}", bytes.len()),
        }
    }

    /// Bytes of the whole message.
    pub fn total_size(&self) -> usize {
        self.bytes.len()
    }

    /// The message's bytes, without what follows.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Its queue.
    pub fn queue_id(&self) -> QueueId {
        QueueId(self.u32_at(QUEUE_ID_AT))
    }

    /// Its place in the queue.
    pub fn queue_offset(&self) -> QueueOffset {
        QueueOffset(self.i64_at(QUEUE_OFFSET_AT))
    }

    /// The log offset of its record.
    pub fn log_offset(&self) -> LogOffset {
        LogOffset(self.i64_at(LOG_OFFSET_AT) as u64)
    }

    /// Its sys flag, with the two address bits.
    pub fn sys_flag(&self) -> i32 {
        self.u32_at(SYS_FLAG_AT) as i32
    }

    /// The producer's flag.
    pub fn flag(&self) -> i32 {
        self.u32_at(FLAG_AT) as i32
    }

    /// When the producer made it.
    pub fn born_at(&self) -> Timestamp {
        Timestamp::from_millis(self.i64_at(BORN_AT_AT))
    }

    /// The producer.
    pub fn born_host(&self) -> SocketAddr {
        self.born_host
    }

    /// When it was stored.
    pub fn stored_at(&self) -> Timestamp {
        Timestamp::from_millis(self.i64_at(self.stored_at_at()))
    }

    /// The server that stored it.
    pub fn store_host(&self) -> SocketAddr {
        self.store_host
    }

    /// How often it was given back for a retry.
    pub fn reconsume_times(&self) -> i32 {
        self.u32_at(self.body.start - 4 - 8 - 4) as i32
    }

    /// Log offset of the half message this one commits; 0 otherwise.
    pub fn prepared_transaction_offset(&self) -> i64 {
        self.i64_at(self.body.start - 4 - 8)
    }

    /// What the message says of its body's checksum.
    pub fn body_crc(&self) -> u32 {
        self.u32_at(BODY_CRC_AT)
    }

    /// Its body, compressed or not.
    pub fn body(&self) -> &'a [u8] {
        &self.bytes[self.body.clone()]
    }

    /// Its topic.
    pub fn topic(&self) -> &'a str {
        self.topic
    }

    /// The text form of its properties.
    pub fn properties_bytes(&self) -> &'a [u8] {
        self.properties
    }

    /// Its properties; none where they are no text, which only a message of another server can be.
    pub fn properties(&self) -> Properties {
        property::decode(self.properties).unwrap_or_default()
    }

    /// The value of one property, without reading the others into memory.
    pub fn property(&self, name: &str) -> Option<&'a str> {
        let text = std::str::from_utf8(self.properties).ok()?;
        property::pairs(text).rfind(|(found, _)| *found == name).map(|(_, value)| value)
    }

    /// The values of some properties, in one pass.
    pub fn properties_named<const N: usize>(&self, names: [&str; N]) -> [Option<&'a str>; N] {
        let mut values = [None; N];
        for (found, value) in std::str::from_utf8(self.properties).into_iter().flat_map(property::pairs) {
            if let Some(place) = names.iter().position(|name| *name == found) {
                values[place] = Some(value); // of a name that stands twice the last counts
            }
        }
        values
    }

    fn has_room_for_moment(&self) -> bool {
        self.properties.len() + DELIVERED_AT_BYTES <= property::MAX_BYTES
    }

    fn stored_at_at(&self) -> usize {
        BORN_HOST_AT + host_len(self.born_host)
    }

    fn u32_at(&self, at: usize) -> u32 {
        u32::from_be_bytes(self.bytes[at..at + 4].try_into().expect("four bytes"))
    }

    fn i64_at(&self, at: usize) -> i64 {
        i64::from_be_bytes(self.bytes[at..at + 8].try_into().expect("eight bytes"))
    }
}

impl fmt::Debug for View<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View")
            .field("topic", &self.topic)
            .field("queue_id", &self.queue_id())
            .field("queue_offset", &self.queue_offset())
            .field("log_offset", &self.log_offset())
            .field("total_size", &self.total_size())
            .finish_non_exhaustive()
    }
}

/// Reads one field after the other, never past the end.
struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    fn take(&mut self, field: &'static str, needed: usize) -> Result<&'a [u8], StoredError> {
        let rest = &self.bytes[self.at..];
        let short = StoredError::Short { field, at: self.at, needed, length: self.bytes.len() };
        let (taken, _) = rest.split_at_checked(needed).ok_or(short)?;
        self.at += needed;
        Ok(taken)
    }

    fn u32(&mut self, field: &'static str) -> Result<u32, StoredError> {
        let bytes = self.take(field, 4)?;
        Ok(u32::from_be_bytes(bytes.try_into().expect("four bytes were taken")))
    }

    fn length(&mut self, field: &'static str) -> Result<usize, StoredError> {
        let found = self.u32(field)? as i32;
        usize::try_from(found).map_err(|_| StoredError::Length { field, found: found.into() })
    }

    fn short_length(&mut self, field: &'static str) -> Result<usize, StoredError> {
        let bytes = self.take(field, 2)?;
        let found = i16::from_be_bytes(bytes.try_into().expect("two bytes were taken"));
        usize::try_from(found).map_err(|_| StoredError::Length { field, found: found.into() })
    }

    fn host(&mut self, field: &'static str, v6: bool) -> Result<SocketAddr, StoredError> {
        let address: IpAddr = if v6 {
            let octets: [u8; 16] = self.take(field, 16)?.try_into().expect("sixteen bytes were taken");
            Ipv6Addr::from(octets).into()
        } else {
            let octets: [u8; 4] = self.take(field, 4)?.try_into().expect("four bytes were taken");
            Ipv4Addr::from(octets).into()
        };
        let found = self.u32(field)?;
        let port = u16::try_from(found).map_err(|_| StoredError::Port { field, found })?;
        Ok(SocketAddr::new(address, port))
    }
}

/// RocketMQ's checksum of a body.
pub fn body_crc(body: &[u8]) -> u32 {
    crc32fast::hash(body) & 0x7FFF_FFFF
}

fn total_size(total: usize) -> [u8; 4] {
    i32::try_from(total).unwrap_or_else(|_| panic!("a message of {total} bytes given a place")).to_be_bytes()
}

fn magic_for(topic: &str) -> u32 {
    if topic.len() > SHORT_TOPIC_MAX { MAGIC_V2 } else { MAGIC_V1 }
}

fn topic_len(topic: &str) -> usize {
    topic.len() + if topic.len() > SHORT_TOPIC_MAX { 2 } else { 1 }
}

fn push_topic(topic: &str, into: &mut Vec<u8>) {
    if topic.len() > SHORT_TOPIC_MAX {
        assert!(topic.len() <= LONG_TOPIC_MAX, "a topic of {} bytes", topic.len());
        into.extend_from_slice(&(topic.len() as u16).to_be_bytes());
    } else {
        into.push(topic.len() as u8);
    }
    into.extend_from_slice(topic.as_bytes());
}

fn is_v6(host: SocketAddr) -> bool {
    host.ip().to_canonical().is_ipv6()
}

fn host_len(host: SocketAddr) -> usize {
    if is_v6(host) { 20 } else { 8 }
}

fn push_host(host: SocketAddr, into: &mut Vec<u8>) {
    match host.ip().to_canonical() {
        IpAddr::V4(address) => into.extend_from_slice(&address.octets()),
        IpAddr::V6(address) => into.extend_from_slice(&address.octets()),
    }
    into.extend_from_slice(&u32::from(host.port()).to_be_bytes());
}

fn put(bytes: &mut [u8], at: usize, field: &[u8]) {
    bytes[at..at + field.len()].copy_from_slice(field);
}

#[cfg(test)]
mod tests;
