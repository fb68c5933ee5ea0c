//! The driver: the engine's thread, and those that do its work.
//!
//! One thread owns the [`Node`]. A turn takes what has come, lets the time pass, writes once, hands out work and
//! gives the answers that are ready; then it sleeps until something comes or something falls due. Syncs,
//! reads and preparations of files run on threads of their own and come back as input, so that nothing slow
//! stands between a message's moment and its delivery.

use crate::clock_watch::ClockWatch;
use crate::realtime::{Class, RealTime};
use broker::{Budget, ChangeInvisible, Recovered, Reply, Request, RequestId, Work};
use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use env::{Clock, Disk, FileDisk, SystemClock};
use hdrhistogram::Histogram;
use journal::Job;
use model::{GroupName, Monotonic, TopicName};
use service::{Input, Local, Node, NodeReply, NodeRequest};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tokio::sync::{oneshot, watch};

/// Requests that may wait for the engine; more are answered «busy».
const INPUTS_MAX: usize = 16_384;
/// Requests that one turn takes before it looks at the time again.
const TURN_MAX: usize = 512;
/// How long a stop waits for the disk to take what was accepted.
const STOP_MAX: Duration = Duration::from_secs(10);

/// Why the engine does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The log is damaged, of a newer format, or cannot be read.
    #[error("opening the log")]
    Log(#[from] journal::OpenError),
    /// The setting asks for the real-time class, and the system does not permit it.
    #[error("realtime is on, and the system does not permit it; it takes CAP_SYS_NICE or RLIMIT_RTPRIO")]
    RealTime(#[source] io::Error),
    /// The system gives no thread.
    #[error("starting a thread")]
    Thread(#[from] io::Error),
}

/// The running engine.
pub struct Engine {
    service: Arc<Local>,
    recovered: Recovered,
    failed: watch::Receiver<Option<String>>,
    stats: watch::Receiver<broker::Stats>,
    topic_changes: watch::Receiver<u64>,
    threads: Vec<JoinHandle<()>>,
}

impl Engine {
    /// Opens the log on `disk` and starts the threads.
    pub fn start(
        disk: Arc<FileDisk>,
        config: broker::Config,
        realtime: RealTime,
    ) -> Result<Self, StartError> {
        let disk: Arc<dyn Disk> = disk;
        let clock = SystemClock;
        let (node, recovered) = Node::open(disk.clone(), config, clock.now())?;
        let (local, inputs) = Local::new(INPUTS_MAX);
        let (failed_tx, failed) = watch::channel(None);
        let (stats_tx, stats) = watch::channel(node.broker().stats());
        let (topics_tx, topic_changes) = watch::channel(node.topic_changes());
        let mut threads = Vec::new();
        let mut worker = |name: &str| -> io::Result<Sender<Work>> {
            let (work, todo) = unbounded();
            let (disk, done) = (disk.clone(), local.engine());
            threads.push(spawn(name, move || run_work(&todo, &*disk, &done))?);
            Ok(work)
        };
        let workers = Workers {
            sync: worker("sync")?,
            files: worker("files")?,
            reads: worker("reads")?,
            checkpoints: worker("checkpoints")?,
        };
        let driver = Driver {
            node,
            clock,
            inputs,
            local: local.clone(),
            workers,
            disk: disk.clone(),
            asked: HashMap::new(),
            stopping: None,
            unwritten: None,
            clock_watch: ClockWatch::new(clock.now()),
            rounds: Histogram::new_with_bounds(1, ROUND_MAX_US, 2).expect("bounds that fit two digits"),
            stats: stats_tx,
            topic_changes: topics_tx,
        };
        let (entered_tx, entered) = bounded(1);
        threads.push(spawn("engine", move || {
            let class = Class::enter(realtime, driver.clock.now().monotonic);
            let entered = entered_tx.send(class.as_ref().map(|_| ()).map_err(io::Error::kind));
            if let (Ok(class), Ok(())) = (class, entered) {
                driver.run(class, &failed_tx);
            }
        })?);
        let entered = entered.recv().expect("the engine's thread tells of its class first");
        entered.map_err(|kind| StartError::RealTime(kind.into()))?;
        Ok(Self { service: Arc::new(local), recovered, failed, stats, topic_changes, threads })
    }

    /// Where the fronts ask.
    pub fn service(&self) -> Arc<Local> {
        self.service.clone()
    }

    /// What the log held at the start.
    pub fn recovered(&self) -> &Recovered {
        &self.recovered
    }

    /// Holds the reason once the engine has ended by itself: its process must end with it.
    pub fn failed(&self) -> watch::Receiver<Option<String>> {
        self.failed.clone()
    }

    /// What the broker has counted, as of its last turns.
    pub fn stats(&self) -> broker::Stats {
        *self.stats.borrow()
    }

    /// How often the broker's topics have changed; tells of each further change.
    pub fn topic_changes(&self) -> watch::Receiver<u64> {
        self.topic_changes.clone()
    }

    /// Finishes what was accepted, makes it durable and ends the threads. Blocks.
    pub fn stop(self) {
        let _ = self.service.engine().send(Input::Stop);
        for thread in self.threads {
            let _ = thread.join();
        }
    }
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name(name.to_owned()).spawn(body)
}

/// Does work as it comes, until nobody can hand out more.
fn run_work(todo: &Receiver<Work>, disk: &dyn Disk, done: &Sender<Input>) {
    for work in todo {
        let Some(result) = work.run(disk) else { continue };
        if done.send(Input::Done(result)).is_err() {
            return;
        }
    }
}

/// Where work goes. Each sender is the only one: dropping it ends its thread.
struct Workers {
    sync: Sender<Work>,
    files: Sender<Work>,
    reads: Sender<Work>,
    checkpoints: Sender<Work>,
}

/// A request whose answer somebody waits for.
struct Asked {
    answer: oneshot::Sender<NodeReply>,
    /// Who pops what, to give back what nobody is there to take.
    pops: Option<(GroupName, TopicName)>,
}

struct Driver {
    node: Node,
    clock: SystemClock,
    inputs: Receiver<Input>,
    local: Local,
    workers: Workers,
    disk: Arc<dyn Disk>,
    asked: HashMap<RequestId, Asked>,
    stopping: Option<Instant>,
    /// Why no checkpoint could be written of late, as it was told.
    unwritten: Option<String>,
    clock_watch: ClockWatch,
    /// How long turns took, in microseconds: what is due waits for the one that is under way.
    rounds: Histogram<u64>,
    stats: watch::Sender<broker::Stats>,
    topic_changes: watch::Sender<u64>,
}

impl Driver {
    fn run(mut self, mut class: Class, failed: &watch::Sender<Option<String>>) {
        // Wake-ups may then be a microsecond late rather than fifty.
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1_000));
        while !self.is_finished() {
            let first = self.wait();
            match self.turn(first) {
                Ok(now) => class.look(now),
                Err(halted) => {
                    let why = std::iter::successors(Some(&halted as &dyn std::error::Error), |error| {
                        error.source()
                    });
                    let why = why.map(ToString::to_string).collect::<Vec<_>>().join(": ");
                    failed.send_replace(Some(why));
                    return;
                }
            }
        }
        self.finish();
    }

    /// Sleeps until something comes or something falls due.
    fn wait(&self) -> Option<Input> {
        match sleep(self.node.next_wakeup(self.clock.now()), self.stopping.is_some()) {
            Some(Duration::ZERO) => self.inputs.try_recv().ok(),
            Some(wait) => self.inputs.recv_timeout(wait).ok(),
            None => self.inputs.recv().ok(),
        }
    }

    /// One turn: what has come, the time, one write, work out, answers out. Gives what time it was.
    fn turn(&mut self, first: Option<Input>) -> Result<Monotonic, broker::Halted> {
        let began = Instant::now();
        let mut next = first;
        for _ in 0..TURN_MAX {
            let Some(input) = next.take() else { break };
            self.take(input)?;
            next = self.inputs.try_recv().ok();
        }
        if let Some(input) = next {
            self.take(input)?;
        }
        let now = self.clock.now();
        self.clock_watch.look(now);
        self.node.tick(now, Budget::default());
        self.node.write();
        while let Some(work) = self.node.poll_work() {
            self.hand_out(work);
        }
        while let Some((id, reply)) = self.node.poll_reply() {
            self.answer(id, reply);
        }
        self.stats.send_replace(self.node.broker().stats());
        let changes = self.node.topic_changes();
        self.topic_changes.send_if_modified(|told| std::mem::replace(told, changes) != changes);
        self.rounds.saturating_record(began.elapsed().as_micros() as u64);
        Ok(now.monotonic)
    }

    fn take(&mut self, input: Input) -> Result<(), broker::Halted> {
        match input {
            // Dropping the answer's sender says that the server stops.
            Input::Ask(_, _, Some(_)) if self.stopping.is_some() => {}
            Input::Ask(id, request, answer) => {
                if let Some(answer) = answer {
                    let pops = match &request {
                        NodeRequest::Broker(Request::Pop(pop)) => {
                            Some((pop.group.clone(), pop.topic.clone()))
                        }
                        _ => None,
                    };
                    self.asked.insert(id, Asked { answer, pops });
                }
                self.node.handle(self.clock.now(), id, request);
            }
            Input::Done(done) => {
                self.node.done(self.clock.now(), done)?;
                self.tell_of_checkpoints();
            }
            Input::Stop => self.stopping = self.stopping.or_else(|| Some(Instant::now())),
        }
        Ok(())
    }

    /// Says once why checkpoints fail, and once that they no longer do.
    fn tell_of_checkpoints(&mut self) {
        let failure = self.node.broker().checkpoint_failure();
        if failure == self.unwritten.as_deref() {
            return;
        }
        match failure {
            Some(why) => tracing::error!(
                why,
                "a checkpoint could not be written: the log holds everything, grows until one can, and is read at the next start"
            ),
            None => tracing::info!("a checkpoint was written again"),
        }
        self.unwritten = failure.map(str::to_owned);
    }

    fn hand_out(&self, work: Work) {
        let worker = match &work {
            Work::Log(Job::Sync(_)) => &self.workers.sync,
            Work::Log(_) => &self.workers.files,
            Work::Read(_) => &self.workers.reads,
            Work::Checkpoint(_) => &self.workers.checkpoints,
            Work::Notify(connection, notice) => return self.local.notify(*connection, notice.clone()),
        };
        worker.send(work).expect("workers live as long as their senders");
    }

    fn answer(&mut self, id: RequestId, reply: NodeReply) {
        let Some(Asked { answer, pops }) = self.asked.remove(&id) else { return };
        let Err(unheard) = answer.send(reply) else { return };
        // Whoever popped is gone: what it was to get is for others, at once.
        if let (Some((group, topic)), NodeReply::Broker(Reply::Pop(Ok(popped)))) = (pops, unheard) {
            for message in popped.messages {
                let (group, topic, handle) = (group.clone(), topic.clone(), message.handle);
                let give_back = ChangeInvisible { group, topic, handle, invisible: Duration::ZERO };
                self.node.handle(self.clock.now(), id, NodeRequest::Broker(give_back.into()));
            }
        }
    }

    /// Whether a stop was asked for, and all that was accepted is safe; or that took too long.
    fn is_finished(&self) -> bool {
        self.stopping.is_some_and(|since| self.node.broker().is_settled() || since.elapsed() > STOP_MAX)
    }

    fn finish(&mut self) {
        tracing::info!(
            rounds = self.rounds.len(),
            p50_us = self.rounds.value_at_quantile(0.5),
            p999_us = self.rounds.value_at_quantile(0.999),
            max_us = self.rounds.max(),
            clock_steps = self.clock_watch.steps(),
            "the engine's rounds since the start"
        );
        while let Some(done) = self.node.shutdown_work().and_then(|work| work.run(&*self.disk)) {
            if self.node.done(self.clock.now(), done).is_err() {
                return;
            }
            self.tell_of_checkpoints();
        }
    }
}

/// How long the engine sleeps, which would sleep for `wait`.
fn sleep(wait: Option<Duration>, is_stopping: bool) -> Option<Duration> {
    if is_stopping {
        return Some(wait.map_or(STOP_STEP, |wait| wait.min(STOP_STEP)));
    }
    // A clock that is set forward wakes nobody: what is due by it then must not wait for what was due before.
    wait.map(|wait| wait.min(CLOCK_STEP))
}

/// Longer turns are counted as so long, in microseconds.
const ROUND_MAX_US: u64 = 60_000_000;

/// How often the engine looks at the clock while something waits, at least.
const CLOCK_STEP: Duration = Duration::from_millis(200);

/// How often a stopping engine looks whether it is finished, at least.
const STOP_STEP: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleeping_engine_looks_at_the_clock_often_enough_for_one_that_is_set_forward() {
        assert_eq!(sleep(Some(Duration::from_hours(1)), false), Some(CLOCK_STEP));
        assert_eq!(sleep(Some(Duration::from_millis(3)), false), Some(Duration::from_millis(3)));
        assert_eq!(sleep(None, false), None, "nothing waits");
        assert_eq!(sleep(None, true), Some(STOP_STEP));
    }
}
