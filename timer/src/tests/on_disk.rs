//! With checkpoints, loads and crashes in between, the timer still does what a sorted list would do.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use env::{Disk, Seed, SimDisk};

use super::*;
use crate::window::WINDOW_MS;

/// What the log would hold.
#[derive(Clone, Copy, Debug)]
enum Event {
    Put(Entry),
    Gone(Entry),
}

/// A checkpoint as its manifest would hold it.
#[derive(Clone, Default)]
struct Manifest {
    catalog: Vec<u8>,
    at: LogOffset,
    /// Events before it.
    events: usize,
    counts: Vec<(TopicId, u8, u64)>,
}

struct World {
    seed: Seed,
    timer: Timer,
    disk: SimDisk,
    now: i64,
    next: u64,
    log: Vec<Event>,
    list: BTreeMap<Key, Entry>,
    manifest: Manifest,
    writing: Option<(Cut, Manifest)>,
    loads: Vec<LoadJob>,
    /// A look at what lies in files of the second that a moment lies in.
    question: Option<(Timestamp, Scan)>,
    met: Met,
}

/// How often what is to be shown has happened.
#[derive(Default)]
struct Met {
    taken: usize,
    loaded: usize,
    found: usize,
    refused: usize,
    restarts: usize,
    commits: usize,
    bodies: usize,
    splits: u64,
    merges: u64,
    rewrites: u64,
    scanned: usize,
    seconds: usize,
    counted: usize,
}

/// So that buckets are made anew often.
const SHAPE: Shape = Shape { copy_ahead_ms: 1_800_000, chunks_max: 3, dead_bytes_min: 200 };

/// The bytes of a message.
fn body(entry: &Entry) -> bytes::Bytes {
    (0..u64::from(entry.length)).map(|i| (entry.log_offset.0 + i) as u8).collect()
}

impl World {
    fn new(seed: u64) -> Self {
        let mut seed = Seed::new(seed);
        let disk = SimDisk::new(seed.next_u64());
        let now = START + seed.below(200 * WINDOW_MS as u64) as i64;
        let mut timer = Timer::new(at(now)).shaped(SHAPE);
        timer.count_seconds(true);
        Self {
            seed,
            timer,
            disk,
            now,
            next: 8,
            log: Vec::new(),
            list: BTreeMap::new(),
            manifest: Manifest::default(),
            writing: None,
            loads: Vec::new(),
            question: None,
            met: Met::default(),
        }
    }

    fn distance(&mut self) -> i64 {
        let far = 10_i64.pow(1 + self.seed.below(10) as u32);
        self.seed.below(far as u64) as i64
    }

    fn schedule(&mut self) {
        let due = self.now + self.distance();
        for i in 0..=self.seed.below(20) {
            self.next += 8;
            let mut entry = entry(due + (i % 3) as i64, self.next);
            entry.level = (self.next % 2) as u8;
            self.timer.schedule(entry);
            self.log.push(Event::Put(entry));
            self.list.insert(entry.key(), entry);
        }
    }

    fn take(&mut self, by: i64) {
        self.now += by;
        let budget = 1 + self.seed.below(50) as usize;
        let mut due = self.timer.take_due(at(self.now), budget);
        if self.seed.chance(0.1) {
            // Some are not delivered after all.
            for entry in due.split_off(due.len() / 2) {
                self.timer.put_back(entry);
            }
        }
        let alone = due.len() == 1;
        for entry in due {
            let (key, first) = self.list.pop_first().unwrap_or_else(|| panic!("{entry:?} comes twice"));
            assert_eq!(first, Entry { position: IN_LOG, ..entry }, "out of order at {}", self.now);
            if entry.position != IN_LOG {
                self.read_body(&entry, alone);
            }
            let entry = first;
            assert!(key.0 <= at(self.now), "early");
            self.log.push(Event::Gone(entry));
            self.met.taken += 1;
        }
    }

