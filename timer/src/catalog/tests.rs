use super::*;

const DAY: i64 = FAR_MS;

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(ms)
}

fn with(starts: &[(i64, i64)]) -> Catalog {
    let mut catalog = Catalog::default();
    for &(start, width_ms) in starts {
        let mut bucket = Bucket::new(start, width_ms, catalog.next_generation);
        bucket.from = LogOffset(10);
        catalog.next_generation += 1;
        catalog.buckets.insert(start, bucket);
    }
    catalog
}

#[test]
fn a_moment_goes_to_the_bucket_it_lies_in_else_by_its_distance() {
    let now = at(100 * DAY + 5);
    let catalog = with(&[(103 * DAY, DAY), (105 * DAY + NEAR_MS, NEAR_MS)]);
    let place = |ms| catalog.place(at(ms), now);
    assert_eq!(place(103 * DAY + 17), (103 * DAY, DAY));
    assert_eq!(place(102 * DAY + 4), (102 * DAY, NEAR_MS), "a millisecond short of two days");
    assert_eq!(place(102 * DAY + 5), (102 * DAY, DAY));
    assert_eq!(place(105 * DAY + NEAR_MS), (105 * DAY + NEAR_MS, NEAR_MS));
    assert_eq!(place(106 * DAY - 1), (106 * DAY - NEAR_MS, NEAR_MS), "a day that has near ones is cut near");
    assert_eq!(place(99 * DAY), (99 * DAY, NEAR_MS), "what is over goes to near ones");
}

#[test]
fn what_is_over_stays_over_and_is_said_once() {
    let mut catalog = with(&[(0, NEAR_MS), (DAY, NEAR_MS)]);
    let gone = |fence, before| Gone { fence: LogOffset(fence), before: (at(before), LogOffset(0)) };
    catalog.add_gone(gone(100, 50));
    catalog.add_gone(gone(200, 60));
    assert_eq!(catalog.gone, [gone(200, 60)], "the later one says it all");
    catalog.add_gone(gone(300, 20));
    assert_eq!(catalog.gone, [gone(200, 60), gone(300, 20)], "after a step back both are needed");
    assert!(catalog.is_gone((at(59), LogOffset(199))) && catalog.is_gone((at(19), LogOffset(299))));
    assert!(!catalog.is_gone((at(60), LogOffset(199))) && !catalog.is_gone((at(20), LogOffset(200))));
    catalog.buckets.remove(&0);
    catalog.add_gone(gone(400, 61));
    assert_eq!(catalog.gone, [], "no bucket reaches there");
}

#[test]
fn what_is_encoded_is_read_back() {
    let mut catalog = with(&[(0, NEAR_MS), (DAY, DAY)]);
    catalog.gone.push(Gone { fence: LogOffset(7), before: (at(9), LogOffset(3)) });
    catalog.buckets.get_mut(&0).unwrap().topics.insert(TopicId(3), 4);
    let mut bytes = Vec::new();
    catalog.encode(&mut bytes);
    assert_eq!(Catalog::decode(&bytes), Some(catalog));
    for length in 0..bytes.len() {
        assert_eq!(Catalog::decode(&bytes[..length]), None);
    }
    bytes.push(0);
    assert_eq!(Catalog::decode(&bytes), None);
}
