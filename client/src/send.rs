//! Send: a message to a topic's queue of the broker's choice.

use crate::{AskError, Client};
use bytes::Bytes;
use model::Properties;
use std::time::{SystemTime, UNIX_EPOCH};
use wire::property;
use wire::remoting::send::{Answer, Header, Spelling};
use wire::remoting::{RequestCode, ResponseCode};

/// Where a message was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendResult {
    /// SUCCESS, or a code that says the message is stored but not as safely as it should be.
    pub code: ResponseCode,
    /// The offset message id.
    pub message_id: String,
    /// The `UNIQ_KEY`.
    pub unique_key: Option<String>,
    /// The queue.
    pub queue_id: i32,
    /// The offset in the queue.
    pub queue_offset: i64,
    /// How to call it back, where it is delayed.
    pub recall_handle: Option<String>,
    /// What the server had to say.
    pub remark: Option<String>,
}

/// The group the command line sends for.
const GROUP: &str = "DUEMQ_CLIENT";

impl Client {
    /// Sends a message; a topic that does not exist is made where the server allows it.
    pub async fn send(
        &self,
        topic: &str,
        body: Bytes,
        properties: &Properties,
    ) -> Result<SendResult, AskError> {
        let mut encoded = Vec::new();
        property::encode(properties, &mut encoded);
        let born_at =
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64);
        let header = Header {
            producer_group: GROUP.to_owned(),
            topic: topic.to_owned(),
            default_topic: "TBW102".to_owned(),
            default_topic_queues: 4,
            queue_id: -1,
            born_at,
            properties: (!encoded.is_empty()).then(|| String::from_utf8_lossy(&encoded).into_owned()),
            ..Header::default()
        };
        let stored = [
            ResponseCode::Success,
            ResponseCode::FlushDiskTimeout,
            ResponseCode::SlaveNotAvailable,
            ResponseCode::FlushSlaveTimeout,
        ];
        let write = |ext: &mut _| header.write(ext, Spelling::V2);
        let (code, answer) = self.ask(RequestCode::SendMessageV2, write, body, &stored).await?;
        let fields = Answer::read(&answer.ext)?;
        Ok(SendResult {
            code,
            message_id: fields.message_id,
            unique_key: fields.transaction_id,
            queue_id: fields.queue_id,
            queue_offset: fields.queue_offset,
            recall_handle: fields.recall_handle,
            remark: answer.remark,
        })
    }
}
