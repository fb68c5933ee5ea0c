//! Client config: `CHECK_CLIENT_CONFIG` (46), asked before a consumer starts. The answer has no fields.

use super::heartbeat::SubscriptionData;
use serde::{Deserialize, Serialize};

/// What a consumer is about to want. Peer: `CheckClientRequestBody`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CheckClientRequestBody {
    /// The client.
    pub client_id: String,
    /// Its group.
    pub group: String,
    /// Its namespace.
    pub namespace: String,
    /// The subscription.
    pub subscription_data: SubscriptionData,
}
