use super::*;
use tempfile::TempDir;

fn process(data: &Path) -> ThisProcess {
    let mut raw = Raw::default();
    read_changes(data, &mut raw).unwrap();
    let (broker, names) = ("127.0.0.1:10911".parse().unwrap(), "127.0.0.1:9876".parse().unwrap());
    ThisProcess::new(data.to_owned(), "b".to_owned(), broker, names, raw)
}

fn change(process: &ThisProcess, name: &str, value: &str) -> Result<Configure, ChangeError> {
    process.change(&[(name.to_owned(), value.to_owned())])
}

fn shown(process: &ThisProcess, name: &str) -> Option<String> {
    process.broker_settings().into_iter().find(|(known, _)| known == name).map(|(_, value)| value)
}

#[test]
fn a_change_is_seen_by_both_names_and_outlives_the_process() {
    let folder = TempDir::new().unwrap();
    let first = process(folder.path());
    assert_eq!(shown(&first, "maxMessageSize").as_deref(), Some("4194304"));
    assert_eq!(change(&first, "maxMessageSize", "4200000").unwrap().max_body_bytes, 4_200_000);
    assert!(!change(&first, "autoCreateTopicEnable", "false").unwrap().auto_create_topics);
    for process in [first, process(folder.path())] {
        assert_eq!(shown(&process, "maxMessageSize").as_deref(), Some("4200000"));
        assert_eq!(shown(&process, "max_body_bytes").as_deref(), Some("4200000"));
        assert_eq!(shown(&process, "auto_create_topics").as_deref(), Some("false"));
        // A later change stands in place of an earlier one, by whichever name.
        assert_eq!(change(&process, "max_body_bytes", "4200000").unwrap().max_body_bytes, 4_200_000);
    }
}

#[test]
fn what_names_a_file_an_address_or_nothing_is_not_changed() {
    let folder = TempDir::new().unwrap();
    let process = process(folder.path());
    for name in [
        "data",
        "storePathRootDir",
        "tls_key",
        "tls_cert",
        "listen",
        "brokerIP1",
        "listenPort",
        "admin_networks",
        "namesrvAddr",
    ] {
        let refused = change(&process, name, "/tmp/elsewhere").unwrap_err();
        assert_eq!(refused, ChangeError::Fixed { name: name.to_owned() });
    }
    let unknown = change(&process, "noSuchKey", "1").unwrap_err();
    assert_eq!(unknown.to_string(), "there is no setting \"noSuchKey\"");
    let bad = change(&process, "maxMessageSize", "a lot").unwrap_err();
    assert!(bad.to_string().contains("maxMessageSize") && bad.to_string().contains("a lot"), "{bad}");
    assert!(!folder.path().join(FILE).exists(), "nothing was saved");
}

#[test]
fn changes_are_all_made_or_none() {
    let folder = TempDir::new().unwrap();
    let process = process(folder.path());
    let changes =
        [("maxMessageSize".to_owned(), "5000000".to_owned()), ("timer".to_owned(), "maybe".to_owned())];
    assert!(process.change(&changes).is_err());
    assert_eq!(shown(&process, "maxMessageSize").as_deref(), Some("4194304"));
}

#[test]
fn every_setting_that_can_change_while_it_runs_is_the_same_after_a_restart() {
    let folder = TempDir::new().unwrap();
    let first = process(folder.path());
    let changes = [
        ("flushDiskType", "ASYNC_FLUSH"),
        ("timerMaxDelaySec", "2592000"),
        ("messageDelayLevel", "2s 4s 8s"),
        ("timerWheelEnable", "false"),
        ("maxMessageSize", "1048576"),
        ("autoCreateTopicEnable", "false"),
        ("autoCreateSubscriptionGroup", "false"),
        ("defaultTopicQueueNums", "3"),
        ("pending_max", "1000000"),
        ("pending_per_topic_max", "1000"),
        ("timerCongestNumEachSlot", "500"),
        ("dedup_window", "1m"),
    ];
    let keys: Vec<&str> = changes.iter().map(|(name, _)| key_of(name).unwrap()).collect();
    assert_eq!(keys, CHANGEABLE, "each of them");
    for (name, value) in changes {
        change(&first, name, value).unwrap();
    }
    for process in [first, process(folder.path())] {
        for (name, value) in changes {
            assert_eq!(shown(&process, name).as_deref(), Some(value), "{name}");
        }
        let now = change(&process, "defaultTopicQueueNums", "3").unwrap();
        assert_eq!(
            (now.flush, now.max_delay_ms, now.timer_enabled),
            (broker::Flush::Async, 2_592_000_000, false)
        );
        assert_eq!((now.auto_create_topics, now.auto_create_groups, now.default_queues), (false, false, 3));
        assert_eq!((now.pending_max, now.pending_per_topic_max), (Some(1_000_000), Some(1000)));
        assert_eq!(now.pending_per_second_max, Some(500));
        assert_eq!(now.dedup_window, std::time::Duration::from_mins(1));
    }
}

#[test]
fn delay_levels_are_changed_with_all_their_words_or_not_at_all() {
    let folder = TempDir::new().unwrap();
    let first = process(folder.path());
    for (levels, ms) in [("2s 4s 8s", [2000, 4000, 8000]), ("  1s   5s 3m ", [1000, 5000, 180_000])] {
        let table = change(&first, "messageDelayLevel", levels).unwrap().levels;
        assert_eq!([1, 2, 3].map(|level| table.delay_ms(level)), ms, "{levels}");
        assert_eq!(table.max(), 3);
    }
    for bad in ["1x", "", "0s", "1s 2", "5s,6s", "-1s", "99999999999999999999d"] {
        let refused = change(&first, "messageDelayLevel", bad).unwrap_err().to_string();
        assert!(
            refused.contains("messageDelayLevel") || refused.contains("delay_levels"),
            "{bad:?}: {refused}"
        );
    }
    let table = change(&process(folder.path()), "timer", "true").unwrap().levels;
    assert_eq!(table.delay_ms(3), 180_000, "after a restart");
}