    /// Its bytes lie where it says, also when its bucket has other files by now.
    fn read_body(&mut self, entry: &Entry, alone: bool) {
        let read = |world: &Self| read_body(world.timer.catalog(), entry, &world.disk).unwrap();
        assert_eq!(read(self), body(entry));
        self.met.bodies += 1;
        if alone && self.seed.chance(0.1) && self.writing.is_none() {
            self.timer.put_back(*entry);
            self.begin();
            self.finish(true);
            assert_eq!(read(self), body(entry));
            assert!(self.timer.remove(entry.deliver_at, entry.log_offset).is_some());
        }
    }

    /// All that waits is seen in its order, part after part.
    fn scan(&mut self) {
        // With dice of its own, so that all else goes as it would without.
        let seed = std::mem::replace(&mut self.seed, Seed::new(self.next ^ self.now as u64));
        let (from, until) = (at(self.now + self.distance() - 1000), at(self.now + self.distance()));
        let from = if self.seed.chance(0.5) { at(0) } else { from };
        let topic = self.seed.chance(0.5).then(|| TopicId(self.seed.below(4) as u32));
        let mut range = Range { from, until, after: None, topic };
        let expected = self.list.values().filter(|entry| range.contains(entry)).map(Entry::key);
        let (expected, mut seen) = (expected.collect::<Vec<_>>(), Vec::new());
        loop {
            let most = 1 + self.seed.below(200) as usize;
            let scan = self.timer.scan(range, [], most);
            let enough = seen.len() + 1 + self.seed.below(50) as usize;
            range.after = scan
                .run(&self.disk, &mut |entry| {
                    seen.push(entry.key());
                    if seen.len() >= enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                })
                .unwrap();
            if range.after.is_none() {
                break;
            }
        }
        assert_eq!(seen, expected, "{range:?} at {}", self.now);
        self.met.scanned += seen.len();
        self.seed = seed;
    }

    fn remove(&mut self) {
        let Some((&key, &entry)) = self.list.iter().nth(self.seed.below(1 + self.list.len() as u64) as usize)
        else {
            return;
        };
        let known = self.timer.is_pending(key.0, key.1);
        let mut removed = self.timer.remove(key.0, key.1);
        assert!(known != Some(false), "{entry:?} waits");
        if removed.is_none() {
            assert_eq!(known, None);
            let catalog = Arc::clone(self.timer.catalog());
            let found =
                find(&catalog, key, &self.disk).unwrap().unwrap_or_else(|| panic!("{entry:?} is nowhere"));
            if self.seed.chance(0.2) {
                self.finish(true);
            }
            removed = match self.timer.remove_found(&found, &catalog) {
                Ok(removed) => removed,
                Err(Stale) => return self.met.refused += 1,
            };
            self.met.found += 1;
        }
        assert_eq!(removed.map(|removed| Entry { position: IN_LOG, ..removed }), Some(entry));
        self.list.remove(&key);
        self.log.push(Event::Gone(entry));
        assert_eq!(self.timer.remove(key.0, key.1), None, "only once");
        assert_eq!(self.timer.is_pending(key.0, key.1), Some(false));
    }

    fn begin(&mut self) {
        if self.writing.is_some() {
            return;
        }
        let manifest = Manifest {
            at: LogOffset(self.next + 8),
            events: self.log.len(),
            counts: self.timer.counts().collect(),
            catalog: Vec::new(),
        };
        self.next += 8;
        self.writing = Some((self.timer.cut(manifest.at), manifest));
    }

    /// The checkpoint that is being written stands, or does not.
    fn finish(&mut self, stands: bool) {
        let Some((cut, mut manifest)) = self.writing.take() else { return };
        let spilt = match cut.spill(&self.disk, &|entries| Ok(entries.iter().map(body).collect())) {
            Ok(spilt) if stands => spilt,
            _ => return self.timer.give_up(cut),
        };
        self.met.splits += spilt.done.splits;
        self.met.merges += spilt.done.merges;
        self.met.rewrites += spilt.done.rewrites;
        let known: Vec<String> = spilt.catalog.files().map(|(name, _)| name).collect();
        spilt.catalog.encode(&mut manifest.catalog);
        self.disk.sync_folder().unwrap();
        self.manifest = manifest;
        self.met.commits += 1;
        self.timer.commit(Arc::new(spilt.catalog));
        if self.loads.is_empty() {
            for name in self.disk.list().unwrap().iter().filter(|name| !known.contains(name)) {
                self.disk.remove(name).unwrap();
            }
        }
    }

