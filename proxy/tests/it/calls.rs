//! Calls and streams: what clients need besides messages.

use crate::engine::EPOCH;
use crate::world::{bodies, call, call_by, delayed, message, receive, resource, world};
use broker::{Consumers, GetGroup};
use futures_util::{StreamExt, stream};
use model::{ClientId, GroupName, Timestamp, TopicKind, TopicName};
use proto::v2::settings::PubSub;
use proto::v2::telemetry_command::Command;
use proto::v2::{self, ClientType, Code, TelemetryCommand};
use service::{Service, ServiceExt};
use std::time::Duration;
use tonic::Request;
use wire::recall_handle::RecallHandle;

fn settings(pub_sub: PubSub, client_type: ClientType) -> TelemetryCommand {
    let settings =
        v2::Settings { client_type: Some(client_type.into()), pub_sub: Some(pub_sub), ..Default::default() };
    TelemetryCommand { status: None, command: Some(Command::Settings(settings)) }
}

pub fn consumer() -> TelemetryCommand {
    let subscription = v2::Subscription {
        group: resource("g"),
        subscriptions: vec![v2::SubscriptionEntry { topic: resource("t"), expression: None }],
        ..Default::default()
    };
    settings(PubSub::Subscription(subscription), ClientType::PushConsumer)
}

fn heartbeat() -> v2::HeartbeatRequest {
    v2::HeartbeatRequest { group: resource("g"), client_type: ClientType::PushConsumer.into() }
}

#[tokio::test]
async fn a_consumer_is_a_member_of_its_group_from_its_settings_until_it_leaves() {
    let mut world = world().await;
    let group = GroupName::new("g").unwrap();
    let members = || world.service.ask(Consumers { group: group.clone(), member: None });
    let early = world.client.clone().heartbeat(call(heartbeat())).await.unwrap().into_inner();
    assert_eq!(early.status.unwrap().code(), Code::UnrecognizedClientType);
    let mut client = world.client.clone();
    let frames = stream::iter([consumer()]).chain(stream::pending());
    let mut answers = client.telemetry(call(frames)).await.unwrap().into_inner();
    let answer = answers.next().await.unwrap().unwrap();
    assert_eq!(answer.status.unwrap().code(), Code::Ok);
    assert_eq!(members().await.unwrap(), Ok(vec![ClientId("c".into())]));
    assert!(
        world.service.ask(GetGroup { name: group.clone() }).await.unwrap().is_some(),
        "and its group is made"
    );
    let retry = TopicName::retry(&group);
    assert!(world.service.route(retry).await.unwrap().is_some(), "and its retry topic, which tools look for");
    let beat = world.client.clone().heartbeat(call(heartbeat())).await.unwrap().into_inner();
    assert_eq!(beat.status.unwrap().code(), Code::Ok);
    let leave = || call(v2::NotifyClientTerminationRequest { group: resource("") });
    let left = world.client.clone().notify_client_termination(leave()).await.unwrap().into_inner();
    assert_eq!(left.status.unwrap().code(), Code::Ok);
    assert!(members().await.unwrap().is_err(), "nobody is left");
    let again = world.client.notify_client_termination(leave()).await.unwrap().into_inner();
    assert_eq!(again.status.unwrap().code(), Code::UnrecognizedClientType);
}

#[tokio::test]
async fn the_head_of_a_telemetry_answer_comes_before_any_frame_is_sent() {
    let mut world = world().await;
    let answers = world.telemetry(stream::pending()).await;
    drop(answers);
}

#[tokio::test]
async fn a_telemetry_stream_without_settings_in_its_settings_ends_as_the_callers_fault() {
    let mut world = world().await;
    let nothing =
        TelemetryCommand { status: None, command: Some(Command::Settings(v2::Settings::default())) };
    let mut answers = world.telemetry(stream::iter([nothing]).chain(stream::pending())).await;
    let error = answers.next().await.unwrap().unwrap_err();
    assert_eq!(error.code(), tonic::Code::InvalidArgument);
}

