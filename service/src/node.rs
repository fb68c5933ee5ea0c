//! The engine as a pure state machine: broker and name server together, told the time.
//!
//! The driver and the simulator drive the same seven methods as the broker's. What the name server tells is
//! never older than what the broker has answered: a topic has a route before its maker hears that it exists.

use broker::{Broker, Budget, Config, Done, Halted, Recovered, Reply, Request, RequestId, Work};
use env::Disk;
use journal::OpenError;
use model::{ConnectionId, Now, TopicName};
use nameserver::{
    BrokerAddress, BrokerData, Departed, Member, NameServer, Queues, RegisterError, Registered, Registration,
    Route, TopicsVersion,
};
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
    /// Of its name server: which topics are there, in one cluster or in all.
    Topics(Option<String>),
    /// Of its name server: whether producers shall use a broker.
    SetWritable(String, bool),
    /// Of its name server: another broker is there, by this connection, and serves this.
    Register(ConnectionId, Box<Registration>),
    /// Of its name server: another broker goes.
    Unregister(Member),
    /// Of its name server: whoever has this address in this cluster is there.
    Heard(String, String),
    /// Of its name server: other brokers, by name, serve a topic as it is now.
    Serve(TopicName, Vec<(String, Queues)>),
    /// Of its name server: other brokers, of one cluster or of all, no longer serve a topic.
    Withdraw(TopicName, Option<String>),
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
    /// How the broker was registered.
    Register(Result<Registered, RegisterError>),
    /// Who has gone.
    Unregister(Option<Departed>),
    /// The state of that broker's topics; `None` where it is not registered.
    Heard(Option<TopicsVersion>),
    /// Whether the name server has room for it.
    Serve(Result<(), RegisterError>),
    /// It is done.
    Withdraw,
}

/// One broker and its name server.
pub struct Node {
    broker: Broker,
    names: NameServer,
    /// How often the broker's topics have changed.
    topic_changes: u64,
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
        let mut node =
            Self { broker, names: NameServer::beside(address), topic_changes: 0, replies: VecDeque::new() };
        node.register_topics();
        Ok((node, recovered))
    }

    fn register_topics(&mut self) {
        // A topic that was made again is among both.
        for topic in self.broker.take_deleted_topics() {
            self.names.remove(&topic);
            self.topic_changes += 1;
        }
        for topic in self.broker.take_changed_topics() {
            self.names.update(&topic);
            self.topic_changes += 1;
        }
    }

    /// Takes a request. See [`Broker::handle`].
    pub fn handle(&mut self, now: Now, id: RequestId, request: NodeRequest) {
        let reply = match request {
            NodeRequest::Broker(request) => {
                if let Request::Disconnect(gone) = &request {
                    departed("its connection is closed", &self.names.disconnect(gone.connection));
                }
                self.broker.handle(now, id, request);
                self.register_topics();
                return;
            }
            NodeRequest::Route(topic) => NodeReply::Route(self.route(&topic)),
            NodeRequest::Brokers => NodeReply::Brokers(self.names.brokers()),
            NodeRequest::Topics(cluster) => NodeReply::Topics(self.names.topics(cluster.as_deref())),
            NodeRequest::SetWritable(broker, writable) => {
                NodeReply::SetWritable(self.names.set_writable(&broker, writable))
            }
            NodeRequest::Register(connection, ask) => {
                NodeReply::Register(self.names.register(now.monotonic, connection, *ask))
            }
            NodeRequest::Unregister(member) => NodeReply::Unregister(self.names.unregister(&member)),
            NodeRequest::Heard(cluster, address) => {
                NodeReply::Heard(self.names.heard(now.monotonic, &cluster, &address))
            }
            NodeRequest::Serve(topic, queues) => {
                let mut each = queues.into_iter();
                let served = each.try_for_each(|(broker, queues)| {
                    self.names.update_foreign(&broker, topic.clone(), queues)
                });
                NodeReply::Serve(served)
            }
            NodeRequest::Withdraw(topic, cluster) => {
                self.names.remove_foreign(&topic, cluster.as_deref());
                NodeReply::Withdraw
            }
        };
        self.replies.push_back((id, reply));
    }

    /// Where a topic lies, or will once the first client of its group has said that it is there.
    fn route(&self, topic: &TopicName) -> Option<Route> {
        let mut route = self.names.route(topic).unwrap_or_default();
        if !route.queues.iter().any(|data| data.local)
            && let Some(coming) = self.broker.coming_retry_topic(topic)
        {
            self.names.add_coming(&mut route, &coming);
        }
        (!route.queues.is_empty()).then_some(route)
    }

    /// Does what the time asks for. See [`Broker::tick`].
    pub fn tick(&mut self, now: Now, budget: Budget) {
        departed("it has been silent for too long", &self.names.expire(now.monotonic));
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
        let expiry = self.names.next_expiry().map(|at| at.since(now.monotonic));
        self.broker.next_wakeup(now).into_iter().chain(expiry).min()
    }

    /// What a clean stop leaves to be done once nothing is asked any more: see [`Broker::shutdown_work`].
    pub fn shutdown_work(&mut self) -> Option<Work> {
        self.broker.shutdown_work()
    }

    /// How often its broker's topics have changed since it was opened, counting those it was opened with.
    pub fn topic_changes(&self) -> u64 {
        self.topic_changes
    }

    /// Its broker.
    pub fn broker(&self) -> &Broker {
        &self.broker
    }
}

fn departed(why: &str, gone: &[Departed]) {
    for Departed { name, id, address } in gone {
        tracing::warn!(broker = name, id, address, why, "a broker is gone, and its routes with it");
    }
}
