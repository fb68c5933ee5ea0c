//! `duemq receive`: a member of a consumer group, like any other of RocketMQ's.
//!
//! It tells the brokers by heartbeat that it is in the group, asks who else is, takes its share of the queues
//! ([`share`]) and reads each with pulls that wait at the broker. What is printed is committed: the group's next
//! member begins after it.

mod share;

use super::{Receive, Server, reach, show};
use crate::exit::{Exit, Failure};
use crate::signals::Signals;
use anyhow::anyhow;
use bytes::Bytes;
use client::{AskError, Client, Delivered, PullOutcome, PullRequest};
use model::{GroupName, TopicName};
use share::Queue;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, timeout_at};
use wire::remoting::heartbeat::{ConsumerData, HeartbeatData, SubscriptionData};
use wire::remoting::offset::{Answer, Commit, Query};
use wire::remoting::route::TopicRouteData;
use wire::remoting::{Command, Fields, RequestCode, ResponseCode, consumers, json, unregister};

/// How long a pull waits at the broker. Peer: `brokerSuspendMaxTimeMillis`.
const PULL_WAIT: Duration = Duration::from_secs(15);

/// How often the brokers hear of us, and we of the others. Peer: `rebalanceService` and heartbeats, 20 and 30 s.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// How often a topic that is not there is looked for again.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Messages that are read and not yet printed.
const READ_AHEAD: usize = 64;

/// How long a server that is gone is left alone before the next try.
const COME_BACK: Duration = Duration::from_secs(1);

/// Receives until a count is reached, nothing came for too long, or a signal comes.
pub fn receive(args: &Receive) -> Result<(), Failure> {
    let topic = TopicName::new(&args.topic).map_err(reach::wrong)?;
    let group = GroupName::new(&args.group).map_err(reach::wrong)?;
    reach::run(async {
        let mut signals = Signals::listen().map_err(|error| Failure::new(Exit::Io, error))?;
        let mut member = Member::join(args, &topic, &group).await?;
        let received = tokio::select! {
            received = member.receive(args) => received,
            _ = signals.next() => Ok(()),
        };
        member.leave().await;
        received
    })
}

/// How far the command is.
struct Progress {
    count: u64,
    /// When it ends, where nothing comes before.
    end: Option<Instant>,
    /// Whether it was said that the topic is missing.
    said_missing: bool,
    /// Whether it was said that the server is gone.
    said_gone: bool,
}

/// A message and the queue it was read from.
struct Read {
    queue: Queue,
    message: Delivered,
}

/// We, as a member of the group.
struct Member {
    id: String,
    topic: String,
    group: String,
    tags: String,
    server: Server,
    names: Client,
    brokers: BTreeMap<String, Arc<Client>>,
    /// Told by the brokers when somebody joins or leaves.
    changed: Arc<Notify>,
    reading: BTreeMap<Queue, JoinHandle<()>>,
    read: mpsc::Sender<Result<Read, AskError>>,
    reads: mpsc::Receiver<Result<Read, AskError>>,
    /// What is printed and not yet noted at the broker: the queue, and the offset behind it.
    unnoted: Option<(Queue, i64)>,
}

impl Member {
    async fn join(args: &Receive, topic: &TopicName, group: &GroupName) -> Result<Self, Failure> {
        let (read, reads) = mpsc::channel(READ_AHEAD);
        let host = crate::tls::host_name().unwrap_or_else(|| "duemq".to_owned());
        Ok(Self {
            id: format!("{host}@{}#duemq", std::process::id()),
            topic: topic.to_string(),
            group: group.to_string(),
            tags: args.tag.clone(),
            server: args.server.clone(),
            names: reach::name_server(&args.server).await?,
            brokers: BTreeMap::new(),
            changed: Arc::default(),
            reading: BTreeMap::new(),
            read,
            reads,
            unnoted: None,
        })
    }

    /// Receives, through ends and new starts of the server.
    async fn receive(&mut self, args: &Receive) -> Result<(), Failure> {
        let end = args.timeout.map(|timeout| Instant::now() + timeout);
        let mut progress = Progress { count: 0, end, said_missing: false, said_gone: false };
        loop {
            match self.receive_while_connected(args, &mut progress).await {
                Err(failure) if failure.exit == Exit::NoServer => {
                    if !self.come_back(&mut progress, &failure).await {
                        return nothing_came(args, progress.count);
                    }
                }
                ended => return ended,
            }
        }
    }

