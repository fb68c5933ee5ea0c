//! Topic: make one, or look at one.

use crate::{AskError, Client};
use bytes::Bytes;
use wire::remoting::topic::{Get, Header, TopicConfig};
use wire::remoting::{RequestCode, ResponseCode, json};

impl Client {
    /// Makes or changes a topic. `attributes` in the header sets its kind: `+message.type=DELAY`.
    pub async fn create_topic(&self, topic: &Header) -> Result<(), AskError> {
        let verb = RequestCode::UpdateAndCreateTopic;
        self.ask(verb, |ext| topic.write(ext), Bytes::new(), &[ResponseCode::Success]).await?;
        Ok(())
    }

    /// A topic's settings; `None` where there is none of that name.
    pub async fn topic(&self, name: &str) -> Result<Option<TopicConfig>, AskError> {
        let header = Get { topic: name.to_owned() };
        let good = [ResponseCode::Success, ResponseCode::TopicNotExist];
        let verb = RequestCode::GetTopicConfig;
        let (code, answer) = self.ask(verb, |ext| header.write(ext), Bytes::new(), &good).await?;
        if code == ResponseCode::TopicNotExist { Ok(None) } else { Ok(Some(json::read(&answer.body)?)) }
    }
}
