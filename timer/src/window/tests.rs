use super::*;
use model::TopicId;

fn entry(log_offset: u64) -> Entry {
    Entry {
        deliver_at: Timestamp::from_millis(5),
        log_offset: LogOffset(log_offset),
        length: 1,
        topic: TopicId(0),
        key_hash: 0,
        position: crate::IN_LOG,
        level: 0,
    }
}

/// How many entries the list of the slot has; none where they are a run.
fn listed(window: &Window, slab: &Slab) -> usize {
    if window.tails[5] == CROWDED { 0 } else { list(slab, window.heads[5]).count() }
}

#[test]
fn no_list_gets_long_whatever_comes_and_goes() {
    let (mut window, mut slab) = (Window::new(0), Slab::default());
    for i in (0..500).rev() {
        window.insert(&mut slab, entry(i));
        assert!(listed(&window, &slab) <= CROWD as usize, "the newest first");
    }
    assert_eq!(window.drain(&mut slab).len(), 500);

    // One comes before the last, the last goes, a new last comes.
    window.insert(&mut slab, entry(1_000_000));
    for i in 0..500 {
        window.insert(&mut slab, entry(i));
        let last = entry(1_000_000 + i).log_offset;
        assert!(window.remove(&mut slab, Timestamp::from_millis(5), last).is_some());
        window.insert(&mut slab, entry(1_000_001 + i));
        assert!(listed(&window, &slab) <= CROWD as usize, "the last one goes");
    }
    assert_eq!(window.drain(&mut slab).len(), 501);
}

#[test]
fn runs_are_used_again() {
    let (mut window, mut slab) = (Window::new(0), Slab::default());
    for _ in 0..10 {
        for i in 0..100 {
            window.insert(&mut slab, entry(i));
        }
        assert_eq!(window.drain(&mut slab).len(), 100);
    }
    assert_eq!(window.crowds.len(), 1);
}
