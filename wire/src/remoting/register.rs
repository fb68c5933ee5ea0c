//! Register: what brokers tell a name server. `REGISTER_BROKER` (103), `UNREGISTER_BROKER` (104),
//! `REGISTER_TOPIC_IN_NAMESRV` (217), `QUERY_DATA_VERSION` (322), `GET_BROKER_MEMBER_GROUP` (901),
//! `BROKER_HEARTBEAT` (904).

use super::admin::DataVersion;
use super::fields::header;
use super::json::{self, BodyError};
use super::topic::TopicConfig;
use bytes::Bytes;
use miniz_oxide::inflate::{TINFLStatus, decompress_to_vec_zlib_with_limit};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

header! {
    /// A broker that is there: 103. Peer: `RegisterBrokerRequestHeader` (RocketMQ 5.x).
    Header {
        /// Its name.
        name: String = "brokerName",
        /// Its address, `host:port`.
        address: String = "brokerAddr",
        /// Its cluster.
        cluster: String = "clusterName",
        /// Where its slaves get their data.
        ha_address: Option<String> = "haServerAddr",
        /// Its id, 0 for a master.
        id: i64 = "brokerId",
        /// How long it may be silent, in ms.
        silence_max_ms: Option<i64> = "heartbeatTimeoutMillis",
        /// Whether a slave may stand in for the master.
        acting_master: bool = "enableActingMaster",
        /// Whether the body is compressed, and then in another form.
        compressed: bool = "compressed",
        /// The body's [`checksum`]; 0 for none.
        body_crc32: Option<i32> = "bodyCrc32",
    }
}

header! {
    /// How a slave reaches its master: 103. Peer: `RegisterBrokerResponseHeader`.
    Answer {
        /// Where it gets its data.
        ha_address: Option<String> = "haServerAddr",
        /// The master's address.
        master: Option<String> = "masterAddr",
    }
}

header! {
    /// A broker: 104, 322. Peer: `UnRegisterBrokerRequestHeader`, `QueryDataVersionRequestHeader`.
    OfMember {
        /// Its name.
        name: String = "brokerName",
        /// Its address.
        address: String = "brokerAddr",
        /// Its cluster.
        cluster: String = "clusterName",
        /// Its id.
        id: i64 = "brokerId",
    }
}

header! {
    /// A sign of life: 904. Peer: `BrokerHeartbeatRequestHeader`.
    Heartbeat {
        /// Its cluster.
        cluster: String = "clusterName",
        /// Its address.
        address: String = "brokerAddr",
    }
}

header! {
    /// Whether a broker has to register anew: 322. Peer: `QueryDataVersionResponseHeader`.
    VersionAnswer {
        /// Whether its topics are in another state than they were registered in.
        changed: bool = "changed",
    }
}

header! {
    /// A broker's members: 901. Peer: `GetBrokerMemberGroupRequestHeader`.
    OfGroup {
        /// The cluster.
        cluster: Option<String> = "clusterName",
        /// The broker's name.
        name: String = "brokerName",
    }
}

/// A broker's members: the body of the answer to 901. Peer: `GetBrokerMemberGroupResponseBody`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MemberGroupBody {
    /// They.
    pub broker_member_group: MemberGroup,
}

/// Peer: `BrokerMemberGroup`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MemberGroup {
    /// Their addresses by id.
    pub broker_addrs: BTreeMap<i64, String>,
    /// The broker's name.
    pub broker_name: String,
    /// Its cluster.
    pub cluster: String,
}

/// What a broker serves: the body of 103. Peer: `RegisterBrokerBody`, of which filter servers and the queues of
/// static topics are not read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Body {
    /// None.
    pub filter_server_list: Vec<String>,
    /// Its topics.
    pub topic_config_serialize_wrapper: Topics,
}

/// A broker's topics. Peer: `TopicConfigAndMappingSerializeWrapper`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Topics {
    /// Their state.
    pub data_version: DataVersion,
    /// They, by name.
    pub topic_config_table: BTreeMap<String, TopicConfig>,
}

/// Bytes of a compressed body at most, once they are not.
const INFLATED_MAX: usize = 64 << 20;

