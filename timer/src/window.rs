//! A loaded stretch of time: a wheel of slots, one a millisecond.

use model::{LogOffset, Timestamp};

use crate::Entry;
use crate::entry::{FIRST, Key};
use crate::occupancy::Occupancy;
use crate::run::Run;
use crate::slab::{Link, NOWHERE, Slab};

/// Milliseconds of a window. Windows begin at whole multiples of it since the epoch.
pub(crate) const WINDOW_MS: i64 = 600_000;
const SLOTS: usize = WINDOW_MS as usize;

/// Entries of one millisecond that a list may hold. More than that are a [`Run`], in which one is found
/// without walking past the others: a million messages for nine o'clock are common, and so is recalling one.
const CROWD: u32 = 64;
/// Stands for a tail where the slot's head is the number of a run.
const CROWDED: Link = Link::MAX;

/// Ten minutes, and the entries due in each millisecond of them.
///
/// A slot is a list with head and tail, so that an entry is put behind those accepted before it at once.
/// The wheel itself is 4.8 MB, touched where it is used; an entry in a list is a node of 56 bytes.
#[derive(Debug)]
pub(crate) struct Window {
    number: i64,
    heads: Vec<Link>,
    tails: Vec<Link>,
    occupied: Occupancy,
    crowds: Vec<Run>,
    /// Runs that are not used now.
    spare_crowds: Vec<Link>,
    len: usize,
}

/// The window in which `at` lies: windows are counted from the one that begins with the epoch.
pub(crate) fn number_of(at: Timestamp) -> i64 {
    at.as_millis().div_euclid(WINDOW_MS)
}

/// The slot of `at` in its window.
fn slot_of(at: Timestamp) -> usize {
    at.as_millis().rem_euclid(WINDOW_MS) as usize
}

impl Window {
    /// An empty window.
    pub(crate) fn new(number: i64) -> Self {
        // Zeros come from the kernel without being written.
        let (heads, tails) = (vec![NOWHERE; SLOTS], vec![NOWHERE; SLOTS]);
        Self {
            number,
            heads,
            tails,
            occupied: Occupancy::new(SLOTS),
            crowds: Vec::new(),
            spare_crowds: Vec::new(),
            len: 0,
        }
    }

    /// An empty window, used again for another stretch of time.
    pub(crate) fn renumber(&mut self, number: i64) {
        assert_eq!(self.len, 0, "window {} is used again with entries", self.number);
        self.number = number;
        self.crowds = Vec::new();
        self.spare_crowds = Vec::new();
    }

