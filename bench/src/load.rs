//! Messages, and those who send them.

use crate::latency::Latency;
use crate::machine::now_us;
use crate::target::{Topic, connect};
use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use client::Client;
use model::Properties;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use wire::property::TIMER_DELIVER_MS;

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
    /// The moment of a message sent now, in milliseconds since 1970.
    fn moment(self, number: u64) -> Option<i64> {
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
        let mut connections = Vec::new();
        for _ in 0..self.in_flight.min(CONNECTIONS) {
            connections.push(Arc::new(connect(&topic.address).await?));
        }
        let next = Arc::new(AtomicU64::new(0));
        let begin = Instant::now();
        let mut senders = JoinSet::new();
        for sender in 0..self.in_flight {
            let connection = connections[sender % connections.len()].clone();
            senders.spawn(self.clone().sender(connection, topic.name.clone(), next.clone(), begin));
        }
        let mut sent = Sent { spans: Latency::new(), refused: 0, reason: None, time: Duration::ZERO };
        while let Some(one) = senders.join_next().await {
            let one = one?;
            sent.spans.merge(&one.spans);
            sent.refused += one.refused;
            sent.reason = sent.reason.or(one.reason);
        }
        sent.time = begin.elapsed();
        Ok(sent)
    }

    /// One send after another, until there is none left or the time is over.
    async fn sender(
        self,
        connection: Arc<Client>,
        topic: String,
        next: Arc<AtomicU64>,
        begin: Instant,
    ) -> Sent {
        let mut sent = Sent { spans: Latency::new(), refused: 0, reason: None, time: Duration::ZERO };
        while begin.elapsed() < self.time {
            let number = next.fetch_add(1, Relaxed);
            if number >= self.messages {
                break;
            }
            let mut meant = Instant::now();
            if let Some(rate) = self.rate {
                meant = begin + Duration::from_secs_f64(number as f64 / rate);
                tokio::time::sleep_until(meant.into()).await;
            }
            let moment = self.due.moment(number);
            let mut properties = Properties::new();
            if let Some(moment) = moment {
                properties.set(TIMER_DELIVER_MS, moment.to_string());
            }
            let due_us = moment.map_or_else(now_us, |ms| ms * 1000);
            match connection.send(&topic, body(number, due_us, self.size), &properties).await {
                Ok(_) => sent.spans.add(meant.elapsed().as_micros() as i64),
                Err(error) => {
                    sent.refused += 1;
                    sent.reason.get_or_insert_with(|| error.to_string());
                }
            }
        }
        sent
    }
}
