//! Bytes of what falls due soon, read ahead.

use bytes::Bytes;
use std::collections::VecDeque;
use timer::Key;

/// Messages in the order in which they fall due, as deliveries want them.
///
/// One that waits no longer, since it was called back, moved or deleted, is not looked for: it goes when the order has
/// passed it.
#[derive(Debug, Default)]
pub(crate) struct Staged {
    messages: VecDeque<(Key, Bytes)>,
    bytes: usize,
}

impl Staged {
    /// Of all messages together.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds what was read, in its order. Costs by what it adds, where that is due behind all that is there.
    pub(crate) fn add(&mut self, read: impl Iterator<Item = (Key, Bytes)>) {
        let mut in_order = true;
        for (key, message) in read {
            in_order &= self.messages.back().is_none_or(|(last, _)| *last < key);
            self.bytes += message.len();
            self.messages.push_back((key, message));
        }
        if !in_order {
            self.messages.make_contiguous().sort_by_key(|(key, _)| *key);
        }
    }

    /// Takes out what is due at `key`, and lets go of all that was due before.
    pub(crate) fn take(&mut self, key: Key) -> Option<Bytes> {
        self.pass(key);
        let (_, message) = self.messages.pop_front_if(|(first, _)| *first == key)?;
        self.bytes -= message.len();
        Some(message)
    }

    /// Lets go of all that is due before `key`.
    pub(crate) fn pass(&mut self, key: Key) {
        while let Some((_, message)) = self.messages.pop_front_if(|(first, _)| *first < key) {
            self.bytes -= message.len();
        }
    }

    /// Whether what is due at `key` was read.
    pub(crate) fn holds(&self, key: Key) -> bool {
        let (Some((first, _)), Some((last, _))) = (self.messages.front(), self.messages.back()) else {
            return false;
        };
        let is_within = *first <= key && key <= *last;
        is_within && (*first == key || self.messages.binary_search_by_key(&key, |(other, _)| *other).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{LogOffset, Timestamp};

    fn key(due: i64, at: u64) -> Key {
        (Timestamp::from_millis(due), LogOffset(at))
    }

    fn some(keys: &[Key]) -> impl Iterator<Item = (Key, Bytes)> {
        keys.iter().map(|&key| (key, Bytes::from(key.1.to_string())))
    }

    #[test]
    fn each_is_taken_once_in_whatever_order_it_was_read_and_what_was_passed_is_let_go_of() {
        let mut staged = Staged::default();
        staged.add(some(&[key(5, 10), key(5, 20), key(7, 5)]));
        staged.add(some(&[key(1, 30), key(6, 1)]));
        assert_eq!(staged.bytes(), 2 + 2 + 1 + 2 + 1);
        assert!(staged.holds(key(6, 1)) && !staged.holds(key(6, 2)));
        assert_eq!(staged.take(key(1, 30)), Some(Bytes::from("30")));
        assert_eq!(staged.take(key(1, 30)), None);
        assert_eq!(staged.take(key(5, 20)), Some(Bytes::from("20")), "what was due before is passed");
        assert!(!staged.holds(key(5, 10)));
        staged.pass(key(7, 5));
        assert_eq!((staged.holds(key(6, 1)), staged.holds(key(7, 5)), staged.bytes()), (false, true, 1));
        assert_eq!(staged.take(key(9, 9)), None);
        assert_eq!(staged.bytes(), 0);
    }

    #[test]
    fn what_is_read_twice_is_there_until_it_is_passed() {
        let mut staged = Staged::default();
        staged.add(some(&[key(5, 10), key(6, 1)]));
        staged.add(some(&[key(5, 10)]));
        assert!(staged.take(key(5, 10)).is_some());
        assert_eq!(staged.take(key(6, 1)), Some(Bytes::from("1")));
        assert_eq!(staged.bytes(), 0);
    }
}