/// Why the body of 103 cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RegisterBodyError {
    /// Not the JSON it should be.
    #[error(transparent)]
    Json(#[from] BodyError),
    /// Not compressed as it says.
    #[error("the body is not compressed by zlib: {status:?}")]
    Zlib {
        /// What the decompressor says.
        status: TINFLStatus,
    },
    /// More than anybody registers.
    #[error("the body has more than {limit} bytes once it is decompressed")]
    TooLong {
        /// The most allowed.
        limit: usize,
    },
    /// It ends where there should be more.
    #[error("the decompressed body ends before {what}")]
    Truncated {
        /// What is missing.
        what: &'static str,
    },
    /// A topic that is none.
    #[error(
        "the topic {text:?} is not a name, numbers of queues to read and to write, a permission and a filter"
    )]
    Topic {
        /// Its beginning.
        text: String,
    },
}

impl Body {
    /// Reads the body of a registration, whose header says whether it is compressed.
    ///
    /// | bytes | a compressed body, by zlib, numbers big-endian                             |
    /// |------:|----------------------------------------------------------------------------|
    /// | 4 + n | length, then the state of the topics in JSON                               |
    /// |     4 | how many topics                                                            |
    /// | 4 + n | of each: length, then `name read write permission filter attributes`, text |
    /// |     … | filter servers, and queues of static topics: not read                      |
    pub fn read(body: &[u8], compressed: bool) -> Result<Self, RegisterBodyError> {
        if !compressed {
            return Ok(if body.is_empty() { Self::default() } else { json::read(body)? });
        }
        let inflated =
            decompress_to_vec_zlib_with_limit(body, INFLATED_MAX).map_err(|error| match error.status {
                TINFLStatus::HasMoreOutput => RegisterBodyError::TooLong { limit: INFLATED_MAX },
                status => RegisterBodyError::Zlib { status },
            })?;
        let mut rest = inflated.as_slice();
        let data_version = json::read(text(&mut rest, "the state of the topics")?)?;
        let mut topic_config_table = BTreeMap::new();
        for _ in 0..number(&mut rest, "how many topics there are")? {
            let topic = topic(text(&mut rest, "a topic")?)?;
            topic_config_table.insert(topic.topic_name.clone(), topic);
        }
        let topic_config_serialize_wrapper = Topics { data_version, topic_config_table };
        Ok(Self { topic_config_serialize_wrapper, ..Self::default() })
    }

    /// Writes it, not compressed.
    pub fn write(&self) -> Bytes {
        json::write(self)
    }
}

/// A body's checksum, as `bodyCrc32` holds it: CRC-32 without its highest bit. Peer: `UtilAll#crc32`.
pub fn checksum(body: &[u8]) -> i32 {
    (crc32fast::hash(body) & 0x7FFF_FFFF) as i32
}

fn number(rest: &mut &[u8], what: &'static str) -> Result<u32, RegisterBodyError> {
    let (number, after) = rest.split_first_chunk().ok_or(RegisterBodyError::Truncated { what })?;
    *rest = after;
    Ok(u32::from_be_bytes(*number))
}

fn text<'a>(rest: &mut &'a [u8], what: &'static str) -> Result<&'a [u8], RegisterBodyError> {
    let length = number(rest, what)? as usize;
    let (text, after) = rest.split_at_checked(length).ok_or(RegisterBodyError::Truncated { what })?;
    *rest = after;
    Ok(text)
}

/// Peer: `TopicConfig#decode`. A route shows no attribute, and some break the text: they are not read.
fn topic(text: &[u8]) -> Result<TopicConfig, RegisterBodyError> {
    let text = String::from_utf8_lossy(text);
    let mut words = text.split(' ');
    let name = words.next().unwrap_or_default();
    let mut number = || words.next()?.parse().ok();
    match (number(), number(), number(), words.next()) {
        (Some(read_queue_nums), Some(write_queue_nums), Some(perm), Some(filter)) => Ok(TopicConfig {
            topic_name: name.to_owned(),
            read_queue_nums,
            write_queue_nums,
            perm,
            topic_filter_type: filter.to_owned(),
            ..TopicConfig::default()
        }),
        _ => Err(RegisterBodyError::Topic { text: text.chars().take(64).collect() }),
    }
}

#[cfg(test)]
mod tests;
