//! A connection that sends with many requests under way, and costs little: what is sent is one frame with a few bytes
//! changed each time, and of an answer only its code and its request's number are looked at.

use crate::load::{Load, Sent, body};
use crate::machine::now_us;
use anyhow::{Context as _, bail};
use bytes::{Bytes, BytesMut};
use model::Properties;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use wire::property::{self, TIMER_DELIVER_MS};
use wire::remoting::send::{Header, Spelling};
use wire::remoting::{Command, Fields, RequestCode};

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(60);
/// Codes of answers that say that the message is stored.
const STORED: [i64; 4] = [0, 10, 11, 12];
/// The first number of a request: all have nine digits.
const FIRST_OPAQUE: i32 = 100_000_000;
/// Stand for a moment in the frame; the digits occur nowhere else in it.
const DUE: &str = "1230984567123";
const BORN: i64 = 1_230_984_567_124;

/// The frame of a send, and where it differs from one to the next.
struct Template {
    frame: BytesMut,
    opaque: Range<usize>,
    due: Option<Range<usize>>,
    born: Range<usize>,
    body: Range<usize>,
}

impl Template {
    fn new(topic: &str, size: usize, is_timed: bool) -> anyhow::Result<Self> {
        let mut properties = Properties::new();
        if is_timed {
            properties.set(TIMER_DELIVER_MS, DUE);
        }
        let mut encoded = Vec::new();
        property::encode(&properties, &mut encoded);
        let header = Header {
            producer_group: "duemq_bench".to_owned(),
            topic: topic.to_owned(),
            default_topic: "TBW102".to_owned(),
            default_topic_queues: 4,
            queue_id: -1,
            born_at: BORN,
            properties: is_timed.then(|| String::from_utf8_lossy(&encoded).into_owned()),
            ..Header::default()
        };
        let mut ext = Fields::new();
        header.write(&mut ext, Spelling::V2);
        let body = body(0, 0, size);
        let length = body.len();
        let command =
            Command { opaque: FIRST_OPAQUE, ..Command::request(RequestCode::SendMessageV2, ext, body) };
        let mut frame = BytesMut::new();
        command.encode(&mut frame);
        let head = frame.len() - length;
        let place = |digits: &str| {
            let at = find(&frame[..head], digits.as_bytes());
            at.map(|at| at..at + digits.len()).context("a frame without what was put there")
        };
        let opaque = place(&FIRST_OPAQUE.to_string())?;
        let due = is_timed.then(|| place(DUE)).transpose()?;
        let born = place(&BORN.to_string())?;
        Ok(Self { opaque, due, born, body: head..frame.len(), frame })
    }

    /// Adds the frame of a message. All numbers have as many digits as the ones they replace.
    fn push(&mut self, opaque: i32, number: u64, due_ms: Option<i64>, into: &mut Vec<u8>) {
        let now = now_us();
        self.frame[self.opaque.clone()].copy_from_slice(opaque.to_string().as_bytes());
        self.frame[self.born.clone()].copy_from_slice((now / 1000).to_string().as_bytes());
        if let (Some(place), Some(due)) = (&self.due, due_ms) {
            self.frame[place.clone()].copy_from_slice(due.to_string().as_bytes());
        }
        let head = &mut self.frame[self.body.clone()][..16];
        head[..8].copy_from_slice(&number.to_be_bytes());
        head[8..].copy_from_slice(&due_ms.map_or(now, |due| due * 1000).to_be_bytes());
        into.extend_from_slice(&self.frame);
    }
}

