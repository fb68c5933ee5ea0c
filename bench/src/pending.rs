//! What does a message cost that waits for long?

use crate::load::{Due, Load};
use crate::machine;
use crate::report::Report;
use crate::target::Target;
use serde_json::json;
use std::time::Duration;

/// What `duemq-bench pending` is told.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Messages.
    #[arg(long, default_value_t = 1_000_000)]
    messages: u64,
    /// Bytes of each body.
    #[arg(long, default_value_t = 128)]
    size: usize,
    /// They are due at random from two hours ahead to so many hours ahead. RocketMQ takes 72 at most by default.
    #[arg(long, default_value_t = 48)]
    hours: u64,
}

/// Two hours, in milliseconds.
const LEAST_MS: u64 = 7_200_000;
/// How long the server is left alone before its memory is looked at.
const SETTLE: Duration = Duration::from_secs(5);

/// Loads them, and looks at memory, disk and an idle processor.
pub async fn run(target: &Target, args: &Args) -> anyhow::Result<Report> {
    let mut report =
        Report::new("pending", json!({ "messages": args.messages, "size": args.size, "hours": args.hours }));
    let topic = target.topic("pending", "DELAY").await?;
    let disk = || target.data.as_deref().map(machine::disk_bytes);
    let (before, disk_before) = (target.used(), disk());
    let due = Due::Ahead(LEAST_MS, (args.hours * 3_600_000).max(LEAST_MS + 1));
    let sent = Load::of(args.messages, args.size, due).send(&topic).await?;
    tokio::time::sleep(SETTLE).await;
    let settled = target.used();
    tokio::time::sleep(SETTLE).await;
    let after = target.used();
    let each = |bytes: u64| bytes as f64 / args.messages as f64;
    report.add_rounded("loaded_per_s", sent.rate());
    report.add("refused", sent.refused);
    report.add("refused_because", sent.reason);
    report.add_rounded("cpu_s_per_million", (settled.cpu_s - before.cpu_s) / args.messages as f64 * 1e6);
    report.add("resident_mib", after.resident >> 20);
    report.add_rounded("resident_bytes_each", each(after.resident.saturating_sub(before.resident)));
    report.add_rounded("anonymous_bytes_each", each(after.anonymous.saturating_sub(before.anonymous)));
    if let (Some(before), Some(after)) = (disk_before, disk()) {
        report.add_rounded("disk_bytes_each", each(after.saturating_sub(before)));
    }
    report.add_rounded("idle_cpu_percent", (after.cpu_s - settled.cpu_s) / SETTLE.as_secs_f64() * 100.0);
    Ok(report)
}
