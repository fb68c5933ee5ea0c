use super::*;

#[test]
fn names_are_refused_with_the_reason_and_the_limit() {
    assert_eq!(TopicName::new(" "), Err(NameError::Blank { what: "topic" }));
    assert!(matches!(GroupName::new("a/b"), Err(NameError::BadCharacter { found: '/', .. })));
    let long = "t".repeat(128);
    let error = TopicName::new(&long).unwrap_err();
    assert!(error.to_string().contains("128 bytes, the limit is 127"), "{error}");
    assert!(TopicName::new(&format!("%RETRY%{}", "g".repeat(120))).is_ok());
}

#[test]
fn system_topics_are_told_from_others() {
    for topic in ["TBW102", "SCHEDULE_TOPIC_XXXX", "rmq_sys_wheel_timer", "rmq_sys_anything"] {
        assert!(is_system_topic(topic), "{topic}");
    }
    assert!(!is_system_topic("orders"));
}

#[test]
fn a_retry_topic_names_its_group() {
    let group = GroupName::new("g").unwrap();
    let retry = TopicName::retry(&group);
    assert_eq!(retry.as_str(), "%RETRY%g");
    assert_eq!(retry.retry_group(), Some(group));
}

#[test]
fn a_retry_topics_two_forms_fit_the_rules_and_no_other_name_holds_a_plus() {
    let pair = |group, topic| (GroupName::new(group).unwrap(), TopicName::new(topic).unwrap());
    let (one, other) = (pair("a", "b_c"), pair("a_b", "c"));
    assert_eq!(TopicName::pop_retry(&one.0, &one.1), TopicName::pop_retry(&other.0, &other.1));
    for (group, topic) in [&one, &other] {
        let apart = TopicName::pop_retry_apart(group, topic);
        assert_eq!(TopicName::new(apart.as_str()), Ok(apart));
    }
    assert_eq!(TopicName::pop_retry_apart(&one.0, &one.1).as_str(), "%RETRY%a+b_c");
    assert!(TopicName::new("a+b").is_err() && TopicName::new("%DLQ%a+b").is_err());
    assert!(GroupName::new("a+b").is_err() && GroupName::new("%RETRY%a+b").is_err());
}
