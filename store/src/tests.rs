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