    /// Receives for as long as there is an answer to everything.
    async fn receive_while_connected(
        &mut self,
        args: &Receive,
        progress: &mut Progress,
    ) -> Result<(), Failure> {
        let mut pause = Duration::ZERO;
        while !self.find(pause).await? {
            if !progress.said_missing {
                eprintln!("there is no topic {:?} yet; waiting for it", self.topic);
                progress.said_missing = true;
            }
            pause = LOOK_AGAIN;
            if progress.end.is_some_and(|end| Instant::now() >= end) {
                return nothing_came(args, progress.count);
            }
        }
        let mut every = tokio::time::interval(HEARTBEAT);
        every.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let changed = Arc::clone(&self.changed);
            tokio::select! {
                _ = every.tick() => self.balance().await?,
                () = changed.notified() => self.balance().await?,
                read = until(progress.end, self.reads.recv()) => {
                    let Some(read) = read else { return nothing_came(args, progress.count) };
                    let Read { queue, message } = read.expect("we hold a sender ourselves").map_err(reach::refused)?;
                    reach::say(&show::message(&message))?;
                    progress.count += 1;
                    progress.end = args.timeout.map(|timeout| Instant::now() + timeout);
                    self.unnoted = Some((queue, message.place.queue_offset.0 + 1));
                    self.note().await?;
                }
            }
            if progress.said_gone {
                eprintln!("the server is back");
                progress.said_gone = false;
            }
            if self.unnoted.is_none() && args.count.is_some_and(|count| count <= progress.count) {
                return Ok(());
            }
        }
    }

    /// Waits until the name server is there again; false where the time is over before. What was read and not printed is read again then.
    async fn come_back(&mut self, progress: &mut Progress, gone: &Failure) -> bool {
        if !progress.said_gone {
            let Failure { error, .. } = gone;
            eprintln!(
                "the server at {} is gone ({error:#}); trying again until it is back",
                self.server.namesrv
            );
            progress.said_gone = true;
        }
        self.reading.values().for_each(JoinHandle::abort);
        self.reading.clear();
        self.brokers.clear();
        (self.read, self.reads) = mpsc::channel(READ_AHEAD);
        loop {
            tokio::time::sleep(COME_BACK).await;
            if progress.end.is_some_and(|end| Instant::now() >= end) {
                return false;
            }
            if let Ok(names) = Client::connect(self.server.namesrv.as_str()).await {
                self.names = names;
                return true;
            }
        }
    }

    /// Connects to the topic's brokers, after `pause`; false where the topic is not there.
    async fn find(&mut self, pause: Duration) -> Result<bool, Failure> {
        tokio::time::sleep(pause).await;
        let Some(route) = self.route().await? else { return Ok(false) };
        for broker in &route.broker_datas {
            let changed = Arc::clone(&self.changed);
            let hear = move |command: Command| {
                if command.code == RequestCode::NotifyConsumerIdsChanged.number() {
                    changed.notify_one();
                }
            };
            let address = reach::master(broker)?;
            let client = Client::connect_and_hear(address, hear).await;
            let client = client.map_err(reach::unreachable)?;
            self.brokers.insert(broker.broker_name.clone(), Arc::new(client));
        }
        Ok(!self.brokers.is_empty())
    }

    async fn route(&self) -> Result<Option<TopicRouteData>, Failure> {
        self.names.route(&self.topic).await.map_err(reach::names_refused(&self.server))
    }

    /// Says that we are here, hears who else is, and reads the queues that are ours from now on.
    async fn balance(&mut self) -> Result<(), Failure> {
        let heartbeat = self.heartbeat();
        for broker in self.brokers.values() {
            broker.heartbeat(&heartbeat).await.map_err(reach::refused)?;
        }
        self.note().await?;
        let route = self.route().await?.unwrap_or_default();
        let queues =
            share::queues(&route).into_iter().filter(|queue| self.brokers.contains_key(&queue.broker));
        let ours = share::ours(&queues.collect::<Vec<_>>(), self.members().await?, &self.id);
        self.reading.retain(|queue, task| {
            let keep = ours.contains(queue);
            if !keep {
                task.abort();
            }
            keep
        });
        for queue in ours {
            if !self.reading.contains_key(&queue) {
                let task = self.read_on(&queue).await?;
                self.reading.insert(queue, task);
            }
        }
        Ok(())
    }

    fn heartbeat(&self) -> HeartbeatData {
        let subscription = SubscriptionData {
            expression_type: "TAG".to_owned(),
            sub_string: self.tags.clone(),
            topic: self.topic.clone(),
            ..SubscriptionData::default()
        };
        let consumer = ConsumerData {
            consume_from_where: "CONSUME_FROM_FIRST_OFFSET".to_owned(),
            consume_type: "CONSUME_PASSIVELY".to_owned(),
            group_name: self.group.clone(),
            message_model: "CLUSTERING".to_owned(),
            subscription_data_set: vec![subscription],
            unit_mode: false,
        };
        HeartbeatData {
            client_id: self.id.clone(),
            consumer_data_set: vec![consumer],
            ..HeartbeatData::default()
        }
    }

    /// All members of the group, as the first broker knows them: each member says itself to all.
    async fn members(&self) -> Result<Vec<String>, Failure> {
        let Some(broker) = self.brokers.values().next() else { return Ok(Vec::new()) };
        let header = consumers::Header { group: self.group.clone() };
        let answer = ask(broker, RequestCode::GetConsumerListByGroup, |ext| header.write(ext)).await?;
        if answer.code != ResponseCode::Success.number() {
            return Ok(vec![self.id.clone()]);
        }
        let body: consumers::Body = json::read(&answer.body).map_err(|error| reach::refused(error.into()))?;
        Ok(body.consumer_id_list)
    }

    /// Starts to read a queue where the group is, or at its beginning.
    async fn read_on(&self, queue: &Queue) -> Result<JoinHandle<()>, Failure> {
        let broker = Arc::clone(&self.brokers[&queue.broker]);
        let header = Query {
            group: self.group.clone(),
            topic: self.topic.clone(),
            queue_id: queue.id,
            zero_if_young: Some("false".to_owned()),
        };
        let answer = ask(&broker, RequestCode::QueryConsumerOffset, |ext| header.write(ext)).await?;
        let begin = if answer.code == ResponseCode::Success.number() {
            Answer::read(&answer.ext).map_err(|error| reach::refused(error.into()))?.queue_offset
        } else {
            broker.bounds(&self.topic, queue.id).await.map_err(reach::refused)?.0
        };
        let pull = PullRequest {
            group: self.group.clone(),
            topic: self.topic.clone(),
            queue_id: queue.id,
            queue_offset: begin,
            max_messages: 32,
            tags: self.tags.clone(),
            wait: PULL_WAIT,
        };
        Ok(tokio::spawn(read_queue(broker, queue.clone(), pull, self.read.clone())))
    }

    /// Remembers at the broker that the group has seen what was printed.
    async fn note(&mut self) -> Result<(), Failure> {
        let Some((queue, offset)) = &self.unnoted else { return Ok(()) };
        let Some(broker) = self.brokers.get(&queue.broker) else { return Ok(()) };
        let header = Commit {
            group: self.group.clone(),
            topic: self.topic.clone(),
            queue_id: queue.id,
            queue_offset: *offset,
        };
        let answer = ask(broker, RequestCode::UpdateConsumerOffset, |ext| header.write(ext)).await?;
        self.unnoted = None;
        if answer.code == ResponseCode::Success.number() {
            return Ok(());
        }
        let why = answer.remark.unwrap_or_else(|| format!("code {}", answer.code));
        Err(Failure::new(
            Exit::Refused,
            anyhow!("the message was printed, but the server did not note it as done: {why}"),
        ))
    }

    /// Tells the brokers that we are gone, so that others take our queues at once.
    async fn leave(self) {
        self.reading.values().for_each(JoinHandle::abort);
        let header = unregister::Header {
            client_id: self.id.clone(),
            producer_group: None,
            consumer_group: Some(self.group.clone()),
        };
        for broker in self.brokers.values() {
            // Who does not hear it notices by the closed connection.
            let _ = ask(broker, RequestCode::UnregisterClient, |ext| header.write(ext)).await;
        }
    }
}

