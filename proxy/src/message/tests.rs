use super::*;
use bytes::Bytes;
use model::{LogOffset, QueueId, QueueOffset};
use prost_types::Duration as WireDuration;
use std::net::SocketAddr;
use wire::ReceiptHandle;
use wire::stored::{Placed, encode};

fn ends() -> Ends {
    let peer = SocketAddr::from(([10, 0, 0, 9], 40_000));
    Ends { peer, local: peer }
}

fn plain() -> v2::Message {
    v2::Message {
        topic: Some(v2::Resource { resource_namespace: String::new(), name: "t".to_owned() }),
        user_properties: BTreeMap::from([("colour".to_owned(), "值 = 1".to_owned())]),
        system_properties: Some(v2::SystemProperties {
            tag: Some("tagR".to_owned()),
            keys: vec!["k1".to_owned(), String::new(), "k2".to_owned()],
            message_id: "01ABCD".to_owned(),
            body_encoding: Encoding::Identity.into(),
            born_timestamp: Some(timestamp(1_700_000_000_123)),
            ..Default::default()
        }),
        body: Bytes::from_static(b"hello"),
    }
}

fn entered(message: v2::Message) -> Result<Message, Refused> {
    entering(message, &TopicName::new("t").unwrap(), ends(), &Settings::default())
}

fn with(change: impl FnOnce(&mut v2::SystemProperties)) -> v2::Message {
    let mut message = plain();
    change(message.system_properties.as_mut().unwrap());
    message
}

/// As the broker would store it in a queue, and hand it out by pop.
fn popped(message: &Message) -> PoppedMessage {
    let store_host = SocketAddr::from(([127, 0, 0, 1], 10_911));
    let placed = Placed {
        topic: "%RETRY%g_t",
        queue_id: QueueId(3),
        queue_offset: QueueOffset(7),
        log_offset: LogOffset(4096),
        stored_at: Timestamp::from_millis(1_700_000_009_000),
        store_host,
    };
    let mut bytes = Vec::new();
    encode(message, &placed, &mut bytes);
    let handle = "7 1700000009500 60000 0 1 b 3 7 4096".parse::<ReceiptHandle>().unwrap();
    PoppedMessage { bytes: bytes.into(), handle, queue_offset: QueueOffset(7), attempt: 2 }
}

fn left(message: &Message) -> v2::Message {
    let topic = v2::Resource { resource_namespace: "ns".to_owned(), name: "t".to_owned() };
    leaving(&popped(message), &topic).unwrap()
}

#[test]
fn reserved_names_are_in_order_for_their_search() {
    assert!(RESERVED.is_sorted());
    assert!(is_reserved("__CRC32#") && is_reserved("1ST_POP_TIME") && is_reserved("TIMER_DELIVER_MS"));
    assert!(!is_reserved("__SHARDINGKEY") && !is_reserved("colour"));
}

#[test]
fn a_message_enters_with_its_meaning_as_properties() {
    let message = entered(with(|system| {
        system.message_group = Some("g1".to_owned());
        system.trace_context = Some("00-x".to_owned());
        system.body_encoding = Encoding::Gzip.into();
        // What clients set to anything.
        system.delivery_attempt = Some(-77);
        system.queue_id = 9;
        system.born_host = "nonsense".to_owned();
    }))
    .unwrap();
    let properties: Vec<_> = message.properties.iter().collect();
    assert_eq!(
        properties,
        [
            ("colour", "值 = 1"),
            ("UNIQ_KEY", "01ABCD"),
            ("TAGS", "tagR"),
            ("KEYS", "k1 k2"),
            ("__SHARDINGKEY", "g1"),
            ("TRACE_CONTEXT", "00-x"),
        ]
    );
    assert_eq!((message.reconsume_times, message.sys_flag), (0, sys_flag::COMPRESSED));
    assert_eq!((message.born_at.as_millis(), message.born_host), (1_700_000_000_123, ends().peer));
    assert_eq!(message.body, "hello");
}

#[test]
fn a_delivery_time_becomes_a_property_in_milliseconds_whatever_it_is() {
    for (seconds, nanos, ms) in [
        (1_700_000_000, 999_999_999, "1700000000999"),
        (0, 0, "0"),
        (-5, 0, "-5000"),
        // A client that gives milliseconds for seconds: the broker refuses what is too far.
        (1_700_000_000_000, 0, "1700000000000000"),
        (i64::MAX, 0, "9223372036854775807"),
    ] {
        let at = prost_types::Timestamp { seconds, nanos };
        let message = entered(with(|system| system.delivery_timestamp = Some(at))).unwrap();
        assert_eq!(message.properties.get("TIMER_DELIVER_MS"), Some(ms));
        assert_eq!(message.properties.get("DELAY"), None);
    }
    assert_eq!(entered(plain()).unwrap().properties.get("TIMER_DELIVER_MS"), None);
}

