use super::*;
use proptest::prelude::*;

fn handle() -> RecallHandle {
    RecallHandle {
        topic: "orders".into(),
        broker: "broker-a".into(),
        deliver_at: Timestamp::from_millis(1_700_000_000_000),
        unique_key: "0A000001".into(),
    }
}

fn check(inner: &str, expected: &Result<RecallHandle, RecallHandleError>) {
    assert_eq!(RecallHandle::decode(&TEXT.encode(inner)), *expected, "{inner:?}");
}

#[test]
fn a_handle_is_rocketmqs_text() {
    let text = handle().encode();
    assert_eq!(text, "djEgb3JkZXJzIGJyb2tlci1hIDE3MDAwMDAwMDAwMDAgMEEwMDAwMDE=");
    assert_eq!(RecallHandle::decode(&text), Ok(handle()));
    assert_eq!(RecallHandle::decode(text.trim_end_matches('=')), Ok(handle()), "without padding");
}

#[test]
fn parts_past_the_fifth_are_passed_over() {
    check("v1 orders broker-a 1700000000000 0A000001 more and more", &Ok(handle()));
}

#[test]
fn what_is_no_handle_is_refused_with_the_reason() {
    check("v2 orders broker-a 1 k", &Err(RecallHandleError::Version { found: "v2".into() }));
    check("", &Err(RecallHandleError::Version { found: String::new() }));
    check("v1", &Err(RecallHandleError::Missing { part: "topic" }));
    check("v1 orders  1 k", &Err(RecallHandleError::Missing { part: "broker" }));
    check("v1 orders broker-a 1", &Err(RecallHandleError::Missing { part: "unique key" }));
    check("v1 orders broker-a soon k", &Err(RecallHandleError::Moment { found: "soon".into() }));
    assert_eq!(RecallHandle::decode("a+b/"), Err(RecallHandleError::Base64));
    assert_eq!(RecallHandle::decode("/w=="), Err(RecallHandleError::Base64));
    assert_eq!(RecallHandle::decode("_w=="), Err(RecallHandleError::NotUtf8));
    assert_eq!(RecallHandle::decode(&"A".repeat(5000)), Err(RecallHandleError::TooLong { length: 5000 }));
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(topic in "[^ ]{1,40}", broker in "[^ ]{1,40}", ms: i64, unique_key in "[^ ]{1,60}") {
        let handle = RecallHandle { topic, broker, deliver_at: Timestamp::from_millis(ms), unique_key };
        prop_assert_eq!(RecallHandle::decode(&handle.encode()), Ok(handle));
    }

    #[test]
    fn any_text_is_read_or_refused(text in ".{0,80}", inner in "v1 [^a]{0,40}") {
        let _ = RecallHandle::decode(&text);
        let _ = RecallHandle::decode(&TEXT.encode(inner));
    }
}
