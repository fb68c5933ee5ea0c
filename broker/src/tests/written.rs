//! What one far message costs in writes, from its acceptance to its delivery: told by two lives that are the same but
//! for it.

use super::*;
use env::Disk;
use std::io;
use std::sync::{Arc, Mutex};
use wire::recall_handle::RecallHandle;

const DAY: i64 = 86_400_000;
/// When it is due, in ms from the beginning.
const DUE: i64 = 400 * DAY + 4_321;
/// Days from one start to the next.
const LIFE: i64 = 20;
const STARTS: i64 = 20;

/// Bytes by what they were written for, and in how many writes the far message's body was found.
#[derive(Clone, Debug, Default)]
struct Written {
    bytes: BTreeMap<&'static str, u64>,
    copies: BTreeMap<&'static str, u64>,
}

/// A disk that counts what is written to it.
struct CountingDisk {
    disk: SimDisk,
    written: Arc<Mutex<Written>>,
}

fn purpose(file: &str, bytes: &[u8]) -> &'static str {
    let known = ["state-", "manifest", "keys-", "pending-", "queues-"];
    match file {
        "log-durable" => "note",
        _ if file.starts_with("log-") && bytes.iter().all(|byte| *byte == 0) => "log, zeros ahead",
        _ if file.starts_with("log-") => "log",
        _ if file.starts_with("timer-") && file.rsplit('.').next() == Some("dat") => "buckets, bodies",
        _ if file.starts_with("timer-") => "buckets, index",
        _ => known.into_iter().find(|known| file.starts_with(known)).expect("a file of a known kind"),
    }
}

fn far_body() -> String {
    let line = |i: u32| format!("{i:03} of the far message; ");
    let mut body: String = (0..64).map(line).collect();
    body.truncate(1024);
    body
}

impl Disk for CountingDisk {
    fn write_at(&self, name: &str, at: u64, bytes: &[u8]) -> io::Result<()> {
        let (purpose, body) = (purpose(name, bytes), far_body());
        let copies = bytes.windows(body.len()).filter(|window| *window == body.as_bytes()).count();
        let mut written = self.written.lock().unwrap();
        *written.bytes.entry(purpose).or_default() += bytes.len() as u64;
        if copies > 0 {
            *written.copies.entry(purpose).or_default() += copies as u64;
        }
        self.disk.write_at(name, at, bytes)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.disk.list()
    }

    fn len(&self, name: &str) -> io::Result<u64> {
        self.disk.len(name)
    }

    fn read_at(&self, name: &str, at: u64, into: &mut [u8]) -> io::Result<usize> {
        self.disk.read_at(name, at, into)
    }

    fn set_len(&self, name: &str, length: u64) -> io::Result<()> {
        self.disk.set_len(name, length)
    }

    fn sync(&self, name: &str) -> io::Result<()> {
        self.disk.sync(name)
    }

    fn sync_folder(&self) -> io::Result<()> {
        self.disk.sync_folder()
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.disk.remove(name)
    }

    fn free_bytes(&self) -> io::Result<u64> {
        self.disk.free_bytes()
    }
}

fn config() -> Config {
    Config {
        log: journal::Options { segment_bytes: 128 << 10, step_bytes: 64 << 10, tail_bytes: 16 << 10 },
        max_body_bytes: 16 << 10,
        // Each index is made one again and again.
        buckets: timer::Shape { chunks_max: 3, ..timer::Shape::default() },
        ..super::config()
    }
}

/// A life, and what it left behind.
struct Life {
    rig: Rig,
    written: Arc<Mutex<Written>>,
    reshaped: timer::Reshaped,
    segments_expired: u64,
    checkpoints: u64,
}

impl Life {
    fn begin() -> Self {
        let written = Arc::default();
        let rig = Self::open(SimDisk::new(7), at(0), &written);
        Self { rig, written, reshaped: timer::Reshaped::default(), segments_expired: 0, checkpoints: 0 }
    }

    fn open(disk: SimDisk, now: Now, written: &Arc<Mutex<Written>>) -> Rig {
        let counting = CountingDisk { disk: disk.clone(), written: Arc::clone(written) };
        Rig::open_on(Arc::new(counting), disk, config(), now)
    }

    fn count(&mut self) {
        let stats = self.rig.broker.stats();
        self.reshaped.add(stats.reshaped);
        self.segments_expired += stats.segments_expired;
        self.checkpoints += stats.checkpoints;
    }

    fn killed(mut self) -> Self {
        self.count();
        let now = Now { wall: Timestamp::from_millis(self.rig.now.wall.as_millis() + 1000), ..self.rig.now };
        let rig = Self::open(self.rig.disk.after_kill(), now, &self.written);
        Self { rig, ..self }
    }

