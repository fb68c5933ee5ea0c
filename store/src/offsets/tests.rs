use super::*;

fn group(name: &str) -> GroupName {
    GroupName::new(name).unwrap()
}

fn commit(offsets: &mut Offsets, name: &str, topic: u32, queue_id: u32, offset: i64) {
    offsets.commit(&group(name), TopicId(topic), QueueId(queue_id), QueueOffset(offset));
}

fn dirty(offsets: &mut Offsets) -> Vec<(String, u32, u32, i64)> {
    offsets.take_dirty().into_iter().map(|(g, t, q, o)| (g.to_string(), t.0, q.0, o.0)).collect()
}

#[test]
fn a_commit_counts_at_once_and_is_told_once_in_order() {
    let mut offsets = Offsets::new();
    for (name, topic, queue_id, offset) in [("b", 1, 0, 5), ("a", 2, 1, 7), ("a", 2, 0, 1), ("b", 1, 0, 6)] {
        commit(&mut offsets, name, topic, queue_id, offset);
    }
    assert_eq!(offsets.get(&group("b"), TopicId(1), QueueId(0)), Some(QueueOffset(6)));
    assert_eq!(offsets.get(&group("b"), TopicId(1), QueueId(1)), None);
    let expected =
        [("a", 2, 0, 1), ("a", 2, 1, 7), ("b", 1, 0, 6)].map(|(g, t, q, o)| (g.to_owned(), t, q, o));
    assert_eq!(dirty(&mut offsets), expected);
    assert_eq!(dirty(&mut offsets), []);
}

#[test]
fn a_commit_that_changes_nothing_is_not_told_and_one_that_goes_back_is() {
    let mut offsets = Offsets::new();
    commit(&mut offsets, "g", 1, 0, 5);
    dirty(&mut offsets);
    commit(&mut offsets, "g", 1, 0, 5);
    assert_eq!(dirty(&mut offsets), []);
    commit(&mut offsets, "g", 1, 0, 3);
    assert_eq!(dirty(&mut offsets), [("g".to_owned(), 1, 0, 3)]);
}

#[test]
fn what_the_log_tells_is_not_told_to_it() {
    let mut offsets = Offsets::new();
    offsets.restore(&group("g"), TopicId(1), QueueId(0), QueueOffset(5));
    assert_eq!(offsets.get(&group("g"), TopicId(1), QueueId(0)), Some(QueueOffset(5)));
    assert_eq!(dirty(&mut offsets), []);
}

#[test]
fn dropped_groups_and_topics_are_forgotten_and_not_told() {
    let mut offsets = Offsets::new();
    for (name, topic) in [("a", 1), ("a", 2), ("b", 1), ("c", 1)] {
        commit(&mut offsets, name, topic, 0, 5);
    }
    assert!(offsets.groups_of(TopicId(1)).map(GroupName::as_str).eq(["a", "b", "c"]));
    offsets.drop_group(&group("b"));
    assert!(offsets.groups_of(TopicId(1)).map(GroupName::as_str).eq(["a", "c"]));
    offsets.drop_topic(TopicId(1));
    assert_eq!(offsets.groups_of(TopicId(1)).count(), 0);
    assert!(offsets.of_group(&group("a")).eq([(TopicId(2), QueueId(0), QueueOffset(5))]));
    assert_eq!(offsets.iter().count(), 1);
    assert_eq!(dirty(&mut offsets), [("a".to_owned(), 2, 0, 5)]);
}
