//! A client at the door: its first byte tells whether it speaks TLS.

use super::Place;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// How long a client may be connected and say nothing.
const FIRST_BYTE: Duration = Duration::from_secs(30);

/// How long a TLS handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// The first byte of every word of HTTP, HTTP/2's preface among them. A remoting frame that begins with it would be
/// 1.3 GiB long.
const HTTP: u8 = b'P';

/// The name by which HTTP/2 is agreed on in a TLS handshake.
pub const HTTP2: &[u8] = b"h2";

/// The first byte of every TLS record that holds a handshake. No remoting frame begins with it (it would be
/// 352 MiB long), and no HTTP/2 preface, which begins with `P`.
const TLS_HANDSHAKE: u8 = 0x16;

/// A client's connection, read and written in the clear whatever lies below.
#[derive(Debug)]
pub struct Io {
    stream: Stream,
    /// Whether its client speaks HTTP/2.
    http2: bool,
    /// Held until the connection ends.
    _place: Place,
}

#[derive(Debug)]
enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// Why a client did not come in. Nobody else is touched by it.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Connected and silent.
    #[error("the client said nothing for {} s", FIRST_BYTE.as_secs())]
    Silent,
    /// Left without a word, as a probe of a port does.
    #[error("the client left before it said anything")]
    Left,
    /// Began a handshake and did not end it.
    #[error("the client did not end its TLS handshake in {} s", HANDSHAKE.as_secs())]
    SlowHandshake,
    /// The connection broke or the handshake failed.
    #[error("opening the connection")]
    Io(#[from] io::Error),
}

/// Waits for the client's first byte and, where it is TLS, for the handshake.
pub async fn open(stream: TcpStream, place: Place, tls: Arc<rustls::ServerConfig>) -> Result<Io, OpenError> {
    let mut first = [0];
    let seen =
        tokio::time::timeout(FIRST_BYTE, stream.peek(&mut first)).await.map_err(|_| OpenError::Silent)??;
    if seen == 0 {
        return Err(OpenError::Left);
    }
    if first[0] != TLS_HANDSHAKE {
        return Ok(Io { stream: Stream::Plain(stream), http2: first[0] == HTTP, _place: place });
    }
    let handshake = TlsAcceptor::from(tls).accept(stream);
    let stream = tokio::time::timeout(HANDSHAKE, handshake).await.map_err(|_| OpenError::SlowHandshake)??;
    let http2 = stream.get_ref().1.alpn_protocol() == Some(HTTP2);
    Ok(Io { stream: Stream::Tls(Box::new(stream)), http2, _place: place })
}

impl Io {
    /// Whether the client speaks HTTP/2: by its first byte, or by what was agreed on in its handshake.
    pub fn speaks_http2(&self) -> bool {
        self.http2
    }
}

impl AsyncRead for Io {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Stream::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Io {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write(cx, buf),
            Stream::Tls(stream) => Pin::new(stream).poll_write(cx, buf),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Stream::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Stream::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
            Stream::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            Stream::Plain(stream) => stream.is_write_vectored(),
            Stream::Tls(stream) => stream.is_write_vectored(),
        }
    }
}
