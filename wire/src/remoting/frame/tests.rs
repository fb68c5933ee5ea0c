use super::*;
use proptest::prelude::*;

fn any_command() -> impl Strategy<Value = Command> {
    let ext = proptest::collection::vec((any::<String>(), any::<String>()), 0..6).prop_map(Fields::from_iter);
    let remark = proptest::option::of(".+");
    let body = proptest::collection::vec(any::<u8>(), 0..40).prop_map(Bytes::from);
    let serialize = prop_oneof![Just(Serialize::Json), Just(Serialize::RocketMq)];
    // The binary dialect has 16 bits for a code, and takes the place of a pop code in a request for that code.
    let numbers = (0..3000i32, 0..14u8, 0..1000i32, any::<i32>(), 0..4i32);
    (numbers, remark, ext, body, serialize).prop_map(
        |((code, language, version, opaque, flag), remark, ext, body, serialize)| Command {
            code,
            language: Language::from_number(language),
            version,
            opaque,
            flag,
            remark,
            ext,
            body,
            serialize,
        },
    )
}

fn encoded(commands: &[Command]) -> BytesMut {
    let mut bytes = BytesMut::new();
    for command in commands {
        command.encode(&mut bytes);
    }
    bytes
}

fn json_frame(header: &str) -> BytesMut {
    let mut bytes = BytesMut::new();
    bytes.put_u32(4 + header.len() as u32);
    bytes.put_u32(header.len() as u32);
    bytes.put_slice(header.as_bytes());
    bytes
}

fn error_of(bytes: &[u8]) -> String {
    decode(&mut BytesMut::from(bytes), MAX_BYTES).unwrap_err().to_string()
}

proptest! {
    #[test]
    fn commands_come_back_however_the_stream_is_cut(
        commands in proptest::collection::vec(any_command(), 1..4), cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..6)
    ) {
        let stream = encoded(&commands);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len())).collect();
        cuts.push(stream.len());
        cuts.sort_unstable();
        let (mut buffer, mut came, mut at) = (BytesMut::new(), Vec::new(), 0);
        for cut in cuts {
            buffer.extend_from_slice(&stream[at..cut]);
            at = cut;
            while let Some(command) = decode(&mut buffer, MAX_BYTES).unwrap() {
                came.push(command);
            }
        }
        prop_assert_eq!(came, commands);
        prop_assert!(buffer.is_empty());
    }

    #[test]
    fn changed_bytes_are_an_error_or_another_command_but_never_a_panic(
        command in any_command(), changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)
    ) {
        let mut bytes = encoded(&[command]);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = decode(&mut bytes, MAX_BYTES);
    }

    #[test]
    fn random_headers_never_panic(dialect in 0..2u32, header in proptest::collection::vec(any::<u8>(), 0..80)) {
        let mut bytes = BytesMut::new();
        bytes.put_u32(4 + header.len() as u32);
        bytes.put_u32(dialect << 24 | header.len() as u32);
        bytes.put_slice(&header);
        let _ = decode(&mut bytes, MAX_BYTES);
    }
}

#[test]
fn a_json_answer_is_written_as_java_writes_it() {
    let mut request = Command::request(RequestCode::SendMessage, Fields::new(), Bytes::new());
    request.opaque = -7;
    let mut answer = request.answer(ResponseCode::MessageIllegal);
    answer.remark = Some("so \"bad\"\u{1}".into());
    answer.ext.set("queueId", 3);
    answer.ext.set("TRACE_ON", true);
    let bytes = encoded(&[answer]);
    let wanted = concat!(
        r#"{"code":13,"extFields":{"queueId":"3","TRACE_ON":"true"},"flag":1,"language":"JAVA","opaque":-7,"#,
        r#""remark":"so \"bad\"\u0001","serializeTypeCurrentRPC":"JSON","version":479}"#
    );
    assert_eq!(std::str::from_utf8(&bytes[8..]).unwrap(), wanted);
    assert_eq!(
        bytes[..8],
        [&(4 + wanted.len() as u32).to_be_bytes()[..], &(wanted.len() as u32).to_be_bytes()].concat()
    );
}

