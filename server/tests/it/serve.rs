//! The server's life as its operator sees it.

use crate::process::{Server, complained, duemq, printed};
use rustix::process::Signal;
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;

#[test]
fn a_start_tells_the_folder_and_every_port() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::ready(folder.path(), &[]);
    assert!(server.told.contains(folder.path().canonicalize().unwrap().to_str().unwrap()), "{}", server.told);
    for words in ["name server", "broker: ", "broker once more", "gRPC"] {
        assert!(
            TcpStream::connect(("127.0.0.1", server.port(words))).is_ok(),
            "nobody is at the port of {words}"
        );
    }
    server.stop();
}

#[test]
fn a_second_server_on_the_same_folder_is_told_who_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let first = Server::ready(folder.path(), &[]);
    let (code, said) = Server::start(folder.path(), &[]).ended();
    assert_eq!(code, Some(75), "{said}");
    assert!(said.contains("in use by process"), "{said}");
    first.stop();
    Server::ready(folder.path(), &[]).stop();
}

#[test]
fn a_port_in_use_is_named_and_ends_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let (code, said) = Server::start(folder.path(), &["--grpc-port", &port]).ended();
    assert_eq!(code, Some(71), "{said}");
    assert!(said.contains(&port) && said.contains("--grpc-port"), "{said}");
}

#[test]
fn a_wrong_setting_is_named_and_ends_the_start() {
    let folder = tempfile::tempdir().unwrap();
    for (setting, word) in
        [("max_delay=5", "max_delay"), ("no_such_key=1", "no_such_key"), ("flush=often", "sync")]
    {
        let (code, said) = Server::start(folder.path(), &["--set", setting]).ended();
        assert_eq!(code, Some(78), "{said}");
        assert!(said.contains(word) && said.lines().count() == 1, "{said}");
    }
    let (code, said) = Server::start(folder.path(), &["--config", "/no/such/file.toml"]).ended();
    assert_eq!(code, Some(78), "{said}");
    assert!(said.contains("/no/such/file.toml"), "{said}");
}

#[test]
fn a_damaged_log_is_named_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::ready(folder.path(), &[]);
    for _ in 0..3 {
        printed(&server.run(&["send", "orders", "hello", "--delay", "1h"]));
    }
    server.stop();
    let log = folder.path().join("log-00000000000000000000");
    let mut bytes = std::fs::read(&log).unwrap();
    bytes[70] ^= 1;
    std::fs::write(&log, &bytes).unwrap();
    let (code, said) = Server::start(folder.path(), &[]).ended();
    assert_eq!(code, Some(65), "{said}");
    assert!(said.contains("log-00000000000000000000"), "{said}");
    assert!(std::fs::read(&log).unwrap() == bytes, "a damaged log was written to");
}

#[test]
fn a_log_of_a_newer_format_is_refused_with_its_number() {
    let folder = tempfile::tempdir().unwrap();
    Server::ready(folder.path(), &[]).stop();
    let log = folder.path().join("log-00000000000000000000");
    let mut bytes = std::fs::read(&log).unwrap();
    // The first record tells the format at byte 48 and is checked as any other: its checksum is made anew.
    let length = u32::from_le_bytes(bytes[4..8].try_into().unwrap()) as usize;
    bytes[48] = 99;
    let checksum = crc32fast::hash(&bytes[4..length]);
    bytes[..4].copy_from_slice(&checksum.to_le_bytes());
    std::fs::write(&log, &bytes).unwrap();
    let (code, said) = Server::start(folder.path(), &[]).ended();
    assert_eq!(code, Some(65), "{said}");
    assert!(said.contains("format 99") && said.contains("log-00000000000000000000"), "{said}");
}

#[test]
fn what_is_pending_is_there_again_after_a_stop_and_after_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::ready(folder.path(), &[]);
    printed(&server.run(&["send", "orders", "hello", "--delay", "1h"]));
    server.stop();
    let server = Server::ready(folder.path(), &[]);
    assert!(server.told.contains("found 1 messages waiting"), "{}", server.told);
    printed(&server.run(&["send", "orders", "hello", "--delay", "2h"]));
    server.signal(Signal::KILL);
    server.ended();
    let server = Server::ready(folder.path(), &[]);
    assert!(server.told.contains("found 2 messages waiting"), "{}", server.told);
    server.stop();
}

#[test]
fn a_signal_ends_it_while_clients_wait_and_they_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::ready(folder.path(), &[]);
    printed(&server.run(&["topic", "create", "orders"]));
    let waiting = ["receive", "orders", "--group", "workers", "--namesrv", &server.namesrv()];
    let mut waiting = duemq(&waiting);
    let mut waiting = waiting.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    printed(&server.run(&["send", "orders", "hello"]));
    let mut first = String::new();
    BufReader::new(waiting.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert_eq!(first, "hello\n");
    server.signal(Signal::INT);
    let (code, said) = server.ended();
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = complained(&waiting.wait_with_output().unwrap());
    assert_eq!(code, Some(69), "{said}");
}
