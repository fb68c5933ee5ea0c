use super::*;
use proptest::prelude::*;

const HOST: &str = "10.0.0.1:10911";

fn host(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn message(body: &[u8], properties: &[(&str, &str)]) -> Message {
    Message {
        flag: 3,
        sys_flag: 0,
        born_at: Timestamp::from_millis(1000),
        born_host: host("192.168.0.9:50000"),
        reconsume_times: 2,
        prepared_transaction_offset: 7,
        properties: properties.iter().copied().collect(),
        body: Bytes::copy_from_slice(body),
    }
}

fn placed(topic: &str) -> Placed<'_> {
    Placed {
        topic,
        queue_id: QueueId(5),
        queue_offset: QueueOffset(6),
        log_offset: LogOffset(4096),
        stored_at: Timestamp::from_millis(2000),
        store_host: host(HOST),
    }
}

fn stored(message: &Message, placed: &Placed<'_>) -> Vec<u8> {
    let mut bytes = vec![0xEE];
    encode(message, placed, &mut bytes);
    assert_eq!(bytes.remove(0), 0xEE, "what was there stays");
    assert_eq!(bytes.len(), encoded_len(message, placed.topic, placed.store_host));
    bytes
}

fn properties(bytes: &[u8]) -> Vec<(String, String)> {
    let properties = View::parse(bytes).unwrap().properties();
    properties.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[test]
fn layout_is_rocketmqs() {
    let bytes = stored(&message(b"body", &[("TAGS", "t")]), &placed("T"));
    let expected: Vec<u8> = [
        &103_u32.to_be_bytes()[..],
        &[0xDA, 0xA3, 0x20, 0xA7],
        &(crc32fast::hash(b"body") & 0x7FFF_FFFF).to_be_bytes(),
        &[0, 0, 0, 5, 0, 0, 0, 3],
        &[0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0x10, 0],
        &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x03, 0xE8],
        &[192, 168, 0, 9, 0, 0, 0xC3, 0x50],
        &[0, 0, 0, 0, 0, 0, 0x07, 0xD0],
        &[10, 0, 0, 1, 0, 0, 0x2A, 0x9F],
        &[0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 7],
        &[0, 0, 0, 4, b'b', b'o', b'd', b'y'],
        &[1, b'T'],
        &[0, 7, b'T', b'A', b'G', b'S', 1, b't', 2],
    ]
    .concat();
    assert_eq!(bytes, expected);
}

#[test]
fn the_body_checksum_is_without_its_highest_bit() {
    // CRC-32 of "123456789" is cbf43926.
    assert_eq!(body_crc(b"123456789"), 0x4BF4_3926);
}

#[test]
fn the_second_magic_is_written_only_where_the_topic_leaves_no_choice() {
    for (length, magic, width) in [(127, MAGIC_V1, 1), (128, MAGIC_V2, 2), (255, MAGIC_V2, 2)] {
        let topic = "t".repeat(length);
        let bytes = stored(&message(b"", &[]), &placed(&topic));
        assert_eq!(bytes[MAGIC_AT..MAGIC_AT + 4], magic.to_be_bytes(), "{length}");
        assert_eq!(bytes.len(), 88 + width + length + 2, "{length}");
        assert_eq!(View::parse(&bytes).unwrap().topic(), topic);
    }
}

#[test]
fn address_bits_follow_the_hosts_whatever_the_message_says() {
    let (v4, v6, mapped) = ("1.2.3.4:5", "[2001:db8::1]:6", "[::ffff:1.2.3.4]:5");
    for (born, store, said, bits) in [
        (v4, v4, 0x30, 0),
        (v6, v4, 0, sys_flag::BORN_HOST_V6),
        (v4, v6, 0, sys_flag::STORE_HOST_V6),
        (v6, v6, 0, sys_flag::BORN_HOST_V6 | sys_flag::STORE_HOST_V6),
        (mapped, mapped, 0x30, 0),
    ] {
        let message = Message { born_host: host(born), sys_flag: 0x301 | said, ..message(b"b", &[]) };
        let bytes = stored(&message, &Placed { store_host: host(store), ..placed("T") });
        let view = View::parse(&bytes).unwrap();
        assert_eq!(view.sys_flag(), 0x301 | bits, "{born} {store}");
        assert_eq!(view.born_host().ip(), host(born).ip().to_canonical());
        assert_eq!(view.store_host().ip(), host(store).ip().to_canonical());
        let (read, _) = decode(&bytes.into()).unwrap();
        assert_eq!(read.sys_flag, 0x301, "the hosts tell");
    }
}

