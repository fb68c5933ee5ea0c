//! Checkpoint: what is derived from the log is written to files, so that a start reads the log from there only.
//!
//! It begins in a tick, when enough has come since the last: the broker ends what it was about to say to the log,
//! and gives away what memory holds beyond the files, mostly by handing over whole vectors. Once the log is durable
//! up to that place, a worker writes it all (timer buckets, queues, keys, state), and at last a manifest, which
//! makes it count. Until then nothing has happened: a failure gives everything back, and it is tried again later.

use crate::manifest::{self, IndexFile, KEYS, Manifest, PENDING, QUEUES, STATE};
use crate::{Broker, Halted, state};
use env::Disk;
use journal::{Extent, Reader, SyncFailed};
use model::{LogOffset, Monotonic, Now, Timestamp};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use store::queue_file::{self, Part};
use store::{KeyIndex, KeyLine, key_run};
use timer::{Cut, Reshaped};

/// How long a checkpoint that failed waits before it is tried again, at most.
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// Less than this of log since the last checkpoint is not worth one at a stop.
const STOP_BYTES_MIN: u64 = 256 << 10;

/// Where checkpoints have got to.
#[derive(Debug, Default)]
pub(crate) struct Checkpoints {
    /// The last one that stands; its generation is 0 where there is none.
    pub(crate) last: Arc<Manifest>,
    /// The highest generation that was ever begun: files of one that failed may be there.
    generation: u64,
    /// One that waits for the log to be durable.
    waiting: Option<Box<CheckpointJob>>,
    /// Whether one is being written.
    out: bool,
    /// When the last one began, or the start was.
    began: Monotonic,
    /// When to try again after one that failed, and how long the pause was.
    pause: Option<(Monotonic, Duration)>,
    /// Why, in words.
    failure: Option<String>,
    /// Places where checkpoints began, and when: the latest of those that are old, and all since.
    marks: Vec<(LogOffset, Timestamp)>,
}

impl Checkpoints {
    pub(crate) fn new(last: Manifest, now: Now) -> Self {
        let marks = vec![(last.checkpoint, last.written_at)];
        Self {
            generation: last.generation,
            last: Arc::new(last),
            began: now.monotonic,
            marks,
            ..Self::default()
        }
    }

    /// A place of the log before which all had been there for `age`, as far up as is known.
    pub(crate) fn old_before(&self, now: Timestamp, age: Duration) -> LogOffset {
        let age_ms = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
        let old = self.marks.iter().rev().find(|(_, at)| now.millis_since(*at) >= age_ms);
        old.map_or(LogOffset(0), |(place, _)| *place)
    }

    /// Remembers where a checkpoint began, and forgets what is of no use to those who ask for that `age`.
    fn mark(&mut self, now: Timestamp, age: Duration) {
        self.marks.push((self.last.checkpoint, self.last.written_at));
        let old = self.old_before(now, age);
        self.marks.retain(|(place, _)| *place >= old);
    }

    /// Whether one is under way.
    pub(crate) fn is_busy(&self) -> bool {
        self.out || self.waiting.is_some()
    }
}

/// A checkpoint to be written, by any thread.
#[derive(Debug)]
pub struct CheckpointJob {
    generation: u64,
    at: LogOffset,
    epoch: u32,
    written_at: Timestamp,
    last: Arc<Manifest>,
    cut: Cut,
    state: Vec<u8>,
    parts: Vec<Part>,
    keys: Vec<Arc<KeyIndex>>,
    reader: Reader,
    /// Where the log begins: what lies before is told of no longer.
    first: LogOffset,
    ages: Vec<(LogOffset, Timestamp)>,
}

/// What became of it.
#[derive(Debug)]
pub struct CheckpointDone {
    job: Box<CheckpointJob>,
    result: Result<(Manifest, Reshaped), CheckpointError>,
}

