//! Cluster: `GET_BROKER_CLUSTER_INFO` (106).

use crate::answer::{Answer, Answered};
use crate::caller::Caller;
use crate::route::broker;
use wire::remoting::cluster::ClusterInfo;
use wire::remoting::json;

pub(crate) async fn cluster(caller: &Caller) -> Answered {
    let mut info = ClusterInfo::default();
    for data in caller.service.brokers().await? {
        info.cluster_addr_table.entry(data.cluster.clone()).or_default().push(data.name.clone());
        info.broker_addr_table.insert(data.name.clone(), broker(caller, &data));
    }
    Ok(Answer::with_body(json::write(&info)))
}
