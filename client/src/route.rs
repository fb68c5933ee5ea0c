//! Route: where a topic lies.

use crate::{AskError, Client};
use bytes::Bytes;
use wire::remoting::route::{Header, TopicRouteData};
use wire::remoting::{RequestCode, ResponseCode, json};

impl Client {
    /// Where `topic` lies; `None` where nobody serves it.
    pub async fn route(&self, topic: &str) -> Result<Option<TopicRouteData>, AskError> {
        let header = Header { topic: topic.to_owned(), standard_json: true };
        let good = [ResponseCode::Success, ResponseCode::TopicNotExist];
        let verb = RequestCode::GetRouteinfoByTopic;
        let (code, answer) = self.ask(verb, |ext| header.write(ext), Bytes::new(), &good).await?;
        if code == ResponseCode::TopicNotExist { Ok(None) } else { Ok(Some(json::read(&answer.body)?)) }
    }
}
