//! Values under names: what tools keep at the name server, the order of topics' queues among it.
//!
//! Peer: `KVConfigManager` (RocketMQ), which keeps them in a file of the name server's own. Here they are
//! records of the one log.

use crate::{Broker, Reply, RequestId};
use journal::Kind;
use std::collections::BTreeMap;
use wire::record;

/// Bytes of a namespace or key, at most.
const NAME_MAX: usize = 255;
/// Bytes of a value, at most.
const VALUE_MAX: usize = 64 << 10;
/// Values, at most.
const VALUES_MAX: usize = 10_000;

/// A value as it shall be.
#[derive(Clone, Debug)]
pub struct PutValue {
    /// Where its key is unique.
    pub namespace: String,
    /// Its name.
    pub key: String,
    /// It; `None` takes it away.
    pub value: Option<String>,
}

/// Why a value was not kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PutValueError {
    /// The caller's: nothing, or too much of it.
    #[error("the {field} has {length} bytes, allowed are 1 to {limit}")]
    Length {
        /// What.
        field: &'static str,
        /// Its length.
        length: usize,
        /// The most allowed.
        limit: usize,
    },
    /// The operator's: so many are kept already.
    #[error("{limit} values are kept already, the limit is {limit}")]
    TooMany {
        /// The most allowed.
        limit: usize,
    },
    /// Ours, passing: the log cannot be written.
    #[error("the log cannot be written: {why}")]
    Unavailable {
        /// Why.
        why: String,
    },
}

/// A question for the values of a namespace.
#[derive(Clone, Debug)]
pub struct GetValues {
    /// Which.
    pub namespace: String,
}

/// All values, by namespace and key.
#[derive(Debug, Default)]
pub(crate) struct Values(BTreeMap<String, BTreeMap<String, String>>);

impl Values {
    /// Takes a change as it stands in the log.
    pub(crate) fn put(&mut self, namespace: String, key: String, value: Option<String>) {
        match value {
            Some(value) => {
                self.0.entry(namespace).or_default().insert(key, value);
            }
            None => {
                if let Some(values) = self.0.get_mut(&namespace) {
                    values.remove(&key);
                    if values.is_empty() {
                        self.0.remove(&namespace);
                    }
                }
            }
        }
    }

    fn get(&self, namespace: &str, key: &str) -> Option<&String> {
        self.0.get(namespace)?.get(key)
    }

    fn len(&self) -> usize {
        self.0.values().map(BTreeMap::len).sum()
    }

    /// All of them: namespace, key, value.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.0.iter().flat_map(|(namespace, values)| {
            values.iter().map(move |(key, value)| (namespace.as_str(), key.as_str(), value.as_str()))
        })
    }
}

impl Broker {
    pub(crate) fn put_value(&mut self, id: RequestId, ask: PutValue) {
        let put = self.value_put(ask);
        self.reply_safe(id, Reply::PutValue(put));
    }

    fn value_put(&mut self, ask: PutValue) -> Result<(), PutValueError> {
        if let Some(why) = self.unwritable() {
            return Err(PutValueError::Unavailable { why });
        }
        for (field, length) in [("namespace", ask.namespace.len()), ("key", ask.key.len())] {
            if !(1..=NAME_MAX).contains(&length) {
                return Err(PutValueError::Length { field, length, limit: NAME_MAX });
            }
        }
        if let Some(length) = ask.value.as_ref().map(String::len).filter(|&length| length > VALUE_MAX) {
            return Err(PutValueError::Length { field: "value", length, limit: VALUE_MAX });
        }
        let known = self.values.get(&ask.namespace, &ask.key);
        if known == ask.value.as_ref() {
            return Ok(());
        }
        if known.is_none() && self.values.len() >= VALUES_MAX {
            return Err(PutValueError::TooMany { limit: VALUES_MAX });
        }
        let PutValue { namespace, key, value } = ask;
        let mut payload = Vec::new();
        let change = record::Meta::Value { namespace, key, value };
        change.encode(&mut payload);
        self.append_record(Kind::Meta, &payload);
        if let record::Meta::Value { namespace, key, value } = change {
            self.values.put(namespace, key, value);
        }
        Ok(())
    }

    pub(crate) fn get_values(&mut self, id: RequestId, ask: &GetValues) {
        let values = self.values.0.get(&ask.namespace).cloned().unwrap_or_default();
        self.reply(id, Reply::GetValues(values));
    }
}
