//! A log under test, and what must and may be in it.
#![expect(clippy::unwrap_used, reason = "all of this is test code, though not all of it is marked so")]

use std::sync::Arc;

use env::{Disk, Fault, Seed, SimDisk};
use journal::{Header, Job, Kind, Log, OpenError, Options, Recovery};
use model::LogOffset;

/// Segments so small that a few records fill one.
pub const OPTIONS: Options = Options { segment_bytes: 4096, step_bytes: 2048, tail_bytes: 2048 };

/// A record as far as tests compare it: place and payload.
pub type Entry = (u64, Vec<u8>);

pub fn header() -> Header {
    Header { kind: Kind::Message, flags: 0, due_ms: 0, reference: LogOffset(0) }
}

pub fn open(disk: &Arc<dyn Disk>, options: &Options) -> Result<(Log, Recovery, Vec<Entry>), OpenError> {
    let mut entries = Vec::new();
    let mut each = |record: journal::Record<'_>| entries.push((record.at.0, record.payload.to_vec()));
    let (log, recovery) = Log::open(Arc::clone(disk), options.clone(), &mut each)?;
    Ok((log, recovery, entries))
}

pub fn open_sim(disk: &SimDisk) -> Result<(Log, Recovery, Vec<Entry>), OpenError> {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    open(&disk, &OPTIONS)
}

pub fn append(log: &mut Log, payload: &[u8]) -> Entry {
    let extent = log.append(header(), payload.len(), |_, buffer| {
        buffer.extend_from_slice(payload);
    });
    assert_eq!(extent.length as usize, payload.len());
    (extent.at.0, payload.to_vec())
}

/// Writes, and runs every job there is until none is left.
pub fn settle(log: &mut Log, disk: &dyn Disk) {
    log.write().unwrap();
    while let Some(job) = log.poll_job() {
        log.done(job.run(disk)).unwrap();
    }
}

/// A place behind the record, before which all of it lies.
pub fn end_of(entry: &Entry) -> u64 {
    entry.0 + 40 + entry.1.len() as u64
}

/// What the log must hold, in this order, and what it may hold behind that, in this order.
#[derive(Default)]
pub struct Oracle {
    must: Vec<Entry>,
    /// So many of them are durable; the others must outlive the process alone.
    durable: usize,
    may: Vec<Entry>,
}

impl Oracle {
    pub fn appended(&mut self, entry: Entry) {
        self.may.push(entry);
    }

    /// The log says how far it has come.
    pub fn promised(&mut self, log: &Log) {
        let before = |place: LogOffset| move |entry: &&Entry| end_of(entry) <= place.0;
        let written = self.may.iter().take_while(before(log.written())).count();
        self.must.extend(self.may.drain(..written));
        self.durable = self.must.iter().take_while(before(log.durable())).count();
    }

    /// What was no more than written may be lost.
    pub fn power_lost(&mut self) {
        let doubtful = self.must.split_off(self.durable);
        self.may.splice(..0, doubtful);
    }

    /// A start handed these on.
    pub fn opened(&mut self, entries: Vec<Entry>, facts: &str) {
        let must = self.must.len();
        assert!(entries.len() >= must, "lost {} of {must} promised records; {facts}", must - entries.len());
        for (found, expected) in entries.iter().zip(self.must.iter().chain(&self.may)) {
            assert_eq!(found.0, expected.0, "another place; {facts}");
            assert!(found.1 == expected.1, "another payload at {}; {facts}", found.0);
        }
        let most = must + self.may.len();
        assert!(entries.len() <= most, "{} records from nowhere; {facts}", entries.len() - most);
        self.must = entries;
        self.durable = self.must.len();
        self.may.clear();
    }
}

/// One life of a server: appends, writes, and lets jobs be done now or later, as the seed says, until it is
/// through or something fails for good.
pub fn live(disk: &SimDisk, seed: &mut Seed, life: u8, oracle: &mut Oracle, facts: &str) {
    let Ok((mut log, recovery, entries)) = open_sim(disk) else {
        assert!(disk.crashed(), "does not open: {:?}; {facts}", open_sim(disk).err());
        return;
    };
    assert_eq!(recovery.records, entries.len() as u64, "{facts}");
    oracle.opened(entries, facts);
    let mut out: Vec<Job> = Vec::new();
    for step in 0..30u8 {
        for _ in 0..seed.below(4) {
            // Few lengths, so that records of different lives line up.
            let length = *seed.pick(&[0, 24, 24, 200, 1000]);
            let entry = append(&mut log, &vec![life * 32 + step; length]);
            oracle.appended(entry);
        }
        if seed.chance(0.05) {
            disk.inject(Fault::FailWrites(1));
        }
        if seed.chance(0.01) {
            disk.inject(Fault::FailSyncs(1));
        }
        // A write that failed is tried again in the next step.
        let _ = log.write();
        oracle.promised(&log);
        out.extend(log.poll_job());
        while !out.is_empty() && seed.chance(0.6) {
            let job = out.remove(seed.below(out.len() as u64) as usize);
            if log.done(job.run(disk)).is_err() {
                log.write().expect_err("a poisoned log takes nothing");
                assert!(log.poll_job().is_none());
                return;
            }
        }
        oracle.promised(&log);
        if disk.crashed() {
            return;
        }
        if seed.chance(0.1) {
            log.forget(LogOffset(0));
        }
    }
}