/// Why a checkpoint does not stand. The one before it does.
#[derive(Debug, thiserror::Error)]
enum CheckpointError {
    #[error("writing timer buckets")]
    Timer(#[from] timer::FileError),
    #[error("writing indexes")]
    Index(#[from] store::FileError),
    #[error("writing the manifest")]
    Manifest(#[from] manifest::WriteError),
    #[error("writing the state")]
    State(#[source] io::Error),
    #[error("syncing {file}")]
    Sync {
        file: String,
        #[source]
        source: io::Error,
    },
}

impl CheckpointError {
    /// A sync that failed: nothing the kernel says of these files can be believed any more.
    fn fatal(self) -> Result<SyncFailed, Self> {
        match self {
            Self::Timer(timer::FileError::Sync { file, source })
            | Self::Index(store::FileError::Sync { file, source })
            | Self::Manifest(manifest::WriteError::Sync { file, source })
            | Self::Sync { file, source } => Ok(SyncFailed { file, source }),
            other => Err(other),
        }
    }
}

/// An error and its causes, in one line.
fn in_words(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

impl CheckpointJob {
    /// Writes and syncs all of it. Blocks, for as long as that takes.
    pub fn run(self: Box<Self>, disk: &dyn Disk) -> CheckpointDone {
        let result = self.write(disk);
        CheckpointDone { job: self, result }
    }

    fn write(&self, disk: &dyn Disk) -> Result<(Manifest, Reshaped), CheckpointError> {
        let in_log = |entries: &[timer::Entry]| {
            let extent = |entry: &timer::Entry| Extent { at: entry.log_offset, length: entry.length };
            let extents: Vec<Extent> = entries.iter().map(extent).collect();
            let read = self.reader.read_many(disk, &extents).into_iter().zip(&extents);
            // What could not be read with others is read alone: then it is known why not.
            read.map(|(found, &extent)| found.map_or_else(|| self.reader.read(disk, extent), Ok)).collect()
        };
        let spilt = self.cut.spill(disk, &in_log)?;
        let mut next = Manifest {
            generation: self.generation,
            checkpoint: self.at,
            epoch: self.epoch,
            written_at: self.written_at,
            state_bytes: self.state.len() as u64,
            timer: Arc::new(spilt.catalog),
            ages: self.ages.clone(),
            ..(*self.last).clone()
        };
        next.queues.retain(|file| file.to > self.first);
        next.keys.retain(|file| file.to > self.first);
        if !self.parts.is_empty() {
            let file = manifest::name(QUEUES, self.generation);
            queue_file::write(disk, &file, &self.parts)?;
            next.queues.push(self.measure(&file, disk)?);
        }
        let (visible, pending) = self.lines(&spilt.waiting);
        if !visible.is_empty() {
            let file = manifest::name(KEYS, self.generation);
            key_run::write(disk, &file, &visible)?;
            next.keys.push(self.measure(&file, disk)?);
        }
        self.write_pending(&pending, &mut next, disk)?;
        let file = manifest::name(STATE, self.generation);
        disk.write_at(&file, 0, &self.state).map_err(CheckpointError::State)?;
        let sync = |file: String| move |source| CheckpointError::Sync { file, source };
        disk.sync(&file).map_err(sync(file))?;
        // The names of all these before the one that makes them count.
        disk.sync_folder().map_err(sync("the data folder".to_owned()))?;
        next.write(disk)?;
        next.remove_others(disk);
        Ok((next, spilt.done))
    }

    fn measure(&self, file: &str, disk: &dyn Disk) -> Result<IndexFile, CheckpointError> {
        let bytes = disk.len(file).map_err(CheckpointError::State)?;
        Ok(IndexFile { generation: self.generation, bytes, to: self.at })
    }

    /// Writes the keys of what waits, and merges runs of about one size, so that they stay few: a line is written anew
    /// each time their number doubles.
    fn write_pending(
        &self,
        lines: &[KeyLine],
        next: &mut Manifest,
        disk: &dyn Disk,
    ) -> Result<(), CheckpointError> {
        // This checkpoint may write several.
        let mut numbers = (self.generation << 8..).map(|number| (number, manifest::name(PENDING, number)));
        let mut numbered = || numbers.next().expect("numbers do not end");
        let add = |generation, file: &str| -> Result<IndexFile, CheckpointError> {
            Ok(IndexFile { generation, ..self.measure(file, disk)? })
        };
        if !lines.is_empty() {
            let (number, file) = numbered();
            key_run::write(disk, &file, lines)?;
            next.pending.push(add(number, &file)?);
        }
        while let [.., older, newer] = next.pending[..]
            && newer.bytes.saturating_mul(2) > older.bytes
        {
            let (number, file) = numbered();
            let runs = [older, newer].map(|run| manifest::name(PENDING, run.generation));
            let keep =
                |line: &KeyLine| next.timer.may_wait((Timestamp::from_millis(line.word as i64), line.at));
            let lines = key_run::merge(disk, [&runs[0], &runs[1]], &file, &keep)?;
            next.pending.truncate(next.pending.len() - 2);
            if lines > 0 {
                next.pending.push(add(number, &file)?);
            }
        }
        Ok(())
    }

    /// The keys as they are written: of visible messages, and of those that wait.
    fn lines(&self, waiting: &[timer::Entry]) -> (Vec<KeyLine>, Vec<KeyLine>) {
        let (mut visible, mut pending) = (Vec::new(), Vec::new());
        for (hash, found) in self.keys.iter().flat_map(|index| index.iter()) {
            let at = found.extent.at;
            if !found.parked {
                visible.push(KeyLine { hash, at, word: u64::from(found.extent.length) });
            } else if let Ok(place) = waiting.binary_search_by_key(&at, |entry| entry.log_offset) {
                let due = waiting[place].deliver_at.as_millis();
                pending.push(KeyLine { hash, at, word: due as u64 });
            }
        }
        visible.sort_unstable();
        pending.sort_unstable();
        (visible, pending)
    }
}

impl Broker {
    /// Why the last checkpoint could not be written, where none could since: the log grows until one can.
    pub fn checkpoint_failure(&self) -> Option<&str> {
        self.checkpoints.failure.as_deref()
    }

    /// Begins a checkpoint where it is time for one.
    pub(crate) fn checkpoint(&mut self) {
        if self.checkpoint_due().is_some_and(|at| at <= self.now.monotonic) {
            self.begin_checkpoint();
        }
    }

    /// When the next checkpoint begins, as things are; `None` while one is under way, and where there is nothing
    /// to write.
    pub(crate) fn checkpoint_due(&self) -> Option<Monotonic> {
        let Checkpoints { last, began, pause, .. } = &self.checkpoints;
        let bytes = self.log.appended().0 - last.checkpoint.0.min(self.log.appended().0);
        if self.checkpoints.is_busy() {
            return None;
        }
        if bytes == 0 {
            // Nothing has come, but a bucket may be too wide for how near it is.
            let split = self.timer.next_split()?;
            return Some(
                self.now
                    .monotonic
                    .after(self.now.until(split))
                    .max(began.after(self.config.checkpoint_every)),
            );
        }
        let full =
            bytes >= self.config.checkpoint_bytes || self.timer.unsaved() >= self.config.checkpoint_entries;
        let at = if full { *began } else { began.after(self.config.checkpoint_every) };
        Some(pause.map_or(at, |(until, _)| until.max(at)))
    }

    pub(crate) fn begin_checkpoint(&mut self) {
        self.write_leases();
        self.write_offsets_now();
        self.put_back_due();
        let checkpoints = &mut self.checkpoints;
        checkpoints.generation += 1;
        checkpoints.began = self.now.monotonic;
        let (generation, last) = (checkpoints.generation, Arc::clone(&checkpoints.last));
        let at = self.log.appended();
        let job = CheckpointJob {
            generation,
            at,
            epoch: self.log.epoch(),
            written_at: self.now.wall,
            last,
            // Before the timer is cut, for it counts.
            state: state::encode(self),
            cut: self.timer.cut(at),
            parts: self.store.freeze(),
            keys: self.keys.freeze(),
            reader: self.log.reader(),
            first: self.log.first(),
            ages: self.ages(at),
        };
        self.checkpoints.waiting = Some(Box::new(job));
    }

    /// The checkpoint to be written, once the log is durable up to it.
    pub(crate) fn poll_checkpoint(&mut self) -> Option<Box<CheckpointJob>> {
        let durable = self.log.durable();
        let job = self.checkpoints.waiting.take_if(|job| job.at <= durable)?;
        self.checkpoints.out = true;
        Some(job)
    }

    /// A checkpoint came back.
    pub(crate) fn checkpoint_done(&mut self, done: CheckpointDone) -> Result<(), Halted> {
        self.checkpoints.out = false;
        let CheckpointDone { job, result } = done;
        match result.map_err(CheckpointError::fatal) {
            Ok((manifest, reshaped)) => {
                self.timer.commit(Arc::clone(&manifest.timer));
                self.store.saved(&job.parts);
                self.keys.saved();
                self.checkpoints.last = Arc::new(manifest);
                self.checkpoints.mark(self.now.wall, self.config.dedup_window);
                self.checkpoints.pause = None;
                self.checkpoints.failure = None;
                self.stats.checkpoints += 1;
                self.stats.reshaped.add(reshaped);
                self.expire_log();
                Ok(())
            }
            Err(Ok(sync)) => Err(self.halt(sync)),
            Err(Err(error)) => {
                self.timer.give_up(job.cut);
                self.checkpoints.failure = Some(in_words(&error));
                let pause = self.checkpoints.pause.map_or(Duration::from_millis(500), |(_, pause)| pause * 2);
                let pause = pause.min(PAUSE_MAX);
                self.checkpoints.pause = Some((self.now.monotonic.after(pause), pause));
                self.stats.write_errors += 1;
                Ok(())
            }
        }
    }

    /// The last checkpoint of a life, where it is worth one.
    pub(crate) fn checkpoint_at_stop(&mut self) -> Option<Box<CheckpointJob>> {
        let since = self.checkpoints.last.checkpoint.0;
        let worth =
            self.log.appended().0.saturating_sub(since) >= STOP_BYTES_MIN.min(self.config.checkpoint_bytes);
        // One that fails is not tried again: the log holds everything, and whoever stops waits.
        let may = self.checkpoints.pause.is_none() && self.failing.is_none();
        if worth && may && !self.checkpoints.is_busy() {
            self.begin_checkpoint();
        }
        self.poll_checkpoint()
    }
}
