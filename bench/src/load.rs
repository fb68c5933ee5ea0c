//! Messages, and those who send them.

use crate::latency::Latency;
use crate::machine::now_us;
use crate::sender;
use crate::target::Topic;
use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// A body begins with the message's number and its moment.
const HEAD: usize = 16;

/// Connections that senders share.
const CONNECTIONS: usize = 4;

/// The body of message `number`, due at `due_us` (microseconds since 1970).
pub fn body(number: u64, due_us: i64, size: usize) -> Bytes {
    let mut body = BytesMut::with_capacity(size.max(HEAD));
    body.put_u64(number);
    body.put_i64(due_us);
    body.resize(size.max(HEAD), b'x');
    body.freeze()
}

/// Number and moment of a message, from its body; `None` where it is nobody's of this program.
pub fn read(mut body: &[u8]) -> Option<(u64, i64)> {
    (body.len() >= HEAD).then(|| (body.get_u64(), body.get_i64()))
}

/// A number that looks random, the same for the same input.
pub fn scatter(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// What is to be sent.
#[derive(Clone, Debug)]
pub struct Load {
    /// Messages at most.
    pub messages: u64,
    /// How long at most.
    pub time: Duration,
    /// Bytes of each body.
    pub size: usize,
    /// Sends under way at a time.
    pub in_flight: usize,
    /// Messages a second; `None` for as many as are acknowledged.
    pub rate: Option<f64>,
    /// When they are due.
    pub due: Due,
}

/// When a message is due.
#[derive(Clone, Copy, Debug)]
pub enum Due {
    /// At once, without a delay.
    Now,
    /// At random so many milliseconds from its sending.
    Ahead(u64, u64),
    /// At random between two moments, in milliseconds since 1970.
    Between(i64, i64),
}

impl Due {
    /// Whether messages wait.
    pub fn is_timed(self) -> bool {
        !matches!(self, Self::Now)
    }

    /// The moment of a message sent now, in milliseconds since 1970.
    pub fn moment(self, number: u64) -> Option<i64> {
        let within = |span: u64| (scatter(number) % span.max(1)) as i64;
        match self {
            Self::Now => None,
            Self::Ahead(least, most) => Some(now_us() / 1000 + least as i64 + within(most - least)),
            Self::Between(first, last) => Some(first + within((last - first) as u64)),
        }
    }
}

/// How the sending went.
#[derive(Debug)]
pub struct Sent {
    /// How long each acknowledged send took.
    pub spans: Latency,
    /// How many were refused or not answered.
    pub refused: u64,
    /// What the first of those was told.
    pub reason: Option<String>,
    /// From the first send to the last answer.
    pub time: Duration,
}

impl Sent {
    /// Nothing yet.
    pub fn none() -> Self {
        Self { spans: Latency::new(), refused: 0, reason: None, time: Duration::ZERO }
    }

    /// Acknowledged sends a second.
    pub fn rate(&self) -> f64 {
        self.spans.count() as f64 / self.time.as_secs_f64()
    }
}

impl Load {
    /// So many messages, as fast as they are acknowledged.
    pub fn of(messages: u64, size: usize, due: Due) -> Self {
        Self { messages, time: Duration::MAX, size, in_flight: 64, rate: None, due }
    }

    /// Sends it. A send counts from the moment at which it was meant to begin, so that a stall is not hidden.
    pub async fn send(&self, topic: &Topic) -> anyhow::Result<Sent> {
        let next = Arc::new(AtomicU64::new(0));
        let begin = Instant::now();
        let connections = self.in_flight.min(CONNECTIONS);
        let mut senders = JoinSet::new();
        for connection in 0..connections {
            let in_flight = (self.in_flight + connection) / connections;
            let (address, name) = (topic.address.clone(), topic.name.clone());
            senders.spawn(sender::run(self.clone(), address, name, in_flight, next.clone(), begin));
        }
        let mut sent = Sent::none();
        while let Some(one) = senders.join_next().await {
            let one = one??;
            sent.spans.merge(&one.spans);
            sent.refused += one.refused;
            sent.reason = sent.reason.or(one.reason);
        }
        sent.time = begin.elapsed();
        Ok(sent)
    }

    /// When message `number` is meant to be sent.
    pub fn meant(&self, number: u64, begin: Instant) -> Instant {
        self.rate.map_or_else(Instant::now, |rate| begin + Duration::from_secs_f64(number as f64 / rate))
    }
}
