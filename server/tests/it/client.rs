//! The commands that are clients, against a running server.

use crate::process::{Server, complained, duemq, printed};

#[test]
fn a_delayed_message_is_sent_and_received_on_time() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::ready(folder.path(), &[]);
    let made = printed(&server.run(&["topic", "create", "orders", "--type", "delay", "--queues", "2"]));
    assert!(made.contains("made: DELAY") && made.contains("2 queues"), "{made}");
    let sent = printed(&server.run(&[
        "send",
        "orders",
        "cancel 4711",
        "--delay",
        "300ms",
        "--tag",
        "T",
        "--key",
        "k1",
    ]));
    let id = sent.lines().find_map(|line| line.strip_prefix("id ")).unwrap().to_owned();
    assert!(sent.contains("due about 2"), "{sent}");
    let receive = ["receive", "orders", "--group", "workers", "--count", "1", "--timeout", "50s"];
    let received = printed(&server.run(&receive));
    for part in
        ["cancel 4711", &id, "due ", "delivered ", "tag       T", "keys      k1", "of orders, offset 0"]
    {
        assert!(received.contains(part), "{part:?} is missing in\n{received}");
    }
    assert!(!received.contains("early"), "{received}");
    server.stop();
}

#[test]
fn what_waits_is_listed_shown_counted_and_called_back() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::ready(folder.path(), &[]);
    printed(&server.run(&["topic", "create", "orders", "--type", "delay"]));
    for (body, delay, key) in [("late", "2h", "a"), ("soon", "1h", "b"), ("soonest", "30m", "a")] {
        printed(&server.run(&["send", "orders", body, "--delay", delay, "--key", key]));
    }
    let list = |more: &[&str]| {
        let listed = printed(&server.run(&[&["pending", "list"], more].concat()));
        listed.lines().map(|line| line.split_whitespace().last().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(list(&[]), ["a", "b", "a"]);
    assert_eq!(list(&["orders", "--count", "2"]), ["a", "b"]);
    assert_eq!(list(&["orders", "--key", "b"]), ["b"]);
    assert!(list(&["--from", "2100-01-01"]).is_empty());
    let count = || printed(&server.run(&["pending", "count"]));
    assert_eq!(count().split_whitespace().collect::<Vec<_>>(), ["orders", "3", "in", "all", "3"]);
    let shown = printed(&server.run(&["pending", "show", "orders", "b"]));
    for part in ["soon\n", "due ", "accepted ", "keys      b", "queue     ", " of orders\n"] {
        assert!(shown.contains(part), "{part:?} is missing in\n{shown}");
    }
    let recalled = printed(&server.run(&["pending", "recall", "orders", "a"]));
    assert_eq!(recalled.lines().filter(|line| line.starts_with("recalled ")).count(), 2, "{recalled}");
    assert_eq!(list(&[]), ["b"]);
    let by_id = shown.lines().find_map(|line| line.strip_prefix("  id        ")).unwrap();
    let recalled = printed(&server.run(&["pending", "recall", "orders", by_id]));
    assert_eq!(recalled, format!("recalled {by_id}\n"));
    assert_eq!(printed(&server.run(&["pending", "recall", "orders", by_id])), "recalled before\n");
    assert!(list(&[]).is_empty());
    let (code, said) = complained(&server.run(&["pending", "list", "nowhere"]));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("there is no topic nowhere"), "{said}");
    let (code, said) = complained(&server.run(&["send", "orders", "", "--delay", "1h"]));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("the body is empty") && !said.contains("max_delay"), "{said}");
    for verb in ["show", "recall"] {
        let (code, said) = complained(&server.run(&["pending", verb, "orders", "a"]));
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("no message of orders with \"a\" waits"), "{said}");
    }
    server.stop();
}