#[test]
fn a_half_message_is_marked_as_one() {
    let message = entered(with(|system| {
        system.message_type = MessageType::Transaction.into();
        system.orphaned_transaction_recovery_duration = Some(WireDuration { seconds: 30, nanos: 5 });
    }))
    .unwrap();
    assert_eq!(message.sys_flag, sys_flag::TRANSACTION_PREPARED);
    for (name, value) in [("TRAN_MSG", "true"), ("PGROUP", "t"), ("CHECK_IMMUNITY_TIME_IN_SECONDS", "30")] {
        assert_eq!(message.properties.get(name), Some(value));
    }
}

#[test]
fn what_breaks_a_rule_is_refused_with_the_code_of_the_rule() {
    let user = |name: &str, value: &str| {
        let mut message = plain();
        message.user_properties = BTreeMap::from([(name.to_owned(), value.to_owned())]);
        message
    };
    let body = |length| v2::Message { body: Bytes::from(vec![0; length]), ..plain() };
    let mut many = plain();
    many.user_properties = (0..129).map(|i| (format!("p{i}"), "v".to_owned())).collect();
    let text = |length| "x".repeat(length);
    for (what, message, code) in [
        ("no body", body(0), Code::MessageBodyEmpty),
        ("a body too large", body((4 << 20) + 1), Code::MessageBodyTooLarge),
        ("129 properties", many, Code::MessagePropertiesTooLarge),
        ("a reserved name", user("TIMER_DELIVER_MS", "1"), Code::IllegalMessagePropertyKey),
        ("a control character in a name", user("a\u{1}b", "1"), Code::IllegalMessagePropertyKey),
        ("a control character in a value", user("a", "x\u{2}y"), Code::IllegalMessagePropertyKey),
        ("U+0085 in a value", user("a", "\u{85}"), Code::IllegalMessagePropertyKey),
        ("an empty name", user("", "x"), Code::IllegalMessagePropertyKey),
        ("an empty value", user("a", ""), Code::IllegalMessagePropertyKey),
        ("a blank tag", with(|s| s.tag = Some(" ".to_owned())), Code::IllegalMessageTag),
        ("a tag with |", with(|s| s.tag = Some("a|b".to_owned())), Code::IllegalMessageTag),
        ("a blank key", with(|s| s.keys = vec![" ".to_owned()]), Code::IllegalMessageKey),
        ("a key with a tab", with(|s| s.keys = vec!["a\tb".to_owned()]), Code::IllegalMessageKey),
        ("properties of 16 KiB and more", user("a", &text(16 << 10)), Code::MessagePropertiesTooLarge),
        ("no id", with(|s| s.message_id = " ".to_owned()), Code::IllegalMessageId),
        (
            "an id that would end its property",
            with(|s| s.message_id = "a\u{2}b".to_owned()),
            Code::IllegalMessageId,
        ),
        ("a group of 64 bytes", with(|s| s.message_group = Some(text(64))), Code::IllegalMessageGroup),
        ("a blank group", with(|s| s.message_group = Some(" ".to_owned())), Code::IllegalMessageGroup),
        (
            "a trace that would end its property",
            with(|s| s.trace_context = Some("a\u{1}".to_owned())),
            Code::IllegalMessagePropertyKey,
        ),
        ("a lite topic", with(|s| s.lite_topic = Some("l".to_owned())), Code::IllegalLiteTopic),
        ("a priority", with(|s| s.priority = Some(0)), Code::MessagePropertyConflictWithType),
        (
            "a transaction of more than an hour",
            with(|s| {
                s.message_type = MessageType::Transaction.into();
                s.orphaned_transaction_recovery_duration = Some(WireDuration { seconds: 3601, nanos: 0 });
            }),
            Code::BadRequest,
        ),
        ("no system properties", v2::Message { system_properties: None, ..plain() }, Code::IllegalMessageId),
    ] {
        assert_eq!(entered(message).map_err(|refused| refused.code), Err(code), "{what}");
    }
    for (what, message) in [
        ("the largest body", body(4 << 20)),
        ("an empty tag", with(|s| s.tag = Some(String::new()))),
        ("a group of 63 bytes", with(|s| s.message_group = Some(text(63)))),
        ("a name that RocketMQ does not reserve", user("__SHARDINGKEY", "x")),
    ] {
        assert!(entered(message).is_ok(), "{what}");
    }
}

