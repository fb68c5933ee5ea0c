use super::*;
use crate::settings::{Origin, Raw};

fn settings(data: &Path, broker_name: &str) -> Settings {
    let mut raw = Raw::default();
    raw.set("data", data.to_str().unwrap(), Origin::Flag).unwrap();
    raw.set("broker_name", broker_name, Origin::Flag).unwrap();
    Settings::check(&raw).unwrap()
}

#[test]
fn the_name_of_the_first_start_stays() {
    let folder = tempfile::tempdir().unwrap();
    let first = broker_name(&settings(folder.path(), "")).unwrap();
    assert!(first.starts_with("duemq"), "{first}");
    std::fs::write(folder.path().join(FILE), "duemq-elsewhere\n").unwrap();
    assert_eq!(broker_name(&settings(folder.path(), "")).unwrap(), "duemq-elsewhere");
}

#[test]
fn another_name_than_the_saved_one_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(broker_name(&settings(folder.path(), "broker-a")).unwrap(), "broker-a");
    assert_eq!(broker_name(&settings(folder.path(), "broker-a")).unwrap(), "broker-a");
    let said = broker_name(&settings(folder.path(), "broker-b")).unwrap_err().to_string();
    assert!(said.contains("broker-a") && said.contains("broker-b") && said.contains(FILE), "{said}");
}

#[test]
fn a_host_of_any_name_makes_a_good_one() {
    assert_eq!(from_host("node7.example.org"), "duemq-node7");
    assert_eq!(from_host("büro pc"), "duemq-b-ro-pc");
    assert_eq!(from_host(""), "duemq");
    assert!(crate::settings::name(&from_host(&"x".repeat(300))).is_some());
}

#[test]
fn a_spoilt_file_is_told_of_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(FILE), "two words\n").unwrap();
    assert!(matches!(broker_name(&settings(folder.path(), "")), Err(NameError::Bad { .. })));
    assert_eq!(std::fs::read_to_string(folder.path().join(FILE)).unwrap(), "two words\n");
}