#[test]
fn what_waits_is_given_another_moment_and_told_to_programs() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::ready(folder.path(), &[]);
    printed(&server.run(&["topic", "create", "orders", "--type", "delay"]));
    for (body, delay, key) in [("a \"late\" one", "2h", "a"), ("soon", "1h", "b"), ("soonest", "30m", "a")] {
        printed(&server.run(&["send", "orders", body, "--delay", delay, "--key", key]));
    }
    printed(&server.run(&["send", "orders", "level", "--level", "18", "--key", "c"]));
    let pending = |args: &[&str]| printed(&server.run(&[&["pending"], args].concat()));
    let json = |args: &[&str]| -> Vec<serde_json::Value> {
        let told = pending(&[args, &["--json"]].concat());
        told.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };

    let moved = pending(&["reschedule", "orders", "a", "--at", "2031-12-25T12:30:00Z"]);
    let rows: Vec<&str> = moved.lines().collect();
    assert_eq!((rows.len(), rows[2]), (3, "2 messages moved"), "{moved}");
    assert!(
        rows[0].starts_with("rescheduled ")
            && rows[0].contains(" from 20")
            && rows[0].contains(" to 2031-12-25")
    );
    let listed = json(&["list", "orders"]);
    let due = |message: &serde_json::Value| message["dueMs"].as_i64().unwrap();
    let keys: Vec<_> = listed.iter().map(|message| message["keys"][0].as_str().unwrap()).collect();
    assert_eq!(keys, ["b", "c", "a", "a"]);
    assert_eq!((due(&listed[2]), due(&listed[3])), (1_955_968_200_000, 1_955_968_200_000));

    let shown = pending(&["show", "orders", "c"]);
    assert!(shown.contains("level     18\n"), "{shown}");
    let shown = json(&["show", "orders", "c"]);
    assert_eq!((&shown[0]["level"], &shown[0]["body"]), (&18.into(), &"level".into()));
    assert_eq!(shown[0]["properties"]["KEYS"], "c");

    let rows = pending(&["count", "orders", "--by", "1h", "--from", "2031-12-25"]);
    let cells: Vec<Vec<&str>> = rows.lines().map(|row| row.split_whitespace().skip(2).collect()).collect();
    assert_eq!(cells, [vec!["2", &"#".repeat(40)], vec!["2"]], "{rows}");
    let counted = json(&["count", "--by", "1h", "--from", "2031-12-25"]);
    let begin = 1_955_968_200_000_i64 / 3_600_000 * 3_600_000;
    assert_eq!(
        counted,
        [serde_json::json!({ "byMs": 3_600_000, "counts": [{ "begin": begin, "count": 2 }] })]
    );
    assert_eq!(json(&["count"]), [serde_json::json!({ "pending": { "orders": 4 }, "inAll": 4 })]);

    let id = listed[0]["id"].as_str().unwrap();
    let told = json(&["reschedule", "orders", id, "--in", "3h"]);
    assert_eq!((&told[0]["outcome"], &told[0]["moved"][0]["fromMs"]), (&"moved".into(), &listed[0]["dueMs"]));
    let later = told[0]["moved"][0]["toMs"].as_i64().unwrap();
    assert!(later - due(&listed[0]) > 7_000_000, "{told:?}");
    let now = pending(&["reschedule", "orders", id, "--at", "2001-01-01"]);
    assert!(now.ends_with("1 message moved\n") && !now.contains("to 2001"), "{now}");
    let receive = ["receive", "orders", "--group", "workers", "--count", "1", "--timeout", "50s"];
    assert!(printed(&server.run(&receive)).contains("soon"));
    for (key, outcome, why) in [(id, "too late", "too late"), ("nobody", "unknown", "no message of orders")] {
        let args = ["pending", "reschedule", "orders", key, "--in", "1h", "--json"];
        let answer = server.run(&args);
        let told: serde_json::Value = serde_json::from_slice(&answer.stdout).unwrap();
        assert_eq!((&told["outcome"], answer.status.code()), (&outcome.into(), Some(1)));
        assert!(String::from_utf8_lossy(&answer.stderr).contains(why));
    }
    assert_eq!(json(&["recall", "orders", "c"])[0]["outcome"], "recalled");
    let recalled = shown[0]["id"].as_str().unwrap();
    let (code, said) = complained(&server.run(&["pending", "reschedule", "orders", recalled, "--in", "1h"]));
    assert!(code == Some(1) && said.contains("was called back before"), "{said}");
    let (code, said) = complained(&server.run(&["pending", "reschedule", "orders", "a", "--in", "99999d"]));
    assert!(code == Some(1) && said.contains("the limit is"), "{said}");
    let (code, said) = complained(&server.run(&["pending", "reschedule", "orders", "a"]));
    assert!(code == Some(2) && said.contains("--at"), "{said}");
    server.stop();
}

