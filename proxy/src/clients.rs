//! Who is there: each client by its id, what it said of itself, and its place in the broker's groups.
//!
//! A client enters by its first settings and leaves by saying so, or by silence: no stream of telemetry and no
//! call for two minutes. Its [`Connection`] lives as long as its entry; dropping it takes the client out of
//! the broker. The table has a limit, since anybody may invent ids.

use crate::question::Questions;
use crate::time::now_ms;
use broker::{Notice, Register};
use model::{ClientId, ConnectionId};
use proto::v2::TelemetryCommand;
use service::{Call, Connection, Service};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// How long a client may be silent. Peer: `channelExpiredTimeout`.
const SILENCE_MAX: Duration = Duration::from_mins(2);

/// Where commands for a client go: its telemetry stream.
pub(crate) type Teller = mpsc::Sender<Result<TelemetryCommand, tonic::Status>>;

/// How long after its last word a client without a stream still counts as there: a few heartbeats.
pub(crate) const MOMENT: Duration = Duration::from_secs(25);

/// All clients known.
pub(crate) struct Clients {
    service: Arc<dyn Service>,
    limit: usize,
    table: Mutex<HashMap<ClientId, Client>>,
}

/// What a client said of itself, as far as its calls need it.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// What to tell the broker again at each heartbeat.
    pub(crate) register: Arc<Register>,
    /// Whether its group consumes in order; `false` for a producer.
    pub(crate) fifo: bool,
    /// How long it waits for an answer, a long poll apart.
    pub(crate) request_timeout: Option<Duration>,
}

struct Client {
    connection: Connection,
    known: Option<Known>,
    /// Telemetry streams that are open.
    streams: usize,
    /// The newest of them: what the client must hear goes there.
    newest: Option<Teller>,
    /// What tools have asked it.
    questions: Questions,
    /// Since when it has been there, in ms since the epoch.
    since_ms: i64,
    heard: Instant,
}

/// What comes for a client from behind.
enum Heard {
    Notice(Notice),
    Question(Call),
}

/// There are too many clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{limit} clients are known already, which is the limit")]
pub(crate) struct Full {
    limit: usize,
}

impl Clients {
    pub(crate) fn new(service: Arc<dyn Service>, limit: usize) -> Self {
        Self { service, limit, table: Mutex::default() }
    }

    /// Lets a client in, and counts a stream of it until the guard is dropped. Gives its connection, too.
    ///
    /// What the broker wants the client to hear goes to `teller` from now on.
    pub(crate) fn enter(
        self: &Arc<Self>,
        client: &ClientId,
        teller: Teller,
    ) -> Result<(OpenStream, ConnectionId), Full> {
        let now = Instant::now();
        if self.lock().len() >= self.limit {
            self.expire(now);
        }
        let mut table = self.lock();
        if table.len() >= self.limit && !table.contains_key(client) {
            return Err(Full { limit: self.limit });
        }
        let entry = table.entry(client.clone()).or_insert_with(|| {
            let mut connection = self.service.connect();
            let notices = std::mem::replace(&mut connection.notices, mpsc::channel(1).1);
            let calls = std::mem::replace(&mut connection.calls, mpsc::channel(1).1);
            tokio::spawn(Arc::clone(self).tell(client.clone(), connection.id, notices, calls));
            let (questions, since_ms) = (Questions::default(), now_ms());
            Client { connection, known: None, streams: 0, newest: None, questions, since_ms, heard: now }
        });
        entry.newest = Some(teller.clone());
        entry.streams += 1;
        entry.heard = now;
        let connection = entry.connection.id;
        Ok((OpenStream { clients: Arc::clone(self), client: client.clone(), connection, teller }, connection))
    }

