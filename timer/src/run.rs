//! Many entries in the order of acceptance.

use std::collections::VecDeque;

use model::{LogOffset, Timestamp};

use crate::Entry;

/// Entries of a piece: few enough that moving them costs little, enough that the pieces are few.
const PIECE: usize = 1024;

/// Entries sorted by log offset, in pieces.
///
/// Entries come nearly always in that order, so adding one is adding it at the end: 48 bytes, and no sorting.
/// Any other place, and taking one out of the middle, costs two searches and moving part of a piece.
#[derive(Debug, Default)]
pub(crate) struct Run {
    /// None is empty; all but a few are full.
    pieces: VecDeque<VecDeque<Entry>>,
}

impl Run {
    /// Adds an entry; `false` where it is there already.
    pub(crate) fn insert(&mut self, entry: Entry) -> bool {
        let key = key_of(&entry);
        let Some(last) = self.pieces.back_mut() else {
            self.pieces.push_back(VecDeque::from([entry]));
            return true;
        };
        if last.back().is_some_and(|newest| key_of(newest) < key) {
            if last.len() < PIECE {
                last.push_back(entry);
            } else {
                let mut piece = VecDeque::with_capacity(PIECE);
                piece.push_back(entry);
                self.pieces.push_back(piece);
            }
            return true;
        }
        let (piece, Err(at)) = self.search(key) else { return false };
        let entries = &mut self.pieces[piece];
        entries.insert(at, entry);
        if entries.len() > PIECE {
            let half = entries.split_off(PIECE / 2);
            self.pieces.insert(piece + 1, half);
        }
        true
    }

    /// Takes an entry out.
    pub(crate) fn remove(&mut self, deliver_at: Timestamp, log_offset: LogOffset) -> Option<Entry> {
        let (piece, Ok(at)) = self.search((log_offset, deliver_at)) else { return None };
        let entries = &mut self.pieces[piece];
        let entry = entries.remove(at);
        if entries.is_empty() {
            self.pieces.remove(piece);
        }
        entry
    }

    pub(crate) fn contains(&self, entry: &Entry) -> bool {
        self.search(key_of(entry)).1.is_ok()
    }

    pub(crate) fn get(&self, deliver_at: Timestamp, log_offset: LogOffset) -> Option<&Entry> {
        let (piece, place) = self.search((log_offset, deliver_at));
        let place = place.ok()?;
        Some(&self.pieces[piece][place])
    }

    pub(crate) fn pop_front(&mut self) -> Option<Entry> {
        let entries = self.pieces.front_mut()?;
        let entry = entries.pop_front();
        if entries.is_empty() {
            self.pieces.pop_front();
        }
        entry
    }

    pub(crate) fn first(&self) -> Option<&Entry> {
        self.pieces.front()?.front()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.pieces.iter().flatten()
    }

    /// The entries from that one on, whether it is here or not.
    pub(crate) fn iter_from(&self, key: (LogOffset, Timestamp)) -> impl Iterator<Item = &Entry> {
        let (piece, found) = self.search(key);
        let place = found.unwrap_or_else(|place| place);
        self.pieces
            .iter()
            .skip(piece)
            .enumerate()
            .flat_map(move |(nth, entries)| entries.iter().skip(if nth == 0 { place } else { 0 }))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    pub(crate) fn retain(&mut self, keep: impl Fn(&Entry) -> bool) {
        self.pieces.retain_mut(|entries| {
            entries.retain(&keep);
            !entries.is_empty()
        });
    }

    /// The piece and the place in it where `key` is, or where it would be put.
    fn search(&self, key: (LogOffset, Timestamp)) -> (usize, Result<usize, usize>) {
        let piece = self.pieces.partition_point(|entries| entries.back().is_some_and(|e| key_of(e) < key));
        let found =
            self.pieces.get(piece).map_or(Err(0), |entries| entries.binary_search_by_key(&key, key_of));
        (piece, found)
    }
}

/// The log offset alone is an entry's identity. The moment stands beside it so that a caller who breaks
/// that gets every entry back all the same.
fn key_of(entry: &Entry) -> (LogOffset, Timestamp) {
    (entry.log_offset, entry.deliver_at)
}

#[cfg(test)]
mod tests;
