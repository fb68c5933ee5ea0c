//! A disk in memory that loses, tears and fails what a real one can, as its seed says.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::disk::Disk;
use crate::name;
use crate::seed::Seed;

/// What a disk writes whole or not at all.
const SECTOR: u64 = 512;

/// A simulated disk. A clone is another handle to the same disk.
///
/// Written is not durable: what was not synced is, after [`SimDisk::after_crash`], kept, dropped or torn
/// into sectors, each write by itself and each change of a name by itself. A failed sync may leave writes
/// that can still be read and yet never reach the disk, as real kernels do.
///
/// The same seed and the same calls give the same disk.
#[derive(Clone)]
pub struct SimDisk(Arc<Mutex<State>>);

/// What can go wrong on a running [`SimDisk`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The next so many writes and changes of length fail, having written some part.
    FailWrites(u32),
    /// The next so many reads fail.
    FailReads(u32),
    /// The next so many syncs of files or the folder fail, and may drop what they should have kept.
    FailSyncs(u32),
    /// So many bytes are free from now on; writes that need more fail with [`io::ErrorKind::StorageFull`].
    FreeBytes(u64),
    /// The lowest bit of the byte is not what was written, in memory and on the disk. Nothing happens where
    /// there is no such file or byte.
    FlipBit {
        /// The file.
        file: String,
        /// The byte's place in it.
        byte: u64,
    },
}

impl SimDisk {
    /// An empty disk whose crashes and faults go as `seed` says.
    pub fn new(seed: u64) -> Self {
        Self::of(State { seed: Seed::new(seed), ..State::default() })
    }

    /// An empty disk on which the change numbered `operation` (from 0) and everything after it fails.
    ///
    /// A change is a write, a change of length, a sync of a file or the folder, a rename or a removal. The
    /// one that meets the crash may still have reached the disk in part.
    pub fn crashing_at(operation: u64) -> Self {
        let disk = Self::new(operation);
        disk.crash_at(operation);
        disk
    }

    fn of(state: State) -> Self {
        Self(Arc::new(Mutex::new(state)))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no call panics while it holds the disk")
    }

    /// Plans the crash at the change numbered `operation`, counted from the disk's making (or its last crash).
    pub fn crash_at(&self, operation: u64) {
        self.state().crash_at = Some(operation);
    }

    /// Changes so far, failed ones among them.
    pub fn operations(&self) -> u64 {
        self.state().operations
    }

    /// Whether the planned crash has come.
    pub fn crashed(&self) -> bool {
        self.state().crashed
    }

    /// Lets `fault` happen from now on.
    pub fn inject(&self, fault: Fault) {
        self.state().inject(fault);
    }

    /// The disk as the machine finds it after losing power now. All handles to this one fail from here on.
    #[must_use]
    pub fn after_crash(&self) -> Self {
        let mut state = self.state();
        state.crashed = true;
        Self::of(state.after_crash())
    }

    /// Another disk that holds the same now, on which nothing fails. What is done to one is not seen on the other.
    #[must_use]
    pub fn copy(&self) -> Self {
        let state = self.state();
        let bodies = state.bodies.iter().map(|(id, body)| {
            (*id, Body { now: body.now.clone(), durable: body.now.clone(), changes: Vec::new() })
        });
        Self::of(State {
            seed: state.seed.clone(),
            bodies: bodies.collect(),
            names: state.names.clone(),
            durable_names: state.names.clone(),
            next_body: state.next_body,
            capacity: state.capacity,
            ..State::default()
        })
    }

    /// The disk as the next process finds it after this one was killed: all that was written can be read, but
    /// is no more durable than before. All handles to this one fail from here on.
    #[must_use]
    pub fn after_kill(&self) -> Self {
        let mut state = self.state();
        let next = State {
            seed: state.seed.fork(),
            bodies: state.bodies.clone(),
            names: state.names.clone(),
            durable_names: state.durable_names.clone(),
            name_changes: state.name_changes.clone(),
            next_body: state.next_body,
            capacity: state.capacity,
            ..State::default()
        };
        state.crashed = true;
        Self::of(next)
    }
}

