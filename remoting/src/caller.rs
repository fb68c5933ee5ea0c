//! Who asks: the connection that a request came by, and what stands behind it.

use crate::answer::Refused;
use crate::settings::Settings;
use broker::Verb;
use model::ConnectionId;
use service::{Service, ServiceExt as _};
use std::net::SocketAddr;
use std::sync::Arc;

/// A connection as the verbs see it.
pub(crate) struct Caller {
    pub service: Arc<dyn Service>,
    pub settings: Arc<Settings>,
    pub connection: ConnectionId,
    /// The client's address; of an IPv4 client always in that form.
    pub address: SocketAddr,
}

impl Caller {
    /// Asks the broker.
    pub async fn ask<V: Verb + Send + 'static>(&self, verb: V) -> Result<V::Answer, Refused> {
        Ok(self.service.ask(verb).await?)
    }
}
