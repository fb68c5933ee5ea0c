use super::*;
use proptest::prelude::*;

fn refused(text: &str) -> String {
    text.parse::<ReceiptHandle>().unwrap_err().to_string()
}

#[test]
fn a_handle_is_rocketmqs_text() {
    let text = "100 1700000000000 60000 3 0 broker-a 0 102";
    let handle: ReceiptHandle = text.parse().unwrap();
    let expected = ReceiptHandle {
        start_offset: 100,
        pop_time: 1_700_000_000_000,
        invisible_ms: 60_000,
        revive_queue: 3,
        retry: Retry::Normal,
        broker: "broker-a".into(),
        queue_id: 0,
        queue_offset: 102,
        log_offset: None,
    };
    assert_eq!(handle, expected);
    assert_eq!(handle.to_string(), text);
}

#[test]
fn a_ninth_part_is_the_log_offset() {
    let handle: ReceiptHandle = "0 1796042296297 10000 3 1 b 0 2 4096".parse().unwrap();
    assert_eq!((handle.retry, handle.log_offset), (Retry::RetryV1, Some(LogOffset(4096))));
    assert_eq!(handle.to_string(), "0 1796042296297 10000 3 1 b 0 2 4096");
}

#[test]
fn what_is_no_handle_is_refused_with_the_part() {
    assert_eq!(refused(""), "the receipt handle has 1 parts, expected 8 or 9");
    assert_eq!(refused("1 2 3 4 0 b 5"), "the receipt handle has 7 parts, expected 8 or 9");
    assert_eq!(refused("1 2 3 4 0 b 5 6 7 8"), "the receipt handle has 10 parts, expected 8 or 9");
    assert_eq!(
        refused("1 2 3 4 3 b 5 6"),
        "the retry sign of the receipt handle is \"3\", expected 0, 1 or 2"
    );
    assert_eq!(refused("1 2 3 4 0  5 6"), "the broker of the receipt handle is \"\", expected a name");
    assert_eq!(
        refused("1 2 3 4 0 b -1 6"),
        "the queue id of the receipt handle is \"-1\", expected a number that fits"
    );
    assert_eq!(refused(&"1".repeat(2000)), "the receipt handle has 2000 bytes, the limit is 1024");
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(
        numbers: (i64, i64, i64, i32, u32, i64),
        retry in prop_oneof![Just(Retry::Normal), Just(Retry::RetryV1), Just(Retry::RetryV2)],
        broker in "[^ ]{1,60}",
        log_offset: Option<u64>,
    ) {
        let (start_offset, pop_time, invisible_ms, revive_queue, queue_id, queue_offset) = numbers;
        let handle = ReceiptHandle {
            start_offset, pop_time, invisible_ms, revive_queue, retry, broker, queue_id, queue_offset,
            log_offset: log_offset.map(LogOffset),
        };
        prop_assert_eq!(handle.to_string().parse(), Ok(handle));
    }

    #[test]
    fn any_text_is_read_or_refused(text in prop_oneof![".{0,80}", "([-0-9a-z]{0,3} ){7,9}"]) {
        if let Ok(handle) = text.parse::<ReceiptHandle>() {
            prop_assert_eq!(handle.to_string().parse(), Ok(handle));
        }
    }
}
