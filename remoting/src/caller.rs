//! Who asks: the connection that a request came by, and what stands behind it.

use crate::answer::Refused;
use crate::settings::Settings;
use broker::Verb;
use model::{ConnectionId, GroupName, TopicName};
use service::{Service, ServiceExt as _};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// A connection as the verbs see it.
pub(crate) struct Caller {
    pub service: Arc<dyn Service>,
    pub settings: Arc<Settings>,
    pub connection: ConnectionId,
    /// The client's address; of an IPv4 client always in that form.
    pub address: SocketAddr,
    /// What its heartbeats subscribe to by expressions that cannot be served, and why. Go's client sends these
    /// in heartbeats alone: to answer its pulls as if it had not filtered would give it what it did not want.
    unserved: Mutex<BTreeMap<(GroupName, TopicName), Refused>>,
}

impl Caller {
    /// The caller at the other end of a connection.
    pub fn new(
        service: Arc<dyn Service>,
        settings: Arc<Settings>,
        connection: ConnectionId,
        address: SocketAddr,
    ) -> Self {
        Self { service, settings, connection, address, unserved: Mutex::default() }
    }

    /// Remembers what the last heartbeat subscribes to by expressions that cannot be served.
    pub fn set_unserved(&self, unserved: BTreeMap<(GroupName, TopicName), Refused>) {
        *self.unserved.lock().unwrap_or_else(PoisonError::into_inner) = unserved;
    }

    /// Why the expression by which a group wants a topic cannot be served; `None` where it can.
    pub fn unserved(&self, group: &GroupName, topic: &TopicName) -> Option<Refused> {
        let unserved = self.unserved.lock().unwrap_or_else(PoisonError::into_inner);
        if unserved.is_empty() {
            return None;
        }
        unserved.get(&(group.clone(), topic.clone())).cloned()
    }

    /// The name of the broker of this process, which tools put before each queue.
    pub async fn broker_name(&self) -> Result<String, Refused> {
        let ours = self.service.brokers().await?.into_iter().find(|broker| broker.local);
        Ok(ours.map(|broker| broker.name).unwrap_or_default())
    }

    /// Asks the broker.
    pub async fn ask<V: Verb + Send + 'static>(&self, verb: V) -> Result<V::Answer, Refused> {
        Ok(self.service.ask(verb).await?)
    }
}
