//! Route: `GET_ROUTEINFO_BY_TOPIC` (105).

use crate::answer::{Answer, Answered, Refused};
use crate::caller::Caller;
use model::TopicName;
use nameserver::Route;
use wire::remoting::route::{BrokerData, Header, QueueData, TopicRouteData};
use wire::remoting::{Command, ResponseCode, json};

pub(crate) async fn route(caller: &Caller, request: &Command) -> Answered {
    let header = Header::read(&request.ext)?;
    let route = match TopicName::new(&header.topic) {
        Ok(topic) => caller.service.route(topic).await?,
        Err(_) => None,
    };
    let unknown = || {
        let why = format!("No topic route info in name server for the topic: {}", header.topic);
        Refused::new(ResponseCode::TopicNotExist, &why)
    };
    let route = route.ok_or_else(unknown)?;
    Ok(Answer::with_body(json::write(&data(caller, &route))))
}

fn data(caller: &Caller, route: &Route) -> TopicRouteData {
    TopicRouteData {
        broker_datas: route.brokers.iter().map(|known| broker(caller, known)).collect(),
        queue_datas: route
            .queues
            .iter()
            .map(|data| QueueData {
                broker_name: data.broker.clone(),
                perm: data.queues.permission.0,
                read_queue_nums: data.queues.read,
                topic_sys_flag: data.queues.sys_flag,
                write_queue_nums: data.queues.write,
            })
            .collect(),
        ..TopicRouteData::default()
    }
}

/// A broker as it is told of: our own at the address that is meant for clients of this port.
pub(crate) fn broker(caller: &Caller, broker: &nameserver::BrokerData) -> BrokerData {
    let (ours, told) = (caller.settings.store_host.to_string(), caller.settings.route_host.to_string());
    let shown = |address: &String| if *address == ours { told.clone() } else { address.clone() };
    BrokerData {
        broker_addrs: broker.addresses.iter().map(|(id, address)| (*id, shown(address))).collect(),
        broker_name: broker.name.clone(),
        cluster: broker.cluster.clone(),
        enable_acting_master: false,
    }
}
