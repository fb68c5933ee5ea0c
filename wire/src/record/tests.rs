use super::*;
use model::{
    ConsumeMode, Group, GroupName, Pauses, Permission, QueueId, QueueOffset, Topic, TopicId, TopicKind,
    TopicName,
};
use proptest::collection::vec;
use proptest::prelude::*;

fn bytes(encode: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(&mut bytes);
    bytes
}

fn lease() -> LeaseEntry {
    LeaseEntry {
        group: "g".into(),
        topic: TopicId(1),
        queue_id: QueueId(2),
        start_offset: 3,
        pop_time: 4,
        invisible_ms: 5,
        offsets: vec![7],
        next_offset: 6,
        ordered: true,
        attempt_id: Some("a".into()),
        replaces: Some(8),
        renewed_for: Some("c".into()),
    }
}

#[test]
fn layouts_are_those_of_the_tables() {
    let name = TopicName::new("T").unwrap();
    let topic = Topic {
        name,
        id: TopicId(9),
        read_queues: 4,
        write_queues: 5,
        permission: Permission(6),
        kind: TopicKind::Delay,
        order: true,
        sys_flag: 7,
    };
    let expected = [1, 1, 9, 0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0, 6, 0, 0, 0, 7, 0, 0, 0, 2, 1, 1, 0, 0, 0, b'T'];
    assert_eq!(bytes(|into| Meta::Topic(topic.clone()).encode(into)), expected);

    let group = Group { ordered: true, broadcast_enabled: false, ..Group::new(GroupName::new("g").unwrap()) };
    let expected = [1, 3, 1, 0, 0, 0, 16, 0, 0, 0, 0b1101, 1, 0, 0, 0, b'g'];
    assert_eq!(bytes(|into| Meta::Group(group.clone()).encode(into)), expected);
    let paused = |pauses| Meta::Group(Group { pauses: Some(pauses), ..group.clone() });
    let mut listed = expected.to_vec();
    listed[10] |= 16;
    listed.extend([1, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(bytes(|into| paused(Pauses::Listed(vec![9])).encode(into)), listed);
    let mut growing = expected.to_vec();
    growing[10] |= 32;
    growing.extend([7, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0]);
    let pauses = Pauses::Growing { initial_ms: 7, max_ms: 8, multiplier: 2 };
    assert_eq!(bytes(|into| paused(pauses.clone()).encode(into)), growing);
    assert_eq!(bytes(|into| Meta::TopicDeleted { id: TopicId(9) }.encode(into)), [1, 2, 9, 0, 0, 0]);
    assert_eq!(bytes(|into| Meta::BrokerName("b".into()).encode(into)), [1, 5, 1, 0, 0, 0, b'b']);
    let reset = Meta::OffsetReset {
        group: GroupName::new("g").unwrap(),
        topic: TopicId(9),
        queue_id: QueueId(1),
        offset: QueueOffset(2),
    };
    let expected = [1, 6, 9, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, b'g'];
    assert_eq!(bytes(|into| reset.encode(into)), expected);
    let value = |value| Meta::Value { namespace: "n".into(), key: "k".into(), value };
    let kept = [1, 7, 1, 0, 0, 0, b'n', 1, 0, 0, 0, b'k', 1, 0, 0, 0, b'v'];
    assert_eq!(bytes(|into| value(Some("v".into())).encode(into)), kept);
    let removed = [1, 8, 1, 0, 0, 0, b'n', 1, 0, 0, 0, b'k'];
    assert_eq!(bytes(|into| value(None).encode(into)), removed);

    let group = GroupName::new("g").unwrap();
    let retry = Meta::PopRetry { retry: TopicId(9), topic: TopicId(1), group: group.clone() };
    let expected = [1, 9, 9, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, b'g'];
    assert_eq!(bytes(|into| retry.encode(into)), expected);
    let mode = ConsumeMode { pop: true, share: -1 };
    let mode = Meta::ConsumeMode { topic: TopicId(9), group: group.clone(), mode };
    let expected = [1, 10, 9, 0, 0, 0, 255, 255, 255, 255, 1, 1, 0, 0, 0, b'g'];
    assert_eq!(bytes(|into| mode.encode(into)), expected);
    let forbidden = Meta::Forbidden { topic: TopicId(9), group, forbidden: true };
    let expected = [1, 11, 9, 0, 0, 0, 1, 1, 0, 0, 0, b'g'];
    assert_eq!(bytes(|into| forbidden.encode(into)), expected);

    let (topic, queue_id) = (TopicId(1), QueueId(2));
    let entry = OffsetEntry { group: "g".into(), topic, queue_id, offset: QueueOffset(3) };
    let expected = [1, 1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, b'g'];
    assert_eq!(bytes(|into| Offsets { entries: vec![entry.clone()] }.encode(into)), expected);

    let entry = AckEntry { group: "g".into(), topic, queue_id, pop_time: 4, offset: 3 };
    let expected = [
        &[1, 1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0][..],
        &[4, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, b'g'],
    ];
    assert_eq!(bytes(|into| Acks { entries: vec![entry.clone()] }.encode(into)), expected.concat());

    let entry = lease();
    let expected = [
        &[1, 1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0][..],
        &[3, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0],
        &[15, 1, 0, 0, 0, b'g', 1, 0, 0, 0, b'a', 8, 0, 0, 0, 0, 0, 0, 0],
        &[1, 0, 0, 0, b'c', 1, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0],
    ];
    assert_eq!(bytes(|into| Leases { entries: vec![entry.clone()] }.encode(into)), expected.concat());
}

#[test]
fn what_is_no_record_is_refused_with_the_place() {
    assert_eq!(Offsets::decode(&[2]), Err(RecordError::Version { record: "offsets", found: 2, known: 1 }));
    assert_eq!(Offsets::decode(&[0]), Err(RecordError::Version { record: "offsets", found: 0, known: 1 }));
    let short = RecordError::Short { record: "acks", field: "topic id", at: 5, length: 5 };
    assert_eq!(Acks::decode(&[1, 255, 255, 255, 255]), Err(short));
    let trailing = RecordError::Trailing { record: "leases", at: 5, length: 6 };
    assert_eq!(Leases::decode(&[1, 0, 0, 0, 0, 0]), Err(trailing));
    let unknown = RecordError::Unknown { record: "meta", field: "change", found: 12, known: 11 };
    assert_eq!(Meta::decode(&[1, 12]), Err(unknown));
    let text = RecordError::NotUtf8 { record: "meta", field: "broker name" };
    assert_eq!(Meta::decode(&[1, 5, 1, 0, 0, 0, 0xFF]), Err(text));
    assert!(matches!(Meta::decode(&[1, 4, 1, 0, 0, 0, b' ']), Err(RecordError::Name { record: "meta", .. })));
    assert!(Meta::decode(&[]).is_err());
    let mut lease = bytes(|into| Leases { entries: vec![lease()] }.encode(into));
    lease[45] = 0b1_0000;
    let unknown = RecordError::Unknown { record: "leases", field: "flags", found: 16, known: 15 };
    assert_eq!(Leases::decode(&lease), Err(unknown));
}

fn metas() -> impl Strategy<Value = Meta> {
    let kinds = prop::sample::select(vec![
        TopicKind::Normal,
        TopicKind::Fifo,
        TopicKind::Delay,
        TopicKind::Transaction,
        TopicKind::Mixed,
    ]);
    let topics = ("[a-z%_]{1,60}", any::<[u32; 5]>(), kinds, any::<bool>()).prop_map(
        |(name, [id, read_queues, write_queues, permission, sys_flag], kind, order)| {
            let name = TopicName::new(&name).unwrap();
            let (id, permission) = (TopicId(id), Permission(permission));
            Meta::Topic(Topic { name, id, read_queues, write_queues, permission, kind, order, sys_flag })
        },
    );
    let pauses = prop_oneof![
        Just(None),
        vec(any::<u64>(), 0..9).prop_map(|all| Some(Pauses::Listed(all))),
        any::<(u64, u64, u32)>().prop_map(|(initial_ms, max_ms, multiplier)| {
            Some(Pauses::Growing { initial_ms, max_ms, multiplier })
        }),
    ];
    let groups = ("[a-z%_]{1,60}", any::<[u32; 2]>(), any::<[bool; 4]>(), pauses).prop_map(
        |(name, [retry_queues, retry_max], truths, pauses)| {
            let [consume_enabled, broadcast_enabled, ordered, notify_changes] = truths;
            let name = GroupName::new(&name).unwrap();
            Meta::Group(Group {
                name,
                consume_enabled,
                broadcast_enabled,
                ordered,
                retry_queues,
                retry_max,
                notify_changes,
                pauses,
            })
        },
    );
    prop_oneof![
        topics,
        groups,
        any::<u32>().prop_map(|id| Meta::TopicDeleted { id: TopicId(id) }),
        "[a-z%_]{1,60}".prop_map(|name| Meta::GroupDeleted { name: GroupName::new(&name).unwrap() }),
        ".{0,60}".prop_map(Meta::BrokerName),
        ("[a-z%_]{1,60}", any::<u32>(), any::<u32>(), any::<i64>()).prop_map(
            |(group, topic, queue_id, offset)| Meta::OffsetReset {
                group: GroupName::new(&group).unwrap(),
                topic: TopicId(topic),
                queue_id: QueueId(queue_id),
                offset: QueueOffset(offset),
            }
        ),
        (".{0,60}", ".{0,60}", proptest::option::of(".{0,60}"))
            .prop_map(|(namespace, key, value)| { Meta::Value { namespace, key, value } }),
        ("[a-z%_]{1,60}", any::<[u32; 2]>()).prop_map(|(group, [retry, topic])| Meta::PopRetry {
            retry: TopicId(retry),
            topic: TopicId(topic),
            group: GroupName::new(&group).unwrap(),
        }),
        ("[a-z%_]{1,60}", any::<(u32, bool, i32)>()).prop_map(|(group, (topic, pop, share))| {
            let group = GroupName::new(&group).unwrap();
            Meta::ConsumeMode { topic: TopicId(topic), group, mode: ConsumeMode { pop, share } }
        }),
        ("[a-z%_]{1,60}", any::<(u32, bool)>()).prop_map(|(group, (topic, forbidden))| {
            Meta::Forbidden { topic: TopicId(topic), group: GroupName::new(&group).unwrap(), forbidden }
        }),
    ]
}

fn offsets() -> impl Strategy<Value = Offsets> {
    let entry = (".{0,20}", any::<(u32, u32, i64)>()).prop_map(|(group, (topic, queue_id, offset))| {
        OffsetEntry { group, topic: TopicId(topic), queue_id: QueueId(queue_id), offset: QueueOffset(offset) }
    });
    vec(entry, 0..9).prop_map(|entries| Offsets { entries })
}

fn acks() -> impl Strategy<Value = Acks> {
    let entry = (".{0,20}", any::<(u32, u32, i64, i64)>()).prop_map(
        |(group, (topic, queue_id, pop_time, offset))| AckEntry {
            group,
            topic: TopicId(topic),
            queue_id: QueueId(queue_id),
            pop_time,
            offset,
        },
    );
    vec(entry, 0..9).prop_map(|entries| Acks { entries })
}

fn leases() -> impl Strategy<Value = Leases> {
    let numbers = any::<(u32, u32, [i64; 4], bool, Option<i64>)>();
    let texts = (".{0,20}", proptest::option::of(".{0,20}"), proptest::option::of(".{0,20}"));
    let entry = (texts, vec(any::<i64>(), 0..9), numbers).prop_map(
        |((group, attempt_id, renewed_for), offsets, (topic, queue_id, times, ordered, replaces))| {
            let [start_offset, pop_time, invisible_ms, next_offset] = times;
            let (topic, queue_id) = (TopicId(topic), QueueId(queue_id));
            LeaseEntry {
                group,
                topic,
                queue_id,
                start_offset,
                pop_time,
                invisible_ms,
                offsets,
                next_offset,
                ordered,
                attempt_id,
                replaces,
                renewed_for,
            }
        },
    );
    vec(entry, 0..5).prop_map(|entries| Leases { entries })
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(meta in metas(), offsets in offsets(), acks in acks(), leases in leases()) {
        prop_assert_eq!(Meta::decode(&bytes(|into| meta.encode(into))), Ok(meta));
        prop_assert_eq!(Offsets::decode(&bytes(|into| offsets.encode(into))), Ok(offsets));
        prop_assert_eq!(Acks::decode(&bytes(|into| acks.encode(into))), Ok(acks));
        prop_assert_eq!(Leases::decode(&bytes(|into| leases.encode(into))), Ok(leases));
    }

    #[test]
    fn any_bytes_are_read_or_refused(mut bytes in vec(prop_oneof![any::<u8>(), 0..6_u8], 0..80)) {
        if let Some(version) = bytes.first_mut() {
            *version %= 2;
        }
        let _ = (Meta::decode(&bytes), Offsets::decode(&bytes), Acks::decode(&bytes), Leases::decode(&bytes));
    }

    #[test]
    fn a_changed_or_cut_record_is_read_or_refused(
        meta in metas(), leases in leases(),
        at in any::<prop::sample::Index>(), value: u8, keep in any::<prop::sample::Index>(),
    ) {
        let mut meta = bytes(|into| meta.encode(into));
        let mut leases = bytes(|into| leases.encode(into));
        prop_assert!(Meta::decode(&meta[..keep.index(meta.len())]).is_err());
        prop_assert!(Leases::decode(&leases[..keep.index(leases.len())]).is_err());
        let (of_meta, of_leases) = (at.index(meta.len()), at.index(leases.len()));
        (meta[of_meta], leases[of_leases]) = (value, value);
        let _ = (Meta::decode(&meta), Leases::decode(&leases));
    }
}

#[test]
fn a_recall_of_either_version_is_read() {
    let keys = vec!["a".to_owned(), "bc".to_owned()];
    for of in [None, Some((TopicId(7), u64::MAX - 3))] {
        let recall = Recall { of, keys: keys.clone() };
        let bytes = bytes(|into| recall.encode(into));
        assert_eq!(Recall::decode(&bytes), Ok(recall));
        for length in 0..bytes.len() {
            assert!(Recall::decode(&bytes[..length]).is_err());
        }
    }
    let first = [1, 1, 0, 0, 0, 1, 0, 0, 0, b'k'];
    assert_eq!(Recall::decode(&first), Ok(Recall { of: None, keys: vec!["k".into()] }));
    assert!(Recall::decode(&[3, 0, 0, 0, 0]).is_err());
}
