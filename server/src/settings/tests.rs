use super::*;

fn checked(written: &[(&str, &str)]) -> Result<Settings, SettingsError> {
    let mut raw = Raw::default();
    for (name, text) in written {
        raw.set(name, text, Origin::Flag)?;
    }
    Settings::check(&raw)
}

fn refusal(written: &[(&str, &str)]) -> String {
    checked(written).expect_err("these settings must be refused").to_string()
}

#[test]
fn nothing_written_is_a_server_on_loopback_that_syncs() {
    let settings = checked(&[]).unwrap();
    assert_eq!(settings.data, PathBuf::from("duemq-data"));
    assert_eq!(
        (settings.listen, settings.advertise),
        (IpAddr::from([127, 0, 0, 1]), IpAddr::from([127, 0, 0, 1]))
    );
    assert_eq!(settings.ports, Ports { namesrv: 9876, broker: 10911, proxy: 8080, grpc: 8081 });
    assert_eq!(settings.ports.second(), 10909);
    assert_eq!(settings.flush, Flush::Sync);
    assert_eq!(settings.max_delay_ms, 3653 * DAY_MS);
    assert_eq!(settings.levels, LevelTable::default());
    assert_eq!(settings.max_body_bytes, 4 << 20);
    assert_eq!(settings.default_queues, 8);
    assert_eq!((settings.pending_max, settings.pending_per_topic_max), (None, None));
    assert_eq!(settings.pending_per_second_max, None);
    assert_eq!(settings.dedup_window, Duration::from_mins(10));
    assert_eq!((settings.retention, settings.retention_bytes), (Duration::from_hours(72), None));
    assert!(settings.timer_enabled && settings.auto_create_topics && settings.auto_create_groups);
    assert_eq!((settings.broker_name, settings.certificate), (None, None));
}

#[test]
fn the_printed_file_holds_every_setting_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("duemq.toml");
    std::fs::write(&path, as_file()).unwrap();
    let mut raw = Raw::default();
    raw.read_file(&path).unwrap();
    assert!(keys::KEYS.iter().all(|key| raw.get(key.name).is_some()));
    let from_file = format!("{:?}", Settings::check(&raw).unwrap());
    assert_eq!(from_file, format!("{:?}", checked(&[]).unwrap()));
}

#[test]
fn a_flag_wins_over_the_environment_and_that_over_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("duemq.toml");
    std::fs::write(&path, "grpc_port = 1\nnamesrv_port = 1\nbroker_port = 11\n").unwrap();
    let mut raw = Raw::default();
    raw.set("grpc_port", "3", Origin::Flag).unwrap();
    raw.read_file(&path).unwrap();
    let environment = [("DUEMQ_GRPC_PORT", "2"), ("DUEMQ_NAMESRV_PORT", "2"), ("HOME", "/")];
    raw.read_environment(environment.iter().map(|&(k, v)| (k.to_owned(), v.to_owned()))).unwrap();
    assert_eq!(Settings::check(&raw).unwrap().ports, Ports { namesrv: 2, broker: 11, proxy: 8080, grpc: 3 });
}

