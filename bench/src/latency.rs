//! Spans of time, counted: what was how long, and how late.

use crate::report::Report;
use hdrhistogram::Histogram;

/// An hour: whatever takes longer counts as that.
const MAX_US: u64 = 3_600_000_000;

/// Spans in microseconds, to three digits.
#[derive(Debug)]
pub struct Latency {
    spans: Histogram<u64>,
    early: u64,
}

impl Latency {
    /// None yet.
    pub fn new() -> Self {
        Self { spans: Histogram::new_with_bounds(1, MAX_US, 3).expect("the bounds are in order"), early: 0 }
    }

    /// Counts one. A negative span is one that ended before it began: too early.
    pub fn add(&mut self, us: i64) {
        self.early += u64::from(us < 0);
        self.spans.saturating_record(us.clamp(1, MAX_US as i64) as u64);
    }

    /// Takes in what another has counted.
    pub fn merge(&mut self, other: &Self) {
        self.early += other.early;
        self.spans.add(&other.spans).expect("both have the same bounds");
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.spans.len()
    }

    /// How many were negative.
    pub fn early(&self) -> u64 {
        self.early
    }

    /// The span in ms that so many percent do not exceed.
    pub fn ms(&self, percent: f64) -> f64 {
        self.spans.value_at_percentile(percent) as f64 / 1000.0
    }

    /// Adds median, 99 %, 99.9 % and the greatest to a report, as `NAME_p50_ms` and so on.
    pub fn tell(&self, name: &str, report: &mut Report) {
        for (percent, word) in [(50.0, "p50"), (99.0, "p99"), (99.9, "p999"), (100.0, "max")] {
            report.add_rounded(&format!("{name}_{word}_ms"), self.ms(percent));
        }
    }
}