    fn load(&mut self) {
        self.loads.extend(std::iter::from_fn(|| self.timer.poll_load()));
        if self.loads.is_empty() || self.seed.chance(0.3) {
            return;
        }
        let job = self.loads.swap_remove(self.seed.below(self.loads.len() as u64) as usize);
        let done = job.run(&self.disk);
        self.timer.loaded(done).unwrap();
        self.met.loaded += 1;
    }

    fn restart(&mut self) {
        self.met.restarts += 1;
        if let Some((cut, _)) = self.writing.take_if(|_| self.seed.chance(0.5)) {
            self.disk.crash_at(self.disk.operations() + self.seed.below(6));
            let _ = cut.spill(&self.disk, &|entries| Ok(entries.iter().map(body).collect()));
        }
        self.writing = None;
        self.loads.clear();
        self.question = None;
        self.disk = if self.seed.chance(0.5) { self.disk.after_crash() } else { self.disk.after_kill() };
        let catalog = Catalog::decode(&self.manifest.catalog).unwrap_or_default();
        let committed: BTreeMap<String, u64> = catalog.files().collect();
        for name in self.disk.list().unwrap() {
            match committed.get(&name) {
                Some(&length) => {
                    assert!(self.disk.len(&name).unwrap() >= length, "{name} lost what was committed");
                    self.disk.set_len(&name, length).unwrap();
                }
                None => self.disk.remove(&name).unwrap(),
            }
        }
        if self.seed.chance(0.3) {
            self.now -= self.distance().min(self.now - START / 2);
        }
        let counts = self.manifest.counts.iter().copied();
        self.timer = Timer::restore(at(self.now), Arc::new(catalog), self.manifest.at, counts).shaped(SHAPE);
        for event in &self.log[self.manifest.events..] {
            match *event {
                Event::Put(entry) => self.timer.schedule(entry),
                Event::Gone(entry) if entry.log_offset >= self.manifest.at => {
                    assert!(self.timer.remove(entry.deliver_at, entry.log_offset).is_some());
                }
                Event::Gone(entry) => self.timer.replay_removed(entry.key(), entry.topic, entry.level),
            }
        }
        self.timer.count_seconds(true);
    }

    /// How many are due in a second is told, or a bound that holds; and after a look, exactly.
    fn count_seconds(&mut self) {
        let seed = std::mem::replace(&mut self.seed, Seed::new(self.next ^ self.now as u64 ^ 1));
        if self.seed.chance(0.02) {
            self.timer.count_seconds(false);
            self.timer.count_seconds(true);
        }
        if self.seed.chance(0.5)
            && let Some((moment, scan)) = self.question.take()
        {
            let mut count = 0;
            let counted = scan.run(&self.disk, &mut |_| {
                count += 1;
                ControlFlow::Continue(())
            });
            if Arc::ptr_eq(scan.catalog(), self.timer.catalog()) {
                counted.unwrap();
                self.timer.second_counted(moment, count);
                self.met.counted += 1;
            }
        }
        for _ in 0..4 {
            let place = self.seed.below(1 + self.list.len() as u64) as usize;
            let Some(moment) = self.list.keys().nth(place).map(|key| key.0) else { continue };
            let second = moment.as_millis().div_euclid(1000) * 1000;
            let of_it = (at(second), LogOffset(0))..(at(second + 1000), LogOffset(0));
            let expected = self.list.range(of_it).count() as u64;
            match self.timer.due_in_second(moment) {
                Some(InSecond::Exactly(count)) => {
                    assert_eq!(count, expected, "of second {second}");
                    self.met.seconds += 1;
                }
                Some(InSecond::AtMost(most)) => {
                    assert!(most >= expected, "{most} are not {expected}, of second {second}");
                    if self.question.is_none() {
                        self.question = Some((moment, self.timer.count_second(moment)));
                    }
                }
                None => panic!("it is counted"),
            }
        }
        self.seed = seed;
    }