#[tokio::test]
async fn a_call_without_a_client_id_is_refused_in_its_answer() {
    let mut world = world().await;
    let sent =
        world.client.send_message(Request::new(v2::SendMessageRequest { messages: vec![message("m")] }));
    assert_eq!(sent.await.unwrap().into_inner().status.unwrap().code(), Code::ClientIdRequired);
    let received = world.client.receive_message(Request::new(receive())).await.unwrap().into_inner();
    assert_eq!(crate::world::frames(received).await.0, Code::ClientIdRequired);
    let error = world.client.telemetry(Request::new(stream::pending())).await.unwrap_err();
    assert_eq!(error.code(), tonic::Code::InvalidArgument);
}

#[tokio::test]
async fn a_call_past_the_limit_is_refused_and_its_connection_goes_on() {
    let mut world = world().await;
    world.topic("t", TopicKind::Normal).await;
    let of = |length: usize| v2::Message { body: vec![7; length].into(), ..message("m") };
    let error = world.client.send_message(call(v2::SendMessageRequest { messages: vec![of(17 << 20)] }));
    assert_eq!(error.await.unwrap_err().code(), tonic::Code::OutOfRange);
    let sent = world.send(vec![of(5 << 20)]).await;
    assert_eq!(sent.status.unwrap().code(), Code::MessageBodyTooLarge);
    assert_eq!(world.send(vec![of(4 << 20)]).await.status.unwrap().code(), Code::Ok);
}

#[tokio::test]
async fn a_receive_without_settings_a_group_or_a_deadline_is_served() {
    let mut world = world().await;
    world.topic("t", TopicKind::Normal).await;
    world.send(vec![message("m")]).await;
    let received = world.client.receive_message(call_by("never seen", receive())).await.unwrap().into_inner();
    assert_eq!(crate::world::frames(received).await.0, Code::Ok);
}

#[tokio::test]
async fn topics_that_do_not_exist_are_not_found_and_not_made() {
    let mut world = world().await;
    let route = v2::QueryRouteRequest { topic: resource("t"), endpoints: None };
    for _ in 0..2 {
        let routed = world.client.query_route(call(route.clone())).await.unwrap().into_inner();
        assert_eq!(routed.status.unwrap().code(), Code::TopicNotFound);
        assert_eq!(world.send(vec![message("m")]).await.status.unwrap().code(), Code::TopicNotFound);
        assert_eq!(world.receive(receive()).await.0, Code::TopicNotFound);
    }
}

#[tokio::test]
async fn a_route_without_endpoints_in_its_request_leads_to_where_the_client_connected() {
    let mut world = world().await;
    world.topic("t", TopicKind::Mixed).await;
    let route = v2::QueryRouteRequest { topic: resource("t"), endpoints: None };
    let routed = world.client.query_route(call(route)).await.unwrap().into_inner();
    assert_eq!(routed.message_queues.len(), 4);
    let queue = &routed.message_queues[0];
    assert_eq!(queue.accept_message_types.len(), 4);
    let address = &queue.broker.as_ref().unwrap().endpoints.as_ref().unwrap().addresses[0];
    assert_eq!(address.host, "127.0.0.1");
    assert_ne!(address.port, 0);
}

#[tokio::test]
async fn an_assignment_names_each_queue_of_an_ordered_group_and_any_queue_otherwise() {
    let mut world = world().await;
    world.topic("t", TopicKind::Fifo).await;
    world.ordered_group("ordered").await;
    for (group, expected) in [("g", vec![-1]), ("ordered", vec![0, 1, 2, 3])] {
        let request =
            v2::QueryAssignmentRequest { topic: resource("t"), group: resource(group), endpoints: None };
        let answer = world.client.query_assignment(call(request)).await.unwrap().into_inner();
        let ids: Vec<i32> = answer.assignments.iter().map(|a| a.message_queue.as_ref().unwrap().id).collect();
        assert_eq!((answer.status.unwrap().code(), ids), (Code::Ok, expected));
    }
}

#[tokio::test]
async fn a_call_of_lite_topics_is_unimplemented() {
    let mut world = world().await;
    let lite = v2::SyncLiteSubscriptionRequest::default();
    let error = world.client.sync_lite_subscription(call(lite)).await.unwrap_err();
    assert_eq!(error.code(), tonic::Code::Unimplemented);
}