    /// Where the clock stands, in ms from the beginning.
    fn clock(&self) -> i64 {
        self.rig.now.wall.as_millis() - BEGIN
    }

    /// Others come: some for soon, some for a day between, some for the far one's day and its very minutes; some are
    /// called back; and as much for at once as fills a segment.
    fn others(&mut self, number: i64) {
        let left = DUE - self.clock();
        let delays =
            [700, 90_000, 3 * 3_600_000, 5 * DAY, 17 * DAY, 33 * DAY, left - 3_600_000, left - 5, left];
        for (i, delay) in delays.into_iter().chain((0..6).map(|i| left + 1 + i * 61_000)).enumerate() {
            let (id, delay) = (format!("{number}-{i}"), delay.max(1).to_string());
            let properties = [("TIMER_DELAY_MS", &*delay), ("UNIQ_KEY", &*id), ("KEYS", "other")];
            let sent = self.rig.send(send("u", &"x".repeat(500), &properties));
            if i % 4 == 3 {
                let handle = RecallHandle::decode(&sent.recall_handle.unwrap()).unwrap();
                assert_eq!(self.rig.ask(Recall { topic: topic("u"), handle }), Ok(Recalled::Recalled));
            }
        }
        for _ in 0..10 {
            self.rig.send(send("u", &"y".repeat(14_000), &[]));
        }
    }
}

/// 400 days with twenty starts; with the far message, or without. Gives the bytes of it that are stored.
fn four_hundred_days(far: bool) -> (u64, Life) {
    let mut life = Life::begin();
    life.rig.topic("t", 1);
    life.rig.topic("u", 1);
    let mut stored = 0;
    if far {
        let properties = [("TIMER_DELAY_MS", &*DUE.to_string()), ("UNIQ_KEY", "far"), ("KEYS", "order")];
        let Sent { log_offset, .. } = life.rig.send(send("t", &far_body(), &properties));
        stored = life.rig.ask(View { log_offset }).expect("it is there").len() as u64;
    }
    for start in 1..=STARTS {
        life.others(start);
        life.rig.pass(11 * 60_000);
        life.rig.pass(start * LIFE * DAY - DAY - life.clock());
        life.others(100 + start);
        life.rig.pass(700_000);
        life = life.killed();
        assert_eq!(life.rig.pull("t", 0).max_offset, QueueOffset(0), "before its time, start {start}");
    }
    life.rig.pass(DUE - 1 - life.clock());
    assert_eq!(life.rig.pull("t", 0).max_offset, QueueOffset(0), "a millisecond early");
    life.rig.pass(1);
    let there: Vec<String> = if far { vec![far_body()] } else { Vec::new() };
    assert_eq!(life.rig.bodies("t"), there, "on its very millisecond");
    life.rig.pass(DAY);
    life = life.killed();
    life.rig.pass(DAY);
    assert_eq!(life.rig.bodies("t"), there, "exactly once");
    assert_eq!(life.rig.ask(CountPending).get(&topic("t")), None, "it waits no longer");
    life.count();
    (stored, life)
}

#[test]
fn a_message_due_in_400_days_comes_on_its_millisecond_and_is_written_four_times() {
    let (stored, with) = four_hundred_days(true);
    let (_, without) = four_hundred_days(false);
    let timer::Reshaped { splits, merges, bodies, .. } = with.reshaped;
    assert!(splits > 20 && merges > 5 && bodies > 300, "{:?}", with.reshaped);
    assert!(with.segments_expired > 20 && with.checkpoints > 60, "the log is cleaned");
    let (all, rest) = (with.written.lock().unwrap().clone(), without.written.lock().unwrap().clone());
    println!(
        "{} checkpoints, {:?}, {} segments went",
        with.checkpoints, with.reshaped, with.segments_expired
    );
    let mut for_it = BTreeMap::new();
    for (purpose, bytes) in &all.bytes {
        let more = *bytes as i64 - rest.bytes.get(purpose).map_or(0, |bytes| *bytes as i64);
        println!("{purpose:>18}: {bytes:>9} bytes in all, {more:>6} of them for it");
        for_it.insert(*purpose, more);
    }
    println!("copies of its body: {:?}; stored in {stored} bytes", all.copies);
    assert_eq!(all.copies, BTreeMap::from([("log", 2), ("buckets, bodies", 2)]));
    let for_it = |purpose| u64::try_from(for_it[purpose]).expect("more is written with it");
    let bodies = for_it("log") + for_it("buckets, bodies");
    let hundredths = bodies * 100 / stored;
    println!("{hundredths} hundredths of what is stored");
    assert!(hundredths <= 430, "{hundredths} hundredths of what is stored, which is {stored} bytes");
}
