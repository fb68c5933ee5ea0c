use super::*;
use journal::Extent;
use model::{LogOffset, QueueOffset, Timestamp};

fn entry(at: u64) -> Entry {
    Entry {
        extent: Extent { at: LogOffset(at), length: 1 },
        tag_code: 0,
        stored_at: Timestamp::from_millis(0),
    }
}

#[test]
fn a_queue_is_made_by_its_first_message() {
    let mut store = Store::new();
    assert!(store.queue(TopicId(1), QueueId(0)).is_none());
    assert_eq!(store.queue_mut_or_new(TopicId(1), QueueId(0)).append(entry(8)), QueueOffset(0));
    assert_eq!(store.queue_mut_or_new(TopicId(1), QueueId(0)).append(entry(16)), QueueOffset(1));
    assert_eq!(store.queue(TopicId(1), QueueId(0)).map(ConsumeQueue::len), Some(2));
}

#[test]
fn a_dropped_topic_takes_its_queues_and_no_others() {
    let mut store = Store::new();
    for (topic, queue_id) in [(2, 0), (1, 1), (1, 0), (1, 1), (0, 5)] {
        store.queue_mut_or_new(TopicId(topic), QueueId(queue_id)).append(entry(8));
    }
    assert!(store.queues_of(TopicId(1)).map(|(id, queue)| (id.0, queue.len())).eq([(0, 1), (1, 2)]));
    assert_eq!(store.drop_topic(TopicId(1)), 3);
    assert_eq!(store.drop_topic(TopicId(1)), 0);
    assert!(store.queues().map(|(topic, id, _)| (topic.0, id.0)).eq([(0, 5), (2, 0)]));
}

fn of(store: &Store, topic: u32) -> Vec<u64> {
    let queue = store.queue(TopicId(topic), QueueId(0)).unwrap();
    queue.iter_from(QueueOffset(0)).map(|entry| entry.extent.at.0).collect()
}

#[test]
fn what_was_frozen_and_written_is_there_after_a_start_and_written_once() {
    let mut store = Store::new();
    let append = |store: &mut Store, topic, at| {
        store.queue_mut_or_new(TopicId(topic), QueueId(0)).append(entry(at));
    };
    for (topic, at) in [(1, 8), (2, 16), (1, 24)] {
        append(&mut store, topic, at);
    }
    let first = store.freeze();
    append(&mut store, 1, 32);
    assert_eq!(first.iter().map(|part| part.piece.entries.len()).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(store.freeze().len(), 3, "the first was not written: it is given again");
    append(&mut store, 2, 40);
    store.saved(&first);
    assert_eq!(of(&store, 1), [8, 24, 32]);
    store.queue_mut_or_new(TopicId(1), QueueId(0)).trim(QueueOffset(1));
    let second = store.freeze();
    assert_eq!(second.len(), 2);
    store.saved(&second);
    assert!(store.freeze().is_empty(), "all is written");

    let mut again = Store::new();
    for topic in [1, 2] {
        let queue = store.queue(TopicId(topic), QueueId(0)).unwrap();
        let parts = first.iter().chain(&second).filter(|part| part.topic == TopicId(topic));
        let parts: Vec<_> = parts.map(|part| part.piece.clone()).collect();
        let put = again.restore(TopicId(topic), QueueId(0), queue.min(), queue.max(), parts.clone());
        assert_eq!(put, Ok(()));
        let short = Store::new().restore(TopicId(topic), QueueId(0), queue.min(), queue.max().plus(1), parts);
        assert_eq!(short, Err(queue.max()), "one is missing");
    }
    for topic in [1, 2] {
        assert_eq!(of(&again, topic), of(&store, topic));
    }
    append(&mut again, 1, 48);
    assert_eq!(of(&again, 1), [24, 32, 48]);
    assert_eq!(again.freeze().len(), 1);
    assert_eq!(again.restore(TopicId(3), QueueId(0), QueueOffset(7), QueueOffset(7), []), Ok(()));
    assert_eq!(again.queue_mut_or_new(TopicId(3), QueueId(0)).append(entry(8)), QueueOffset(7));
}

#[test]
fn what_the_log_no_longer_keeps_is_in_no_queue() {
    let mut store = Store::new();
    for (topic, at) in [(1, 8), (2, 16), (1, 24), (1, 32), (3, 40)] {
        store.queue_mut_or_new(TopicId(topic), QueueId(0)).append(entry(at));
    }
    store.freeze();
    let moved = store.trim(LogOffset(32));
    assert_eq!(moved, [(TopicId(1), QueueId(0), QueueOffset(2)), (TopicId(2), QueueId(0), QueueOffset(1))]);
    assert_eq!((of(&store, 1), of(&store, 2), of(&store, 3)), (vec![32], vec![], vec![40]));
    assert!(store.trim(LogOffset(32)).is_empty());
    assert_eq!(store.queue_mut_or_new(TopicId(2), QueueId(0)).append(entry(48)), QueueOffset(1));
}
