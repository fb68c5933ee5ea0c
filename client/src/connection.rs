//! The connection: requests out, answers in, each to whoever waits for it.

use crate::{AskError, accepted};
use bytes::{Bytes, BytesMut};
use std::collections::HashMap;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, ToSocketAddrs};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use wire::remoting::frame::{self, MAX_BYTES};
use wire::remoting::{Command, DecodeError, Fields, RequestCode, ResponseCode};

/// Requests that wait to be written, at most.
const OUTGOING_MAX: usize = 256;

/// Bytes that wait to be written, beyond which no request is taken.
const OUTBOX_BYTES_MAX: usize = 1 << 20;

/// Room made for what is read next.
const READ_BYTES: usize = 16 << 10;

/// How long an answer is waited for, where the caller does not say. Peer: `sendMsgTimeout` (Java's client).
const TIMEOUT: Duration = Duration::from_secs(3);

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The system says no.
    #[error("connecting to {address}")]
    Io {
        /// Where to.
        address: String,
        /// Why not.
        source: io::Error,
    },
    /// Nobody answered.
    #[error("connecting to {address} took longer than {} ms", limit.as_millis())]
    TimedOut {
        /// Where to.
        address: String,
        /// How long was waited.
        limit: Duration,
    },
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The connection is gone. Whether the request was carried out is not known.
    #[error("the server closed the connection")]
    Closed,
    /// It took too long. Whether the request was carried out is not known.
    #[error("no answer to request {code} within {} ms", limit.as_millis())]
    TimedOut {
        /// The request's code.
        code: i32,
        /// How long was waited.
        limit: Duration,
    },
}

/// One connection. Dropping it closes it.
#[derive(Debug)]
pub struct Client {
    outgoing: mpsc::Sender<Outgoing>,
    timeout: Duration,
    task: JoinHandle<()>,
}

/// A request, and who waits for its answer.
#[derive(Debug)]
struct Outgoing {
    command: Command,
    answer: Option<oneshot::Sender<Command>>,
}

impl Client {
    /// Connects to `address`, `host:port`. What the server asks by itself is ignored.
    pub async fn connect(address: impl ToSocketAddrs + ToString) -> Result<Self, ConnectError> {
        Self::connect_and_hear(address, |_| {}).await
    }

