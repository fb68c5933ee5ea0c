//! A message as its producer meant it, whatever wire it came by.

use std::net::SocketAddr;

use bytes::Bytes;

use crate::time::Timestamp;

/// Named texts that travel with a message, in the order they were set. A name stands at most once.
///
/// Names and values hold neither U+0001 nor U+0002 and are not empty: RocketMQ's stored form has no
/// escapes. The fronts refuse or drop what breaks that, as RocketMQ does on each wire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Properties(Vec<(Box<str>, Box<str>)>);

impl Properties {
    /// None.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// The value of `name`.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(n, _)| &**n == name).map(|(_, v)| &**v)
    }

    /// Sets `name` to `value`, in place of an earlier value.
    pub fn set(&mut self, name: &str, value: impl Into<Box<str>>) {
        match self.0.iter_mut().find(|(n, _)| &**n == name) {
            Some((_, v)) => *v = value.into(),
            None => self.0.push((name.into(), value.into())),
        }
    }

    /// Takes `name` away; gives the value it had.
    pub fn remove(&mut self, name: &str) -> Option<Box<str>> {
        let at = self.0.iter().position(|(n, _)| &**n == name)?;
        Some(self.0.remove(at).1)
    }

    /// All names and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(n, v)| (&**n, &**v))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<N: AsRef<str>, V: AsRef<str>> FromIterator<(N, V)> for Properties {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        let mut all = Self::new();
        for (name, value) in pairs {
            all.set(name.as_ref(), value.as_ref());
        }
        all
    }
}

/// A message without its place: what the producer sent, and from where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The producer's own number, opaque to us.
    pub flag: i32,
    /// RocketMQ's `sysFlag` bits; `wire::sys_flag` names them. The two address bits are set by `wire`.
    pub sys_flag: i32,
    /// When the producer made it, by its clock.
    pub born_at: Timestamp,
    /// The producer's address as seen by the front.
    pub born_host: SocketAddr,
    /// How often it was given back for a retry.
    pub reconsume_times: i32,
    /// Log offset of the half message this one commits; 0 otherwise.
    pub prepared_transaction_offset: i64,
    /// Its properties.
    pub properties: Properties,
    /// Its body, compressed or not: never looked into.
    pub body: Bytes,
}
