//! The engine as a pure state machine: broker and name server together, told the time.
//!
//! The driver and the simulator drive the same seven methods as the broker's. What the name server tells is
//! never older than what the broker has answered: a topic has a route before its maker hears that it exists.

use broker::{Broker, Budget, Config, Done, Halted, Recovered, Reply, Request, RequestId, Work};
use env::Disk;
use journal::OpenError;
use model::{Now, TopicName};
use nameserver::{BrokerAddress, BrokerData, NameServer, Route};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// What may be asked of a node.
#[derive(Debug)]
pub enum NodeRequest {
    /// Of its broker.
    Broker(Request),
    /// Of its name server: where a topic lies.
    Route(TopicName),
    /// Of its name server: who is there.
    Brokers,
    /// Of its name server: which topics are there.
    Topics,
    /// Of its name server: whether producers shall use a broker.
    SetWritable(String, bool),
}

/// What it answers.
#[derive(Debug)]
pub enum NodeReply {
    /// Its broker's.
    Broker(Reply),
    /// Where the topic lies.
    Route(Option<Route>),
    /// All brokers.
    Brokers(Vec<BrokerData>),
    /// All topics.
    Topics(Vec<TopicName>),
    /// How many topics that concerns.
    SetWritable(usize),
}

/// One broker and its name server.
pub struct Node {
    broker: Broker,
    names: NameServer,
    replies: VecDeque<(RequestId, NodeReply)>,
}

impl Node {
    /// Opens the log on `disk` and registers what the broker serves.
    pub fn open(disk: Arc<dyn Disk>, config: Config, now: Now) -> Result<(Self, Recovered), OpenError> {
        let address = BrokerAddress {
            cluster: config.cluster.clone(),
            name: config.broker_name.clone(),
            address: config.store_host.to_string(),
        };
        let (broker, recovered) = Broker::open(disk, config, now)?;
        let mut names = NameServer::new();
        names.register(&address, []);
        let mut node = Self { broker, names, replies: VecDeque::new() };
        node.register_topics();
        Ok((node, recovered))
    }

    fn register_topics(&mut self) {
        // A topic that was made again is among both.
        for topic in self.broker.take_deleted_topics() {
            self.names.remove(&self.broker.config().broker_name, &topic);
        }
        for topic in self.broker.take_changed_topics() {
            self.names.update(&self.broker.config().broker_name, &topic);
        }
    }

    /// Takes a request. See [`Broker::handle`].
    pub fn handle(&mut self, now: Now, id: RequestId, request: NodeRequest) {
        let reply = match request {
            NodeRequest::Broker(request) => {
                self.broker.handle(now, id, request);
                self.register_topics();
                return;
            }
            NodeRequest::Route(topic) => NodeReply::Route(self.route(&topic)),
            NodeRequest::Brokers => NodeReply::Brokers(self.names.brokers()),
            NodeRequest::Topics => NodeReply::Topics(self.names.topics()),
            NodeRequest::SetWritable(broker, writable) => {
                NodeReply::SetWritable(self.names.set_writable(&broker, writable))
            }
        };
        self.replies.push_back((id, reply));
    }

    /// Where a topic lies, or will once the first client of its group has said that it is there.
    fn route(&self, topic: &TopicName) -> Option<Route> {
        self.names.route(topic).or_else(|| {
            let coming = self.broker.coming_retry_topic(topic)?;
            self.names.coming_route(&self.broker.config().broker_name, &coming)
        })
    }

    /// Does what the time asks for. See [`Broker::tick`].
    pub fn tick(&mut self, now: Now, budget: Budget) {
        self.broker.tick(now, budget);
        self.register_topics();
    }

    /// Writes what was appended. See [`Broker::write`].
    pub fn write(&mut self) {
        self.broker.write();
    }

    /// The next thing to be done outside. See [`Broker::poll_work`].
    pub fn poll_work(&mut self) -> Option<Work> {
        self.broker.poll_work()
    }

    /// Work came back. See [`Broker::done`].
    pub fn done(&mut self, now: Now, done: Done) -> Result<(), Halted> {
        self.broker.done(now, done)?;
        self.register_topics();
        Ok(())
    }

    /// The next reply whose promise holds. See [`Broker::poll_reply`].
    pub fn poll_reply(&mut self) -> Option<(RequestId, NodeReply)> {
        if let Some(reply) = self.replies.pop_front() {
            return Some(reply);
        }
        self.broker.poll_reply().map(|(id, reply)| (id, NodeReply::Broker(reply)))
    }

    /// How long the driver may sleep if nothing comes. See [`Broker::next_wakeup`].
    pub fn next_wakeup(&self, now: Now) -> Option<Duration> {
        self.broker.next_wakeup(now)
    }

    /// What a clean stop leaves to be done once nothing is asked any more: see [`Broker::shutdown_work`].
    pub fn shutdown_work(&mut self) -> Option<Work> {
        self.broker.shutdown_work()
    }

    /// Its broker.
    pub fn broker(&self) -> &Broker {
        &self.broker
    }
}