impl fmt::Debug for SimDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        let files: Vec<_> = state.names.iter().map(|(name, id)| (name, state.bodies[id].now.len())).collect();
        f.debug_struct("SimDisk")
            .field("files", &files)
            .field("crashed", &state.crashed)
            .finish_non_exhaustive()
    }
}

impl Disk for SimDisk {
    fn list(&self) -> io::Result<Vec<String>> {
        let mut state = self.state();
        state.begin_read()?;
        Ok(state.names.keys().cloned().collect())
    }

    fn len(&self, name: &str) -> io::Result<u64> {
        let mut state = self.state();
        state.begin_read()?;
        Ok(state.body(name)?.now.len() as u64)
    }

    fn read_at(&self, name: &str, at: u64, into: &mut [u8]) -> io::Result<usize> {
        let mut state = self.state();
        state.begin_read()?;
        let now = &state.body(name)?.now;
        let from = usize::try_from(at).unwrap_or(usize::MAX).min(now.len());
        let length = into.len().min(now.len() - from);
        into[..length].copy_from_slice(&now[from..from + length]);
        Ok(length)
    }

    fn write_at(&self, name: &str, at: u64, bytes: &[u8]) -> io::Result<()> {
        name::check(name)?;
        self.state().write(name, at, bytes)
    }

    fn set_len(&self, name: &str, length: u64) -> io::Result<()> {
        self.state().set_len(name, length)
    }

    fn sync(&self, name: &str) -> io::Result<()> {
        self.state().sync(name)
    }

    fn sync_folder(&self) -> io::Result<()> {
        self.state().sync_folder()
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        name::check(to)?;
        self.state().rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.state().remove(name)
    }

    fn free_bytes(&self) -> io::Result<u64> {
        let mut state = self.state();
        state.begin_read()?;
        Ok(state.free())
    }
}

/// Free bytes of a disk that was given no limit.
const PLENTY: u64 = 1 << 40;

#[derive(Default)]
struct State {
    seed: Seed,
    /// Files by an identity that renames do not change.
    bodies: BTreeMap<u64, Body>,
    next_body: u64,
    names: BTreeMap<String, u64>,
    durable_names: BTreeMap<String, u64>,
    /// What was done to names since the folder was last synced.
    name_changes: Vec<NameChange>,
    operations: u64,
    crash_at: Option<u64>,
    crashed: bool,
    failing_writes: u32,
    failing_reads: u32,
    failing_syncs: u32,
    capacity: Option<u64>,
}

/// A file's bytes: as they are read, as they are on the disk, and what lies between.
#[derive(Clone, Default)]
struct Body {
    now: Vec<u8>,
    durable: Vec<u8>,
    changes: Vec<Change>,
}

#[derive(Clone)]
enum Change {
    Write { at: u64, bytes: Vec<u8> },
    Length(u64),
}

#[derive(Clone)]
enum NameChange {
    Link { name: String, body: u64 },
    Rename { from: String, to: String, body: u64 },
    Remove { name: String },
}

impl State {
    fn begin_read(&mut self) -> io::Result<()> {
        if self.crashed {
            return Err(power_lost());
        }
        take_one(&mut self.failing_reads, "a read")
    }

    /// Counts a change. Gives whether it is the one that meets the crash; an error where that is past.
    fn begin_change(&mut self) -> io::Result<bool> {
        let operation = self.operations;
        self.operations += 1;
        if self.crashed {
            return Err(power_lost());
        }
        self.crashed = self.crash_at.is_some_and(|at| operation >= at);
        Ok(self.crashed)
    }

    fn id(&self, name: &str) -> io::Result<u64> {
        name::check(name)?;
        let missing = || io::Error::new(io::ErrorKind::NotFound, format!("no file {name}"));
        self.names.get(name).copied().ok_or_else(missing)
    }

