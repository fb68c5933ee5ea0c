use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

const LIMIT: usize = 600_000;

#[test]
fn the_ends_are_found() {
    let mut set = Occupancy::new(LIMIT);
    assert_eq!(set.next(0), None);
    set.set(LIMIT - 1);
    assert_eq!((set.next(0), set.next(LIMIT - 1)), (Some(LIMIT - 1), Some(LIMIT - 1)));
    set.set(0);
    assert_eq!((set.next(0), set.next(1)), (Some(0), Some(LIMIT - 1)));
    set.clear(LIMIT - 1);
    assert_eq!((set.next(0), set.next(1), set.next(LIMIT)), (Some(0), None, None));
}

#[test]
fn a_small_set_has_a_single_word() {
    let mut set = Occupancy::new(1);
    set.set(0);
    assert_eq!((set.next(0), set.next(1)), (Some(0), None));
}

proptest! {
    #[test]
    fn agrees_with_a_sorted_set(
        steps in proptest::collection::vec((any::<bool>(), 0..LIMIT / 4096, 0..4096_usize), 1..200),
        asked in proptest::collection::vec(0..LIMIT + 100, 20),
    ) {
        let (mut set, mut expected) = (Occupancy::new(LIMIT), BTreeSet::new());
        for &(add, far, near) in &steps {
            let number = far * 4096 + near;
            if add { set.set(number); expected.insert(number); } else { set.clear(number); expected.remove(&number); }
            prop_assert_eq!(set.next(0), expected.first().copied());
        }
        for from in asked.into_iter().chain(steps.iter().map(|&(_, far, near)| far * 4096 + near)) {
            prop_assert_eq!(set.next(from), expected.range(from..).next().copied(), "from {}", from);
        }
    }
}
