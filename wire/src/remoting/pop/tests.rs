use super::*;

fn handle(retry: Retry, queue_id: u32, start_offset: i64, queue_offset: i64) -> ReceiptHandle {
    ReceiptHandle {
        start_offset,
        pop_time: 1,
        invisible_ms: 2,
        revive_queue: 0,
        retry,
        broker: "b".into(),
        queue_id,
        queue_offset,
        log_offset: None,
    }
}

#[test]
fn each_queue_has_one_entry_with_its_offsets_in_the_order_of_the_messages() {
    let all = [
        (handle(Retry::Normal, 3, 50, 55), 0),
        (handle(Retry::RetryV1, 0, 1, 7), 0),
        (handle(Retry::Normal, 3, 50, 52), 2),
        (handle(Retry::RetryV2, 0, 9, 9), 1),
    ];
    let infos = Infos::of(all.iter().map(|(handle, count)| (handle, *count)));
    assert_eq!(infos.start_offset, "0 3 50;1 0 1;2 0 9");
    assert_eq!(infos.message_offset, "0 3 55,52;1 0 7;2 0 9");
    assert_eq!(infos.order_count, "0 qo3%52 2;0 3 0;1 0 0;2 qo0%9 1;2 0 1");
    assert_eq!(Infos::of(std::iter::empty()), Infos::default());
}
