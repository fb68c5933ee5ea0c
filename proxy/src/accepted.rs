//! A connection that was accepted, with what its calls must know of it.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tonic::transport::server::Connected;

/// A byte stream, free of TLS, and who is at its ends.
#[derive(Debug)]
pub struct Accepted<IO> {
    /// The bytes.
    pub io: IO,
    /// The client's address.
    pub peer: SocketAddr,
    /// The address the client connected to.
    pub local: SocketAddr,
}

/// The two ends of the connection that a call came by.
#[derive(Clone, Copy, Debug)]
pub struct Ends {
    /// The client's address.
    pub peer: SocketAddr,
    /// The address the client connected to.
    pub local: SocketAddr,
}

impl<IO> Connected for Accepted<IO> {
    type ConnectInfo = Ends;

    fn connect_info(&self) -> Ends {
        Ends { peer: self.peer, local: self.local }
    }
}

impl<IO: AsyncRead + Unpin> AsyncRead for Accepted<IO> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, into)
    }
}

impl<IO: AsyncWrite + Unpin> AsyncWrite for Accepted<IO> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}
