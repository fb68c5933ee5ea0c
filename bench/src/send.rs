//! How fast are sends acknowledged?

use crate::limits;
use crate::load::{Due, Load};
use crate::report::Report;
use crate::target::Target;
use serde_json::json;
use std::time::Duration;

/// What `duemq-bench send` is told.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Bytes of each body.
    #[arg(long, default_value_t = 1024)]
    size: usize,
    /// Sends under way at a time.
    #[arg(long, default_value_t = 16)]
    in_flight: usize,
    /// How long to send, in seconds.
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// How long to send before that, without counting, in seconds.
    #[arg(long, default_value_t = 2)]
    warm_up: u64,
    /// Messages are due at random between half an hour and an hour and a half ahead.
    #[arg(long)]
    timed: bool,
}

/// Half an hour, and an hour and a half, in milliseconds.
const AHEAD: Due = Due::Ahead(1_800_000, 5_400_000);

/// Measures it, beside a sync and an echo of the same bytes.
pub async fn run(target: &Target, args: &Args) -> anyhow::Result<Report> {
    let (size, in_flight, seconds, timed) = (args.size, args.in_flight, args.seconds, args.timed);
    let mut report = Report::new(
        "send",
        json!({ "size": size, "in_flight": in_flight, "seconds": seconds, "timed": timed }),
    );
    let floor_ms = limits::sync(&target.disk())?.ms(50.0) + limits::echo()?.ms(50.0);
    let topic = target.topic("send", if timed { "DELAY" } else { "NORMAL" }).await?;
    let load = |seconds| Load {
        messages: u64::MAX,
        time: Duration::from_secs(seconds),
        size,
        in_flight,
        rate: None,
        due: if timed { AHEAD } else { Due::Now },
    };
    load(args.warm_up).send(&topic).await?;
    let before = target.used();
    let sent = load(seconds).send(&topic).await?;
    let used = target.used();
    report.add_rounded("acknowledged_per_s", sent.rate());
    sent.spans.tell("answer", &mut report);
    report.add("refused", sent.refused);
    report.add("refused_because", sent.reason);
    report.add_rounded("sync_and_echo_p50_ms", floor_ms);
    report.add_rounded("answer_p50_per_sync_and_echo", sent.spans.ms(50.0) / floor_ms);
    let millions = sent.spans.count().max(1) as f64 / 1e6;
    report.add_rounded("cpu_s_per_million", (used.cpu_s - before.cpu_s) / millions);
    report.add("resident_mib", used.resident >> 20);
    Ok(report)
}
