//! Cluster: which brokers there are, and which topics.

use crate::{AskError, Client};
use bytes::Bytes;
use wire::remoting::cluster::ClusterInfo;
use wire::remoting::topic::TopicList;
use wire::remoting::{RequestCode, ResponseCode, json};

impl Client {
    /// All brokers, and the clusters they are in.
    pub async fn cluster(&self) -> Result<ClusterInfo, AskError> {
        let verb = RequestCode::GetBrokerClusterInfo;
        let (_, answer) = self.ask(verb, |_| {}, Bytes::new(), &[ResponseCode::Success]).await?;
        Ok(json::read(&answer.body)?)
    }

    /// The names of all topics.
    pub async fn topics(&self) -> Result<Vec<String>, AskError> {
        let verb = RequestCode::GetAllTopicListFromNameserver;
        let (_, answer) = self.ask(verb, |_| {}, Bytes::new(), &[ResponseCode::Success]).await?;
        Ok(json::read::<TopicList>(&answer.body)?.topic_list)
    }
}
