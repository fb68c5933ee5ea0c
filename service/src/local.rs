//! The service of this process: requests go to the engine's thread through one bounded queue.

use crate::node::{NodeReply, NodeRequest};
use crate::{Call, CallError, Connection, Process, Service, Unavailable, Words};
use broker::{Cancel, Disconnect, Done, Notice, Reply, Request, RequestId};
use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use model::{ConnectionId, TopicName};
use nameserver::{
    BrokerData, Departed, Member, Queues, RegisterError, Registered, Registration, Route, TopicsVersion,
};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tokio::sync::{Semaphore, mpsc, oneshot};

/// Notices that may wait for one client; each says only «look again», so more say no more.
const NOTICES_MAX: usize = 64;

/// What reaches the engine's thread.
#[derive(Debug)]
pub enum Input {
    /// A request, and where its answer goes; nowhere for one whose answer says nothing.
    Ask(RequestId, NodeRequest, Option<oneshot::Sender<NodeReply>>),
    /// Work that was handed out has come back.
    Done(Done),
    /// Finish what was accepted, and stop.
    Stop,
}

/// Questions of other clients that one client has not answered, at most; more wait for their turn.
const CALLS_MAX: usize = 64;

type Clients = Mutex<BTreeMap<ConnectionId, Ways>>;

/// The ways to a client.
#[derive(Debug)]
struct Ways {
    notices: mpsc::Sender<Notice>,
    calls: mpsc::Sender<Call>,
    /// One turn for each question that it may not have answered yet.
    turns: Arc<Semaphore>,
}

/// Reaches the engine of this process. Cheap to clone.
#[derive(Clone)]
pub struct Local {
    engine: Sender<Input>,
    ids: Arc<AtomicU64>,
    clients: Arc<Clients>,
    process: Arc<OnceLock<Arc<dyn Process>>>,
}

impl Local {
    /// A service whose engine reads from the receiver; at most `capacity` requests wait there.
    pub fn new(capacity: usize) -> (Self, Receiver<Input>) {
        let (engine, inputs) = bounded(capacity);
        (Self { engine, ids: Arc::default(), clients: Arc::default(), process: Arc::default() }, inputs)
    }

    /// Where work that was done goes, and the word to stop. Blocks while the queue is full.
    pub fn engine(&self) -> Sender<Input> {
        self.engine.clone()
    }

    /// Tells the client of a connection something; nothing where it is gone or has enough to look at.
    pub fn notify(&self, connection: ConnectionId, notice: Notice) {
        let clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&connection) {
            let _ = client.notices.try_send(notice);
        }
    }

    /// Says what the process knows beyond its engine; the first word stands.
    pub fn set_process(&self, process: Arc<dyn Process>) {
        let _ = self.process.set(process);
    }

    fn next_id(&self) -> RequestId {
        RequestId(self.ids.fetch_add(1, Ordering::Relaxed))
    }

    async fn call_node(&self, request: NodeRequest) -> Result<NodeReply, Unavailable> {
        let id = self.next_id();
        let (answer, answered) = oneshot::channel();
        self.engine.try_send(Input::Ask(id, request, Some(answer))).map_err(|error| match error {
            TrySendError::Full(_) => Unavailable::Busy,
            TrySendError::Disconnected(_) => Unavailable::Stopping,
        })?;
        let mut unanswered = OnDrop::cancel(self.engine.clone(), id, self.next_id());
        let reply = answered.await;
        unanswered.disarm();
        reply.map_err(|_| Unavailable::Stopping)
    }
}

/// What a request is answered by, out of the reply; any other reply is a mistake of the engine's.
macro_rules! answered {
    ($reply:expr, $variant:pat => $answer:expr) => {
        match $reply? {
            $variant => Ok($answer),
            other => unreachable!("a request is answered in kind, not by {other:?}"),
        }
    };
}

#[async_trait::async_trait]
impl Service for Local {
    async fn request(&self, request: Request) -> Result<Reply, Unavailable> {
        answered!(self.call_node(NodeRequest::Broker(request)).await, NodeReply::Broker(reply) => reply)
    }

    async fn route(&self, topic: TopicName) -> Result<Option<Route>, Unavailable> {
        answered!(self.call_node(NodeRequest::Route(topic)).await, NodeReply::Route(route) => route)
    }

    async fn brokers(&self) -> Result<Vec<BrokerData>, Unavailable> {
        answered!(self.call_node(NodeRequest::Brokers).await, NodeReply::Brokers(brokers) => brokers)
    }