#[tokio::test]
async fn a_stop_ends_long_polls_and_telemetry_streams_and_serving_itself() {
    let mut world = world().await;
    world.topic("t", TopicKind::Normal).await;
    let mut answers = world.telemetry(stream::iter([consumer()]).chain(stream::pending())).await;
    answers.next().await.unwrap().unwrap();
    let long_polling_timeout = Some(prost_types::Duration { seconds: 20, nanos: 0 });
    let request = v2::ReceiveMessageRequest { long_polling_timeout, ..receive() };
    let waiting = world.client.receive_message(call(request)).await.unwrap().into_inner();
    world.shutdown.cancel();
    assert_eq!(crate::world::frames(waiting).await, (Code::MessageNotFound, vec![]));
    assert!(answers.next().await.is_none());
    world.served.await.unwrap();
}

#[tokio::test]
async fn a_recall_tells_the_truth() {
    let mut world = world().await;
    for (name, kind) in [("t", TopicKind::Delay), ("other", TopicKind::Delay), ("plain", TopicKind::Normal)] {
        world.topic(name, kind).await;
    }
    let (hour, second) = (EPOCH + 3_600_000, EPOCH + 1000);
    let sent = world.send(vec![delayed("x", hour), delayed("y", second)]).await;
    let [pending, delivered] = sent.entries.as_slice() else { panic!("{sent:?}") };
    world.advance(Duration::from_mins(1)).await;
    let (_, came) = world.receive(receive()).await;
    assert_eq!(bodies(&came), ["y"]);
    world.ack(&[crate::world::handle(&came[0])]).await;
    let handle = |topic: &str, broker: &str, deliver_at, key: &str| {
        let (topic, broker, unique_key) = (topic.to_owned(), broker.to_owned(), key.to_owned());
        let deliver_at = Timestamp::from_millis(deliver_at);
        RecallHandle { topic, broker, deliver_at, unique_key }.encode()
    };
    let cases = [
        ("t", pending.recall_handle.clone(), Code::Ok),
        ("t", pending.recall_handle.clone(), Code::Ok),
        ("t", delivered.recall_handle.clone(), Code::IllegalDeliveryTime),
        ("t", handle("t", "b", hour, "never sent"), Code::MessageNotFound),
        ("t", handle("other", "b", hour, "x"), Code::BadRequest),
        ("t", handle("t", "another broker", hour, "x"), Code::BadRequest),
        ("t", "x".to_owned(), Code::BadRequest),
        ("t", String::new(), Code::BadRequest),
        ("plain", pending.recall_handle.clone(), Code::MessagePropertyConflictWithType),
        ("no such topic", pending.recall_handle.clone(), Code::IllegalTopic),
        ("nowhere", handle("nowhere", "b", hour, "x"), Code::TopicNotFound),
    ];
    for (topic, handle, code) in cases {
        let ask = v2::RecallMessageRequest { topic: resource(topic), recall_handle: handle.clone() };
        let answer = world.client.recall_message(call(ask)).await.unwrap().into_inner();
        assert_eq!(answer.status.unwrap().code(), code, "{topic} {handle}");
        assert_eq!(answer.message_id, if code == Code::Ok { "x" } else { "" });
    }
    world.advance(Duration::from_hours(2)).await;
    assert_eq!(world.receive(receive()).await.0, Code::MessageNotFound);
}

#[tokio::test]
async fn a_transaction_ends_by_its_id_and_only_once() {
    let mut world = world().await;
    world.topic("t", TopicKind::Transaction).await;
    let mut message = message("x");
    message.system_properties.as_mut().unwrap().message_type = v2::MessageType::Transaction.into();
    let sent = world.client.send_message(call(v2::SendMessageRequest { messages: vec![message] })).await;
    let entry = sent.unwrap().into_inner().entries.remove(0);
    assert!(!entry.transaction_id.is_empty());
    let end = |id: &str| v2::EndTransactionRequest {
        topic: resource("t"),
        transaction_id: id.to_owned(),
        resolution: v2::TransactionResolution::Commit.into(),
        ..Default::default()
    };
    for (id, code) in [
        ("", Code::InvalidTransactionId),
        (&entry.transaction_id, Code::Ok),
        (&entry.transaction_id, Code::InvalidTransactionId),
    ] {
        let answer = world.client.end_transaction(call(end(id))).await.unwrap().into_inner();
        assert_eq!(answer.status.unwrap().code(), code, "{id}");
    }
}
