//! Heartbeat: what this client produces and consumes.

use crate::{AskError, Client};
use wire::remoting::heartbeat::HeartbeatData;
use wire::remoting::{RequestCode, ResponseCode, json};

impl Client {
    /// Tells the broker what this client produces and consumes, until the connection ends.
    pub async fn heartbeat(&self, data: &HeartbeatData) -> Result<(), AskError> {
        self.ask(RequestCode::HeartBeat, |_| {}, json::write(data), &[ResponseCode::Success]).await?;
        Ok(())
    }
}