#[test]
fn delivery_changes_the_place_and_adds_the_moment_and_nothing_else() {
    let parked = stored(&message(b"body", &[("UNIQ_KEY", "k")]), &placed("T"));
    let now = Timestamp::from_millis(1_700_000_000_123);
    let mut delivered = vec![0xEE];
    deliver(&View::parse(&parked).unwrap(), QueueId(9), QueueOffset(10), LogOffset(11), now, &mut delivered);
    delivered.remove(0);
    assert_eq!(delivered.len(), delivered_len(&View::parse(&parked).unwrap()));

    let expected = stored(
        &message(b"body", &[("UNIQ_KEY", "k"), ("TIMER_DEQUEUE_MS", "1700000000123")]),
        &Placed {
            queue_id: QueueId(9),
            queue_offset: QueueOffset(10),
            log_offset: LogOffset(11),
            stored_at: now,
            ..placed("T")
        },
    );
    assert_eq!(delivered, expected);
}

#[test]
fn a_delivered_copy_has_the_length_told_before_whatever_the_moment() {
    let parked = stored(&message(b"", &[]), &placed("T"));
    for (ms, told) in [
        (i64::MIN, "0000000000000"),
        (1, "0000000000001"),
        (9_999_999_999_999, "9999999999999"),
        (i64::MAX, "9999999999999"),
    ] {
        let mut delivered = Vec::new();
        deliver(
            &View::parse(&parked).unwrap(),
            QueueId(0),
            QueueOffset(0),
            LogOffset(0),
            Timestamp::from_millis(ms),
            &mut delivered,
        );
        assert_eq!(delivered.len(), delivered_len(&View::parse(&parked).unwrap()));
        let view = View::parse(&delivered).unwrap();
        assert_eq!((view.stored_at().as_millis(), view.property("TIMER_DEQUEUE_MS")), (ms, Some(told)));
    }
}

#[test]
fn a_message_whose_properties_are_full_is_delivered_without_the_moment() {
    for (free, told) in [(DELIVERED_AT_BYTES - 1, false), (DELIVERED_AT_BYTES, true)] {
        let value = "v".repeat(property::MAX_BYTES - 3 - free);
        let parked = stored(&message(b"body", &[("p", &value)]), &placed("T"));
        let mut delivered = Vec::new();
        deliver(
            &View::parse(&parked).unwrap(),
            QueueId(0),
            QueueOffset(0),
            LogOffset(0),
            Timestamp::from_millis(1),
            &mut delivered,
        );
        assert_eq!(delivered.len(), delivered_len(&View::parse(&parked).unwrap()));
        let view = View::parse(&delivered).unwrap();
        assert_eq!(view.property("TIMER_DEQUEUE_MS").is_some(), told, "{free}");
        assert_eq!(view.property("p"), Some(&*value));
    }
}

#[test]
fn a_message_is_shown_under_another_topic_with_properties_set() {
    let bytes = stored(&message(b"body", &[("a", "1"), ("b", "2")]), &placed("%RETRY%g_T"));
    let long = "t".repeat(200);
    for topic in ["T", "", &long] {
        let shown = with_topic(&bytes, topic, &[("POP_CK", "1 2 3"), ("a", "9")]);
        let expected =
            stored(&message(b"body", &[("b", "2"), ("POP_CK", "1 2 3"), ("a", "9")]), &placed(topic));
        assert_eq!(shown, expected, "{topic}");
    }
}

#[test]
fn properties_set_for_showing_stand_even_where_others_find_no_room() {
    let value = "v".repeat(property::MAX_BYTES - 9);
    let bytes = stored(&message(b"body", &[("a", "1"), ("b", &value)]), &placed("R"));
    let shown = with_topic(&bytes, "T", &[("POP_CK", "handle")]);
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(properties(&shown), [pair("a", "1"), pair("POP_CK", "handle")]);
}