#[test]
fn a_client_that_is_given_the_proxys_port_alone_sends_and_receives() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::ready(folder.path(), &[]);
    let run = |args: &[&str]| {
        let proxy = format!("127.0.0.1:{}", server.port("proxy: "));
        duemq(args).args(["--namesrv", &proxy]).output().unwrap()
    };
    printed(&run(&["topic", "create", "orders", "--type", "delay"]));
    printed(&run(&["send", "orders", "cancel 4711", "--delay", "300ms"]));
    let receive = ["receive", "orders", "--group", "workers", "--count", "1", "--timeout", "50s"];
    let received = printed(&run(&receive));
    assert!(received.contains("cancel 4711") && !received.contains("early"), "{received}");
    let (code, said) = complained(&run(&["send", "orders", "not delayed"]));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("DELAY") && said.contains("NORMAL"), "{said}");
    server.stop();
}

#[test]
fn a_group_continues_where_it_was_and_another_begins_at_the_beginning() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::ready(folder.path(), &[]);
    printed(&server.run(&["topic", "create", "orders", "--queues", "1"]));
    for body in ["one", "two", "three"] {
        printed(&server.run(&["send", "orders", body]));
    }
    let receive = |group: &str| {
        let received = printed(&server.run(&[
            "receive",
            "orders",
            "--group",
            group,
            "--count",
            "1",
            "--timeout",
            "50s",
        ]));
        received.lines().next().unwrap().to_owned()
    };
    assert_eq!([receive("a"), receive("a"), receive("b")], ["one", "two", "one"]);
    server.stop();
}

#[test]
fn a_receive_that_gets_nothing_in_time_ends_with_a_word_and_a_code() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::ready(folder.path(), &[]);
    let (code, said) = complained(&server.run(&["receive", "nobody", "--group", "g", "--timeout", "10ms"]));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("no topic \"nobody\" yet") && said.contains("no message came in time"), "{said}");
    server.stop();
}

#[test]
fn what_the_server_refuses_is_told_in_its_words() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::ready(folder.path(), &["--set", "auto_create_topics=false"]);
    let (code, said) = complained(&server.run(&["send", "orders", "hello"]));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("duemq topic create orders"), "{said}");
    printed(&server.run(&["topic", "create", "orders"]));
    let (code, said) = complained(&server.run(&["send", "orders", "hello", "--delay", "30 years"]));
    assert_eq!(code, Some(1), "{said}");
    for words in ["--delay 30y is 1095", " days", "3653 days", "max_delay", "TIMER_DELAY_MS"] {
        assert!(said.contains(words), "{words:?} is missing in {said}");
    }
    printed(&server.run(&["send", "orders", "hello", "--delay", "10y"]));
    server.stop();
}

#[test]
fn without_a_server_a_command_says_how_to_start_one() {
    let (code, said) =
        complained(&duemq(&["send", "orders", "hello", "--namesrv", "127.0.0.1:1"]).output().unwrap());
    assert_eq!(code, Some(69), "{said}");
    assert!(
        said.contains("duemq serve") && said.contains("127.0.0.1:1") && said.contains("refused"),
        "{said}"
    );
}

#[test]
fn bad_names_are_refused_before_anybody_is_asked() {
    for args in
        [["send", "no topic", "x"].as_slice(), &["receive", "t", "--group", "a b"], &["topic", "create", "é"]]
    {
        let (code, said) = complained(&duemq(args).output().unwrap());
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains("allowed are letters"), "{said}");
    }
}

#[test]
fn what_is_not_given_of_a_topic_stays() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::ready(folder.path(), &[]);
    printed(&server.run(&["topic", "create", "orders", "--type", "delay", "--queues", "4"]));
    let more = printed(&server.run(&["topic", "create", "orders", "--queues", "6"]));
    assert!(more.contains("from DELAY messages, 4 queues to DELAY messages, 6 queues"), "{more}");
    let fewer = server.run(&["topic", "create", "orders", "--queues", "1"]);
    let (code, warned) = complained(&fewer);
    assert!(code == Some(0) && warned.contains("queues 1 to 5"), "{warned}");
    let same = printed(&server.run(&["topic", "create", "orders"]));
    assert!(same.contains("unchanged: DELAY messages, 1 queue\n"), "{same}");
    server.stop();
}

#[test]
fn a_reader_that_leaves_ends_a_command_well() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = duemq(&["settings"]).stdout(writer).output().unwrap();
    assert_eq!(complained(&output), (Some(0), String::new()));
}

#[test]
fn a_port_that_is_no_name_servers_is_named() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let closing = std::thread::spawn(move || drop(silent.accept()));
    let (code, said) = complained(&duemq(&["send", "t", "x", "--namesrv", &address]).output().unwrap());
    closing.join().unwrap();
    assert_eq!(code, Some(69), "{said}");
    assert!(said.contains(&address) && said.contains("is that a name server's port?"), "{said}");
}
