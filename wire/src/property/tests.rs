use super::*;
use proptest::prelude::*;

fn texts(properties: &Properties) -> Vec<(&str, &str)> {
    properties.iter().collect()
}

#[test]
fn text_form_is_rocketmqs() {
    let properties: Properties = [("KEYS", "a b"), ("TAGS", "t")].into_iter().collect();
    let mut bytes = Vec::new();
    encode(&properties, &mut bytes);
    assert_eq!(bytes, b"KEYS\x01a b\x02TAGS\x01t\x02");
}

#[test]
fn reading_is_as_lenient_as_rocketmqs() {
    for (text, expected) in [
        ("", vec![]),
        ("a\u{1}1", vec![("a", "1")]),
        ("a\u{1}1\u{2}", vec![("a", "1")]),
        ("a\u{1}\u{2}b\u{1}2\u{2}", vec![("b", "2")]),
        ("\u{1}1\u{2}b\u{1}2", vec![("b", "2")]),
        ("a\u{1}1\u{2}a\u{1}2\u{2}", vec![("a", "2")]),
        ("a\u{1}1\u{1}2\u{2}", vec![("a", "1\u{1}2")]),
        ("no name\u{2}\u{2}\u{2}x\u{1}y", vec![("x", "y")]),
    ] {
        assert_eq!(texts(&decode(text.as_bytes()).unwrap()), expected, "{text:?}");
    }
}

#[test]
fn what_no_message_can_carry_is_refused() {
    assert_eq!(decode(b"a\x01\xff\x02"), Err(PropertiesError::NotUtf8 { at: 2 }));
    let long = vec![b'a'; MAX_BYTES + 1];
    let error = decode(&long).unwrap_err();
    assert_eq!(error.to_string(), "the properties have 32768 bytes, the limit is 32767");
    assert!(decode(&long[1..]).is_ok());
}

#[test]
fn a_property_the_form_cannot_carry_is_left_out_and_not_counted() {
    let properties: Properties =
        [("", "v"), ("n", ""), ("a\u{1}", "v"), ("b\u{2}", "v"), ("c", "\u{2}"), ("kept", "v")]
            .into_iter()
            .collect();
    let mut bytes = Vec::new();
    encode(&properties, &mut bytes);
    assert_eq!(bytes, b"kept\x01v\x02");
    assert_eq!(encoded_len(&properties), bytes.len());
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(pairs in proptest::collection::vec(("[^\u{1}\u{2}]{1,12}", "[^\u{2}]{1,12}"), 0..20)) {
        let properties: Properties = pairs.into_iter().collect();
        let mut bytes = Vec::new();
        encode(&properties, &mut bytes);
        prop_assert_eq!(encoded_len(&properties), bytes.len());
        prop_assert_eq!(decode(&bytes).unwrap(), properties);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(prop_oneof![3 => 0_u8..4, 1 => any::<u8>()], 0..200)) {
        if let Ok(properties) = decode(&bytes) {
            let mut again = Vec::new();
            encode(&properties, &mut again);
            prop_assert_eq!(decode(&again).unwrap(), properties);
        }
    }
}
