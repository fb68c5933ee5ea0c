use super::*;
use proptest::prelude::*;

fn items() -> impl Strategy<Value = Vec<Item>> {
    let bytes = || proptest::collection::vec(any::<u8>(), 0..20).prop_map(Bytes::from);
    let item =
        (any::<i32>(), bytes(), bytes()).prop_map(|(flag, body, properties)| Item { flag, body, properties });
    proptest::collection::vec(item, 1..5)
}

fn encoded(items: &[Item]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for item in items {
        encode(item, &mut bytes);
    }
    bytes
}

proptest! {
    #[test]
    fn a_batch_is_taken_apart_into_what_it_was_made_of(items in items()) {
        prop_assert_eq!(decode(encoded(&items).into(), 100), Ok(items));
    }

    #[test]
    fn a_batch_with_changed_bytes_is_refused_or_read_but_never_panics(
        items in items(), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<prop::sample::Index>()
    ) {
        let mut bytes = encoded(&items);
        let (at, cut) = (at.index(bytes.len()), cut.index(bytes.len()));
        bytes[at] = byte;
        let _ = decode(bytes.clone().into(), 100);
        bytes.truncate(cut);
        let _ = decode(bytes.into(), 100);
    }
}

#[test]
fn a_batch_is_refused_with_the_index_and_the_size_that_is_wrong() {
    let item = Item { flag: 1, body: Bytes::from_static(b"body"), properties: Bytes::from_static(b"p") };
    let good = encoded(&[item.clone(), item]);
    let mut long_body = good.clone();
    long_body[27 + 19] = 99;
    assert_eq!(
        decode(long_body.into(), 9),
        Err(BatchError::Length { index: 1, field: "body length", value: 99, left: 5 })
    );
    assert!(matches!(decode(good[..30].to_vec().into(), 9), Err(BatchError::Length { index: 1, .. })));
    assert_eq!(decode(good.into(), 1), Err(BatchError::TooMany { limit: 1 }));
    assert_eq!(decode(Bytes::new(), 1), Err(BatchError::Empty));
}