#[test]
fn one_property_is_found_without_reading_the_others() {
    let bytes = stored(&message(b"", &[("a", "1"), ("ab", "2")]), &placed("T"));
    let view = View::parse(&bytes).unwrap();
    assert_eq!((view.property("a"), view.property("ab"), view.property("b")), (Some("1"), Some("2"), None));
    assert_eq!(view.properties_named(["b", "ab", "a"]), [None, Some("2"), Some("1")]);

    let mut twice = stored(&message(b"", &[("a", "1"), ("b", "2")]), &placed("T"));
    let at = twice.iter().rposition(|&byte| byte == b'b').unwrap();
    twice[at] = b'a';
    assert_eq!(View::parse(&twice).unwrap().property("a"), Some("2"), "the later one wins");
    assert_eq!(View::parse(&twice).unwrap().properties_named(["a"]), [Some("2")], "the later one wins");
}

#[test]
fn the_first_of_several_messages_is_read_and_its_size_leads_to_the_next() {
    let (a, b) = (stored(&message(b"a", &[]), &placed("A")), stored(&message(b"bb", &[]), &placed("B")));
    let both = [a.clone(), b.clone()].concat();
    let first = View::parse(&both).unwrap();
    assert_eq!((first.topic(), first.bytes()), ("A", &*a));
    let second = View::parse(&both[first.total_size()..]).unwrap();
    assert_eq!((second.topic(), second.bytes()), ("B", &*b));
}

#[test]
fn what_is_no_message_is_refused_with_the_place() {
    let good = stored(&message(b"body", &[("a", "1")]), &placed("T"));
    let refused = |at: usize, bytes: &[u8]| {
        let mut bad = good.clone();
        bad[at..at + bytes.len()].copy_from_slice(bytes);
        View::parse(&bad).unwrap_err()
    };
    assert!(matches!(refused(4, &[0; 4]), StoredError::Magic { found: 0 }));
    assert!(matches!(refused(0, &[0xFF; 4]), StoredError::Length { field: "total size", found: -1 }));
    assert!(matches!(refused(0, &[0, 0, 0, 20]), StoredError::Short { field: "fixed fields", .. }));
    assert!(matches!(refused(0, &[0, 0, 0, 2]), StoredError::Short { field: "total size", .. }));
    assert!(matches!(refused(0, &[0x7F, 0, 0, 0]), StoredError::Short { field: "total size", .. }));
    assert!(matches!(refused(52, &[0, 1]), StoredError::Port { field: "born host", .. }));
    assert!(matches!(refused(84, &[0xFF; 4]), StoredError::Length { field: "body", found: -1 }));
    assert!(matches!(refused(84, &[0, 0, 1, 0]), StoredError::Short { field: "body", .. }));
    assert!(matches!(refused(93, &[0xFF]), StoredError::Topic));
    assert!(matches!(refused(94, &[0x80]), StoredError::Length { field: "properties", .. }));
    assert!(matches!(refused(94, &[0, 3]), StoredError::Size { stated: 100, found: 99 }));
    for stated in 0..100 {
        assert!(matches!(refused(0, &[0, 0, 0, stated]), StoredError::Short { .. }), "{stated}");
    }
    assert!(matches!(View::parse(&good[..99]), Err(StoredError::Short { field: "total size", .. })));
    assert!(matches!(View::parse(&[]), Err(StoredError::Short { .. })));

    let mut bad = good;
    bad[88] ^= 1;
    let error = decode(&bad.into()).unwrap_err();
    assert!(matches!(error, StoredError::BodyCrc { .. }), "{error}");
}

fn hosts() -> impl Strategy<Value = SocketAddr> {
    let v4 = any::<[u8; 4]>().prop_map(|octets| IpAddr::from(Ipv4Addr::from(octets)));
    let v6 = any::<[u8; 16]>().prop_map(|octets| IpAddr::from(Ipv6Addr::from(octets)).to_canonical());
    (prop_oneof![v4, v6], any::<u16>()).prop_map(SocketAddr::from)
}

