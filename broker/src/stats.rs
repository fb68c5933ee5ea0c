//! What the broker counts. The server shows it.

/// Counts since the start, and sizes now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Messages stored to be visible at once.
    pub stored: u64,
    /// Messages parked for a later moment.
    pub scheduled: u64,
    /// Parked messages delivered.
    pub delivered: u64,
    /// Delayed messages that were called back.
    pub recalled: u64,
    /// Delayed messages that were given another moment.
    pub rescheduled: u64,
    /// Deliveries whose bytes had to be read first, since they were not read ahead in time.
    pub unstaged: u64,
    /// The greatest lateness of a delivery, in ms, from its moment to the append.
    pub lateness_max_ms: i64,
    /// Messages that came back because nobody acked them in time.
    pub redelivered: u64,
    /// Messages moved to a dead-letter topic.
    pub dead_letters: u64,
    /// Levels above the last that were taken as the last.
    pub clamped_levels: u64,
    /// Messages dropped since their topic is gone.
    pub orphaned: u64,
    /// Reads for deliveries that failed.
    pub read_errors: u64,
    /// Writes of the log that failed.
    pub write_errors: u64,
    /// Checkpoints written.
    pub checkpoints: u64,
    /// What they did to the timer's buckets besides adding to them.
    pub reshaped: timer::Reshaped,
    /// Segments of the log that were let go of.
    pub segments_expired: u64,
    /// Messages that wait for their moment now.
    pub pending: u64,
    /// Of these, what is due and held since nobody may write to its topic.
    pub held: u64,
    /// Half messages that have not ended.
    pub halves: u64,
    /// Requests that wait for messages now.
    pub parked: u64,
    /// Replies that wait for the log now.
    pub unanswered: u64,
}