#[test]
fn each_bad_value_is_refused_with_its_key_value_and_range() {
    let cases = [
        ("namesrv_port", "65536", "0 to 65535"),
        ("broker_port", "2", "3 to 65535"),
        ("grpc_port", "x", "0 to 65535"),
        ("cluster", "two words", "letters, digits"),
        ("broker_name", "a b", "letters, digits"),
        ("flush", "never", "sync"),
        ("realtime", "yes", "auto"),
        ("max_delay", "0s", "1s to 36500d"),
        ("max_delay", "9223372036854775807d", "1s to 36500d"),
        ("max_delay", "5 parsecs", "1s to 36500d"),
        ("max_delay", "5é", "1s to 36500d"),
        ("delay_levels", "1s 5x", "level 2"),
        ("delay_levels", "1s 40000d", "longer than max_delay allows"),
        ("timer", "yes", "true or false"),
        ("max_body_bytes", "65MiB", "64MiB"),
        ("max_body_bytes", "99999999999999GiB", "64MiB"),
        ("default_queues", "0", "1 to 1024"),
        ("pending_max", "-1", "1 on"),
        ("dedup_window", "8d", "1s to 7d"),
        ("pending_per_topic_max", "many", "1 on"),
        ("pending_per_second_max", "1.5", "1 on"),
        ("retention", "30s", "1m to 36500d"),
        ("retention_bytes", "1MiB", "64MiB"),
        ("log_segment_bytes", "1048577", "multiple of 8"),
        ("log_step_bytes", "-1", "64KiB"),
        ("log_tail_bytes", "", "1MiB"),
        ("max_connections", "0", "1 to 1000000"),
        ("advertise", "0.0.0.0", "not 0.0.0.0"),
        ("listen", "no such host.invalid", "IP address"),
        ("admin_networks", "10.0.0.0/33", "10.1.0.0/16"),
        ("admin_networks", "10.0.0.0", "10.1.0.0/16"),
        ("name_servers", "10.0.0.9", "10.0.0.9:9876"),
        ("name_servers", "10.0.0.9:0", "10.0.0.9:9876"),
        ("name_servers", ":9876", "10.0.0.9:9876"),
        ("name_servers", "::1:9876", "10.0.0.9:9876"),
        ("namesrvAddr", "a:9876,b:9876", "10.0.0.9:9876"),
        ("log", "xml", "json"),
        ("data", "", "folder"),
    ];
    for (key, value, range) in cases {
        let said = refusal(&[(key, value)]);
        assert!(
            said.contains(key)
                && said.contains(&format!("{value:?}"))
                && said.contains(range)
                && said.contains("command line"),
            "{key} = {value:?} was refused with: {said}"
        );
    }
}

#[test]
fn a_limit_below_the_levels_is_refused_by_the_name_it_was_set_with() {
    let said = refusal(&[("timerMaxDelaySec", "3600")]);
    assert!(said.contains("level 18, 2h, is longer than timerMaxDelaySec allows"), "{said}");
    assert!(said.contains("set delay_levels as well"), "{said}");
}