    fn body(&self, name: &str) -> io::Result<&Body> {
        Ok(&self.bodies[&self.id(name)?])
    }

    fn body_mut(&mut self, id: u64) -> &mut Body {
        self.bodies.get_mut(&id).expect("a name has a body")
    }

    fn used(&self) -> u64 {
        self.names.values().map(|id| self.bodies[id].now.len() as u64).sum()
    }

    fn free(&self) -> u64 {
        self.capacity.map_or(PLENTY, |capacity| capacity.saturating_sub(self.used()))
    }

    fn write(&mut self, name: &str, at: u64, bytes: &[u8]) -> io::Result<()> {
        let crashing = self.begin_change()?;
        let id = match self.names.get(name) {
            Some(id) => *id,
            None => self.create(name),
        };
        let failed = take_one(&mut self.failing_writes, "a write");
        let end = at + bytes.len() as u64;
        let growth = end.saturating_sub(self.bodies[&id].now.len() as u64);
        let full = growth > 0 && self.capacity.is_some() && growth > self.free();
        // A write that fails may have written a part.
        let length = bytes.len() as u64;
        let written = if full {
            length.saturating_sub(growth)
        } else if failed.is_err() {
            self.seed.below(length + 1)
        } else {
            length
        };
        if written > 0 {
            self.body_mut(id).change(Change::Write { at, bytes: bytes[..written as usize].to_vec() });
        }
        failed?;
        if full {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "the simulated disk is full"));
        }
        if crashing { Err(power_lost()) } else { Ok(()) }
    }

    fn create(&mut self, name: &str) -> u64 {
        let body = self.next_body;
        self.next_body += 1;
        self.bodies.insert(body, Body::default());
        self.names.insert(name.to_owned(), body);
        self.name_changes.push(NameChange::Link { name: name.to_owned(), body });
        body
    }

    fn set_len(&mut self, name: &str, length: u64) -> io::Result<()> {
        let crashing = self.begin_change()?;
        let id = self.id(name)?;
        take_one(&mut self.failing_writes, "a change of length")?;
        self.body_mut(id).change(Change::Length(length));
        if crashing { Err(power_lost()) } else { Ok(()) }
    }

    fn sync(&mut self, name: &str) -> io::Result<()> {
        let crashing = self.begin_change()?;
        let id = self.id(name)?;
        if crashing {
            return Err(power_lost());
        }
        if let Err(error) = take_one(&mut self.failing_syncs, "a sync") {
            // The kernel reports the error once and takes the pages as clean: some are lost, all can be read.
            let mut seed = self.seed.fork();
            self.body_mut(id).changes.retain(|_| seed.chance(0.5));
            return Err(error);
        }
        self.body_mut(id).sync();
        Ok(())
    }

    fn sync_folder(&mut self) -> io::Result<()> {
        if self.begin_change()? {
            return Err(power_lost());
        }
        take_one(&mut self.failing_syncs, "a sync of the folder")?;
        self.name_changes.clear();
        self.durable_names = self.names.clone();
        let Self { bodies, names, .. } = self;
        let named: std::collections::BTreeSet<u64> = names.values().copied().collect();
        bodies.retain(|id, _| named.contains(id));
        Ok(())
    }

    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        let crashing = self.begin_change()?;
        let body = self.id(from)?;
        let change = NameChange::Rename { from: from.to_owned(), to: to.to_owned(), body };
        change.apply(&mut self.names);
        self.name_changes.push(change);
        if crashing { Err(power_lost()) } else { Ok(()) }
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        let crashing = self.begin_change()?;
        self.id(name)?;
        let change = NameChange::Remove { name: name.to_owned() };
        change.apply(&mut self.names);
        self.name_changes.push(change);
        if crashing { Err(power_lost()) } else { Ok(()) }
    }

    fn inject(&mut self, fault: Fault) {
        match fault {
            Fault::FailWrites(count) => self.failing_writes = count,
            Fault::FailReads(count) => self.failing_reads = count,
            Fault::FailSyncs(count) => self.failing_syncs = count,
            Fault::FreeBytes(free) => self.capacity = Some(self.used().saturating_add(free)),
            Fault::FlipBit { file, byte } => {
                if let Ok(id) = self.id(&file) {
                    self.body_mut(id).flip(byte);
                }
            }
        }
    }

    fn after_crash(&mut self) -> State {
        let mut seed = self.seed.fork();
        let mut names = self.durable_names.clone();
        for change in &self.name_changes {
            if seed.chance(0.5) {
                change.apply(&mut names);
            }
        }
        let mut bodies = BTreeMap::new();
        for id in names.values() {
            bodies.insert(*id, self.bodies[id].after_crash(&mut seed));
        }
        let durable_names = names.clone();
        let (next_body, capacity) = (self.next_body, self.capacity);
        State { seed, bodies, next_body, names, durable_names, capacity, ..State::default() }
    }
}

