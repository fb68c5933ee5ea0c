//! The engine on a thread, its work done at once, its clock moved by the test.

use broker::{Budget, Config, Work};
use env::{Disk, SimDisk};
use model::{Monotonic, Now, Timestamp};
use service::{Input, Local, Node, NodeReply};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// When the engine's clock begins, in ms since the epoch.
pub const EPOCH: i64 = 1_700_000_000_000;

/// The engine's clock: real time from [`EPOCH`] on, and what the test adds.
#[derive(Clone)]
pub struct Clock {
    start: Instant,
    added_ms: Arc<AtomicU64>,
}

impl Clock {
    pub fn new() -> Self {
        Self { start: Instant::now(), added_ms: Arc::default() }
    }

    /// Lets time pass. The engine sees it with the next request.
    pub fn advance(&self, time: Duration) {
        self.added_ms.fetch_add(u64::try_from(time.as_millis()).unwrap(), Ordering::SeqCst);
    }

    pub fn now(&self) -> Now {
        let passed = self.start.elapsed() + Duration::from_millis(self.added_ms.load(Ordering::SeqCst));
        Now {
            wall: Timestamp::from_millis(EPOCH + i64::try_from(passed.as_millis()).unwrap()),
            wall_nanos: passed.subsec_nanos() % 1_000_000,
            monotonic: Monotonic::from_nanos(u64::try_from(passed.as_nanos()).unwrap()),
        }
    }
}

/// Starts an engine; it ends with the test.
pub fn start(clock: Clock) -> Arc<Local> {
    let (local, inputs) = Local::new(1024);
    let (ready, opened) = mpsc::channel();
    let clients = local.clone();
    thread::spawn(move || {
        let disk: Arc<dyn Disk> = Arc::new(SimDisk::new(1));
        let config = Config::new("b", "127.0.0.1:10911".parse().unwrap());
        let (mut node, _) = Node::open(disk.clone(), config, clock.now()).unwrap();
        ready.send(()).unwrap();
        let mut asked = HashMap::new();
        loop {
            let wait = node.next_wakeup(clock.now()).unwrap_or(Duration::from_secs(1));
            match inputs.recv_timeout(wait) {
                Ok(Input::Ask(id, request, answer)) => {
                    asked.extend(answer.map(|answer| (id, answer)));
                    node.handle(clock.now(), id, request);
                }
                Ok(Input::Done(done)) => node.done(clock.now(), done).unwrap(),
                Ok(Input::Stop) => return,
                Err(error) if error.is_disconnected() => return,
                Err(_) => {}
            }
            turn(&mut node, &clock, &*disk, &clients);
            while let Some((id, reply)) = node.poll_reply() {
                let answer: Option<tokio::sync::oneshot::Sender<NodeReply>> = asked.remove(&id);
                let _ = answer.map(|answer| answer.send(reply));
            }
        }
    });
    opened.recv().unwrap();
    Arc::new(local)
}

/// Ticks, writes and does the work there is, until there is none.
fn turn(node: &mut Node, clock: &Clock, disk: &dyn Disk, clients: &Local) {
    node.tick(clock.now(), Budget::default());
    loop {
        node.write();
        let Some(work) = node.poll_work() else { return };
        if let Work::Notify(connection, notice) = work {
            clients.notify(connection, notice);
        } else if let Some(done) = work.run(disk) {
            node.done(clock.now(), done).unwrap();
        }
    }
}
