//! A place in the log that a client names is one where an index knows a record, whatever bytes lie there.

use super::retry::give_back;
use super::*;
use model::LogOffset;

const MESSAGE: u8 = 1;
const TIMER_PUT: u8 = 2;
const RECORD_HEADER: usize = 40;

/// A whole record of the log, as one stands at that place.
fn record(kind: u8, at: u64, payload: &[u8]) -> Vec<u8> {
    let mut rest = ((RECORD_HEADER + payload.len()) as u32).to_le_bytes().to_vec();
    rest.extend(at.to_le_bytes());
    rest.extend([kind, 0]);
    rest.extend((RECORD_HEADER as u16).to_le_bytes());
    rest.extend(1_u32.to_le_bytes());
    rest.extend([0; 16]);
    rest.extend(payload);
    let mut crc = u32::MAX;
    for byte in &rest {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 };
        }
    }
    [(!crc).to_le_bytes().to_vec(), rest].concat()
}

/// Sends a message whose body is a record, valid for the place where it comes to lie; gives that place.
fn forge(rig: &mut Rig, kind: u8, properties: &[(&str, &str)], behind: &[u8]) -> LogOffset {
    let room = "x".repeat(1000);
    rig.send(send("t", &room, &[]));
    let like = rig.pull("t", 0).messages.pop().unwrap();
    let sent: Vec<_> = (0..2).map(|_| rig.send(send("t", &room, &[]))).collect();
    let body_at = like.windows(room.len()).position(|bytes| bytes == room.as_bytes()).unwrap();
    // The next message is as long as the two before it.
    let next = 2 * sent[1].log_offset.0 - sent[0].log_offset.0;
    let at = LogOffset(next + (RECORD_HEADER + body_at) as u64);
    let placed = wire::stored::Placed {
        topic: "t",
        queue_id: QueueId(0),
        queue_offset: QueueOffset(3),
        log_offset: at,
        stored_at: rig.now.wall,
        store_host: config().store_host,
    };
    let mut inner = Vec::new();
    wire::stored::encode(&message("gift", properties), &placed, &mut inner);
    inner.extend(behind);
    let mut body = record(kind, at.0, &inner);
    body.resize(room.len(), b'x');
    let mut hostile = send("t", "", &[]);
    hostile.messages[0].body = body.into();
    assert_eq!(rig.send(hostile).log_offset.0, next, "as foreseen");
    let reader = rig.broker.log.reader();
    let (_, found) = reader.record(&rig.disk, at).expect("a record that the log takes for one of its own");
    assert_eq!(found, inner);
    at
}

#[test]
fn a_record_within_a_body_is_no_message_to_give_back() {
    let mut rig = Rig::new();
    rig.topic("t", 1);
    let place = forge(&mut rig, MESSAGE, &[], b"");
    let unknown = Err(SendBackError::MessageUnknown { log_offset: place });
    assert_eq!(give_back(&mut rig, place, -1, None), unknown);
    assert!(rig.ask(GetTopic { name: topic("%DLQ%g") }).is_none());
    let first = Stored::parse(&rig.pull("t", 0).messages[0]).unwrap().log_offset();
    give_back(&mut rig, first, -1, None).unwrap();
    assert_eq!(rig.bodies("%DLQ%g").len(), 1);
}

#[test]
fn a_record_within_a_body_is_no_message_to_see() {
    let due = (BEGIN + 1000).to_string();
    let delayed = [("UNIQ_KEY", "u"), ("TIMER_DELIVER_MS", due.as_str())];
    let forms: [(u8, &[_], &[u8]); 4] = [
        (MESSAGE, &[], b""),
        (TIMER_PUT, &delayed, b""),
        (TIMER_PUT, &delayed[1..], b""),
        (TIMER_PUT, &delayed, b"more than a message"),
    ];
    for (kind, properties, behind) in forms {
        let mut rig = Rig::new();
        rig.topic("t", 1);
        // One of the same key that was delivered, and one that waits.
        rig.send(send("t", "true", &[("UNIQ_KEY", "u"), ("DELAY", "1")]));
        rig.pass(1000);
        rig.send(send("t", "true", &[("UNIQ_KEY", "u"), ("DELAY", "5")]));
        let log_offset = forge(&mut rig, kind, properties, behind);
        assert_eq!(rig.ask(View { log_offset }), Err(ViewError::NotFound { log_offset }), "{properties:?}");
    }
}

#[test]
fn a_delayed_message_is_seen_by_its_place_while_it_waits_and_after() {
    let mut rig = Rig::new();
    rig.topic("t", 1);
    let state = |rig: &mut Rig, sent: &Sent| {
        let bytes = rig.ask(View { log_offset: sent.log_offset }).unwrap();
        let view = Stored::parse(&bytes).unwrap();
        (body(&bytes), view.property("DUEMQ_STATE").unwrap().to_owned())
    };
    let by_id = rig.send(send("t", "id", &[("UNIQ_KEY", "u"), ("DELAY", "2")]));
    let by_key = rig.send(send("t", "key", &[("KEYS", "k l"), ("DELAY", "2")]));
    for (sent, name) in [(&by_id, "id"), (&by_key, "key")] {
        assert_eq!(state(&mut rig, sent), (name.to_owned(), "pending".to_owned()));
    }
    rig.pass(5000);
    for (sent, name) in [(&by_id, "id"), (&by_key, "key")] {
        assert_eq!(state(&mut rig, sent), (name.to_owned(), "delivered".to_owned()));
    }
}
