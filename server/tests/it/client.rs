//! The commands that are clients, against a running server.

use crate::process::{Server, complained, duemq, printed};

#[test]
fn a_delayed_message_is_sent_and_received_on_time() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::ready(folder.path(), &[]);
    let made = printed(&server.run(&["topic", "create", "orders", "--type", "delay", "--queues", "2"]));
    assert!(made.contains("DELAY") && made.contains("2 queues"), "{made}");
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
    assert!(sent.contains("due 2"), "{sent}");
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
    assert!(said.contains("no topic nobody yet") && said.contains("no message came in time"), "{said}");
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
    assert!(said.contains("TIMER_DELAY_MS"), "{said}");
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
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("allowed are letters"), "{said}");
    }
}
