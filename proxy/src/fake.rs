//! A service whose broker is a closure, for tests of this room alone.

use crate::{Context, Proxy, Settings};
use broker::{Reply, Request};
use model::{ClientId, Permission, Topic, TopicId, TopicKind, TopicName};
use nameserver::{BrokerData, QueueData, Queues, Route};
use service::{Input, Local, NodeReply, NodeRequest};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

/// A service whose broker answers as `answer` does; where that is `None`, never. Every topic has a route.
pub(crate) fn service(mut answer: impl FnMut(Request) -> Option<Reply> + Send + 'static) -> Arc<Local> {
    let (local, inputs) = Local::new(64);
    std::thread::spawn(move || {
        let mut parked = Vec::new();
        for input in inputs {
            let Input::Ask(_, request, to) = input else { return };
            let reply = match request {
                NodeRequest::Broker(request) => answer(request).map(NodeReply::Broker),
                NodeRequest::Route(_) => Some(NodeReply::Route(Some(route()))),
                NodeRequest::Brokers => Some(NodeReply::Brokers(Vec::new())),
                NodeRequest::Topics(_) => Some(NodeReply::Topics(Vec::new())),
                other => unreachable!("the front asks nothing like {other:?}"),
            };
            match (reply, to) {
                (Some(reply), Some(to)) => drop(to.send(reply)),
                (None, Some(to)) => parked.push(to),
                (_, None) => {}
            }
        }
    });
    Arc::new(local)
}

/// A front before such a service.
pub(crate) fn proxy(answer: impl FnMut(Request) -> Option<Reply> + Send + 'static) -> Proxy {
    Proxy::new(service(answer), Settings::default())
}

/// A call by client `c`, without a deadline.
pub(crate) fn context() -> Context {
    let at = |port| SocketAddr::from(([127, 0, 0, 1], port));
    Context {
        client: ClientId("c".into()),
        language: "JAVA".to_owned(),
        ends: crate::accepted::Ends { peer: at(40_000), local: at(8081) },
        deadline: None,
    }
}

/// A topic with two queues.
pub(crate) fn topic(name: &str, kind: TopicKind) -> Topic {
    Topic {
        name: TopicName::new(name).unwrap(),
        id: TopicId(1),
        read_queues: 2,
        write_queues: 2,
        permission: Permission::READ_WRITE,
        kind,
        order: false,
        sys_flag: 0,
    }
}

/// Where every topic lies: on the broker of this process, and on another.
fn route() -> Route {
    let broker = |name: &str, local| BrokerData {
        cluster: "DefaultCluster".to_owned(),
        name: name.to_owned(),
        addresses: BTreeMap::from([(0, format!("{name}:10911"))]),
        local,
    };
    let queues = |name: &str, local| QueueData {
        broker: name.to_owned(),
        local,
        queues: Queues { read: 2, write: 2, permission: Permission::READ_WRITE, sys_flag: 0 },
    };
    Route {
        brokers: vec![broker("b", true), broker("foreign", false)],
        queues: vec![queues("b", true), queues("foreign", false)],
    }
}