#[test]
fn a_json_header_is_read_leniently() {
    let mut bytes = json_frame(
        r#"{"code":10,"extFields":{"a":1,"b":true,"c":"x","d":null,"e":1.5},"language":"COBOL","opaque":1,"remark":"","new":[{}]}"#,
    );
    let command = decode(&mut bytes, MAX_BYTES).unwrap().unwrap();
    assert_eq!(command.ext, Fields::from_iter([("a", "1"), ("b", "true"), ("c", "x"), ("e", "1.5")]));
    assert_eq!(
        (command.language, command.flag, command.version, command.remark),
        (Language::Other, 0, 0, None)
    );
    let mut bytes = json_frame(r#"{"code":10,"extFields":null,"language":9,"opaque":1}"#);
    assert_eq!(decode(&mut bytes, MAX_BYTES).unwrap().unwrap().language, Language::Go);
}

#[test]
fn a_binary_request_for_a_pop_is_one() {
    let mut pop = Command::request(RequestCode::BatchAckMessage, Fields::new(), Bytes::new());
    pop.serialize = Serialize::RocketMq;
    assert_eq!(decode(&mut encoded(std::slice::from_ref(&pop)), MAX_BYTES).unwrap().unwrap(), pop);
}

#[test]
fn a_body_in_parts_is_one_body() {
    let mut command = Command::request(RequestCode::SendMessage, Fields::new(), Bytes::new());
    let mut bytes = BytesMut::new();
    command.encode_with(&[Bytes::from_static(b"one"), Bytes::from_static(b"two")], &mut bytes);
    command.body = Bytes::from_static(b"onetwo");
    assert_eq!(decode(&mut bytes, MAX_BYTES).unwrap().unwrap(), command);
}

#[test]
fn a_bad_frame_is_refused_as_soon_as_its_first_bytes_say_so() {
    assert_eq!(error_of(&[0xFF; 4]), "frame length is 4294967295, the limit is 16777216");
    assert_eq!(
        error_of(&(MAX_BYTES as u32 - 3).to_be_bytes()),
        "frame length is 16777213, the limit is 16777216"
    );
    assert!(
        decode(&mut BytesMut::from(&(MAX_BYTES as u32 - 4).to_be_bytes()[..]), MAX_BYTES).unwrap().is_none()
    );
    assert_eq!(error_of(&[0, 0, 0, 3]), "frame length is 3, at least 4 are needed");
    assert_eq!(error_of(&[0, 0, 1, 0, 2, 0, 0, 0]), "header dialect is 2, known are 0 and 1");
    assert_eq!(error_of(&[0, 0, 0, 10, 0, 0, 0, 7]), "header size is 7, the frame leaves room for 6");
    assert_eq!(error_of(b"GET / HTTP/1.1"), "frame length is 1195725856, the limit is 16777216");
}

#[test]
fn a_header_cut_short_is_refused_with_the_field() {
    assert_eq!(error_of(&json_frame(r#"{"code":10,"opaque":1"#)), "the JSON header cannot be read");
    let mut pop =
        Command::request(RequestCode::PopMessage, Fields::from_iter([("name", "value")]), Bytes::new());
    pop.serialize = Serialize::RocketMq;
    let whole = encoded(&[pop]);
    let told = |length: usize| {
        let mut bytes = whole[..8 + length].to_vec();
        bytes[..4].copy_from_slice(&(4 + length as u32).to_be_bytes());
        bytes[4..8].copy_from_slice(&(1 << 24 | length as u32).to_be_bytes());
        error_of(&bytes)
    };
    assert_eq!(told(12), "header field code needs 13 bytes, 12 are left");
    assert_eq!(told(whole.len() - 9), "header field extFields needs 15 bytes, 14 are left");
}

#[test]
fn a_header_with_too_many_fields_is_refused() {
    let fields = |count: usize| (0..count).map(|i| format!("\"{i}\":\"\"")).collect::<Vec<_>>().join(",");
    let header = |count| format!("{{\"code\":10,\"opaque\":1,\"extFields\":{{{}}}}}", fields(count));
    assert!(decode(&mut json_frame(&header(MAX_FIELDS)), MAX_BYTES).is_ok());
    assert!(decode(&mut json_frame(&header(MAX_FIELDS + 1)), MAX_BYTES).is_err());
}