    /// Passes on what a client must hear and what it is asked, as long as it is there. What its stream has no room
    /// for is dropped: the broker asks again, and tools are told that no answer will come.
    async fn tell(
        self: Arc<Self>,
        client: ClientId,
        connection: ConnectionId,
        mut notices: mpsc::Receiver<Notice>,
        mut calls: mpsc::Receiver<Call>,
    ) {
        loop {
            let heard = tokio::select! {
                Some(notice) = notices.recv() => Heard::Notice(notice),
                Some(call) = calls.recv() => Heard::Question(call),
                else => return,
            };
            let mut table = self.lock();
            let Some(entry) = table.get_mut(&client).filter(|entry| entry.connection.id == connection) else {
                return;
            };
            let Some(Ok(room)) = entry.newest.as_ref().map(mpsc::Sender::try_reserve) else { continue };
            let command = match heard {
                Heard::Notice(notice) => crate::telemetry::command(notice),
                Heard::Question(call) => {
                    let known = entry.known.as_ref().map(|known| &*known.register);
                    entry.questions.ask(call, known, entry.since_ms)
                }
            };
            if let Some(command) = command {
                room.send(Ok(command));
            }
        }
    }

    /// Takes what a client says that is no settings; tells whether it is the answer to a question.
    pub(crate) fn answered(&self, client: &ClientId, frame: &TelemetryCommand) -> bool {
        self.lock().get_mut(client).is_some_and(|entry| entry.questions.answered(frame))
    }

    /// Keeps what a client said; tells whether it is still the one that came by `connection`.
    pub(crate) fn settle(&self, client: &ClientId, connection: ConnectionId, known: Known) -> bool {
        let mut table = self.lock();
        let Some(entry) = table.get_mut(client).filter(|entry| entry.connection.id == connection) else {
            return false;
        };
        entry.known = Some(known);
        entry.heard = Instant::now();
        true
    }

    /// What a client said, which has just been heard of again.
    pub(crate) fn known(&self, client: &ClientId) -> Option<Known> {
        let mut table = self.lock();
        let entry = table.get_mut(client)?;
        entry.heard = Instant::now();
        entry.known.clone()
    }

    /// Whether a client is there: a stream of it is open, or it was heard of a moment ago.
    pub(crate) fn is_alive(&self, client: &ClientId, now: Instant) -> bool {
        let table = self.lock();
        table
            .get(client)
            .is_some_and(|entry| entry.streams > 0 || now.saturating_duration_since(entry.heard) < MOMENT)
    }

    /// Forgets a client; tells whether it was known.
    pub(crate) fn leave(&self, client: &ClientId) -> bool {
        let left = self.lock().remove(client);
        // Dropped here, after the lock: it tells the broker.
        left.is_some_and(|left| left.known.is_some())
    }

    /// Forgets who has been silent for too long at `now`.
    pub(crate) fn expire(&self, now: Instant) {
        let gone: Vec<(ClientId, Client)> = {
            let silent = |client: &Client| {
                client.streams == 0 && now.saturating_duration_since(client.heard) > SILENCE_MAX
            };
            self.lock().extract_if(|_, client| silent(client)).collect()
        };
        for (client, _) in &gone {
            tracing::info!(%client, "client forgotten after its silence");
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ClientId, Client>> {
        // Nothing that is done under the lock leaves an entry half changed.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A telemetry stream of a client, counted until it is dropped.
pub(crate) struct OpenStream {
    clients: Arc<Clients>,
    client: ClientId,
    connection: ConnectionId,
    teller: Teller,
}

impl OpenStream {
    /// The connection to register by; `None` once the client has left.
    pub(crate) fn connection(&self) -> Option<ConnectionId> {
        let table = self.clients.lock();
        table.get(&self.client).map(|entry| entry.connection.id).filter(|id| *id == self.connection)
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        // A client that left and came back has another connection, and other streams.
        if let Some(entry) =
            self.clients.lock().get_mut(&self.client).filter(|entry| entry.connection.id == self.connection)
        {
            entry.streams -= 1;
            // Nothing more is said on it, and it ends once nobody could.
            entry.newest.take_if(|newest| newest.same_channel(&self.teller));
            entry.heard = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests;
