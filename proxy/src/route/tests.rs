use super::*;
use crate::fake;
use broker::{Reply, Request};
use model::Permission as Allowed;

fn data(read: u32, write: u32, permission: u32) -> QueueData {
    QueueData {
        broker: "b".to_owned(),
        local: true,
        queues: Queues { read, write, permission: Allowed(permission), sys_flag: 0 },
    }
}

#[test]
fn a_topic_shows_the_queues_that_may_be_read_and_written() {
    for (read, write, permission, expected) in [
        (4, 4, 6, vec![Permission::ReadWrite; 4]),
        (8, 2, 6, vec![Permission::ReadWrite; 2]),
        (2, 8, 6, vec![Permission::ReadWrite; 2]),
        (3, 8, 4, vec![Permission::Read; 3]),
        (3, 2, 2, vec![Permission::Write; 2]),
        (3, 2, 0, vec![Permission::None]),
    ] {
        let queues: Vec<_> = queues(&data(read, write, permission)).collect();
        let expected: Vec<_> = (0..).zip(expected).collect();
        assert_eq!(queues, expected, "read {read}, write {write}, permission {permission}");
    }
}

#[test]
fn no_topic_takes_an_unspecified_kind() {
    for kind in
        [TopicKind::Normal, TopicKind::Fifo, TopicKind::Delay, TopicKind::Transaction, TopicKind::Mixed]
    {
        assert!(!kinds(kind).is_empty() && !kinds(kind).contains(&MessageType::Unspecified), "{kind:?}");
    }
    assert_eq!(kinds(TopicKind::Mixed).len(), 4);
}

fn request(name: &str) -> QueryRouteRequest {
    let address = v2::Address { host: "10.1.2.3".to_owned(), port: 18081 };
    QueryRouteRequest {
        topic: Some(v2::Resource { resource_namespace: "ns".to_owned(), name: name.to_owned() }),
        endpoints: Some(v2::Endpoints { scheme: v2::AddressScheme::IPv4.into(), addresses: vec![address] }),
    }
}

#[tokio::test]
async fn a_route_has_queues_from_zero_on_the_master_reached_as_the_client_reached_us() {
    let proxy = fake::proxy(|request| match request {
        Request::GetTopic(_) => Some(Reply::GetTopic(Some(fake::topic("t", TopicKind::Delay)))),
        _ => None,
    });
    let answer = route(&proxy, &fake::context(), request("t")).await.unwrap();
    assert_eq!(answer.status, Some(status::ok()));
    for (id, queue) in (0..).zip(&answer.message_queues) {
        let broker = queue.broker.as_ref().unwrap();
        assert_eq!((queue.id, queue.permission(), broker.id), (id, Permission::ReadWrite, 0));
        assert_eq!((broker.name.as_str(), &broker.endpoints), ("b", &request("t").endpoints));
        assert_eq!(queue.topic, request("t").topic);
        assert_eq!(queue.accept_message_types, [i32::from(MessageType::Delay)]);
    }
    assert_eq!(answer.message_queues.len(), 2, "what lies on other brokers is not shown");
}

#[tokio::test]
async fn a_topic_that_does_not_exist_is_not_found_and_none_of_the_servers_is_asked_for() {
    let proxy = fake::proxy(|_| Some(Reply::GetTopic(None)));
    let refused = route(&proxy, &fake::context(), request("t")).await.unwrap_err();
    assert_eq!(refused.code, Code::TopicNotFound);
    let refused = route(&proxy, &fake::context(), request("SCHEDULE_TOPIC_XXXX")).await.unwrap_err();
    assert_eq!(refused.code, Code::IllegalTopic);
}
