use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const T: TopicId = TopicId(7);

fn extent(at: u64) -> Extent {
    Extent { at: LogOffset(at), length: at as u32 + 1 }
}

/// Every other message was parked.
fn message(at: u64) -> Found {
    Found { extent: extent(at), parked: at % 20 >= 10 }
}

fn found(index: &KeyIndex, key: &str) -> Vec<u64> {
    index
        .find(T, key)
        .map(|found| {
            assert_eq!(found, message(found.extent.at.0));
            found.extent.at.0
        })
        .collect()
}

/// Every list is where its hashes belong, short, in the order of the log, and counted.
fn check(index: &KeyIndex) {
    let mut listed = 0;
    for list in 0..index.heads.len() {
        let head = *index.heads.get(list);
        let nodes: Vec<&Node> = index.list(if head == CROWDED { NOWHERE } else { head }).collect();
        assert!(nodes.iter().all(|node| index.list_of(node.hash) == list));
        assert!(nodes.is_sorted_by_key(|node| node.at));
        assert!(nodes.len() <= CROWD);
        listed += nodes.len();
    }
    assert_eq!(listed, index.listed);
    for (reversed, _) in index.crowds.keys() {
        assert_eq!(*index.heads.get(index.list_of(reversed.reverse_bits())), CROWDED);
    }
}

#[test]
fn hashes_are_the_same_at_every_start_and_differ_by_topic() {
    assert_eq!(key_hash(TopicId(0), ""), 0x4d33_a937_2719_2487);
    assert_eq!(key_hash(TopicId(7), "order-1"), 0xb031_f8ea_d229_abcd);
    assert_ne!(key_hash(TopicId(7), "order-1"), key_hash(TopicId(8), "order-1"));
}

#[test]
fn a_key_leads_to_its_messages_the_newest_last() {
    let mut index = KeyIndex::new();
    for (key, at) in [("a", 10), ("b", 20), ("a", 40), ("a", 30), ("a", 30)] {
        index.insert(T, key, message(at));
    }
    assert_eq!(found(&index, "a"), [10, 30, 40]);
    assert_eq!(index.find(T, "a").next_back(), Some(message(40)));
    assert_eq!(index.find(TopicId(8), "a").count(), 0, "another topic's");
    assert_eq!(index.len(), 4);
}

#[test]
fn a_parked_message_gives_way_to_its_delivered_copy() {
    let mut index = KeyIndex::new();
    index.insert(T, "k", message(10));
    assert!(index.remove(T, "k", extent(10)));
    assert!(!index.remove(T, "k", extent(10)));
    index.insert(T, "k", message(90));
    assert_eq!(found(&index, "k"), [90]);
}

#[test]
fn many_keys_cost_a_node_and_a_head_each_and_their_places_are_used_again() {
    let mut index = KeyIndex::new();
    let keys: Vec<String> = (0..20_000).map(|i| format!("key-{i}")).collect();
    for _ in 0..3 {
        for (i, key) in keys.iter().enumerate() {
            index.insert(T, key, message(i as u64));
        }
        check(&index);
        assert!(index.crowds.is_empty(), "keys of all kinds do not crowd");
        assert!(index.heads.len() <= keys.len() && index.nodes.len() == keys.len());
        assert!(keys.iter().enumerate().all(|(i, key)| found(&index, key) == [i as u64]));
        assert!(keys.iter().enumerate().all(|(i, key)| index.remove(T, key, extent(i as u64))));
        assert!(index.is_empty());
    }
}

#[test]
fn one_key_on_every_message_walks_no_long_list_and_crowds_nobody_else() {
    let mut index = KeyIndex::new();
    for i in 0..20_000 {
        index.insert(T, "same", message(2 * i));
        index.insert(T, &format!("own-{i}"), message(2 * i + 1));
    }
    check(&index);
    assert!(found(&index, "same").into_iter().eq((0..20_000).map(|i| 2 * i)));
    assert!((0..20_000).all(|i| found(&index, &format!("own-{i}")) == [2 * i + 1]));
    let crowded = (0..index.heads.len()).filter(|&list| *index.heads.get(list) == CROWDED).count();
    assert_eq!(crowded, 1, "only the list of the one key");
    for i in (0..20_000).rev() {
        assert!(index.remove(T, "same", extent(2 * i)));
    }
    assert_eq!(index.len(), 20_000);
}

proptest! {
    #[test]
    fn agrees_with_a_sorted_map(
        hot in 1..4_u64,
        steps in proptest::collection::vec((prop::bool::weighted(0.7), 0..200_u64, 0..1000_u64), 1..1500),
    ) {
        let (mut index, mut expected) = (KeyIndex::new(), BTreeMap::<u64, BTreeSet<u64>>::new());
        for (add, key, at) in steps {
            let key = if at % 2 == 0 { key % hot } else { key };
            let text = key.to_string();
            let places = expected.entry(key).or_default();
            if add {
                index.insert(T, &text, message(at));
                places.insert(at);
            } else {
                prop_assert_eq!(index.remove(T, &text, extent(at)), places.remove(&at));
            }
        }
        check(&index);
        let mut all: Vec<_> = index.iter().map(|(hash, found)| (hash, found.extent.at.0)).collect();
        let places = |key: &u64, at: &BTreeSet<u64>| {
            let hash = key_hash(T, &key.to_string());
            at.iter().map(|&at| (hash, at)).collect::<Vec<_>>()
        };
        let mut every: Vec<_> = expected.iter().flat_map(|(key, at)| places(key, at)).collect();
        all.sort_unstable();
        every.sort_unstable();
        prop_assert_eq!(all, every);
        prop_assert_eq!(index.len() as usize, expected.values().map(BTreeSet::len).sum::<usize>());
        for (key, places) in expected {
            prop_assert!(found(&index, &key.to_string()).into_iter().eq(places), "{}", key);
        }
    }
}
