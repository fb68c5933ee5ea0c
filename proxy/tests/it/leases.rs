//! Leases as consumers meet them: attempts, handles, slow acks.

use crate::calls::consumer;
use crate::world::{World, bodies, call, call_by, handle, message, receive, resource, world};
use futures_util::{StreamExt, stream};
use model::TopicKind;
use proto::v2::{Code, Message, MessageQueue, NotifyClientTerminationRequest, ReceiveMessageRequest};
use std::time::{Duration, Instant};

/// Ten messages in the one queue of topic `t`, received by group `g`, in order.
async fn ten() -> (World, Vec<Message>) {
    let mut world = world().await;
    world.topic_of("t", TopicKind::Normal, 1).await;
    for i in 0..10 {
        world.send(vec![message(&i.to_string())]).await;
    }
    let (_, messages) = world.receive(receive()).await;
    assert_eq!(messages.len(), 10);
    (world, messages)
}

/// Acks all but the fifth, whose lease is changed to ten seconds; gives its old handle and its new one.
async fn fifth_changed(world: &mut World, messages: &[Message]) -> (String, String) {
    let handles: Vec<&str> = messages.iter().map(handle).collect();
    let others = [&handles[..4], &handles[5..]].concat();
    assert_eq!(world.ack(&others).await.status.unwrap().code(), Code::Ok);
    let changed = world.change(handles[4], Duration::from_secs(10)).await;
    assert_eq!(changed.status.unwrap().code(), Code::Ok);
    (handles[4].to_owned(), changed.receipt_handle)
}

#[tokio::test]
async fn an_ack_with_the_handle_of_a_changed_lease_is_final() {
    let (mut world, messages) = ten().await;
    let (_, new) = fifth_changed(&mut world, &messages).await;
    assert_eq!(world.ack(&[&new]).await.status.unwrap().code(), Code::Ok);
    for _ in 0..3 {
        world.advance(Duration::from_secs(12)).await;
        assert_eq!(world.receive(receive()).await.0, Code::MessageNotFound);
    }
}

#[tokio::test]
async fn an_ack_with_the_handle_from_before_a_change_is_refused_and_the_message_comes_back() {
    let (mut world, messages) = ten().await;
    let (old, _) = fifth_changed(&mut world, &messages).await;
    assert_eq!(world.ack(&[&old]).await.status.unwrap().code(), Code::InvalidReceiptHandle);
    assert_eq!(world.receive(receive()).await.0, Code::MessageNotFound);
    world.advance(Duration::from_secs(12)).await;
    let (_, back) = world.receive(receive()).await;
    assert_eq!(bodies(&back), ["4"]);
    assert_eq!(back[0].system_properties.as_ref().unwrap().delivery_attempt(), 2);
}

#[tokio::test]
async fn acks_that_come_slowly_within_the_lease_are_all_taken() {
    let mut world = world().await;
    world.topic("t", TopicKind::Normal).await;
    for i in 0..32 {
        world.send(vec![message(&i.to_string())]).await;
    }
    let minute = Some(prost_types::Duration { seconds: 60, nanos: 0 });
    let (_, messages) =
        world.receive(ReceiveMessageRequest { invisible_duration: minute, ..receive() }).await;
    assert_eq!(messages.len(), 32);
    for message in &messages {
        world.advance(Duration::from_millis(500)).await;
        assert_eq!(world.ack(&[handle(message)]).await.status.unwrap().code(), Code::Ok);
    }
    world.advance(Duration::from_mins(5)).await;
    assert_eq!(world.receive(receive()).await.0, Code::MessageNotFound);
}

#[tokio::test]
async fn a_group_with_one_attempt_gets_a_message_once_and_it_is_a_dead_letter_once() {
    let mut world = world().await;
    world.topic("t", TopicKind::Normal).await;
    world.group_with("g", |group| group.retry_max = 0).await;
    world.send(vec![message("m")]).await;
    let ten = Some(prost_types::Duration { seconds: 10, nanos: 0 });
    let take = || ReceiveMessageRequest { invisible_duration: ten, ..receive() };
    assert_eq!(bodies(&world.receive(take()).await.1), ["m"]);
    for _ in 0..2 {
        world.advance(Duration::from_secs(11)).await;
        assert_eq!(world.receive(take()).await.0, Code::MessageNotFound);
    }
    let queue = MessageQueue { topic: resource("%DLQ%g"), id: -1, ..Default::default() };
    let dead = ReceiveMessageRequest { message_queue: Some(queue), group: resource("looking"), ..receive() };
    assert_eq!(bodies(&world.receive(dead).await.1), ["m"]);
}

#[tokio::test]
async fn what_a_consumer_held_that_leaves_comes_to_another_in_a_moment() {
    let mut world = world().await;
    world.topic("t", TopicKind::Normal).await;
    world.send(vec![message("m")]).await;
    let frames = stream::iter([consumer()]).chain(stream::pending());
    let mut answers = world.telemetry(frames).await;
    answers.next().await.unwrap().unwrap();
    let take = ReceiveMessageRequest { auto_renew: true, invisible_duration: None, ..receive() };
    assert_eq!(bodies(&world.receive(take).await.1), ["m"]);
    let leave = NotifyClientTerminationRequest { group: resource("g") };
    world.client.notify_client_termination(call(leave)).await.unwrap();
    let long_polling_timeout = Some(prost_types::Duration { seconds: 20, nanos: 0 });
    let request = ReceiveMessageRequest { long_polling_timeout, ..receive() };
    let began = Instant::now();
    let waiting = world.client.receive_message(call_by("another", request)).await.unwrap().into_inner();
    assert_eq!(bodies(&crate::world::frames(waiting).await.1), ["m"]);
    assert!(began.elapsed() < Duration::from_secs(15), "long before the minute of its lease");
}
