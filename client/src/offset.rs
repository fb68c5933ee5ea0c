//! Offsets: how far a queue reaches.

use crate::{AskError, Client};
use bytes::Bytes;
use wire::remoting::offset::{Answer, Queue};
use wire::remoting::{RequestCode, ResponseCode};

impl Client {
    /// The least offset of a queue and that of its next message; 0 and 0 where there is no such queue.
    pub async fn bounds(&self, topic: &str, queue_id: i32) -> Result<(i64, i64), AskError> {
        let queue = Queue { topic: topic.to_owned(), queue_id };
        let end = async |verb| {
            let (_, answer) =
                self.ask(verb, |ext| queue.write(ext), Bytes::new(), &[ResponseCode::Success]).await?;
            Ok::<_, AskError>(Answer::read(&answer.ext)?.queue_offset)
        };
        Ok((end(RequestCode::GetMinOffset).await?, end(RequestCode::GetMaxOffset).await?))
    }
}