    pub(crate) fn number(&self) -> i64 {
        self.number
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds an entry behind those of its millisecond that were accepted before; `false` where it is there
    /// already.
    pub(crate) fn insert(&mut self, slab: &mut Slab, entry: Entry) -> bool {
        let slot = slot_of(entry.deliver_at);
        let (head, tail) = (self.heads[slot], self.tails[slot]);
        if tail == CROWDED {
            let added = self.crowds[head as usize].insert(entry);
            self.len += usize::from(added);
            return added;
        }
        if tail == NOWHERE {
            let link = slab.insert(entry, NOWHERE, 0);
            (self.heads[slot], self.tails[slot]) = (link, link);
            self.occupied.set(slot);
            self.len += 1;
            return true;
        }
        let behind = slab.get(tail).behind + 1;
        if behind == CROWD {
            self.crowd(slab, slot);
            return self.insert(slab, entry);
        }
        if slab.get(tail).entry.log_offset < entry.log_offset {
            let link = slab.insert(entry, NOWHERE, behind);
            slab.get_mut(tail).next = link;
            self.tails[slot] = link;
        } else {
            let (before, here) = find(slab, head, entry.log_offset);
            if slab.get(here).entry.log_offset == entry.log_offset {
                return false;
            }
            let link = slab.insert(entry, here, 0);
            match before {
                NOWHERE => self.heads[slot] = link,
                before => slab.get_mut(before).next = link,
            }
            slab.get_mut(tail).behind = behind;
        }
        self.len += 1;
        true
    }

    /// Takes an entry out.
    pub(crate) fn remove(
        &mut self,
        slab: &mut Slab,
        deliver_at: Timestamp,
        log_offset: LogOffset,
    ) -> Option<Entry> {
        let slot = slot_of(deliver_at);
        let (head, tail) = (self.heads[slot], self.tails[slot]);
        let entry = if tail == CROWDED {
            let run = &mut self.crowds[head as usize];
            let entry = run.remove(deliver_at, log_offset)?;
            if run.is_empty() {
                self.vacate(slot);
            }
            entry
        } else {
            let (before, here) = find(slab, head, log_offset);
            if here == NOWHERE || slab.get(here).entry.log_offset != log_offset {
                return None;
            }
            self.unlink(slab, slot, before, here)
        };
        self.len -= 1;
        Some(entry)
    }

    /// The entry due first.
    pub(crate) fn first<'a>(&'a self, slab: &'a Slab) -> Option<&'a Entry> {
        let slot = self.occupied.next(0)?;
        match self.tails[slot] {
            CROWDED => self.crowds[self.heads[slot] as usize].first(),
            _ => Some(&slab.get(self.heads[slot]).entry),
        }
    }

    /// Takes the entries due at `now`, first ones first, and of these only those before `bound`, until `due`
    /// holds `limit`.
    pub(crate) fn take_due(
        &mut self,
        slab: &mut Slab,
        now: Timestamp,
        bound: Option<Key>,
        limit: usize,
        due: &mut Vec<Entry>,
    ) {
        while due.len() < limit {
            let Some(slot) = self.occupied.next(0) else { return };
            if !self.is_due(slot, now) {
                return;
            }
            while due.len() < limit && self.tails[slot] != NOWHERE {
                if let Some(bound) = bound
                    && self.first(slab).is_some_and(|first| first.key() >= bound)
                {
                    return;
                }
                due.push(self.pop(slab, slot));
            }
        }
    }

    /// An entry, where it is here.
    pub(crate) fn get<'a>(
        &'a self,
        slab: &'a Slab,
        deliver_at: Timestamp,
        log_offset: LogOffset,
    ) -> Option<&'a Entry> {
        let slot = slot_of(deliver_at);
        let head = self.heads[slot];
        if self.tails[slot] == CROWDED {
            return self.crowds[head as usize].get(deliver_at, log_offset);
        }
        let (_, here) = find(slab, head, log_offset);
        let entry = (here != NOWHERE).then(|| &slab.get(here).entry)?;
        (entry.log_offset == log_offset).then_some(entry)
    }

    /// Adds the entries from `from_key` on that are due by `until` to `due`, first ones first, until it holds `limit`.
    /// Takes none.
    pub(crate) fn due_from(
        &self,
        slab: &Slab,
        from_key: Key,
        until: Timestamp,
        limit: usize,
        due: &mut Vec<Entry>,
    ) {
        let mut from = if number_of(from_key.0) == self.number { slot_of(from_key.0) } else { 0 };
        while let Some(slot) =
            self.occupied.next(from).filter(|&slot| due.len() < limit && self.is_due(slot, until))
        {
            let room = limit - due.len();
            if self.tails[slot] == CROWDED {
                let crowd = &self.crowds[self.heads[slot] as usize];
                // All of them are due in one millisecond: that of `from_key`, or a later one.
                let is_of_it = crowd.first().is_some_and(|first| first.deliver_at == from_key.0);
                let from = if is_of_it { (from_key.1, from_key.0) } else { (FIRST.1, FIRST.0) };
                due.extend(crowd.iter_from(from).take(room));
            } else {
                due.extend(list(slab, self.heads[slot]).filter(|entry| entry.key() >= from_key).take(room));
            }
            from = slot + 1;
        }
    }

    /// Takes every entry, in order of moments.
    pub(crate) fn drain(&mut self, slab: &mut Slab) -> Vec<Entry> {
        let mut all = Vec::with_capacity(self.len);
        self.take_due(slab, Timestamp::from_millis(i64::MAX), None, usize::MAX, &mut all);
        all
    }

    /// Takes out the entries that `keep` does not want.
    pub(crate) fn retain(&mut self, slab: &mut Slab, keep: impl Fn(&Entry) -> bool) {
        let mut all = Vec::with_capacity(self.len);
        self.due_from(slab, FIRST, Timestamp::from_millis(i64::MAX), usize::MAX, &mut all);
        for entry in all.iter().filter(|entry| !keep(entry)) {
            self.remove(slab, entry.deliver_at, entry.log_offset);
        }
    }

    fn is_due(&self, slot: usize, now: Timestamp) -> bool {
        (self.number, slot) <= (number_of(now), slot_of(now))
    }

    /// Takes the first entry of an occupied slot.
    fn pop(&mut self, slab: &mut Slab, slot: usize) -> Entry {
        let head = self.heads[slot];
        self.len -= 1;
        if self.tails[slot] != CROWDED {
            return self.unlink(slab, slot, NOWHERE, head);
        }
        let run = &mut self.crowds[head as usize];
        let entry = run.pop_front().expect("an occupied slot holds an entry");
        if run.is_empty() {
            self.vacate(slot);
        }
        entry
    }

    /// Takes the node `here`, which follows `before`, out of a slot's list.
    fn unlink(&mut self, slab: &mut Slab, slot: usize, before: Link, here: Link) -> Entry {
        let node = slab.remove(here);
        if before == NOWHERE {
            self.heads[slot] = node.next;
        } else {
            slab.get_mut(before).next = node.next;
        }
        if node.next == NOWHERE {
            if before == NOWHERE {
                self.vacate(slot);
            } else {
                self.tails[slot] = before;
                slab.get_mut(before).behind = node.behind;
            }
        }
        node.entry
    }

    /// Makes a slot's list a run.
    fn crowd(&mut self, slab: &mut Slab, slot: usize) {
        let number = self.spare_crowds.pop().unwrap_or_else(|| {
            self.crowds.push(Run::default());
            self.crowds.len() as Link - 1
        });
        let run = &mut self.crowds[number as usize];
        let mut link = self.heads[slot];
        while link != NOWHERE {
            let node = slab.remove(link);
            run.insert(node.entry);
            link = node.next;
        }
        (self.heads[slot], self.tails[slot]) = (number, CROWDED);
    }

    /// A slot has lost its last entry.
    fn vacate(&mut self, slot: usize) {
        if self.tails[slot] == CROWDED {
            self.spare_crowds.push(self.heads[slot]);
        }
        (self.heads[slot], self.tails[slot]) = (NOWHERE, NOWHERE);
        self.occupied.clear(slot);
    }
}

/// In the list from `head` on, the first node whose log offset is not below `log_offset`, and the one before.
fn find(slab: &Slab, head: Link, log_offset: LogOffset) -> (Link, Link) {
    let (mut before, mut here) = (NOWHERE, head);
    while here != NOWHERE && slab.get(here).entry.log_offset < log_offset {
        (before, here) = (here, slab.get(here).next);
    }
    (before, here)
}

fn list(slab: &Slab, head: Link) -> impl Iterator<Item = &Entry> {
    let mut link = head;
    std::iter::from_fn(move || {
        let node = (link != NOWHERE).then(|| slab.get(link))?;
        link = node.next;
        Some(&node.entry)
    })
}

#[cfg(test)]
mod tests;