/// Sends over one connection, with `in_flight` under way, numbers that all connections share, until there is none left or
/// the time is over.
pub async fn run(
    load: Load,
    address: String,
    topic: String,
    in_flight: usize,
    next: Arc<AtomicU64>,
    begin: Instant,
) -> anyhow::Result<Sent> {
    let mut stream = TcpStream::connect(&address).await.with_context(|| format!("no broker at {address}"))?;
    stream.set_nodelay(true)?;
    let mut template = Template::new(&topic, load.size, load.due.is_timed())?;
    let mut sent = Sent::none();
    let (mut out, mut read) = (Vec::new(), BytesMut::with_capacity(64 << 10));
    let mut waiting: HashMap<i32, Instant> = HashMap::new();
    let mut held: Option<(u64, Instant)> = None;
    let mut opaque = FIRST_OPAQUE;
    let mut is_over = false;
    loop {
        out.clear();
        while waiting.len() < in_flight && !is_over {
            let (number, meant) = match held.take() {
                Some(held) => held,
                None => {
                    let number = next.fetch_add(1, Relaxed);
                    (number, load.meant(number, begin))
                }
            };
            is_over = begin.elapsed() >= load.time || number >= load.messages;
            if is_over {
                break;
            }
            if meant > Instant::now() {
                held = Some((number, meant));
                break;
            }
            template.push(opaque, number, load.due.moment(number), &mut out);
            waiting.insert(opaque, meant);
            opaque += 1;
        }
        if !out.is_empty() {
            stream.write_all(&out).await.context("the server ended a connection")?;
        }
        if waiting.is_empty() && held.is_none() {
            return Ok(sent);
        }
        let until = held.filter(|_| waiting.len() < in_flight).map(|(_, meant)| meant);
        let until = tokio::time::Instant::from_std(until.unwrap_or_else(|| Instant::now() + PATIENCE));
        tokio::select! {
            count = stream.read_buf(&mut read) => {
                if count? == 0 {
                    bail!("the server closed a connection with {} sends unanswered", waiting.len());
                }
                while let Some(answer) = next_frame(&mut read)? {
                    take(&answer, &mut waiting, &mut sent)?;
                }
            }
            () = tokio::time::sleep_until(until) => {
                if held.is_none() {
                    bail!("{} sends have no answer after {} s", waiting.len(), PATIENCE.as_secs());
                }
            }
        }
    }
}

/// The header of the next whole frame.
fn next_frame(read: &mut BytesMut) -> anyhow::Result<Option<Bytes>> {
    let word =
        |at: usize| read.get(at..at + 4).map(|four| u32::from_be_bytes([four[0], four[1], four[2], four[3]]));
    let (Some(length), Some(header)) = (word(0), word(4)) else { return Ok(None) };
    let (length, header) = (length as usize, (header & 0x00FF_FFFF) as usize);
    if header + 4 > length || length > 16 << 20 {
        bail!("a frame of {length} bytes with a header of {header}");
    }
    if read.len() < 4 + length {
        return Ok(None);
    }
    let frame = read.split_to(4 + length).freeze();
    Ok(Some(frame.slice(8..8 + header)))
}

fn take(answer: &[u8], waiting: &mut HashMap<i32, Instant>, sent: &mut Sent) -> anyhow::Result<()> {
    let opaque = number(answer, b"\"opaque\":").context("an answer without its request's number")?;
    let code = number(answer, b"\"code\":").context("an answer without a code")?;
    // What the server asks by itself is nobody's.
    let Some(meant) = i32::try_from(opaque).ok().and_then(|opaque| waiting.remove(&opaque)) else {
        return Ok(());
    };
    if STORED.contains(&code) {
        sent.spans.add(meant.elapsed().as_micros() as i64);
    } else {
        sent.refused += 1;
        sent.reason.get_or_insert_with(|| String::from_utf8_lossy(answer).into_owned());
    }
    Ok(())
}

/// The number that stands behind `name`.
fn number(header: &[u8], name: &[u8]) -> Option<i64> {
    let behind = &header[find(header, name)? + name.len()..];
    let is_digit = |byte: &&u8| byte.is_ascii_digit() || **byte == b'-';
    let digits = behind.iter().take_while(is_digit).count();
    std::str::from_utf8(&behind[..digits]).ok()?.parse().ok()
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}