#[test]
fn an_unknown_key_is_refused_wherever_it_is_written() {
    assert!(refusal(&[("max_dely", "1s")]).contains("\"max_dely\""));
    let mut raw = Raw::default();
    let said = raw
        .read_environment([("DUEMQ_MAX_DELY".to_owned(), "1s".to_owned())].into_iter())
        .unwrap_err()
        .to_string();
    assert!(said.contains("DUEMQ_MAX_DELY"), "{said}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("duemq.toml");
    std::fs::write(&path, "max_dely = 1").unwrap();
    assert!(raw.read_file(&path).unwrap_err().to_string().contains("duemq.toml"));
}

#[test]
fn variables_of_an_orchestrator_and_of_the_client_are_no_settings() {
    let mut raw = Raw::default();
    let variables =
        ["DUEMQ_SERVICE_HOST", "DUEMQ_PORT", "DUEMQ_PORT_9876_TCP_ADDR", "DUEMQ_NAMESRV", "DUEMQ_CONFIG"];
    raw.read_environment(variables.iter().map(|&name| (name.to_owned(), "x".to_owned()))).unwrap();
    assert!(Settings::check(&raw).is_ok());
}

#[test]
fn names_of_rocketmq_are_understood_with_their_units() {
    let settings = checked(&[
        ("flushDiskType", "ASYNC_FLUSH"),
        ("timerMaxDelaySec", "259200"),
        ("messageDelayLevel", "1s 2s"),
        ("brokerName", "broker-a"),
        ("maxMessageSize", "1048576"),
        ("fileReservedTime", "48"),
    ])
    .unwrap();
    assert_eq!(
        (settings.flush, settings.max_delay_ms, settings.levels.max()),
        (Flush::Async, 259_200_000, 2)
    );
    assert_eq!((settings.broker_name.as_deref(), settings.max_body_bytes), (Some("broker-a"), 1 << 20));
    assert_eq!(settings.retention, Duration::from_hours(48));
    assert!(refusal(&[("flushDiskType", "SOMETIMES")]).contains("flushDiskType is \"SOMETIMES\""));
}

#[test]
fn one_setting_by_two_names_is_refused() {
    assert!(refusal(&[("max_delay", "1h"), ("timerMaxDelaySec", "60")]).contains("same setting"));
}

#[test]
fn aliases_lead_to_settings_and_no_name_is_taken_twice() {
    let mut names: Vec<&str> = keys::KEYS.iter().map(|key| key.name).collect();
    for alias in keys::ALIASES {
        assert!(names.contains(&alias.key), "{} leads nowhere", alias.name);
    }
    names.extend(keys::ALIASES.iter().map(|alias| alias.name));
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
}

#[test]
fn half_a_certificate_is_refused() {
    assert!(refusal(&[("tls_cert", "a.pem")]).contains("tls_key"));
    assert!(refusal(&[("tls_key", "a.pem")]).contains("tls_cert"));
    assert!(checked(&[("tls_cert", "a.pem"), ("tls_key", "b.pem")]).unwrap().certificate.is_some());
}

#[test]
fn an_address_listened_on_is_the_one_told_unless_another_is_set() {
    assert_eq!(checked(&[("listen", "127.0.0.2")]).unwrap().advertise, IpAddr::from([127, 0, 0, 2]));
    let set = checked(&[("listen", "0.0.0.0"), ("advertise", "10.1.2.3")]).unwrap();
    assert_eq!(set.advertise, IpAddr::from([10, 1, 2, 3]));
    assert!(
        matches!(
            checked(&[("listen", "0.0.0.0")]),
            Ok(Settings { advertise, .. }) if !advertise.is_unspecified() && advertise.is_ipv4()
        ) || matches!(checked(&[("listen", "0.0.0.0")]), Err(SettingsError::NoAdvertise { .. }))
    );
}

#[test]
fn networks_of_administrators_are_read() {
    let settings = checked(&[("admin_networks", "10.1.0.0/16 fd00::/8")]).unwrap();
    assert!(settings.admin_networks[0].holds(IpAddr::from([10, 1, 7, 7])));
    assert!(settings.admin_networks[1].holds("fdff::1".parse().unwrap()));
    assert_eq!(settings.admin_networks.len(), 2);
}

#[test]
fn a_table_in_the_file_is_refused_with_its_key() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("duemq.toml");
    std::fs::write(&path, "[tls]\ncert = 'x'").unwrap();
    let said = Raw::default().read_file(&path).unwrap_err().to_string();
    assert!(said.contains("tls is table"), "{said}");
}

#[test]
fn name_servers_may_be_written_as_a_list_and_as_rocketmq_does() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("duemq.toml");
    let read = |text: &str| {
        std::fs::write(&path, text).unwrap();
        let mut raw = Raw::default();
        raw.read_file(&path)?;
        Settings::check(&raw)
    };
    let expected = ["names.example:9876", "[::1]:1"];
    for text in [
        "name_servers = [\"names.example:9876\", \"[::1]:1\"]",
        "name_servers = \"names.example:9876 [::1]:1\"",
        "namesrvAddr = \"names.example:9876;[::1]:1\"",
    ] {
        assert_eq!(read(text).unwrap().name_servers, expected, "{text}");
    }
    let none: [&str; 0] = [];
    assert_eq!(read("name_servers = []").unwrap().name_servers, none);
    for text in ["name_servers = [1]", "listen = [\"127.0.0.1\"]"] {
        assert!(matches!(read(text), Err(SettingsError::NotOneValue { .. })), "{text}");
    }
}
