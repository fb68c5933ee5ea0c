//! Who may write where, while one thread appends records and another writes zeros ahead of it.

use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes zeroed at a time; while a block is being zeroed no record may be written into it.
pub(crate) const BLOCK: u64 = 256 << 10;

/// No block is being zeroed.
const IDLE: u64 = u64::MAX;

/// Keeps zeros from falling onto records: the two threads would otherwise write the same bytes.
///
/// Each side first says what it is about to do and then looks at the other's word, so at least one of them
/// sees the other. Neither waits: the preparing thread leaves the block out, the engine tries at its next
/// write. Since zeros are written well ahead, either is rare.
#[derive(Debug)]
pub(crate) struct Frontier {
    /// End of what records were or are about to be written to.
    claimed: AtomicU64,
    /// Start of the block being zeroed.
    zeroing: AtomicU64,
}

impl Frontier {
    pub(crate) const fn new(claimed: u64) -> Self {
        Self { claimed: AtomicU64::new(claimed), zeroing: AtomicU64::new(IDLE) }
    }

    /// The engine is about to write `from..end`. False where it must not yet: a block there is being zeroed.
    pub(crate) fn claim(&self, from: u64, end: u64) -> bool {
        self.claimed.store(end, Ordering::SeqCst);
        let block = self.zeroing.load(Ordering::SeqCst);
        block == IDLE || block >= end || block + BLOCK <= from
    }

    /// The preparing thread is about to zero the block. False where records may be there already.
    pub(crate) fn begin_block(&self, block: u64) -> bool {
        self.zeroing.store(block, Ordering::SeqCst);
        if self.claimed.load(Ordering::SeqCst) > block {
            self.end_block();
            return false;
        }
        true
    }

    /// The block is zeroed.
    pub(crate) fn end_block(&self) {
        self.zeroing.store(IDLE, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, Frontier};

    #[test]
    fn a_block_being_zeroed_takes_no_record_until_it_is_done() {
        let frontier = Frontier::new(0);
        assert!(frontier.begin_block(BLOCK));
        assert!(frontier.claim(0, BLOCK), "before the block");
        assert!(!frontier.claim(BLOCK - 8, BLOCK + 8), "reaches into it");
        assert!(!frontier.claim(2 * BLOCK - 8, 2 * BLOCK), "its last bytes");
        assert!(frontier.claim(2 * BLOCK, 3 * BLOCK), "behind it");
        frontier.end_block();
        assert!(frontier.claim(BLOCK - 8, BLOCK + 8));
    }

    #[test]
    fn a_block_that_records_reached_is_not_zeroed() {
        let frontier = Frontier::new(0);
        assert!(frontier.claim(0, BLOCK + 8));
        assert!(!frontier.begin_block(BLOCK));
        assert!(frontier.claim(BLOCK, BLOCK + 8), "a block left out stands in nobody's way");
        assert!(frontier.begin_block(2 * BLOCK));
    }

    #[test]
    fn zeros_never_fall_onto_records_while_two_threads_race() {
        let frontier = Frontier::new(0);
        // What the two threads would write, one cell for each block: 1 is a record, 2 a zero over a record.
        let cells: Vec<_> = (0..2000).map(|_| std::sync::atomic::AtomicU64::new(0)).collect();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for (i, cell) in cells.iter().enumerate() {
                    if frontier.begin_block(i as u64 * BLOCK) {
                        let seen = cell.load(super::Ordering::SeqCst);
                        std::hint::spin_loop();
                        cell.store(seen * 2, super::Ordering::SeqCst);
                        frontier.end_block();
                    }
                }
            });
            for (i, cell) in cells.iter().enumerate() {
                let from = i as u64 * BLOCK;
                while !frontier.claim(from, from + BLOCK) {
                    std::hint::spin_loop();
                }
                cell.store(1, super::Ordering::SeqCst);
            }
        });
        assert!(cells.iter().all(|cell| cell.load(super::Ordering::SeqCst) == 1));
    }
}
