use model::LogOffset;
use proptest::prelude::*;

use super::{Frame, HEADER_BYTES, Header, Kind, decode, encode, size};

fn encoded(frame: &Frame, payload: &[u8]) -> Vec<u8> {
    let mut buffer = Vec::new();
    encode(&mut buffer, frame, payload.len(), |buffer| buffer.extend_from_slice(payload));
    buffer
}

#[test]
fn the_bytes_are_those_of_the_table() {
    let frame = Frame { at: 0x4000, kind: 2, flags: 3, epoch: 7, due_ms: 0x0102_0304, reference: 0x0a0b };
    let bytes = encoded(&frame, b"hello");
    assert_eq!(bytes.len(), 48);
    assert_eq!(bytes[4..8], [45, 0, 0, 0]);
    assert_eq!(bytes[8..16], [0, 0x40, 0, 0, 0, 0, 0, 0]);
    assert_eq!(bytes[16..20], [2, 3, 40, 0]);
    assert_eq!(bytes[20..24], [7, 0, 0, 0]);
    assert_eq!(bytes[24..32], [4, 3, 2, 1, 0, 0, 0, 0]);
    assert_eq!(bytes[32..40], [0x0b, 0x0a, 0, 0, 0, 0, 0, 0]);
    assert_eq!(bytes[40..], *b"hello\0\0\0");
    assert_eq!(bytes[..4], crc32fast::hash(&bytes[4..45]).to_le_bytes());
}

#[test]
fn every_kind_is_read_back_from_its_number() {
    for number in 1..=12 {
        assert_eq!(Kind::of(number).unwrap() as u8, number);
    }
    assert_eq!((Kind::of(0), Kind::of(13)), (None, None));
}

#[test]
fn each_wrong_field_is_told_from_the_others() {
    let frame = Frame { at: 64, kind: 1, flags: 0, epoch: 1, due_ms: 0, reference: 0 };
    let good = encoded(&frame, b"payload");
    let found = |at: usize, bytes: &[u8], room| {
        let mut bad = good.clone();
        bad[at..at + bytes.len()].copy_from_slice(bytes);
        decode(&bad, 64, room).unwrap_err().found
    };
    assert_eq!(decode(&[0; HEADER_BYTES], 64, 1000).unwrap_err().found, "zeros");
    assert_eq!(decode(&good, 72, 1000).unwrap_err().found, "log offset 64");
    assert_eq!(found(4, &[39, 0, 0, 0], 1000), "length 39");
    assert_eq!(found(4, &[47, 0, 0, 0], 46), "length 47");
    assert_eq!(found(18, &[41], 1000), "one of 41");
    let claim = decode(&good, 64, 1000).unwrap();
    let mut bad = good.clone();
    bad[44] ^= 1;
    assert!(claim.check(&good).is_ok() && claim.check(&bad).is_err());
}

#[test]
#[should_panic(expected = "a payload of 3 bytes was placed, 2 were filled in")]
fn a_payload_of_another_length_than_placed_is_a_broken_caller() {
    let frame = Frame { at: 0, kind: 1, flags: 0, epoch: 1, due_ms: 0, reference: 0 };
    encode(&mut Vec::new(), &frame, 3, |buffer| buffer.extend_from_slice(b"xy"));
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(
        at in any::<u64>(), kind in 1u8..=12, flags in any::<u8>(), epoch in any::<u32>(),
        due_ms in any::<u64>(), reference in any::<u64>(),
        payload in prop::collection::vec(any::<u8>(), 0..100),
    ) {
        let frame = Frame { at, kind, flags, epoch, due_ms, reference };
        let bytes = encoded(&frame, &payload);
        prop_assert_eq!(bytes.len(), size(payload.len()));
        let claim = decode(&bytes, at, bytes.len() as u64).unwrap();
        prop_assert_eq!(claim.frame, frame);
        prop_assert_eq!(claim.size(), bytes.len() as u64);
        claim.check(&bytes).unwrap();
        prop_assert_eq!(&bytes[HEADER_BYTES..claim.length], &payload[..]);
        let kind = Kind::of(kind).unwrap();
        prop_assert_eq!(claim.header(), Some(Header { kind, flags, due_ms, reference: LogOffset(reference) }));
    }

    #[test]
    fn any_bytes_are_decoded_without_panic(bytes in prop::collection::vec(any::<u8>(), HEADER_BYTES..80), at in any::<u64>()) {
        if let Ok(claim) = decode(&bytes, at, bytes.len() as u64) {
            let _ = claim.check(&bytes);
        }
    }
}
