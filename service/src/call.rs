//! Calls: one client asks another, through the server.

use std::any::Any;
use tokio::sync::oneshot;

/// A front's own words, which this room does not look into.
pub type Words = Box<dyn Any + Send>;

/// A question to a client.
#[derive(Debug)]
pub struct Call {
    /// It.
    pub question: Words,
    /// Where the answer goes. Closed once nobody waits for it any more; dropped, it says that none will come.
    pub answer: oneshot::Sender<Words>,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The client is gone, or left before it answered, or does not understand.
    #[error("the client is gone, or cannot answer")]
    Gone,
}
