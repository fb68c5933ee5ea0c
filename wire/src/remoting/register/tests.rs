use super::*;
use miniz_oxide::deflate::compress_to_vec_zlib;

fn config(name: &str, queues: u32) -> TopicConfig {
    TopicConfig {
        topic_name: name.to_owned(),
        read_queue_nums: queues,
        write_queue_nums: queues,
        ..TopicConfig::default()
    }
}

fn body(topics: &[(&str, u32)]) -> Body {
    let data_version = DataVersion { counter: 3, state_version: 0, timestamp: 1_700_000_000_000 };
    let table = topics.iter().map(|(name, queues)| ((*name).to_owned(), config(name, *queues)));
    Body {
        topic_config_serialize_wrapper: Topics { data_version, topic_config_table: table.collect() },
        ..Body::default()
    }
}

fn put(into: &mut Vec<u8>, text: &str) {
    into.extend_from_slice(&(text.len() as u32).to_be_bytes());
    into.extend_from_slice(text.as_bytes());
}

/// As a 5.x broker writes it, with the parts behind the topics.
fn compressed(topics: &[&str]) -> Vec<u8> {
    let mut plain = Vec::new();
    put(&mut plain, r#"{"counter":3,"stateVersion":0,"timestamp":1700000000000}"#);
    plain.extend_from_slice(&(topics.len() as u32).to_be_bytes());
    for topic in topics {
        put(&mut plain, topic);
    }
    put(&mut plain, "[]");
    plain.extend_from_slice(&0_u32.to_be_bytes());
    compress_to_vec_zlib(&plain, 9)
}

#[test]
fn a_registration_as_java_writes_it_is_read() {
    let text = r#"{"filterServerList":[],"topicConfigSerializeWrapper":{
        "dataVersion":{"counter":3,"stateVersion":0,"timestamp":1700000000000},
        "mappingDataVersion":{"counter":0,"stateVersion":0,"timestamp":1},
        "topicConfigTable":{"one":{"attributes":{},"order":false,"perm":6,"readQueueNums":4,"topicFilterType":
        "SINGLE_TAG","topicName":"one","topicSysFlag":0,"writeQueueNums":4}},
        "topicQueueMappingDetailMap":{},"topicQueueMappingInfoMap":{"static":{"bname":"b","currIdMap":{0:1}}}}}"#;
    assert_eq!(Body::read(text.as_bytes(), false).unwrap(), body(&[("one", 4)]));
    assert_eq!(Body::read(b"", false).unwrap(), Body::default());
}

#[test]
fn a_registration_is_written_as_it_is_read() {
    let body = body(&[("%RETRY%g", 1), ("one", 4)]);
    assert_eq!(Body::read(&body.write(), false).unwrap(), body);
}

#[test]
fn a_compressed_registration_is_read_with_and_without_attributes() {
    let bytes = compressed(&[r#"one 4 4 6 SINGLE_TAG {"message.type":"DELAY"}"#, "two 1 1 6 SINGLE_TAG "]);
    assert_eq!(Body::read(&bytes, true).unwrap(), body(&[("one", 4), ("two", 1)]));
}

#[test]
fn a_compressed_registration_that_is_damaged_says_where() {
    let whole = compressed(&["one 4 4 6 SINGLE_TAG"]);
    for end in 0..whole.len() - 5 {
        assert!(Body::read(&whole[..end], true).is_err(), "{end} bytes");
    }
    for (topics, wanted) in [(&["one"][..], "\"one\""), (&["one 4 x 6 SINGLE_TAG"], "x 6")] {
        let error = Body::read(&compressed(topics), true).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    }
    let endless = compress_to_vec_zlib(&u32::MAX.to_be_bytes(), 1);
    assert!(matches!(Body::read(&endless, true), Err(RegisterBodyError::Truncated { .. })));
    assert!(matches!(Body::read(b"plain text", true), Err(RegisterBodyError::Zlib { .. })));
}

#[test]
fn a_body_that_swells_beyond_the_limit_is_refused() {
    let bomb = compress_to_vec_zlib(&vec![0; INFLATED_MAX + 1], 1);
    assert!(bomb.len() < INFLATED_MAX / 100);
    assert!(matches!(Body::read(&bomb, true), Err(RegisterBodyError::TooLong { .. })));
}

#[test]
fn the_checksum_is_javas() {
    assert_eq!(checksum(b"123456789"), 0x4BF4_3926);
    assert_eq!(checksum(b""), 0);
}
