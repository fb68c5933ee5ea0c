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
