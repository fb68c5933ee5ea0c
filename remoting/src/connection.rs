//! One connection, from its first byte to its last.

use crate::answer::Outgoing;
use crate::caller::Caller;
use crate::dispatch;
use crate::notify;
use crate::settings::Settings;
use bytes::{Bytes, BytesMut};
use futures_util::FutureExt as _;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use service::{Call, Service, Words};
use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use wire::remoting::{Command, frame};

/// Room made for what is read next.
const READ_BYTES: usize = 16 << 10;

/// An emptied outbox above this is given back.
const OUTBOX_KEPT_BYTES: usize = 256 << 10;

/// Serves one stream until either side ends it. `peer` is the client's address.
///
/// Returns once the client has gone, has sent what is no frame, or has been silent for too long; and after
/// `shutdown`, once the requests that came before are answered or [`Settings::drain_max`] has passed. What
/// the client had registered, and what it waited for, is then taken back.
pub async fn serve_connection<S>(
    stream: S,
    peer: SocketAddr,
    service: Arc<dyn Service>,
    settings: Arc<Settings>,
    shutdown: CancellationToken,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    // A client by IPv4 shows as one by IPv6 where the listener hears both.
    let address = SocketAddr::new(peer.ip().to_canonical(), peer.port());
    let mut connection = service.connect();
    let caller = Arc::new(Caller::new(service, Arc::clone(&settings), connection.id, address));
    let (mut reader, mut writer) = tokio::io::split(stream);
    let mut inbox = BytesMut::new();
    let mut outbox = Outbox::default();
    let mut requests = FuturesUnordered::new();
    let mut notice_count = 0;
    let mut asked: HashMap<i32, oneshot::Sender<Words>> = HashMap::new();
    let mut stop_at = None;
    let mut idle_at = Instant::now() + settings.idle_max;
    tracing::debug!(%address, "connection opened");

    let why = loop {
        while stop_at.is_none() && requests.len() < settings.in_flight_max {
            match frame::decode(&mut inbox, settings.frame_bytes_max) {
                Ok(Some(command)) if command.is_answer() => match asked.remove(&command.opaque) {
                    // Whoever asked may have given up.
                    Some(answer) => drop(answer.send(Box::new(command))),
                    None => tracing::debug!(%address, opaque = command.opaque, "answer to nothing asked"),
                },
                Ok(Some(command)) => requests.push(dispatch::answer(Arc::clone(&caller), command)),
                Ok(None) => break,
                Err(error) => {
                    let error = &error as &(dyn std::error::Error + 'static);
                    tracing::warn!(%address, error, "closing a connection whose bytes are no frame");
                    return;
                }
            }
        }
        // Every request reaches the service before more is read: a client that says a last thing and closes is
        // heard. What is ready by now leaves in one write.
        while let Some(Some(answer)) = requests.next().now_or_never() {
            outbox.put(answer, &settings);
        }
        if stop_at.is_some() && requests.is_empty() && !outbox.is_waiting() {
            break "drained";
        }
        let room = outbox.bytes.len() < settings.outbox_bytes_max;
        if inbox.capacity() - inbox.len() < READ_BYTES / 4 {
            inbox.reserve(READ_BYTES);
        }
        tokio::select! {
            read = reader.read_buf(&mut inbox),
                if stop_at.is_none() && room && requests.len() < settings.in_flight_max => match read {
                    Ok(0) | Err(_) => break "closed by the client",
                    Ok(_) => idle_at = Instant::now() + settings.idle_max,
                },
            Some(answer) = requests.next() => outbox.put(answer, &settings),
            written = outbox.push(&mut writer), if outbox.is_waiting() => match written {
                Ok(()) => idle_at = Instant::now() + settings.idle_max,
                Err(_) => break "closed by the client",
            },
            Some(notice) = connection.notices.recv() => {
                notice_count += 1;
                let command = notify::request(notice, notice_count, settings.store_host);
                tracing::debug!(%address, code = command.code, "told");
                command.encode(&mut outbox.bytes);
            }
            Some(Call { question, answer }) = connection.calls.recv(), if room => {
                // The service bounds how many wait; those are still here that nobody waits for any more.
                asked.retain(|_, waiting| !waiting.is_closed());
                // Dropped where it is no question of this protocol: no answer will come.
                if !answer.is_closed() && let Ok(mut question) = question.downcast::<Command>() {
                    notice_count += 1;
                    question.opaque = notice_count;
                    asked.insert(notice_count, answer);
                    let body = question.body.clone();
                    outbox.put(Some(Outgoing { command: *question, body: vec![body], instead: None }), &settings);
                }
            }
            () = sleep_until(stop_at.unwrap_or(idle_at).min(idle_at)) => {
                break if stop_at.is_some() { "drained in part" } else { "idle" };
            }
            () = shutdown.cancelled(), if stop_at.is_none() => stop_at = Some(Instant::now() + settings.drain_max),
        }
    };
    tracing::debug!(%address, why, "connection closed");
}

/// What waits to be written.
#[derive(Default)]
struct Outbox {
    bytes: BytesMut,
    /// Whether something was written that the stream may still hold back (TLS does).
    unflushed: bool,
}

impl Outbox {
    /// Adds a command; where that were too much for a client that does not read, what is said in its place.
    fn put(&mut self, outgoing: Option<Outgoing>, settings: &Settings) {
        let Some(Outgoing { command, body, instead }) = outgoing else { return };
        let (waiting, limit) = (self.bytes.len(), settings.answer_bytes_max);
        let more: usize = body.iter().map(Bytes::len).sum();
        match instead {
            Some(mut instead) if waiting > 0 && waiting + more > limit => {
                let why = format!(
                    "{waiting} bytes of answers wait to be read, and {more} more; the limit is {limit}"
                );
                tracing::debug!(code = instead.code, why, "answered otherwise");
                instead.remark = Some(why);
                instead.encode(&mut self.bytes);
            }
            _ => command.encode_with(&body, &mut self.bytes),
        }
    }

    fn is_waiting(&self) -> bool {
        self.unflushed || !self.bytes.is_empty()
    }

    /// Writes some of it, or flushes where all is written. May be dropped at any point.
    async fn push<W: AsyncWrite + Unpin>(&mut self, into: &mut W) -> io::Result<()> {
        if self.bytes.is_empty() {
            into.flush().await?;
            self.unflushed = false;
            return Ok(());
        }
        if into.write_buf(&mut self.bytes).await? == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        self.unflushed = true;
        if self.bytes.is_empty() && self.bytes.capacity() > OUTBOX_KEPT_BYTES {
            self.bytes = BytesMut::new();
        }
        Ok(())
    }
}
