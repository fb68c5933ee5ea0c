//! Cluster: `GET_BROKER_CLUSTER_INFO` (106), which has no header.

use super::route::BrokerData;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// All brokers, and the clusters they are in. Peer: `ClusterInfo` (RocketMQ 5.x).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterInfo {
    /// The brokers by name.
    pub broker_addr_table: BTreeMap<String, BrokerData>,
    /// The brokers' names by cluster.
    pub cluster_addr_table: BTreeMap<String, Vec<String>>,
}