#[test]
fn a_message_leaves_as_it_entered_with_its_place_and_its_handle() {
    let at = timestamp(1_700_000_008_123);
    let stored = entered(with(|system| {
        system.delivery_timestamp = Some(at);
        system.trace_context = Some("00-x".to_owned());
    }))
    .unwrap();
    let message = left(&stored);
    let system = message.system_properties.unwrap();
    assert_eq!(message.topic.unwrap().name, "t", "the topic asked for, not the retry topic");
    assert_eq!(message.user_properties.get("colour").map(String::as_str), Some("值 = 1"));
    assert_eq!(message.body, "hello");
    assert_eq!((system.tag(), system.keys.as_slice()), ("tagR", &["k1".to_owned(), "k2".to_owned()][..]));
    assert_eq!(system.message_id, "01ABCD");
    let digest = system.body_digest.clone().unwrap();
    assert_eq!(digest.r#type(), DigestType::Md5);
    assert_eq!(digest.checksum, "5D41402ABC4B2A76B9719D911017C592");
    assert_eq!((system.body_encoding(), system.message_type()), (Encoding::Identity, MessageType::Delay));
    assert_eq!(system.born_timestamp, Some(timestamp(1_700_000_000_123)));
    assert_eq!(
        (system.born_host.as_str(), system.store_host.as_str()),
        ("10.0.0.9:40000", "127.0.0.1:10911")
    );
    assert_eq!(system.store_timestamp, Some(timestamp(1_700_000_009_000)));
    assert_eq!(system.delivery_timestamp, Some(at));
    assert_eq!(system.receipt_handle(), "7 1700000009500 60000 0 1 b 3 7 4096");
    assert_eq!((system.queue_id, system.queue_offset()), (3, 7));
    assert_eq!(system.delivery_attempt(), 2);
    assert_eq!(system.trace_context(), "00-x");
    assert_eq!(system.message_group, None);
}

#[test]
fn what_the_server_adds_is_not_shown_among_the_users_properties() {
    let mut stored = entered(plain()).unwrap();
    for name in
        ["REAL_TOPIC", "REAL_QID", "TIMER_DELIVER_MS", "TIMER_DEQUEUE_MS", "ORIGIN_GROUP", "1ST_POP_TIME"]
    {
        stored.properties.set(name, "1");
    }
    let shown: Vec<String> = left(&stored).user_properties.into_keys().collect();
    assert_eq!(shown, ["colour"]);
}

#[test]
fn a_message_without_an_id_of_its_producer_shows_its_place_as_id() {
    let mut stored = entered(plain()).unwrap();
    stored.properties.remove("UNIQ_KEY");
    stored.sys_flag = sys_flag::COMPRESSED;
    let system = left(&stored).system_properties.unwrap();
    assert_eq!(system.message_id, "7F00000100002A9F0000000000001000");
    assert_eq!(system.body_encoding(), Encoding::Gzip);
}

#[test]
fn a_dead_letter_shows_where_it_came_from() {
    let mut stored = entered(plain()).unwrap();
    stored.properties.set("DLQ_ORIGIN_TOPIC", "t");
    stored.properties.set("DLQ_ORIGIN_MESSAGE_ID", "01");
    let system = left(&stored).system_properties.unwrap();
    let expected = v2::DeadLetterQueue { topic: "t".to_owned(), message_id: "01".to_owned() };
    assert_eq!(system.dead_letter_queue, Some(expected));
}

#[test]
fn any_sign_of_a_delay_makes_a_message_of_kind_delay_and_a_transaction_goes_before() {
    let kind = |pairs: &[(&str, &str)]| kind(&pairs.iter().copied().collect());
    assert_eq!(kind(&[]), MessageType::Normal);
    assert_eq!(kind(&[("__SHARDINGKEY", "g")]), MessageType::Fifo);
    for name in ["DELAY", "TIMER_DELIVER_MS", "TIMER_DELAY_SEC", "TIMER_DELAY_MS"] {
        assert_eq!(kind(&[("__SHARDINGKEY", "g"), (name, "1")]), MessageType::Delay, "{name}");
    }
    assert_eq!(kind(&[("TRAN_MSG", "true"), ("DELAY", "1")]), MessageType::Transaction);
    assert_eq!(kind(&[("TRAN_MSG", "false")]), MessageType::Normal);
}

#[test]
fn bytes_that_are_no_message_are_an_error() {
    let mut broken = popped(&entered(plain()).unwrap());
    broken.bytes = broken.bytes.slice(..20);
    assert!(leaving(&broken, &v2::Resource::default()).is_err());
}
