use super::*;
use proptest::prelude::*;
use std::net::{Ipv4Addr, Ipv6Addr};

fn host(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

#[test]
fn offset_ids_are_those_of_rocketmq() {
    for (at, log_offset, id) in [
        ("10.0.0.1:10911", 0x1234, "0A00000100002A9F0000000000001234"),
        ("[::ffff:10.0.0.1]:10911", 0x1234, "0A00000100002A9F0000000000001234"),
        ("[2001:db8::1]:10911", u64::MAX, "20010DB800000000000000000000000100002A9FFFFFFFFFFFFFFFFF"),
    ] {
        assert_eq!(encode(host(at), LogOffset(log_offset)), id, "{at}");
    }
}

#[test]
fn an_id_is_read_in_either_case() {
    let expected = Ok((host("10.0.0.1:10911"), LogOffset(0xAB)));
    assert_eq!(decode("0A00000100002A9F00000000000000AB"), expected);
    assert_eq!(decode("0a00000100002a9f00000000000000ab"), expected);
}

#[test]
fn what_is_no_offset_id_is_refused_with_the_reason() {
    assert_eq!(decode("0A"), Err(MessageIdError::Length { length: 2 }));
    assert_eq!(decode("0A00000100002A9F00000000000000AG"), Err(MessageIdError::Digit { at: 31 }));
    assert_eq!(decode("0A00000100012A9F00000000000000AB"), Err(MessageIdError::Port { found: 0x12A9F }));
    assert_eq!(decode("0A00000100002A9F0000000000000é"), Err(MessageIdError::Length { length: 31 }));
    assert_eq!(decode("0A00000100002A9F00000000000000é"), Err(MessageIdError::Digit { at: 30 }));
}

#[test]
fn a_unique_key_tells_its_moment_where_tools_look_for_it() {
    // 2024-02-29T01:02:03.004Z: 28 whole days into its month.
    let key = make_unique_key(
        host("10.0.0.1:10911"),
        Timestamp::from_millis(1_709_168_523_004),
        LogOffset(0x0123_4567_89AB),
    );
    let moment = 28 * 86_400_000_u32 + 3_723_004;
    assert_eq!(key, format!("0A0000012A9F01234567{moment:08X}89AB"));
}

#[test]
fn months_begin_where_the_calendar_says() {
    for (day, ms, day_of_month) in [
        ("1970-01-01", 0, 1),
        ("1969-12-31", -86_400_000, 31),
        ("2000-02-29", 951_782_400_000, 29),
        ("2000-03-01", 951_868_800_000, 1),
        ("2100-02-28", 4_107_456_000_000, 28),
        ("2100-03-01", 4_107_542_400_000, 1),
        ("2023-12-31", 1_703_980_800_000, 31),
    ] {
        assert_eq!(month_ms(Timestamp::from_millis(ms)), (day_of_month - 1) * 86_400_000, "{day}");
    }
}

#[test]
fn far_places_have_keys_of_their_own_whatever_the_port() {
    let key = |place| make_unique_key(host("10.0.0.1:1"), Timestamp::from_millis(0), LogOffset(place));
    assert_ne!(key(0), key(1 << 48));
}

fn hosts() -> impl Strategy<Value = SocketAddr> {
    let v4 = any::<[u8; 4]>().prop_map(|octets| IpAddr::from(Ipv4Addr::from(octets)));
    let v6 = any::<[u8; 16]>().prop_map(|octets| IpAddr::from(Ipv6Addr::from(octets)).to_canonical());
    (prop_oneof![v4, v6], any::<u16>()).prop_map(SocketAddr::from)
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(host in hosts(), log_offset: u64) {
        prop_assert_eq!(decode(&encode(host, LogOffset(log_offset))), Ok((host, LogOffset(log_offset))));
    }

    #[test]
    fn any_text_is_read_or_refused(text in prop_oneof![".{0,64}", "[0-9a-fA-F]{32}", "[0-9a-fA-F]{56}", "[0-9A-Fé]{30,32}"]) {
        let _ = decode(&text);
    }

    #[test]
    fn places_of_one_server_have_different_keys(host in hosts(), ms: i64, a: u64, b: u64) {
        let key = |place| make_unique_key(host, Timestamp::from_millis(ms), LogOffset(place));
        prop_assert_eq!(key(a).len(), 32);
        prop_assert_eq!(key(a) == key(b), a == b);
        prop_assert_eq!(key(a), key(a));
    }
}
