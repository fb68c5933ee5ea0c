use super::*;
use model::{LogOffset, Message, Properties, QueueId, QueueOffset, Timestamp};
use wire::stored::PlacedOwned;

fn delivered(body: &[u8], sys_flag: i32, properties: &[(&str, &str)]) -> Delivered {
    let host = "127.0.0.1:10911".parse().unwrap();
    let message = Message {
        flag: 0,
        sys_flag,
        born_at: Timestamp::from_millis(0),
        born_host: host,
        reconsume_times: 0,
        prepared_transaction_offset: 0,
        properties: properties.iter().copied().collect::<Properties>(),
        body: body.to_vec().into(),
    };
    let place = PlacedOwned {
        topic: "orders".to_owned(),
        queue_id: QueueId(3),
        queue_offset: QueueOffset(12),
        log_offset: LogOffset(0),
        stored_at: Timestamp::from_millis(1_798_128_000_003),
        store_host: host,
    };
    Delivered { message, place }
}

#[test]
fn a_delayed_message_shows_when_it_was_due_and_how_late_it_came() {
    let properties = [
        ("UNIQ_KEY", "K1"),
        ("TIMER_DELIVER_MS", "1798128000000"),
        ("TIMER_DEQUEUE_MS", "1798128000003"),
        ("TAGS", "T"),
        ("KEYS", "a b"),
    ];
    let shown = message(&delivered("cancel 4711".as_bytes(), 0, &properties));
    for part in [
        "cancel 4711\n",
        "id        K1",
        "due ",
        "3 ms late",
        "tag       T",
        "keys      a b",
        "queue     3 of orders, offset 12",
    ] {
        assert!(shown.contains(part), "{part:?} is missing in\n{shown}");
    }
}

#[test]
fn a_message_that_was_not_delayed_shows_when_it_was_stored() {
    let shown = message(&delivered(b"hello", 0, &[]));
    assert!(!shown.contains("due ") && shown.contains("delivered"), "{shown}");
}

#[test]
fn bodies_that_are_no_text_are_counted_and_long_ones_cut_at_a_character() {
    assert_eq!(body(&[0xff, 0xfe], 0), "(2 bytes that are no text)");
    assert_eq!(body(b"zzz", sys_flag::COMPRESSED), "(3 bytes, compressed by the producer)");
    let long = "é".repeat(SHOWN_MAX);
    assert!(body(long.as_bytes(), 0).ends_with("… (8192 bytes in all)"));
    assert!(body(format!("x{long}").as_bytes(), 0).ends_with("… (8193 bytes in all)"));
}

#[test]
fn a_message_cannot_steer_the_terminal() {
    assert_eq!(plain("a\u{1b}[2Jb\nc\td\u{9b}"), "a\\u{1b}[2Jb\nc\td\\u{9b}");
}
