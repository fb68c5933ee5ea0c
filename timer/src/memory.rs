//! The pending messages that are held in memory: those of no bucket on disk yet, and those that are near.
//!
//! Time is cut into stretches of ten minutes, counted from the epoch. The entries of a stretch lie in one of
//! two ways:
//!
//! - in a *pile*, in the order of acceptance, while their time is far;
//! - in a *window*, a wheel of one slot a millisecond, once their time is near.
//!
//! A pile is loaded into a window from a minute before its time on, a part at every call, so that no call
//! pays for all of it; what is not loaded when its time begins is loaded then. A new entry goes to the window
//! of its stretch where there is one. The stretch of now and the next one always have theirs; a stretch that
//! is over gets one again when its entries' turn comes: after a stop or a step of the clock, what is overdue
//! is delivered stretch after stretch, the oldest first.

use std::collections::BTreeMap;

use model::{LogOffset, Timestamp};

use crate::Entry;
use crate::entry::{FIRST, Key};
use crate::pile::Pile;
use crate::slab::Slab;
use crate::window::{WINDOW_MS, Window, number_of};

/// How long before its time a pile is loaded.
pub(crate) const LOAD_AHEAD_MS: i64 = 60_000;
/// Entries of a pile that one call loads ahead of their time: about 0.1 ms, so a million are loaded within
/// a minute by a driver that calls as often as it is asked to.
pub(crate) const LOAD_STEP: usize = 1024;
/// Windows that exist at once: now, next, one that is overdue, and one left over from a step of the clock.
pub(crate) const WINDOWS_MAX: usize = 4;

/// The entries in memory. A pair of moment and log offset names one; one that is here already is not added twice.
#[derive(Debug)]
pub(crate) struct Memory {
    /// The latest moment told, which may be earlier than the one before.
    now: Timestamp,
    /// By number; none is empty.
    pub(crate) windows: Vec<Window>,
    /// An empty window, kept for the next stretch.
    spare: Option<Window>,
    slab: Slab,
    /// By number; none is empty. While one is loaded, its stretch has a window too.
    pub(crate) piles: BTreeMap<i64, Pile>,
    /// What was in `piles` when the entries were last frozen: they are being written to buckets.
    frozen: BTreeMap<i64, Pile>,
}

impl Memory {
    /// Nothing, at the moment `now`.
    pub(crate) fn new(now: Timestamp) -> Self {
        Self {
            now,
            windows: Vec::new(),
            spare: None,
            slab: Slab::default(),
            piles: BTreeMap::new(),
            frozen: BTreeMap::new(),
        }
    }

    /// Adds an entry; `false` where it is there already.
    pub(crate) fn insert(&mut self, entry: Entry) -> bool {
        let number = number_of(entry.deliver_at);
        if self.frozen.get(&number).is_some_and(|pile| pile.contains(&entry)) {
            return false;
        }
        self.add(number, entry)
    }

    /// Says what time it is, and loads a part of what is near.
    pub(crate) fn pass(&mut self, now: Timestamp) {
        self.now = now;
        self.load_ahead();
    }

    /// Takes the entries due at `until`, first ones first, and of these only those before `bound`, until `due`
    /// holds `limit`.
    pub(crate) fn take_before(
        &mut self,
        until: Timestamp,
        bound: Option<Key>,
        limit: usize,
        due: &mut Vec<Entry>,
    ) {
        while due.len() < limit {
            let Some(number) = self.first_number().filter(|&number| number <= number_of(until)) else {
                break;
            };
            let window = self.load(number, usize::MAX);
            self.windows[window].take_due(&mut self.slab, until, bound, limit, due);
            if !self.windows[window].is_empty() {
                break;
            }
            self.close(window);
        }
    }

    /// The first entry of those that are in windows.
    pub(crate) fn first_near(&self) -> Option<Key> {
        self.windows.first()?.first(&self.slab).map(Entry::key)
    }

    /// A moment before which nothing is due: that of the first entry, or the beginning of its stretch.
    pub(crate) fn floor(&self) -> Option<Timestamp> {
        let pile =
            self.next_pile(i64::MIN).map(|number| Timestamp::from_millis(number.saturating_mul(WINDOW_MS)));
        self.first_near().map(|key| key.0).into_iter().chain(pile).min()
    }

