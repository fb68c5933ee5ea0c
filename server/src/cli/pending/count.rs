//! `duemq pending count`: how many wait, of which topics, and when they are due.

use super::brokers::Brokers;
use crate::cli::{CountPending, reach, when};
use crate::exit::{Exit, Failure};
use anyhow::anyhow;
use model::TopicName;
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use wire::remoting::pending::Histogram;

/// Rows of a histogram, at most.
const ROWS_MAX: usize = 10_000;
/// Characters of the longest bar.
const BAR: u64 = 40;

/// Prints how many wait of each topic, or how many are due in each stretch of time.
pub fn count(args: &CountPending) -> Result<(), Failure> {
    let Some(by) = args.by else { return by_topic(args) };
    let topic = args.topic.as_deref().map(TopicName::new).transpose().map_err(reach::wrong)?;
    let width_ms = i64::try_from(by.as_millis()).ok().filter(|ms| *ms > 0);
    let width_ms =
        width_ms.ok_or_else(|| reach::wrong(anyhow!("--by {by:?}: a stretch is 1ms long at least")))?;
    let moment =
        |moment: &Option<jiff::ZonedDateTime>| moment.as_ref().map(|at| at.timestamp().as_millisecond());
    let (from, until) = (moment(&args.from), moment(&args.until));
    let topic = topic.map(|topic| topic.to_string());
    let which = Histogram { topic, from, until, width_ms, ..Histogram::default() };
    reach::run(async {
        let counts = stretches(args, &which).await?;
        if args.json {
            let counts: Vec<_> =
                counts.iter().map(|(begin, count)| json!({ "begin": begin, "count": count })).collect();
            return reach::say(&format!("{}\n", json!({ "byMs": width_ms, "counts": counts })));
        }
        reach::say(&bars(&counts, width_ms))
    })
}

fn by_topic(args: &CountPending) -> Result<(), Failure> {
    reach::run(async {
        let mut brokers = Brokers::of(&args.server, None).await?;
        let mut all: BTreeMap<String, u64> = BTreeMap::new();
        for (name, broker) in std::mem::take(&mut brokers.all) {
            if let Some(counts) = brokers.answered(&name, broker.count_pending().await)? {
                for (topic, count) in counts.pending {
                    *all.entry(topic).or_default() += count;
                }
            }
        }
        brokers.end()?;
        let total: u64 = all.values().sum();
        if args.json {
            return reach::say(&format!("{}\n", json!({ "pending": all, "inAll": total })));
        }
        let width = all.keys().map(String::len).max().unwrap_or(0).max("in all".len());
        let mut text = String::new();
        for (topic, count) in &all {
            writeln!(text, "{topic:<width$}  {count:>12}").expect("a string takes all");
        }
        writeln!(text, "{:<width$}  {total:>12}", "in all").expect("a string takes all");
        reach::say(&text)
    })
}

/// By when each stretch begins, of all brokers together.
async fn stretches(args: &CountPending, which: &Histogram) -> Result<BTreeMap<i64, u64>, Failure> {
    let mut brokers = Brokers::of(&args.server, which.topic.as_deref()).await?;
    let mut all: BTreeMap<i64, u64> = BTreeMap::new();
    for (name, broker) in std::mem::take(&mut brokers.all) {
        let mut ask = which.clone();
        loop {
            let answer = broker.histogram(&ask).await;
            let Some((stretches, next)) = brokers.answered(&name, answer)? else { break };
            for (begin, count) in stretches.counts {
                *all.entry(begin).or_default() += count;
            }
            if all.len() > ROWS_MAX {
                let why =
                    anyhow!("there are more than {ROWS_MAX} stretches that long; --by tells a longer one");
                return Err(Failure::new(Exit::Refused, why));
            }
            (ask.after_deliver_at, ask.after_log_offset) = (next.next_deliver_at, next.next_log_offset);
            if next.next_deliver_at.is_none() {
                break;
            }
        }
    }
    brokers.end()?;
    Ok(all)
}

/// A row for each stretch that is not empty: when it begins, how many, and a bar. A row of dots stands for empty ones.
fn bars(counts: &BTreeMap<i64, u64>, width_ms: i64) -> String {
    let most = counts.values().copied().max().unwrap_or(1).max(1);
    let mut text = String::new();
    let mut expected = None;
    for (begin, count) in counts {
        if expected.is_some_and(|expected| expected != *begin) {
            text.push_str("...\n");
        }
        expected = begin.checked_add(width_ms);
        let bar = u128::from(*count) * u128::from(BAR);
        let bar = "#".repeat(bar.div_ceil(u128::from(most)) as usize);
        writeln!(text, "{}  {count:>12}  {bar}", when::shown(*begin)).expect("a string takes all");
    }
    let total: u64 = counts.values().sum();
    let width = when::shown(0).len();
    writeln!(text, "{:<width$}  {total:>12}", "in all").expect("a string takes all");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_the_counts_and_none_is_lost_among_large_ones() {
        let text = bars(&BTreeMap::from([(0, 1000), (60_000, 1), (600_000, 500)]), 60_000);
        let rows: Vec<Vec<&str>> =
            text.lines().map(|line| line.split_whitespace().skip(2).collect()).collect();
        assert_eq!(rows[0], ["1000", &"#".repeat(40)]);
        assert_eq!(rows[1], ["1", "#"]);
        assert!(rows[2].is_empty(), "{text}");
        assert_eq!(rows[3], ["500", &"#".repeat(20)]);
        assert_eq!(rows[4], ["1501"]);
    }
}