prop_compose! {
    fn messages()(
        flag: i32,
        flags: i32,
        born_ms: i64,
        born_host in hosts(),
        reconsume_times: i32,
        prepared_transaction_offset: i64,
        properties in proptest::collection::vec(("[^\u{1}\u{2}]{1,9}", "[^\u{2}]{1,9}"), 0..9),
        body in proptest::collection::vec(any::<u8>(), 0..200),
    ) -> Message {
        Message {
            flag,
            sys_flag: flags & !(sys_flag::BORN_HOST_V6 | sys_flag::STORE_HOST_V6),
            born_at: Timestamp::from_millis(born_ms),
            born_host,
            reconsume_times,
            prepared_transaction_offset,
            properties: properties.into_iter().collect(),
            body: body.into(),
        }
    }
}

prop_compose! {
    fn places()(
        topic in "[a-zé%]{0,140}",
        queue_id: u32,
        queue_offset: i64,
        log_offset: u64,
        stored_ms: i64,
        store_host in hosts(),
    ) -> PlacedOwned {
        PlacedOwned {
            topic,
            queue_id: QueueId(queue_id),
            queue_offset: QueueOffset(queue_offset),
            log_offset: LogOffset(log_offset),
            stored_at: Timestamp::from_millis(stored_ms),
            store_host,
        }
    }
}

impl PlacedOwned {
    fn borrowed(&self) -> Placed<'_> {
        let &Self { ref topic, queue_id, queue_offset, log_offset, stored_at, store_host } = self;
        Placed { topic, queue_id, queue_offset, log_offset, stored_at, store_host }
    }
}

/// Looks at everything a view shows.
fn look(view: &View<'_>) {
    let _ = (view.queue_id(), view.queue_offset(), view.log_offset(), view.sys_flag(), view.flag());
    let _ = (view.born_at(), view.born_host(), view.stored_at(), view.store_host(), view.reconsume_times());
    let _ = (view.prepared_transaction_offset(), view.body(), view.topic(), view.properties());
    let _ = (view.property("a"), format!("{view:?}"), delivered_len(view));
    let mut into = Vec::new();
    deliver(view, QueueId(1), QueueOffset(2), LogOffset(3), Timestamp::from_millis(4), &mut into);
    assert!(View::parse(&into).is_ok());
    assert!(View::parse(&with_topic(view.bytes(), "T", &[("a", "b")])).is_ok());
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(message in messages(), place in places()) {
        let bytes = stored(&message, &place.borrowed());
        let view = View::parse(&bytes).unwrap();
        look(&view);
        prop_assert_eq!(view.flag(), message.flag);
        prop_assert_eq!(view.reconsume_times(), message.reconsume_times);
        prop_assert_eq!(view.prepared_transaction_offset(), message.prepared_transaction_offset);
        prop_assert_eq!(view.stored_at(), place.stored_at);
        prop_assert_eq!(view.body(), &*message.body);
        prop_assert_eq!(decode(&bytes.into()).unwrap(), (message, place));
    }

    #[test]
    fn a_delivered_copy_is_the_message_at_its_new_place(
        message in messages(), parked in places(), placed in places(), ms in 0..DELIVERED_AT_MAX,
    ) {
        let (queue_id, queue_offset, log_offset) = (placed.queue_id, placed.queue_offset, placed.log_offset);
        let stored_at = Timestamp::from_millis(ms);
        let mut delivered = Vec::new();
        let parked_bytes = stored(&message, &parked.borrowed());
        deliver(&View::parse(&parked_bytes).unwrap(), queue_id, queue_offset, log_offset, stored_at, &mut delivered);
        let mut expected = message;
        expected.properties.remove("TIMER_DEQUEUE_MS");
        expected.properties.set("TIMER_DEQUEUE_MS", format!("{ms:013}"));
        let place = PlacedOwned { queue_id, queue_offset, log_offset, stored_at, ..parked };
        prop_assert_eq!(decode(&delivered.into()).unwrap(), (expected, place));
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = View::parse(&bytes);
        let _ = decode(&bytes.into());
    }

    #[test]
    fn a_changed_or_cut_message_is_read_or_refused(
        message in messages(),
        place in places(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        keep in any::<prop::sample::Index>(),
    ) {
        let mut bytes = stored(&message, &place.borrowed());
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Ok(view) = View::parse(&bytes) {
            look(&view);
        }
        let _ = View::parse(&bytes[..keep.index(bytes.len())]);
        let _ = decode(&bytes.into());
    }
}
