//! A folder with very many messages that wait, made without a client: the engine itself is driven over the folder's
//! files, with checkpoints as a server writes them, so that millions take seconds.

use crate::load::{body, scatter};
use crate::machine;
use crate::report::Report;
use anyhow::{Context as _, ensure};
use broker::{Broker, Budget, Config, CreateTopic, Done, Flush, RequestId, Send, Work};
use env::{Clock as _, Disk, FileDisk, SystemClock};
use model::{Message, Permission, Properties, Timestamp, TopicKind, TopicName};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use wire::property::{TIMER_DELIVER_MS, UNIQ_KEY};

/// What `duemq-bench fill` is told.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The data folder; what it holds already stays. No server may run on it.
    folder: PathBuf,
    /// Messages.
    #[arg(long, default_value_t = 10_000_000)]
    messages: u64,
    /// Bytes of each body, 16 at least.
    #[arg(long, default_value_t = 16)]
    size: usize,
    /// They are due at random from so many minutes ahead.
    #[arg(long, default_value_t = 120)]
    from_minutes: u32,
    /// To so many days after that.
    #[arg(long, default_value_t = 30)]
    days: u32,
    /// Their topic; it is made where it is not there.
    #[arg(long, default_value = "filled")]
    topic: String,
}

/// Sends between two turns of the engine.
const SENDS: u64 = 256;
/// Pending messages after which a checkpoint is written: more than a server's, for there is nothing else to hold.
const CHECKPOINT_ENTRIES: usize = 2_000_000;
/// Messages that may come while a checkpoint is written.
const UNSAVED_MAX: u64 = 4_000_000;
/// How often it tells how far it is.
const TELL_EVERY: Duration = Duration::from_secs(10);

/// Fills the folder, and tells how long that took and how much it holds.
pub fn run(args: &Args) -> anyhow::Result<Report> {
    let input = json!({ "messages": args.messages, "size": args.size, "from_minutes": args.from_minutes, "days": args.days });
    let mut report = Report::new("fill", input);
    let disk = FileDisk::open(&args.folder).with_context(|| format!("opening {}", args.folder.display()))?;
    let mut engine = Engine::open(Arc::new(disk))?;
    let topic = TopicName::new(&args.topic)?;
    engine.ask(CreateTopic {
        name: topic.clone(),
        read_queues: 8,
        write_queues: 8,
        permission: Permission::READ_WRITE,
        kind: Some(TopicKind::Delay),
        order: false,
        sys_flag: 0,
    });
    engine.turn()?;
    let (begin, mut told) = (Instant::now(), Instant::now());
    let first = SystemClock.now().wall.as_millis() + i64::from(args.from_minutes) * 60_000;
    let span = u64::from(args.days.max(1)) * 86_400_000;
    let mut number = 0;
    while number < args.messages {
        for number in number..(number + SENDS).min(args.messages) {
            let due = first + (scatter(number) % span) as i64;
            engine.ask(send(&topic, number, due, args.size));
        }
        number = (number + SENDS).min(args.messages);
        engine.turn()?;
        if told.elapsed() > TELL_EVERY {
            told = Instant::now();
            eprintln!("{number} of {} messages", args.messages);
        }
    }
    engine.stop()?;
    let time = begin.elapsed().as_secs_f64();
    report.add_rounded("filled_per_s", args.messages as f64 / time);
    report.add_rounded("time_s", time);
    report.add_rounded("disk_bytes_each", machine::disk_bytes(&args.folder) as f64 / args.messages as f64);
    Ok(report)
}

fn send(topic: &TopicName, number: u64, due_ms: i64, size: usize) -> Send {
    let mut properties = Properties::new();
    properties.set(UNIQ_KEY, format!("{:032X}", u128::from(scatter(number)) << 64 | u128::from(number)));
    properties.set(TIMER_DELIVER_MS, due_ms.to_string());
    let message = Message {
        flag: 0,
        sys_flag: 0,
        born_at: Timestamp::from_millis(machine::now_us() / 1000),
        born_host: ([127, 0, 0, 1], 0).into(),
        reconsume_times: 0,
        prepared_transaction_offset: 0,
        properties,
        body: body(number, due_ms * 1000, size),
    };
    Send {
        topic: topic.clone(),
        queue_id: None,
        messages: vec![message],
        auto_create: None,
        check_kind: false,
        as_level: false,
        batch: false,
        max_reconsume_times: None,
    }
}

