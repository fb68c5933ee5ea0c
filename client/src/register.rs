//! Register: a broker says to a name server that it is there, and that it goes.

use crate::{AskError, Client};
use bytes::Bytes;
use wire::remoting::register::{Body, Header, OfMember, checksum};
use wire::remoting::{RequestCode, ResponseCode};

impl Client {
    /// Registers a broker and its topics, all or some. The header's `compressed` and `body_crc32` are set here.
    ///
    /// The name server forgets the broker once this connection is closed.
    pub async fn register(&self, header: &Header, topics: &Body) -> Result<(), AskError> {
        let body = topics.write();
        let header = Header { compressed: false, body_crc32: Some(checksum(&body)), ..header.clone() };
        let write = |ext: &mut _| header.write(ext);
        self.ask(RequestCode::RegisterBroker, write, body, &[ResponseCode::Success]).await?;
        Ok(())
    }

    /// Takes a broker out.
    pub async fn unregister(&self, member: &OfMember) -> Result<(), AskError> {
        let write = |ext: &mut _| member.write(ext);
        self.ask(RequestCode::UnregisterBroker, write, Bytes::new(), &[ResponseCode::Success]).await?;
        Ok(())
    }
}