    fn agree(&self) {
        assert_eq!(self.timer.len(), self.list.len());
        for topic in (0..3).map(TopicId) {
            let expected = self.list.values().filter(|entry| entry.topic == topic).count();
            assert_eq!(self.timer.count(topic), expected as u64, "{topic}");
        }
        let waits_for_load = !self.loads.is_empty();
        let first = self.list.keys().next().map(|key| key.0);
        let next = self.timer.next_due();
        assert!(
            waits_for_load || first.is_none() || (next.is_some() && next <= first),
            "{next:?}, {first:?}"
        );
    }

    fn step(&mut self) {
        match self.seed.below(100) {
            0..=24 => self.schedule(),
            25..=49 => {
                let by = self.seed.below(50) as i64;
                self.take(by);
            }
            50..=54 => {
                let by = self.distance();
                self.take(by);
            }
            55..=57 => {
                let by = self.distance().min(self.now - START / 2);
                self.take(-by);
            }
            58..=69 => self.remove(),
            70..=75 => self.begin(),
            76..=81 => {
                let stands = self.seed.chance(0.9);
                self.finish(stands);
            }
            82..=98 => self.load(),
            _ => self.restart(),
        }
        self.agree();
        self.scan();
        self.count_seconds();
    }

    /// All becomes due, and nothing is left.
    fn end(&mut self) {
        let last = self.list.keys().next_back().map_or(0, |key| key.0.as_millis());
        self.now = self.now.max(last);
        let mut calls = 0;
        while !self.list.is_empty() {
            self.take(0);
            self.load();
            if self.seed.chance(0.05) {
                self.begin();
                self.finish(true);
            }
            self.agree();
            calls += 1;
            assert!(calls < 100_000, "it does not come to rest");
        }
        assert!(self.timer.is_empty());
        // What was called back lies in buckets until their time is over.
        self.finish(true);
        self.now += 20_000_000_000;
        self.take(0);
        while self.timer.next_due().is_some_and(|at| at <= super::at(self.now)) || !self.loads.is_empty() {
            self.load();
            self.take(0);
        }
        self.begin();
        self.finish(true);
        assert!(self.timer.catalog().is_empty(), "all that is over is let go of");
        assert_eq!(self.timer.catalog().gone, []);
    }
}

#[test]
fn with_checkpoints_and_crashes_the_timer_does_what_a_sorted_list_does() {
    let mut met = Met::default();
    for seed in 0..20 {
        let mut world = World::new(seed);
        for _ in 0..600 {
            world.step();
        }
        world.end();
        met.taken += world.met.taken;
        met.loaded += world.met.loaded;
        met.found += world.met.found;
        met.refused += world.met.refused;
        met.restarts += world.met.restarts;
        met.commits += world.met.commits;
        met.bodies += world.met.bodies;
        met.splits += world.met.splits;
        met.merges += world.met.merges;
        met.rewrites += world.met.rewrites;
        met.scanned += world.met.scanned;
        met.seconds += world.met.seconds;
        met.counted += world.met.counted;
    }
    assert!(
        met.taken > 10_000 && met.loaded > 150 && met.found > 25,
        "{} {} {}",
        met.taken,
        met.loaded,
        met.found
    );
    assert!(
        met.refused > 1 && met.restarts > 40 && met.commits > 150,
        "{} {} {}",
        met.refused,
        met.restarts,
        met.commits
    );
    assert!(
        met.scanned > 20_000 && met.bodies > 1000 && met.merges > 5 && met.splits > 1 && met.rewrites > 5,
        "{} {} {} {}",
        met.bodies,
        met.merges,
        met.splits,
        met.rewrites
    );
    assert!(met.seconds > 20_000 && met.counted > 1000, "{} {}", met.seconds, met.counted);
}