/// The engine with two threads: one for its syncs and reads, one for its checkpoints.
struct Engine {
    broker: Broker,
    disk: Arc<dyn Disk>,
    workers: [Sender<Work>; 2],
    done: Receiver<Done>,
    /// Handed out, and not back yet: checkpoints apart.
    out: [usize; 2],
    asked: u64,
    /// How many were asked when the last checkpoint went out.
    saved: u64,
    refused: Option<String>,
}

impl Engine {
    fn open(disk: Arc<dyn Disk>) -> anyhow::Result<Self> {
        let mut config = Config::new("fill", ([127, 0, 0, 1], 10911).into());
        config.flush = Flush::Async;
        config.checkpoint_entries = CHECKPOINT_ENTRIES;
        config.checkpoint_bytes = u64::MAX;
        // Once a message lies in a bucket, its record in the log is of no use.
        config.retention = Duration::from_millis(1);
        let (broker, _) = Broker::open(disk.clone(), config, SystemClock.now())?;
        let (back, done) = channel();
        let worker = || {
            let (work, todo) = channel::<Work>();
            let (disk, back) = (disk.clone(), back.clone());
            std::thread::spawn(move || {
                for done in todo.into_iter().filter_map(|work| work.run(&*disk)) {
                    if back.send(done).is_err() {
                        return;
                    }
                }
            });
            work
        };
        let workers = [worker(), worker()];
        Ok(Self { broker, disk, workers, done, out: [0; 2], asked: 0, saved: 0, refused: None })
    }

    fn ask<V: broker::Verb>(&mut self, verb: V) {
        self.asked += 1;
        self.broker.handle(SystemClock.now(), RequestId(self.asked), verb.into());
    }

    /// A turn as a server's: it waits where the disk is behind, so that what is not written yet stays little.
    fn turn(&mut self) -> anyhow::Result<()> {
        self.broker.tick(SystemClock.now(), Budget::default());
        self.broker.write();
        while let Some(work) = self.broker.poll_work() {
            let worker = usize::from(matches!(work, Work::Checkpoint(_)));
            if matches!(work, Work::Notify(..)) {
                continue;
            }
            self.out[worker] += 1;
            if worker == 1 {
                self.saved = self.asked;
            }
            self.workers[worker].send(work).context("a worker ended")?;
        }
        while let Some((_, reply)) = self.broker.poll_reply() {
            self.look_at(&reply);
        }
        ensure!(self.refused.is_none(), "refused: {}", self.refused.as_deref().unwrap_or_default());
        if let Some(why) = self.broker.checkpoint_failure() {
            anyhow::bail!("no checkpoint can be written: {why}");
        }
        let is_behind = self.out[0] > 64 || (self.out[1] > 0 && self.asked - self.saved > UNSAVED_MAX);
        while let Some(done) = if is_behind { self.done.recv().ok() } else { self.done.try_recv().ok() } {
            self.take(done)?;
            if is_behind {
                break;
            }
        }
        Ok(())
    }

    fn take(&mut self, done: Done) -> anyhow::Result<()> {
        self.out[usize::from(matches!(done, Done::Checkpoint(_)))] -= 1;
        Ok(self.broker.done(SystemClock.now(), done)?)
    }

    fn look_at(&mut self, reply: &broker::Reply) {
        if let broker::Reply::Send(Err(error)) = reply {
            self.refused.get_or_insert_with(|| error.to_string());
        }
    }

    /// All that was sent lies in files when it returns.
    fn stop(mut self) -> anyhow::Result<()> {
        while !self.broker.is_settled() {
            self.turn()?;
            if let Ok(done) = self.done.recv_timeout(Duration::from_millis(1)) {
                self.take(done)?;
            }
        }
        while let Some(done) = self.broker.shutdown_work().and_then(|work| work.run(&*self.disk)) {
            self.broker.done(SystemClock.now(), done)?;
        }
        Ok(())
    }
}
