use super::*;

#[test]
fn an_address_is_one_host_and_one_port() {
    for good in ["localhost:9876", "10.0.0.7:1", "[::1]:9876"] {
        assert_eq!(address(good), Ok(good.to_owned()));
    }
    let cases = [
        ("http://localhost:9876", "http://"),
        ("a:1;b:1", "not a list"),
        ("a:1,b:1", "not a list"),
        ("localhost", "host:port"),
        ("", "host:port"),
        (":9876", "host:port"),
        ("::1:9876", "host:port"),
        ("localhost:", "is no port"),
        ("localhost:0", "is no port"),
        ("localhost:65536", "is no port"),
    ];
    for (text, said) in cases {
        assert!(address(text).is_err_and(|why| why.contains(said)), "{text}: {:?}", address(text));
    }
}

#[test]
fn numbers_out_of_range_are_refused_with_the_range() {
    assert_eq!((level("3"), count("1"), queues("1024")), (Ok(3), Ok(1), Ok(1024)));
    for text in ["0", "-1", "three", "", "99999999999999999999"] {
        assert!(level(text).unwrap_err().contains("from 1; RocketMQ's table ends with 18"), "{text}");
        assert!(count(text).unwrap_err().contains("from 1"), "{text}");
        assert!(queues(text).unwrap_err().contains("1 to 1024"), "{text}");
    }
    assert!(queues("1025").is_err());
}

#[test]
fn a_tag_or_key_that_cannot_travel_is_refused() {
    assert_eq!((tag("a b"), key("4711")), (Ok("a b".to_owned()), Ok("4711".to_owned())));
    for text in ["", " ", "a||b", "a\u{1}b"] {
        assert!(tag(text).unwrap_err().contains("not blank"), "{text:?}");
    }
    for text in ["", "two words", "a\u{2}b", "a\n"] {
        assert!(key(text).unwrap_err().contains("one word"), "{text:?}");
    }
}

#[test]
fn wanted_tags_are_one_or_several() {
    for good in ["*", "a", "a || b", "a||b"] {
        assert_eq!(tags(good), Ok(good.to_owned()));
    }
    for bad in ["", " ", "||", "a ||", "|| a", "a\u{1}"] {
        assert!(tags(bad).is_err(), "{bad:?}");
    }
}
