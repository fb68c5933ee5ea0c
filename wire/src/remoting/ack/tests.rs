use super::*;
use crate::remoting::json;

#[test]
fn a_batch_as_java_writes_it_is_read_by_short_names_and_long() {
    let short = r#"{"acks":[{"b":"BQE=","c":"g","it":60000,"pt":1700000000000,"q":3,"r":"1","rq":999,"so":100,
        "t":"T"}],"brokerName":"b"}"#;
    let batch: Batch = json::read(short.as_bytes()).unwrap();
    let expected = BatchAck {
        group: "g".into(),
        topic: "T".into(),
        retry: "1".into(),
        start_offset: 100,
        queue_id: 3,
        revive_queue: 999,
        pop_time: 1_700_000_000_000,
        invisible_ms: 60_000,
        bits: "BQE=".into(),
    };
    assert_eq!((batch.broker_name.as_str(), &batch.acks[..]), ("b", &[expected.clone()][..]));
    let long = r#"{"acks":[{"bitSet":"BQE=","consumerGroup":"g","invisibleTime":60000,"popTime":1700000000000,
        "queueId":3,"retry":"1","reviveQueueId":999,"startOffset":100,"topic":"T"}]}"#;
    assert_eq!(json::read::<Batch>(long.as_bytes()).unwrap().acks, [expected]);
}

#[test]
fn bits_stand_for_offsets_from_the_start_on_and_are_counted() {
    let ack = |bits: &str, start_offset| BatchAck { bits: bits.into(), start_offset, ..BatchAck::default() };
    assert_eq!(ack("BQE=", 100).offsets(3), Ok(vec![100, 102, 108]));
    assert_eq!(ack("BQE=", 100).offsets(2), Err(BitsError::TooMany { limit: 2 }));
    assert_eq!(ack("", 100).offsets(0), Ok(vec![]));
    assert_eq!(ack("//8=", i64::MAX - 1).offsets(9), Ok(vec![i64::MAX - 1, i64::MAX]));
    assert_eq!(ack("?", 100).offsets(9), Err(BitsError::NotBase64));
}
