use super::{Layout, decode_mark, encode_mark, first_of, is_segment_size, name};

#[test]
fn names_sort_by_place_and_are_read_back() {
    assert_eq!(name(0), "log-00000000000000000000");
    assert!(name(4096) < name(1 << 40));
    for place in [0, 1 << 28, u64::MAX] {
        assert_eq!(first_of(&name(place)), Some(place));
    }
    for other in ["log-durable", "log-", "log-1", "log-+0000000000000000001", "x", "log-99999999999999999999"]
    {
        assert_eq!(first_of(other), None, "{other}");
    }
}

#[test]
fn a_layout_knows_listed_segments_and_all_later_ones() {
    let layout = Layout::new(vec![1000, 3000], 3500, 100);
    assert_eq!(layout.segment(999), None);
    assert_eq!(layout.segment(1000), Some(1000..3000));
    assert_eq!(layout.segment(2999), Some(1000..3000));
    assert_eq!(layout.segment(3000), Some(3000..3500));
    assert_eq!(layout.segment(3500), Some(3500..3600));
    assert_eq!(layout.segment(3799), Some(3700..3800));
    let over: Vec<_> = layout.segments(2999..3601).collect();
    assert_eq!(over, [1000..3000, 3000..3500, 3500..3600, 3600..3700]);
    assert_eq!(layout.segments(3500..3500).count(), 0);
}

#[test]
fn a_mark_tells_format_and_size() {
    let mut payload = Vec::new();
    encode_mark(4096, &mut payload);
    assert_eq!(payload, *b"DueMQlog\x01\0\0\0\0\0\0\0\0\x10\0\0\0\0\0\0");
    assert_eq!(decode_mark(&payload).unwrap(), (1, 4096));
    payload[16] = 1;
    assert_eq!(decode_mark(&payload).unwrap_err().found, "4097");
    payload[8] = 2;
    assert_eq!(decode_mark(&payload).unwrap().0, 2, "a newer format may mean other things by the rest");
    payload[0] = 0;
    decode_mark(&payload).unwrap_err();
    decode_mark(b"").unwrap_err();
}

#[test]
fn segment_sizes_have_bounds() {
    let sizes = [0, 248, 256, 257, 1 << 31, (1 << 31) + 8].map(is_segment_size);
    assert_eq!(sizes, [false, false, true, false, true, false]);
}
