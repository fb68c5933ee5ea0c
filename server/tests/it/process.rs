//! One running `duemq serve`, and the other commands of the same binary.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// How long anything may take before the test fails; far more than it needs.
const LIMIT: Duration = Duration::from_secs(60);

/// The binary, without a setting from the environment it is tested in.
pub fn duemq(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_duemq"));
    command.args(args).stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with("DUEMQ_") || name == "RUST_LOG") {
            command.env_remove(name);
        }
    }
    command
}

/// `duemq serve` on free ports, with more flags, ready or ended.
pub struct Server {
    child: Child,
    out: BufReader<ChildStdout>,
    /// All it printed until it was ready.
    pub told: String,
}

impl Server {
    /// Starts it and waits until it is ready or has ended.
    pub fn start(data: &Path, more: &[&str]) -> Self {
        let data = data.to_str().unwrap();
        let mut args = vec!["serve", "--data", data];
        for flag in ["--namesrv-port", "--broker-port", "--proxy-port", "--grpc-port"] {
            if !more.contains(&flag) {
                args.extend([flag, "0"]);
            }
        }
        args.extend(more);
        let mut child = duemq(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let mut server = Self { child, out, told: String::new() };
        while !server.is_ready() && server.out.read_line(&mut server.told).unwrap() > 0 {}
        server
    }

    /// The same, where anything but being ready is a failure.
    pub fn ready(data: &Path, more: &[&str]) -> Self {
        let server = Self::start(data, more);
        if server.is_ready() {
            return server;
        }
        let told = server.told.clone();
        panic!("the server did not get ready; it said {told:?} and {:?}", server.ended());
    }

    fn is_ready(&self) -> bool {
        self.told.lines().last().is_some_and(|line| line.starts_with("ready in "))
    }

    /// The port of which the line with `words` tells.
    pub fn port(&self, words: &str) -> u16 {
        let line = self.told.lines().find(|line| line.contains(words)).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    }

    /// Where the commands of the client go.
    pub fn namesrv(&self) -> String {
        format!("127.0.0.1:{}", self.port("name server"))
    }

    /// Runs another command against it.
    pub fn run(&self, args: &[&str]) -> Output {
        duemq(args).args(["--namesrv", &self.namesrv()]).output().unwrap()
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Waits for its end: the exit code, none where a signal ended it, and what it wrote to standard error.
    pub fn ended(mut self) -> (Option<i32>, String) {
        let pid = rustix::process::Pid::from_child(&self.child);
        let (done, over) = mpsc::channel::<()>();
        let watch = std::thread::spawn(move || {
            if over.recv_timeout(LIMIT) == Err(mpsc::RecvTimeoutError::Timeout) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        });
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        let status = self.child.wait().unwrap();
        done.send(()).unwrap();
        watch.join().unwrap();
        (status.code(), said)
    }

    /// Asks it to end, and waits for that: as [`Self::ended`].
    pub fn stopped(self) -> (Option<i32>, String) {
        self.signal(rustix::process::Signal::TERM);
        self.ended()
    }

    /// Ends it in good order.
    pub fn stop(self) {
        let (code, said) = self.stopped();
        assert_eq!(code, Some(0), "{said}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Only where the test failed: an ended process is not there to be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a command printed, where it ended well.
pub fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// What a command complained of, and its exit code.
pub fn complained(output: &Output) -> (Option<i32>, String) {
    (output.status.code(), String::from_utf8(output.stderr.clone()).unwrap())
}
