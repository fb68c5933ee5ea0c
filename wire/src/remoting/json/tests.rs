use super::*;
use proptest::prelude::*;
use serde_json::json;

fn check(body: &str, wanted: &Value) {
    assert_eq!(&parse(body.as_bytes()).unwrap(), wanted, "{body}");
}

#[test]
fn what_the_peers_library_writes_is_read() {
    check(r#"{"brokerAddrs":{0:"a:1",-1:"b:2"}}"#, &json!({"brokerAddrs": {"0": "a:1", "-1": "b:2"}}));
    check(r#"{{"brokerName":"b","queueId":0}:12}"#, &json!({r#"{"brokerName":"b","queueId":0}"#: 12}));
    check(r#"[{"$ref":"$.a[0]"},{"x":1,"y":null}]"#, &json!([{"x": 1}]));
    check("\t{ \"t\" : 1.5 ,\n\"u\": [ true , ] } ", &json!({"t": 1.5, "u": [true]}));
    check(r#"{"\u00e9\"":"\uD83D\uDE00","n":9223372036854775807}"#, &json!({"é\"": "😀", "n": i64::MAX}));
}

#[test]
fn what_is_no_json_is_told_with_its_place() {
    for (body, at) in [
        ("", 0),
        ("{", 1),
        ("[1", 2),
        ("{\"a\"1}", 4),
        ("{\"a\":}", 5),
        ("\"a", 0),
        ("{} x", 3),
        ("\"\\x\"", 0),
    ] {
        assert!(
            matches!(parse(body.as_bytes()), Err(BodyError::Syntax { at: found, .. }) if found == at),
            "{body}"
        );
    }
    assert!(matches!(parse("[".repeat(100_000).as_bytes()), Err(BodyError::TooDeep { at: 32, .. })));
    assert!(matches!(read::<Vec<String>>(b"{}"), Err(BodyError::Shape(_))));
}

#[test]
fn a_scalar_stands_for_one_of_another_kind() {
    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct Shape {
        numbers: Vec<i32>,
        truths: Vec<bool>,
        texts: Vec<String>,
        table: std::collections::BTreeMap<i64, f64>,
        maybe: Option<i64>,
    }
    let body = r#"{"numbers":["-65",7,""],"truths":[true,"TRUE","no",1,0],"texts":["x",5,false],
        "table":{-1:"0.5","2":3},"maybe":"9","unheard":{"of":[]}}"#;
    let wanted = Shape {
        numbers: vec![-65, 7, 0],
        truths: vec![true, true, false, true, false],
        texts: vec!["x".into(), "5".into(), "false".into()],
        table: [(-1, 0.5), (2, 3.0)].into(),
        maybe: Some(9),
    };
    assert_eq!(read::<Shape>(body.as_bytes()).unwrap(), wanted);
    for body in ["[\"x\"]", "[\"1.5\"]", "[[1]]", "[\"9999999999\"]"] {
        assert!(matches!(read::<Vec<i32>>(body.as_bytes()), Err(BodyError::Shape(_))), "{body}");
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from)
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::hash_map("[a-z]{1,4}|[0-9]{1,3}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect()))
        ]
    })
}

proptest! {
    #[test]
    fn json_is_read_as_any_reader_does(value in any_json()) {
        prop_assert_eq!(parse(value.to_string().as_bytes()).unwrap(), value);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "[\\[\\]{}:,\"\\\\a0 u$]{0,40}", bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        let _ = parse(text.as_bytes());
        let _ = parse(&bytes);
    }
}

#[test]
fn a_map_by_objects_is_read_as_it_is_written() {
    let key = |id: i32| std::collections::BTreeMap::from([("queueId", id)]);
    let text = write_keyed([(key(0), 1), (key(1), 2)]);
    assert_eq!(text, r#"{{"queueId":0}:1,{"queueId":1}:2}"#);
    let read = parse(text.as_bytes()).unwrap();
    assert_eq!(read[r#"{"queueId":1}"#], 2);
    assert_eq!(write_keyed(Vec::<(i32, i32)>::new()), "{}");
}