    /// Connects, and hands what the server asks by itself to `hear`, which must not block.
    pub async fn connect_and_hear(
        address: impl ToSocketAddrs + ToString,
        hear: impl FnMut(Command) + Send + 'static,
    ) -> Result<Self, ConnectError> {
        let name = address.to_string();
        match tokio::time::timeout(TIMEOUT, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                // Without it a request may wait for the answer to the one before; a system that refuses is slow, no more.
                let _ = stream.set_nodelay(true);
                Ok(Self::over(stream, hear))
            }
            Ok(Err(source)) => Err(ConnectError::Io { address: name, source }),
            Err(_) => Err(ConnectError::TimedOut { address: name, limit: TIMEOUT }),
        }
    }

    /// Speaks over a stream that stands already.
    pub fn over<S>(stream: S, hear: impl FnMut(Command) + Send + 'static) -> Self
    where
        S: AsyncRead + AsyncWrite + Send + 'static,
    {
        let (outgoing, requests) = mpsc::channel(OUTGOING_MAX);
        let task = tokio::spawn(async move {
            match run(stream, requests, hear).await {
                Ok(()) => {}
                Err(error) => {
                    tracing::debug!(error = &error as &(dyn std::error::Error + 'static), "connection ended");
                }
            }
        });
        Self { outgoing, timeout: TIMEOUT, task }
    }

    /// The same, waiting that long for answers.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sends a request and waits for its answer, whatever its code. Sets the request's `opaque`.
    pub async fn call(&self, request: Command) -> Result<Command, CallError> {
        self.call_within(request, self.timeout).await
    }

    /// Sends a request and waits that long for its answer, whatever its code. Sets the request's `opaque`.
    pub async fn call_within(&self, request: Command, limit: Duration) -> Result<Command, CallError> {
        let code = request.code;
        let (answer, answered) = oneshot::channel();
        let call = async {
            let outgoing = Outgoing { command: request, answer: Some(answer) };
            self.outgoing.send(outgoing).await.map_err(|_| CallError::Closed)?;
            answered.await.map_err(|_| CallError::Closed)
        };
        tokio::time::timeout(limit, call).await.unwrap_or(Err(CallError::TimedOut { code, limit }))
    }

    /// Sends a request that wants no answer.
    pub async fn tell(&self, request: Command) -> Result<(), CallError> {
        let outgoing = Outgoing { command: request.one_way(), answer: None };
        self.outgoing.send(outgoing).await.map_err(|_| CallError::Closed)
    }

    /// Returns once the connection is gone, whoever ended it.
    pub async fn closed(&self) {
        self.outgoing.closed().await;
    }

    /// Asks, and takes an answer with one of the codes in `good` only.
    pub(crate) async fn ask(
        &self,
        verb: RequestCode,
        write: impl FnOnce(&mut Fields),
        body: Bytes,
        good: &[ResponseCode],
    ) -> Result<(ResponseCode, Command), AskError> {
        let mut ext = Fields::new();
        write(&mut ext);
        accepted(verb, self.call(Command::request(verb, ext, body)).await?, good)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
enum Ended {
    #[error("reading or writing")]
    Io(#[from] io::Error),
    #[error("reading a frame")]
    Frame(#[from] DecodeError),
}

/// Reads and writes until either side is gone. Whoever still waits then hears of it by the drop of `waiting`.
async fn run<S>(
    stream: S,
    mut requests: mpsc::Receiver<Outgoing>,
    mut hear: impl FnMut(Command),
) -> Result<(), Ended>
where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let (mut reader, mut writer) = tokio::io::split(stream);
    let (mut inbox, mut outbox) = (BytesMut::new(), BytesMut::new());
    let mut waiting = Waiting::default();
    loop {
        while let Some(command) = frame::decode(&mut inbox, MAX_BYTES)? {
            if command.is_answer() {
                waiting.answer(command);
            } else {
                hear(command);
            }
        }
        if inbox.capacity() - inbox.len() < READ_BYTES / 4 {
            inbox.reserve(READ_BYTES);
        }
        tokio::select! {
            read = reader.read_buf(&mut inbox) => if read? == 0 { return Ok(()) },
            request = requests.recv(), if outbox.len() < OUTBOX_BYTES_MAX => match request {
                Some(request) => waiting.add(request).encode(&mut outbox),
                None => return Ok(()),
            },
            written = writer.write_buf(&mut outbox), if !outbox.is_empty() => {
                written?;
                if outbox.is_empty() {
                    writer.flush().await?;
                }
            }
        }
    }
}

/// Requests that are not answered yet.
#[derive(Debug, Default)]
struct Waiting {
    by_opaque: HashMap<i32, oneshot::Sender<Command>>,
    last_opaque: i32,
    /// How many may be there before those nobody waits for any more are thrown out.
    sweep_at: usize,
}

impl Waiting {
    /// Numbers a request and remembers who waits for its answer.
    fn add(&mut self, request: Outgoing) -> Command {
        let Outgoing { mut command, answer } = request;
        self.last_opaque = self.last_opaque.wrapping_add(1);
        command.opaque = self.last_opaque;
        if self.by_opaque.len() >= self.sweep_at {
            self.by_opaque.retain(|_, answer| !answer.is_closed());
            self.sweep_at = (self.by_opaque.len() * 2).max(64);
        }
        if let Some(answer) = answer {
            self.by_opaque.insert(command.opaque, answer);
        }
        command
    }

    fn answer(&mut self, answer: Command) {
        if let Some(waiter) = self.by_opaque.remove(&answer.opaque) {
            // Whoever no longer waits has said so already.
            let _ = waiter.send(answer);
        }
    }
}
