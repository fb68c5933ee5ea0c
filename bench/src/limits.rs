//! What the machine can do at all: the other half of each ratio.

use crate::latency::Latency;
use crate::report::Report;
use anyhow::Context as _;
use serde_json::json;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// What `duemq-bench limits` is told.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder whose disk is measured; one file is made in it and removed.
    #[arg(long, default_value = ".")]
    disk: PathBuf,
    /// MiB to append for the rate.
    #[arg(long, default_value_t = 512)]
    mib: u64,
}

/// Bytes written at once where a rate is measured.
const BLOCK: usize = 1 << 20;
/// Bytes between two syncs, and of an echo: a small message.
const SMALL: usize = 1024;
/// Rounds for each span.
const ROUNDS: usize = 500;

/// Measures all of it.
pub fn report(args: &Args) -> anyhow::Result<Report> {
    let mut report = Report::new("limits", json!({ "disk": args.disk, "mib": args.mib }));
    sync(&args.disk)?.tell("append_1_kib_and_sync", &mut report);
    let took = append_and_sync(&args.disk, args.mib << 20)?;
    report.add_rounded("append_mib_per_s", args.mib as f64 / took.as_secs_f64());
    echo()?.tell("echo_1_kib", &mut report);
    wake().tell("wake_up", &mut report);
    Ok(report)
}

/// A file in a folder, gone when dropped.
struct Scratch {
    path: PathBuf,
    file: File,
}

impl Scratch {
    fn new(folder: &Path) -> anyhow::Result<Self> {
        let path = folder.join(format!("duemq-bench-{}", std::process::id()));
        let file = File::create(&path).with_context(|| format!("making {}", path.display()))?;
        Ok(Self { path, file })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = fs::remove_file(&self.path);
    }
}

/// How long an append of a small message and its sync take.
pub fn sync(folder: &Path) -> anyhow::Result<Latency> {
    let mut scratch = Scratch::new(folder)?;
    let mut spans = Latency::new();
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        scratch.file.write_all(&[7; SMALL])?;
        scratch.file.sync_data()?;
        spans.add(begin.elapsed().as_micros() as i64);
    }
    Ok(spans)
}

/// How long it takes to append so many bytes and to sync them once.
pub fn append_and_sync(folder: &Path, bytes: u64) -> anyhow::Result<Duration> {
    let mut scratch = Scratch::new(folder)?;
    let block = vec![7; BLOCK];
    let begin = Instant::now();
    let mut left = bytes;
    while left > 0 {
        let now = left.min(BLOCK as u64);
        scratch.file.write_all(&block[..now as usize])?;
        left -= now;
    }
    scratch.file.sync_data()?;
    Ok(begin.elapsed())
}

/// How long a small message takes to another thread and back, over loopback.
pub fn echo() -> anyhow::Result<Latency> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let other = thread::spawn(move || -> io::Result<()> {
        let (mut stream, _) = listener.accept()?;
        stream.set_nodelay(true)?;
        let mut message = [0; SMALL];
        while stream.read_exact(&mut message).is_ok() {
            stream.write_all(&message)?;
        }
        Ok(())
    });
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let mut spans = Latency::new();
    let mut message = [7; SMALL];
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        stream.write_all(&message)?;
        stream.read_exact(&mut message)?;
        spans.add(begin.elapsed().as_micros() as i64);
    }
    drop(stream);
    other.join().expect("the echo does not panic")?;
    Ok(spans)
}

/// How late a thread wakes up that sleeps until a moment.
fn wake() -> Latency {
    let mut spans = Latency::new();
    for round in 0..ROUNDS as u64 {
        let span = Duration::from_micros(1000 + round % 7 * 137);
        let begin = Instant::now();
        thread::sleep(span);
        spans.add(begin.elapsed().saturating_sub(span).as_micros() as i64);
    }
    spans
}
