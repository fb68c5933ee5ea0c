//! A service whose broker is a closure, for tests of this room alone.

use crate::{Context, Proxy, Settings};
use broker::{Reply, Request};
use model::{ClientId, Permission, Topic, TopicId, TopicKind, TopicName};
use nameserver::{BrokerData, QueueData, Route};
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
                NodeRequest::Topics => Some(NodeReply::Topics(Vec::new())),
                NodeRequest::SetWritable(..) => Some(NodeReply::SetWritable(0)),
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

fn route() -> Route {
    Route {
        brokers: vec![BrokerData {
            cluster: "DefaultCluster".to_owned(),
            name: "b".to_owned(),
            addresses: BTreeMap::from([(0, "127.0.0.1:10911".to_owned())]),
        }],
        queues: vec![QueueData {
            broker: "b".to_owned(),
            read_queues: 2,
            write_queues: 2,
            permission: Permission::READ_WRITE,
            sys_flag: 0,
        }],
    }
}