/// Pulls one queue for ever, and hands on what it finds.
async fn read_queue(
    broker: Arc<Client>,
    queue: Queue,
    mut pull: PullRequest,
    read: mpsc::Sender<Result<Read, AskError>>,
) {
    loop {
        let pulled = match broker.pull(&pull).await {
            Ok(pulled) => pulled,
            Err(error) => {
                // An error means that nobody listens any more.
                let _ = read.send(Err(error)).await;
                return;
            }
        };
        if pulled.outcome != PullOutcome::NothingNew {
            pull.queue_offset = pulled.next_offset;
        }
        for message in pulled.messages {
            if read.send(Ok(Read { queue: queue.clone(), message })).await.is_err() {
                return;
            }
        }
    }
}

async fn ask(
    broker: &Client,
    verb: RequestCode,
    write: impl FnOnce(&mut Fields),
) -> Result<Command, Failure> {
    let mut ext = Fields::new();
    write(&mut ext);
    let answer = broker.call(Command::request(verb, ext, Bytes::new())).await;
    answer.map_err(|error| reach::refused(error.into()))
}

/// What `future` gives, or nothing once it is `end`.
async fn until<F: Future>(end: Option<Instant>, future: F) -> Option<F::Output> {
    match end {
        Some(end) => timeout_at(end, future).await.ok(),
        None => Some(future.await),
    }
}

/// The end by time: fine where all that was asked for is some time's worth of messages.
fn nothing_came(args: &Receive, count: u64) -> Result<(), Failure> {
    match args.count {
        None if count > 0 => Ok(()),
        Some(wanted) => {
            Err(Failure::new(Exit::Refused, anyhow!("{count} of {wanted} messages came in time")))
        }
        None => Err(Failure::new(Exit::Refused, anyhow!("no message came in time"))),
    }
}