impl Body {
    fn change(&mut self, change: Change) {
        change.apply(&mut self.now);
        self.changes.push(change);
    }

    fn sync(&mut self) {
        for change in self.changes.drain(..) {
            change.apply(&mut self.durable);
        }
    }

    fn flip(&mut self, byte: u64) {
        for bytes in [&mut self.now, &mut self.durable] {
            if let Some(b) = usize::try_from(byte).ok().and_then(|at| bytes.get_mut(at)) {
                *b ^= 1;
            }
        }
        for change in &mut self.changes {
            if let Change::Write { at, bytes } = change
                && let Some(b) = byte.checked_sub(*at).and_then(|i| bytes.get_mut(i as usize))
            {
                *b ^= 1;
            }
        }
    }

    fn after_crash(&self, seed: &mut Seed) -> Body {
        let mut bytes = self.durable.clone();
        for change in &self.changes {
            match seed.below(3) {
                0 => change.apply(&mut bytes),
                1 => {}
                _ => change.tear(&mut bytes, seed),
            }
        }
        Body { now: bytes.clone(), durable: bytes, changes: Vec::new() }
    }
}

impl Change {
    fn apply(&self, to: &mut Vec<u8>) {
        match self {
            Self::Write { at, bytes } => put(to, *at, bytes),
            Self::Length(length) => to.resize(*length as usize, 0),
        }
    }

    /// Applies some of the sectors the change touches.
    fn tear(&self, to: &mut Vec<u8>, seed: &mut Seed) {
        let Self::Write { at, bytes } = self else {
            if seed.chance(0.5) {
                self.apply(to);
            }
            return;
        };
        let mut from = 0;
        while from < bytes.len() {
            let place = at + from as u64;
            let length = ((SECTOR - place % SECTOR) as usize).min(bytes.len() - from);
            if seed.chance(0.5) {
                put(to, place, &bytes[from..from + length]);
            }
            from += length;
        }
    }
}

impl NameChange {
    fn apply(&self, names: &mut BTreeMap<String, u64>) {
        match self {
            Self::Link { name, body } => {
                names.insert(name.clone(), *body);
            }
            Self::Rename { from, to, body } => {
                names.remove(from);
                names.insert(to.clone(), *body);
            }
            Self::Remove { name } => {
                names.remove(name);
            }
        }
    }
}

fn put(to: &mut Vec<u8>, at: u64, bytes: &[u8]) {
    let (from, end) = (at as usize, at as usize + bytes.len());
    if to.len() < end {
        to.resize(end, 0);
    }
    to[from..end].copy_from_slice(bytes);
}

/// Takes one from a count of failures to come: an error while there are any.
fn take_one(count: &mut u32, what: &str) -> io::Result<()> {
    if *count == 0 {
        return Ok(());
    }
    *count -= 1;
    Err(io::Error::other(format!("{what} of the simulated disk was told to fail")))
}

fn power_lost() -> io::Error {
    io::Error::other("the simulated disk has lost power")
}

#[cfg(test)]
mod tests;
