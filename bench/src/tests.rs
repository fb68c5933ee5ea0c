//! What the figures rest on.

use crate::latency::Latency;
use crate::load;

#[test]
fn a_body_gives_back_its_number_and_moment_and_a_strange_one_nothing() {
    let body = load::body(7, 1_800_000_000_000_000, 64);
    assert_eq!(body.len(), 64);
    assert_eq!(load::read(&body), Some((7, 1_800_000_000_000_000)));
    assert_eq!(load::body(7, 0, 1).len(), 16, "number and moment are always in it");
    assert_eq!(load::read(b"short"), None);
}

#[test]
fn what_came_before_its_moment_counts_as_early() {
    let mut late = Latency::new();
    for us in [-1, 0, 1, 2_000] {
        late.add(us);
    }
    assert_eq!((late.count(), late.early()), (4, 1));
    let mut all = Latency::new();
    all.merge(&late);
    assert_eq!((all.count(), all.early()), (4, 1));
    assert!((all.ms(100.0) - 2.0).abs() < 0.01);
}

#[test]
fn numbers_are_scattered_evenly() {
    let mut tenths = [0; 10];
    for number in 0..10_000 {
        tenths[(load::scatter(number) % 10) as usize] += 1;
    }
    assert!(tenths.iter().all(|&count| (900..1100).contains(&count)), "{tenths:?}");
}
