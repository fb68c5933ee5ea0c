use super::*;
use model::{LogOffset, Timestamp, TopicId};

fn entry(log_offset: u64) -> Entry {
    Entry {
        deliver_at: Timestamp::from_millis(0),
        log_offset: LogOffset(log_offset),
        length: 0,
        topic: TopicId(0),
        key_hash: 0,
        position: crate::IN_LOG,
        level: 0,
    }
}

#[test]
fn nodes_are_used_again_and_keep_what_they_hold() {
    let mut slab = Slab::default();
    let links: Vec<Link> = (0..10_000).map(|i| slab.insert(entry(i), NOWHERE, 0)).collect();
    for &link in links.iter().skip(1).step_by(2) {
        slab.remove(link);
    }
    let again: Vec<Link> = (0..5_000).map(|i| slab.insert(entry(20_000 + i), NOWHERE, 0)).collect();
    assert!(again.iter().all(|link| *link <= 10_000), "no new node while one is free");
    let even = links.iter().enumerate().step_by(2);
    assert!(even.clone().all(|(i, &link)| slab.get(link).entry.log_offset.0 == i as u64));
    assert!(again.iter().zip(20_000..).all(|(&link, i)| slab.get(link).entry.log_offset.0 == i));
}

#[test]
fn blocks_are_given_back_after_a_burst_one_at_a_time() {
    let mut slab = Slab::default();
    let links: Vec<Link> = (0..10 * BLOCK as u64).map(|i| slab.insert(entry(i), NOWHERE, 0)).collect();
    for link in links {
        slab.remove(link);
    }
    for blocks in [9, 8, 7, 6, 5, 4, 3, 2, 2] {
        let link = slab.insert(entry(1), NOWHERE, 0);
        assert_eq!((link, slab.blocks.len()), (1, blocks));
        slab.remove(link);
    }
}
