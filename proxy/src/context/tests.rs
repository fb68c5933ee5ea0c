use super::*;

fn read(pairs: &[(&'static str, &str)]) -> Result<Context, Refused> {
    let mut metadata = MetadataMap::new();
    for (key, value) in pairs {
        metadata.insert(*key, value.parse().unwrap());
    }
    let at = SocketAddr::from(([127, 0, 0, 1], 1));
    Context::read(&metadata, Ends { peer: at, local: at }, Instant::now())
}

#[test]
fn a_call_without_a_client_id_is_refused() {
    for pairs in [&[][..], &[("x-mq-client-id", " ")]] {
        assert_eq!(read(pairs).unwrap_err().code, Code::ClientIdRequired);
    }
    let long = "i".repeat(513);
    assert_eq!(read(&[("x-mq-client-id", &long)]).unwrap_err().code, Code::ClientIdRequired);
    assert!(read(&[("x-mq-client-id", &long[..512])]).is_ok());
}

#[test]
fn any_language_and_any_authorization_will_do() {
    let context = read(&[
        ("x-mq-client-id", "host@1@0@x"),
        ("x-mq-language", "Brainfuck"),
        ("authorization", "MQv2-HMAC-SHA1 Credential=, SignedHeaders=x-mq-date-time, Signature="),
    ]);
    assert_eq!(context.unwrap().language, "BRAINFUCK");
    assert_eq!(read(&[("x-mq-client-id", "i")]).unwrap().language, "");
}

#[test]
fn a_deadline_is_read_in_each_unit_and_a_wrong_one_is_none() {
    for (text, ms) in [
        ("1H", Some(3_600_000)),
        ("2M", Some(120_000)),
        ("3S", Some(3000)),
        ("99999999S", Some(99_999_999_000)),
        ("4500m", Some(4500)),
        ("1000u", Some(1)),
        ("5000000n", Some(5)),
        ("", None),
        ("S", None),
        ("3", None),
        ("3s", None),
        ("-3S", None),
        ("+3S", None),
        ("999999999S", None),
        ("3é", None),
    ] {
        assert_eq!(timeout(text).map(|t| t.as_millis()), ms, "{text:?}");
    }
}