    async fn topics(&self, cluster: Option<String>) -> Result<Vec<TopicName>, Unavailable> {
        answered!(self.call_node(NodeRequest::Topics(cluster)).await, NodeReply::Topics(topics) => topics)
    }

    async fn set_writable(&self, broker: String, writable: bool) -> Result<usize, Unavailable> {
        let request = NodeRequest::SetWritable(broker, writable);
        answered!(self.call_node(request).await, NodeReply::SetWritable(topics) => topics)
    }

    async fn register(
        &self,
        connection: ConnectionId,
        ask: Registration,
    ) -> Result<Result<Registered, RegisterError>, Unavailable> {
        let request = NodeRequest::Register(connection, Box::new(ask));
        answered!(self.call_node(request).await, NodeReply::Register(registered) => registered)
    }

    async fn unregister(&self, member: Member) -> Result<Option<Departed>, Unavailable> {
        answered!(self.call_node(NodeRequest::Unregister(member)).await, NodeReply::Unregister(gone) => gone)
    }

    async fn heard(&self, cluster: String, address: String) -> Result<Option<TopicsVersion>, Unavailable> {
        let request = NodeRequest::Heard(cluster, address);
        answered!(self.call_node(request).await, NodeReply::Heard(version) => version)
    }

    async fn serve(
        &self,
        topic: TopicName,
        queues: Vec<(String, Queues)>,
    ) -> Result<Result<(), RegisterError>, Unavailable> {
        answered!(self.call_node(NodeRequest::Serve(topic, queues)).await, NodeReply::Serve(served) => served)
    }

    async fn withdraw(&self, topic: TopicName, cluster: Option<String>) -> Result<(), Unavailable> {
        answered!(self.call_node(NodeRequest::Withdraw(topic, cluster)).await, NodeReply::Withdraw => ())
    }

    async fn call(&self, connection: ConnectionId, question: Words) -> Result<Words, CallError> {
        let (calls, turns) = {
            let clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
            let client = clients.get(&connection).ok_or(CallError::Gone)?;
            (client.calls.clone(), Arc::clone(&client.turns))
        };
        let _turn = turns.acquire().await.map_err(|_| CallError::Gone)?;
        let (answer, answered) = oneshot::channel();
        calls.send(Call { question, answer }).await.map_err(|_| CallError::Gone)?;
        answered.await.map_err(|_| CallError::Gone)
    }

    fn process(&self) -> Option<Arc<dyn Process>> {
        self.process.get().cloned()
    }

    fn connect(&self) -> Connection {
        let id = ConnectionId(self.ids.fetch_add(1, Ordering::Relaxed));
        let (notices_in, notices) = mpsc::channel(NOTICES_MAX);
        let (calls_in, calls) = mpsc::channel(CALLS_MAX);
        let ways = Ways { notices: notices_in, calls: calls_in, turns: Arc::new(Semaphore::new(CALLS_MAX)) };
        self.clients.lock().unwrap_or_else(PoisonError::into_inner).insert(id, ways);
        let closed = OnDrop::disconnect(self.engine.clone(), id, self.next_id(), self.clients.clone());
        Connection { id, notices, calls, closed }
    }
}

/// Tells the engine of something that is no longer, when dropped.
#[derive(Debug)]
pub(crate) struct OnDrop {
    engine: Sender<Input>,
    say: Option<(RequestId, Request)>,
    clients: Option<(ConnectionId, Arc<Clients>)>,
}

impl OnDrop {
    fn cancel(engine: Sender<Input>, request: RequestId, id: RequestId) -> Self {
        Self { engine, say: Some((id, Cancel { request }.into())), clients: None }
    }

    fn disconnect(
        engine: Sender<Input>,
        connection: ConnectionId,
        id: RequestId,
        clients: Arc<Clients>,
    ) -> Self {
        Self {
            engine,
            say: Some((id, Disconnect { connection }.into())),
            clients: Some((connection, clients)),
        }
    }

    fn disarm(&mut self) {
        self.say = None;
    }
}

impl Drop for OnDrop {
    fn drop(&mut self) {
        if let Some((connection, clients)) = &self.clients {
            clients.lock().unwrap_or_else(PoisonError::into_inner).remove(connection);
        }
        if let Some((id, request)) = self.say.take() {
            // Where the queue is full this waits for the engine, for microseconds: a lost word would leave a
            // client in its groups, or a request parked, until its time is over.
            let _ = self.engine.send(Input::Ask(id, NodeRequest::Broker(request), None));
        }
    }
}
