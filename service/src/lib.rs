//! The seam behind every front.
//!
//! A front turns bytes into a [`broker::Request`] and asks a [`Service`]; what comes back it turns into bytes
//! again. Behind the trait stands [`Local`], the engine of this process, reached through one bounded queue;
//! [`Node`] is that engine as a pure state machine: broker and name server together, told the time.
//!
//! This room decides nothing about messages and knows no socket and no protocol.

mod call;
mod local;
mod node;
mod process;

pub use call::{Call, CallError, Words};
pub use local::{Input, Local};
pub use node::{Node, NodeReply, NodeRequest};
pub use process::{ChangeError, Process};

use broker::{Notice, Reply, Request, Verb};
use model::{ConnectionId, TopicName};
use nameserver::{
    BrokerData, Departed, Member, Queues, RegisterError, Registered, Registration, Route, TopicsVersion,
};
use std::sync::Arc;
use tokio::sync::mpsc;

/// Why there is no answer at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// Too many requests wait to be looked at: ask again later.
    #[error("the server is busy: its request queue is full")]
    Busy,
    /// The server is shutting down.
    #[error("the server is shutting down")]
    Stopping,
}

/// What stands behind a front. Futures may be dropped: a parked request is then taken back.
#[async_trait::async_trait]
pub trait Service: Send + Sync + 'static {
    /// Asks the broker. The typed way is [`ask`](ServiceExt::ask).
    async fn request(&self, request: Request) -> Result<Reply, Unavailable>;

    /// Where a topic lies; `None` where nobody serves it.
    async fn route(&self, topic: TopicName) -> Result<Option<Route>, Unavailable>;

    /// All brokers.
    async fn brokers(&self) -> Result<Vec<BrokerData>, Unavailable>;

    /// The names of all topics that have a route, in one cluster or in all.
    async fn topics(&self, cluster: Option<String>) -> Result<Vec<TopicName>, Unavailable>;

    /// Lets producers use a broker, or keeps them away from it; tells how many topics that concerns.
    async fn set_writable(&self, broker: String, writable: bool) -> Result<usize, Unavailable>;

    /// Another broker says by a connection that it is there, and what it serves. It is gone with the connection.
    async fn register(
        &self,
        connection: ConnectionId,
        ask: Registration,
    ) -> Result<Result<Registered, RegisterError>, Unavailable>;

    /// Another broker goes; tells whether it was there.
    async fn unregister(&self, member: Member) -> Result<Option<Departed>, Unavailable>;

    /// Whoever has that address in that cluster is there; tells the state of its topics, where it is registered.
    async fn heard(&self, cluster: String, address: String) -> Result<Option<TopicsVersion>, Unavailable>;

    /// Other brokers, by name, serve a topic as it is now; those that are not registered do not.
    async fn serve(
        &self,
        topic: TopicName,
        queues: Vec<(String, Queues)>,
    ) -> Result<Result<(), RegisterError>, Unavailable>;

    /// Other brokers, of one cluster or of all, no longer serve a topic.
    async fn withdraw(&self, topic: TopicName, cluster: Option<String>) -> Result<(), Unavailable>;

    /// Asks the client of another connection, in the words of the front that serves it; gives its answer.
    /// A client answers a few questions at a time, and further ones wait for their turn. How long to wait is
    /// the caller's to bound: dropping the future takes the question back.
    async fn call(&self, connection: ConnectionId, question: Words) -> Result<Words, CallError>;

    /// What the process knows beyond its engine; `None` where it tells nothing.
    fn process(&self) -> Option<Arc<dyn Process>>;

    /// A new connection: its id, and what its client must hear without having asked. Dropping it takes
    /// out of the broker all that was registered by it.
    fn connect(&self) -> Connection;
}

/// Asks with a verb, and gives that verb's answer.
pub trait ServiceExt {
    /// Asks the broker.
    fn ask<V: Verb + Send + 'static>(
        &self,
        verb: V,
    ) -> impl Future<Output = Result<V::Answer, Unavailable>> + Send;
}

impl<S: Service + ?Sized> ServiceExt for S {
    async fn ask<V: Verb + Send + 'static>(&self, verb: V) -> Result<V::Answer, Unavailable> {
        let reply = self.request(verb.into()).await?;
        Ok(V::answer(reply).expect("a verb is answered by its own reply"))
    }
}

/// A connection as the service knows it.
#[derive(Debug)]
pub struct Connection {
    /// Its id, for [`broker::Register`] and its like.
    pub id: ConnectionId,
    /// What its client must hear. Bounded: notices beyond the bound are dropped, since each says only «look again».
    pub notices: mpsc::Receiver<Notice>,
    /// What other clients ask its client. Bounded, with those that it has not answered yet: more come once some
    /// are. Closed where its client answers none.
    pub calls: mpsc::Receiver<Call>,
    /// Tells the broker when this is dropped.
    #[expect(dead_code, reason = "it is there to be dropped")]
    closed: local::OnDrop,
}