    /// The moment at which to look for what is due next; `None` where there is nothing.
    ///
    /// It is the earlier of two: the moment of the first entry that is in a window, exact; and the moment at
    /// which the first pile is to be loaded, a minute before its stretch begins, which stays in the past
    /// until the whole pile is loaded. So it is never later than the first entry's moment.
    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        let due = self.first_near().map(|key| key.0);
        let load = self.next_pile(i64::MIN).map(load_at);
        due.into_iter().chain(load).min()
    }

    /// The entries from `from_key` on that are due by `until`, in their order, at most `limit` of them.
    ///
    /// Costs by what it returns for moments within the next minute; beyond, it looks at every entry of the
    /// piles up to `until`.
    pub(crate) fn due_from(&self, from_key: Key, until: Timestamp, limit: usize) -> Vec<Entry> {
        let mut due = Vec::new();
        let mut from = Some(number_of(from_key.0));
        while let Some(number) = from.and_then(|from| self.next_number(from)) {
            if number > number_of(until) || due.len() >= limit {
                break;
            }
            let before = due.len();
            if let Ok(window) = self.window(number) {
                self.windows[window].due_from(&self.slab, from_key, until, limit, &mut due);
            }
            let piles = [self.frozen.get(&number), self.piles.get(&number)];
            if piles.iter().any(Option::is_some) {
                let pile = piles.into_iter().flatten().flat_map(|pile| pile.due_within(until));
                due.extend(pile.filter(|entry| entry.key() >= from_key));
                due[before..].sort_unstable_by_key(Entry::key);
                due.truncate(limit);
            }
            from = number.checked_add(1);
        }
        due
    }

    /// The entries due in that time, in no order. Looks at every entry of the stretches it touches.
    pub(crate) fn within(&self, from: Timestamp, until: Timestamp) -> Vec<Entry> {
        let mut all = Vec::new();
        if from > until {
            return all;
        }
        let numbers = number_of(from)..=number_of(until);
        for window in self.windows.iter().filter(|window| numbers.contains(&window.number())) {
            window.due_from(&self.slab, FIRST, until, usize::MAX, &mut all);
        }
        let piles = [&self.frozen, &self.piles].into_iter().flat_map(|piles| piles.range(numbers.clone()));
        all.extend(piles.flat_map(|(_, pile)| pile.due_within(until)));
        all.retain(|entry| entry.deliver_at >= from);
        all
    }

    /// Takes an entry out; `None` where there is no such entry.
    pub(crate) fn remove(&mut self, deliver_at: Timestamp, log_offset: LogOffset) -> Option<Entry> {
        let number = number_of(deliver_at);
        self.remove_near(number, deliver_at, log_offset).or_else(|| {
            [&mut self.frozen, &mut self.piles].into_iter().find_map(|piles| {
                let pile = piles.get_mut(&number)?;
                let entry = pile.remove(deliver_at, log_offset);
                if pile.is_empty() {
                    piles.remove(&number);
                }
                entry
            })
        })
    }

    /// An entry, where it is here.
    pub(crate) fn get(&self, deliver_at: Timestamp, log_offset: LogOffset) -> Option<&Entry> {
        let number = number_of(deliver_at);
        let window = self.window(number).ok().map(|window| &self.windows[window]);
        let near = window.and_then(|window| window.get(&self.slab, deliver_at, log_offset));
        let mut piles = [&self.frozen, &self.piles].into_iter().filter_map(|piles| piles.get(&number));
        near.or_else(|| piles.find_map(|pile| pile.get(deliver_at, log_offset)))
    }

    /// Forgets the entries that `keep` does not want. Looks at every entry.
    pub(crate) fn retain(&mut self, keep: impl Fn(&Entry) -> bool) {
        for window in &mut self.windows {
            window.retain(&mut self.slab, &keep);
        }
        self.windows.retain(|window| !window.is_empty());
        for piles in [&mut self.frozen, &mut self.piles] {
            piles.retain(|_, pile| {
                pile.retain(&keep);
                !pile.is_empty()
            });
        }
    }

    /// Begins with new piles: those there are now are being written to buckets. Costs nothing by their number.
    pub(crate) fn freeze(&mut self) {
        assert!(self.frozen.is_empty(), "what was frozen before has been written or has melted");
        self.frozen = std::mem::take(&mut self.piles);
    }

    /// What was frozen lies in buckets: it is forgotten, but for the stretches that `keep` names.
    pub(crate) fn forget_frozen(&mut self, keep: impl Fn(Timestamp) -> bool) {
        for (number, pile) in std::mem::take(&mut self.frozen) {
            let begin = Timestamp::from_millis(number.saturating_mul(WINDOW_MS));
            if keep(begin) {
                self.melt(number, pile);
            }
        }
    }

    /// What was frozen was not written.
    pub(crate) fn melt_frozen(&mut self) {
        for (number, pile) in std::mem::take(&mut self.frozen) {
            self.melt(number, pile);
        }
    }

    fn melt(&mut self, number: i64, mut old: Pile) {
        match self.piles.get_mut(&number) {
            None => {
                self.piles.insert(number, old);
            }
            Some(pile) => {
                std::mem::swap(pile, &mut old);
                // The one that was frozen is the longer one, and what comes into it is newer.
                while let Some(entry) = old.pop() {
                    pile.insert(entry);
                }
            }
        }
    }

    /// Puts an entry where it belongs; `false` where it is there already.
    fn add(&mut self, number: i64, entry: Entry) -> bool {
        let window = self.window(number);
        let opens = window.is_err() && self.is_near(number) && self.windows.len() < WINDOWS_MAX;
        match (self.piles.get_mut(&number), window) {
            (Some(pile), Ok(_)) if pile.contains(&entry) => false,
            (_, Ok(window)) => self.windows[window].insert(&mut self.slab, entry),
            (Some(pile), Err(_)) => pile.insert(entry),
            (None, Err(_)) if opens => {
                let window = self.open(number);
                self.windows[window].insert(&mut self.slab, entry)
            }
            (None, Err(_)) => self.piles.entry(number).or_default().insert(entry),
        }
    }

    fn remove_near(&mut self, number: i64, deliver_at: Timestamp, log_offset: LogOffset) -> Option<Entry> {
        let window = self.window(number).ok()?;
        let entry = self.windows[window].remove(&mut self.slab, deliver_at, log_offset);
        if self.windows[window].is_empty() {
            self.close(window);
        }
        entry
    }

    /// Whether a stretch is that of now or, a minute before it begins, the next one.
    fn is_near(&self, number: i64) -> bool {
        (number_of(self.now)..=number_of(self.soon())).contains(&number)
    }

    fn soon(&self) -> Timestamp {
        self.now.checked_add_millis(LOAD_AHEAD_MS).unwrap_or(Timestamp::from_millis(i64::MAX))
    }

    /// The first stretch that has entries.
    fn first_number(&self) -> Option<i64> {
        self.next_number(i64::MIN)
    }

    /// The first stretch from `from` on that has entries.
    fn next_number(&self, from: i64) -> Option<i64> {
        let window = self.windows.iter().map(Window::number).find(|&number| number >= from);
        window.into_iter().chain(self.next_pile(from)).min()
    }

    /// The first stretch from `from` on that has a pile.
    fn next_pile(&self, from: i64) -> Option<i64> {
        let piles = [&self.frozen, &self.piles].into_iter();
        piles.filter_map(|piles| piles.range(from..).next().map(|(&number, _)| number)).min()
    }

    /// The place of a stretch's window, or where it would be.
    fn window(&self, number: i64) -> Result<usize, usize> {
        self.windows.binary_search_by_key(&number, Window::number)
    }

    /// Gives a stretch a window; tells its place.
    fn open(&mut self, number: i64) -> usize {
        let place = self.window(number).expect_err("a stretch has one window");
        let window = match self.spare.take() {
            Some(mut window) => {
                window.renumber(number);
                window
            }
            None => Window::new(number),
        };
        self.windows.insert(place, window);
        place
    }

    /// Puts an empty window aside.
    fn close(&mut self, place: usize) {
        self.spare = Some(self.windows.remove(place));
    }

    /// Loads up to `count` entries of a stretch's pile; tells the place of its window.
    fn load(&mut self, number: i64, count: usize) -> usize {
        let place = self.window(number).unwrap_or_else(|_| {
            if self.windows.len() >= WINDOWS_MAX {
                self.unload();
            }
            self.open(number)
        });
        let mut left = count;
        for piles in [&mut self.frozen, &mut self.piles] {
            let Some(pile) = piles.get_mut(&number) else { continue };
            while left > 0
                && let Some(entry) = pile.pop()
            {
                self.windows[place].insert(&mut self.slab, entry);
                left -= 1;
            }
            if pile.is_empty() {
                piles.remove(&number);
            }
        }
        place
    }

    /// Loads a part of what will be due within a minute. Where all windows belong to earlier stretches, it
    /// waits for them: their turn comes first anyway.
    fn load_ahead(&mut self) {
        for number in [number_of(self.now), number_of(self.soon())] {
            let last = self.windows.last().map_or(i64::MIN, Window::number);
            let room = self.windows.len() < WINDOWS_MAX || self.window(number).is_ok() || last > number;
            if room && (self.piles.contains_key(&number) || self.frozen.contains_key(&number)) {
                self.load(number, LOAD_STEP);
            }
        }
    }

    /// Makes the window whose turn comes last a pile again.
    fn unload(&mut self) {
        let mut window = self.windows.pop().expect("there are windows to unload");
        let mut entries = window.drain(&mut self.slab);
        entries.sort_unstable_by_key(|entry| entry.log_offset);
        let pile = self.piles.entry(window.number()).or_default();
        for entry in entries {
            pile.insert(entry);
        }
        self.spare = Some(window);
    }
}

/// When a stretch's pile is to be loaded.
pub(crate) fn load_at(number: i64) -> Timestamp {
    Timestamp::from_millis(number.saturating_mul(WINDOW_MS).saturating_sub(LOAD_AHEAD_MS))
}
