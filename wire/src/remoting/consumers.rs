//! Consumers: `GET_CONSUMER_LIST_BY_GROUP` (38).

use super::fields::header;
use serde::{Deserialize, Serialize};

header! {
    /// Whose members are asked for. Peer: `GetConsumerListByGroupRequestHeader`.
    Header {
        /// The group.
        group: String = "consumerGroup",
    }
}

/// The members, by client id. Peer: `GetConsumerListByGroupResponseBody`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Body {
    /// Their ids, as in their heartbeats.
    pub consumer_id_list: Vec<String>,
}
