//! The server's life as its operator sees it.

use crate::process::{Server, complained, duemq, printed};
use rustix::process::Signal;
use rustix::thread::CapabilitySet;
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::time::{Duration, Instant};

#[test]
fn a_start_tells_the_folder_and_every_port() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::ready(folder.path(), &[]);
    assert!(server.told.contains(folder.path().canonicalize().unwrap().to_str().unwrap()), "{}", server.told);
    for words in ["name server", "broker: ", "broker once more", "proxy: ", "gRPC: "] {
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
    assert!(said.contains("in use by process") && said.contains("--data"), "{said}");
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

/// Runs `what` where no process that it starts is permitted the real-time class, whoever runs the tests.
fn not_permitted<T: Send>(what: impl FnOnce() -> T + Send) -> T {
    // What a thread gives up, its children never have.
    let run = || {
        let mut sets = rustix::thread::capabilities(None).unwrap();
        if sets.effective.contains(CapabilitySet::SYS_NICE) {
            rustix::thread::remove_capability_from_bounding_set(CapabilitySet::SYS_NICE).unwrap();
            sets.inheritable.remove(CapabilitySet::SYS_NICE);
            rustix::thread::set_capabilities(None, sets).unwrap();
        }
        what()
    };
    std::thread::scope(|scope| scope.spawn(run).join()).unwrap()
}

#[test]
fn where_the_real_time_class_is_not_permitted_the_server_says_so_and_serves() {
    let folder = tempfile::tempdir().unwrap();
    let start = |setting| not_permitted(|| Server::start(folder.path(), &["--set", setting]));
    let server = start("realtime=auto");
    printed(&server.run(&["send", "orders", "hello"]));
    let (code, said) = server.stopped();
    assert_eq!(code, Some(0), "{said}");
    let line = said.lines().find(|line| line.contains("real-time class")).unwrap_or_else(|| panic!("{said}"));
    for words in ["does not permit", "Operation not permitted", "CAP_SYS_NICE"] {
        assert!(line.contains(words), "{line}");
    }
    let (code, said) = start("realtime=on").ended();
    assert_eq!(code, Some(78), "{said}");
    assert!(said.contains("realtime is on") && said.contains("CAP_SYS_NICE"), "{said}");
    let (code, said) = start("realtime=off").stopped();
    assert_eq!((code, said.contains("real-time")), (Some(0), false), "{said}");
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
    assert_eq!(code, Some(74), "{said}");
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
    let folder = folder.path().canonicalize().unwrap();
    for words in ["log-00000000000000000000", "nothing was changed", folder.to_str().unwrap()] {
        assert!(said.contains(words), "{words:?} is missing in {said}");
    }
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
fn a_receiver_outlives_a_restart_of_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::ready(folder.path(), &[]);
    printed(&server.run(&["topic", "create", "orders"]));
    let namesrv = server.namesrv();
    let waiting = ["receive", "orders", "--group", "workers", "--count", "2", "--namesrv", &namesrv];
    let mut waiting = duemq(&waiting).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    printed(&server.run(&["send", "orders", "hello"]));
    let mut lines = BufReader::new(waiting.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(lines.next().unwrap(), "hello");
    let [names, broker] = [server.port("name server"), server.port("broker: ")].map(|port| port.to_string());
    server.signal(Signal::INT);
    let (code, said) = server.ended();
    assert_eq!(code, Some(0), "{said}");
    let server = Server::ready(folder.path(), &["--namesrv-port", &names, "--broker-port", &broker]);
    printed(&server.run(&["send", "orders", "again"]));
    let bodies: Vec<String> = lines.filter(|line| !line.starts_with(' ')).collect();
    assert_eq!(bodies, ["again"]);
    let (code, said) = complained(&waiting.wait_with_output().unwrap());
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("is gone") && said.contains("is back"), "{said}");
    server.stop();
}

#[test]
fn signals_of_one_moment_are_one() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::ready(folder.path(), &[]);
    let first = Instant::now();
    while first.elapsed() < Duration::from_millis(20) {
        server.signal(Signal::HUP);
        server.signal(Signal::TERM);
    }
    let (code, said) = server.ended();
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn an_address_that_is_told_and_not_listened_on_is_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::ready(folder.path(), &["--set", "brokerIP1=192.0.2.7"]);
    server.signal(Signal::TERM);
    let (code, said) = server.ended();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("set listen as well"), "{said}");
}

#[test]
fn a_broker_is_found_at_the_name_server_of_another_process_as_long_as_it_runs() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let names = Server::ready(one.path(), &["--set", "auto_create_topics=false"]);
    let name_servers = format!("name_servers={}", names.namesrv());
    let broker = Server::ready(two.path(), &["--set", &name_servers, "--set", "broker_name=second"]);
    assert!(
        broker.told.contains(&format!("registers with the name server {}", names.namesrv())),
        "{}",
        broker.told
    );
    printed(&broker.run(&["topic", "create", "elsewhere", "--queues", "3"]));
    printed(&broker.run(&["send", "elsewhere", "hello"]));
    let receive = ["receive", "elsewhere", "--group", "g", "--count", "1", "--timeout", "50s"];
    let received = printed(&names.run(&receive));
    assert!(received.starts_with("hello\n"), "{received}");
    printed(&names.run(&["send", "elsewhere", "from afar"]));
    let (code, said) = complained(&names.run(&["send", "nowhere", "hello"]));
    assert_eq!(code, Some(1), "{said}");
    broker.stop();
    let (code, said) = complained(&names.run(&["send", "elsewhere", "hello"]));
    assert!(code == Some(1) && said.contains("duemq topic create elsewhere"), "{said}");
    names.stop();
}
