//! How fast are messages taken that can all be read already?

use crate::load::{Due, Load};
use crate::report::Report;
use crate::target::{QUEUES, Target, Topic, connect};
use anyhow::{Context as _, bail};
use bytes::Bytes;
use client::Client;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use wire::remoting::{Command, Fields, RequestCode, ResponseCode, ack, pop, pull};
use wire::stored::View;

/// What `duemq-bench drain` is told.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Messages.
    #[arg(long, default_value_t = 200_000)]
    messages: u64,
    /// Bytes of each body.
    #[arg(long, default_value_t = 1024)]
    size: usize,
    /// How they are taken.
    #[arg(long, value_enum, default_value_t = Door::Pull)]
    by: Door,
}

/// How messages are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Door {
    /// By offset: one pull of each queue under way.
    Pull,
    /// With leases, over remoting: one pop of each queue under way, each message acked by a call of its own.
    Pop,
}

/// Messages of one answer at most.
const BATCH: i32 = 32;
/// How long a popped message belongs to who popped it.
const INVISIBLE_MS: i64 = 60_000;
/// How long nothing may come while something is missing.
const PATIENCE: Duration = Duration::from_secs(30);

/// Sends them, and takes them all.
pub async fn run(target: &Target, args: &Args) -> anyhow::Result<Report> {
    let by = format!("{:?}", args.by).to_lowercase();
    let mut report = Report::new("drain", json!({ "messages": args.messages, "size": args.size, "by": by }));
    let topic = Arc::new(target.topic("drain", "NORMAL").await?);
    let sent = Load::of(args.messages, args.size, Due::Now).send(&topic).await?;
    if sent.refused > 0 {
        bail!("{} sends were refused: {}", sent.refused, sent.reason.unwrap_or_default());
    }
    let taken = Arc::new(AtomicU64::new(0));
    let (before, begin) = (target.used(), Instant::now());
    let mut takers = JoinSet::new();
    for queue in 0..QUEUES {
        let client = connect(&topic.address).await?;
        let taker =
            Taker { client, topic: topic.clone(), queue, taken: taken.clone(), wanted: args.messages };
        match args.by {
            Door::Pull => takers.spawn(taker.pull()),
            Door::Pop => takers.spawn(taker.pop()),
        };
    }
    while let Some(ended) = takers.join_next().await {
        ended?.context("a consumer failed")?;
    }
    let (time, used) = (begin.elapsed().as_secs_f64(), target.used());
    let count = taken.load(Relaxed);
    report.add_rounded("loaded_per_s", sent.rate());
    report.add_rounded("taken_per_s", count as f64 / time);
    report.add("doubles", count.saturating_sub(args.messages));
    report.add_rounded("cpu_s_per_million", (used.cpu_s - before.cpu_s) / args.messages as f64 * 1e6);
    Ok(report)
}

/// One queue's consumer.
struct Taker {
    client: Client,
    topic: Arc<Topic>,
    queue: i32,
    taken: Arc<AtomicU64>,
    wanted: u64,
}

impl Taker {
    fn group(&self) -> String {
        format!("{}_group", self.topic.name)
    }

    async fn pull(self) -> anyhow::Result<()> {
        let mut header = pull::Header {
            group: self.group(),
            topic: self.topic.name.clone(),
            queue_id: self.queue,
            queue_offset: 0,
            max_messages: BATCH,
            sys_flag: pull::SUBSCRIPTION,
            commit_offset: Some(0),
            suspend_ms: Some(0),
            subscription: Some("*".to_owned()),
            subscription_version: Some(0),
            expression_type: Some("TAG".to_owned()),
            max_bytes: None,
        };
        let end = self.client.bounds(&self.topic.name, self.queue).await?.1;
        while header.queue_offset < end {
            let mut ext = Fields::new();
            header.write(&mut ext);
            let answer = self.ask(RequestCode::PullMessage, ext).await?;
            if answer.code != ResponseCode::Success.number() {
                bail!(
                    "a pull at {} was answered with {}: {:?}",
                    header.queue_offset,
                    answer.code,
                    answer.remark
                );
            }
            header.queue_offset = pull::Answer::read(&answer.ext)?.next_offset;
            self.taken.fetch_add(messages(&answer.body).count() as u64, Relaxed);
        }
        Ok(())
    }

    async fn pop(self) -> anyhow::Result<()> {
        let header = pop::Header {
            group: self.group(),
            topic: self.topic.name.clone(),
            queue_id: self.queue,
            max_messages: BATCH,
            invisible_ms: INVISIBLE_MS,
            wait_ms: 1000,
            begin: pop::BEGIN_AT_LEAST,
            expression_type: Some("TAG".to_owned()),
            expression: Some("*".to_owned()),
            ordered: false,
            attempt_id: None,
        };
        let broker = self.topic.broker.clone();
        let client = Arc::new(self.client);
        let mut acks = JoinSet::new();
        let mut last = Instant::now();
        while self.taken.load(Relaxed) < self.wanted {
            let mut ext = Fields::new();
            header.write(&mut ext);
            let request = Command::request(RequestCode::PopMessage, ext, Bytes::new());
            let answer = client.call(request).await?;
            let mut count = 0;
            for message in messages(&answer.body) {
                count += 1;
                let ext = ack_fields(&header, &broker, &answer, &message)?;
                let client = client.clone();
                acks.spawn(async move {
                    client.call(Command::request(RequestCode::AckMessage, ext, Bytes::new())).await
                });
            }
            while let Some(acked) = acks.try_join_next() {
                told(&acked??)?;
            }
            if count > 0 {
                last = Instant::now();
                self.taken.fetch_add(count, Relaxed);
            } else if last.elapsed() > PATIENCE {
                bail!("{} of {} messages came", self.taken.load(Relaxed), self.wanted);
            }
        }
        while let Some(acked) = acks.join_next().await {
            told(&acked??)?;
        }
        Ok(())
    }

    async fn ask(&self, code: RequestCode, ext: Fields) -> anyhow::Result<Command> {
        Ok(self.client.call(Command::request(code, ext, Bytes::new())).await?)
    }
}

/// Messages in their stored form, end to end.
fn messages(mut rest: &[u8]) -> impl Iterator<Item = View<'_>> {
    std::iter::from_fn(move || {
        let view = View::parse(rest).ok()?;
        rest = &rest[view.total_size()..];
        Some(view)
    })
}

/// What ends the lease of a popped message, its handle made as clients make it (`wire::ReceiptHandle`).
fn ack_fields(
    asked: &pop::Header,
    broker: &str,
    answer: &Command,
    message: &View<'_>,
) -> anyhow::Result<Fields> {
    let told = pop::Answer::read(&answer.ext)?;
    let start = told.start_offset_info.split([' ', ';']).nth(2).context("a pop without its start offset")?;
    let (queue, offset) = (message.queue_id(), message.queue_offset().0);
    let handle = format!(
        "{start} {} {} {} 0 {broker} {} {offset}",
        told.pop_time, told.invisible_ms, told.revive_queue, queue.0
    );
    let header = ack::Header {
        group: asked.group.clone(),
        topic: asked.topic.clone(),
        queue_id: queue.0 as i32,
        handle,
        queue_offset: offset,
    };
    let mut ext = Fields::new();
    header.write(&mut ext);
    Ok(ext)
}

fn told(ack: &Command) -> anyhow::Result<()> {
    if ack.code != ResponseCode::Success.number() {
        bail!("an ack was answered with {}: {:?}", ack.code, ack.remark);
    }
    Ok(())
}
