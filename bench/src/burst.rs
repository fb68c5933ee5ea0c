//! How late does the last of very many become visible that are all due in one second, and what do others feel?

use crate::load::{Due, Load};
use crate::machine::now_us;
use crate::report::Report;
use crate::target::{QUEUES, Target, Topic, connect};
use crate::{limits, machine};
use anyhow::bail;
use client::Client;
use serde_json::json;
use std::time::Duration;

/// What `duemq-bench burst` is told.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Messages.
    #[arg(long, default_value_t = 100_000)]
    messages: u64,
    /// Bytes of each body.
    #[arg(long, default_value_t = 1024)]
    size: usize,
    /// Normal messages a second meanwhile, to another topic.
    #[arg(long, default_value_t = 500)]
    normal_rate: u32,
    /// Seconds from the first send to the second in which they are due: they must all be sent by then.
    #[arg(long)]
    lead: Option<u64>,
}

/// Sends a second that any server is trusted with, where no lead is given.
const TRUSTED_RATE: u64 = 10_000;
/// How often it is looked how many are visible.
const LOOK: Duration = Duration::from_millis(5);
/// How long the last one is waited for.
const PATIENCE_US: i64 = 300_000_000;

/// Measures it, beside an append and one sync of the same bytes.
pub async fn run(target: &Target, args: &Args) -> anyhow::Result<Report> {
    let lead = args.lead.unwrap_or(10 + args.messages / TRUSTED_RATE);
    let mut report = Report::new(
        "burst",
        json!({ "messages": args.messages, "size": args.size, "normal_rate": args.normal_rate, "lead": lead }),
    );
    let topic = target.topic("burst", "DELAY").await?;
    let other = target.topic("normal", "NORMAL").await?;
    let from_ms = machine::now_us() / 1000 + lead as i64 * 1000;
    let due = Due::Between(from_ms, from_ms + 1000);
    let sent = Load::of(args.messages, args.size, due).send(&topic).await?;
    if now_us() > from_ms * 1000 {
        bail!("sending took {:?}, more than the lead of {lead} s: give a longer --lead", sent.time);
    }
    if sent.refused > 0 {
        bail!(
            "{} of {} sends were refused: {}",
            sent.refused,
            args.messages,
            sent.reason.unwrap_or_default()
        );
    }
    report.add_rounded("loaded_per_s", sent.rate());
    let limit = limits::append_and_sync(&target.disk(), args.messages * args.size as u64)?;
    let before_us = from_ms * 1000 - now_us() - 1_000_000;
    tokio::time::sleep(Duration::from_micros(before_us.max(0) as u64)).await;
    let idle = target.used();

    let look = connect(&topic.address).await?;
    let watching = tokio::spawn(watch(look, topic, args.messages, from_ms * 1000));
    let normal = Load {
        messages: u64::MAX,
        time: Duration::from_secs(5),
        size: args.size,
        in_flight: 64,
        rate: Some(f64::from(args.normal_rate)),
        due: Due::Now,
    };
    let felt = normal.send(&other).await?;
    let curve = watching.await??;
    let used = target.used();

    let last_s = curve.last().map_or(0.0, |&(ms, _)| ms as f64 / 1000.0);
    report.add_rounded("last_visible_after_start_of_second_s", last_s);
    report.add_rounded("append_and_sync_of_the_same_bytes_s", limit.as_secs_f64());
    report.add_rounded("last_visible_per_append_and_sync", last_s / limit.as_secs_f64());
    felt.spans.tell("normal_send", &mut report);
    report.add("normal_refused", felt.refused);
    report.add_rounded("cpu_s_per_million", (used.cpu_s - idle.cpu_s) / args.messages as f64 * 1e6);
    report.add("resident_mib", used.resident >> 20);
    report.add(
        "visible_by_ms",
        curve.into_iter().map(|(ms, visible)| json!([ms, visible])).collect::<Vec<_>>(),
    );
    Ok(report)
}

/// How many are visible at each look, in milliseconds from the start of their second, until all are.
async fn watch(client: Client, topic: Topic, messages: u64, from_us: i64) -> anyhow::Result<Vec<(i64, u64)>> {
    let mut curve = Vec::new();
    loop {
        let mut visible = 0;
        for queue in 0..QUEUES {
            visible += client.bounds(&topic.name, queue).await?.1 as u64;
        }
        let after_us = now_us() - from_us;
        if after_us < 0 && visible > 0 {
            bail!("{visible} messages are visible {} ms before the first is due", -after_us / 1000);
        }
        if curve.last().is_none_or(|&(_, before)| before != visible) {
            curve.push((after_us / 1000, visible));
        }
        if visible >= messages {
            return Ok(curve);
        }
        if after_us > PATIENCE_US {
            bail!("{visible} of {messages} are visible after {} s", PATIENCE_US / 1_000_000);
        }
        tokio::time::sleep(LOOK).await;
    }
}
