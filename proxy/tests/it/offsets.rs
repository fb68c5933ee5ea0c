//! Consumers that read by offset.

use crate::engine::EPOCH;
use crate::world::{World, bodies, call, message, receive, resource, world};
use futures_util::StreamExt;
use model::TopicKind;
use proto::v2::pull_message_response::Content;
use proto::v2::{
    Code, FilterExpression, FilterType, GetOffsetRequest, Message, MessageQueue, PullMessageRequest,
    QueryOffsetPolicy, QueryOffsetRequest, UpdateOffsetRequest,
};
use std::time::Duration;

#[expect(clippy::unnecessary_wraps, reason = "every field of this type is optional")]
fn queue(topic: &str, id: i32) -> Option<MessageQueue> {
    Some(MessageQueue { topic: resource(topic), id, ..Default::default() })
}

async fn get(world: &mut World, group: &str) -> (Code, i64) {
    let request = GetOffsetRequest { group: resource(group), message_queue: queue("t", 0) };
    let answer = world.client.get_offset(call(request)).await.unwrap().into_inner();
    (answer.status.unwrap().code(), answer.offset)
}

async fn update(world: &mut World, group: &str, queue: Option<MessageQueue>, offset: i64) -> Code {
    let request = UpdateOffsetRequest { group: resource(group), message_queue: queue, offset };
    world.client.update_offset(call(request)).await.unwrap().into_inner().status.unwrap().code()
}

async fn query(world: &mut World, id: i32, policy: i32, ms: Option<i64>) -> (Code, i64) {
    let timestamp = ms.map(|ms| prost_types::Timestamp {
        seconds: ms / 1000,
        nanos: i32::try_from(ms % 1000).unwrap() * 1_000_000,
    });
    let request =
        QueryOffsetRequest { message_queue: queue("t", id), query_offset_policy: policy, timestamp };
    let answer = world.client.query_offset(call(request)).await.unwrap().into_inner();
    (answer.status.unwrap().code(), answer.offset)
}

async fn pull(world: &mut World, request: PullMessageRequest) -> (Code, Vec<Message>, Option<i64>) {
    let mut frames = world.client.pull_message(call(request)).await.unwrap().into_inner();
    let (mut code, mut messages, mut next) = (None, Vec::new(), None);
    while let Some(frame) = frames.next().await {
        match frame.unwrap().content.unwrap() {
            Content::Status(status) => code = Some(status.code()),
            Content::Message(message) => messages.push(message),
            Content::NextOffset(offset) => next = Some(offset),
        }
    }
    (code.unwrap(), messages, next)
}

fn pulled_from(offset: i64) -> PullMessageRequest {
    PullMessageRequest {
        group: resource("g"),
        message_queue: queue("t", 0),
        offset,
        batch_size: 2,
        ..Default::default()
    }
}

/// Three messages in the one queue of topic `t`, a second apart, the second with a tag.
async fn three() -> World {
    let mut world = world().await;
    world.topic_of("t", TopicKind::Normal, 1).await;
    for id in ["a", "b", "c"] {
        let mut one = message(id);
        one.system_properties.as_mut().unwrap().tag = (id == "b").then(|| "B".to_owned());
        assert_eq!(world.send(vec![one]).await.status.unwrap().code(), Code::Ok);
        world.advance(Duration::from_secs(10)).await;
    }
    world
}

#[tokio::test]
async fn an_offset_is_what_the_group_committed_within_the_queue() {
    let mut world = three().await;
    assert_eq!(update(&mut world, "g", queue("t", 0), 1).await, Code::ConsumerGroupNotFound);
    world.group("g").await;
    assert_eq!(get(&mut world, "g").await, (Code::OffsetNotFound, 0));
    assert_eq!(update(&mut world, "g", queue("t", 0), 2).await, Code::Ok);
    assert_eq!(get(&mut world, "g").await, (Code::Ok, 2));
    assert_eq!(update(&mut world, "g", queue("t", 0), 99).await, Code::Ok);
    assert_eq!(get(&mut world, "g").await, (Code::Ok, 3), "the end of the queue");
    assert_eq!(get(&mut world, "other").await.0, Code::OffsetNotFound);
    for (queue, offset, code) in [
        (queue("t", 0), -1, Code::IllegalOffset),
        (queue("t", 1), 0, Code::BadRequest),
        (queue("t", -1), 0, Code::BadRequest),
        (queue("u", 0), 0, Code::TopicNotFound),
        (queue("SCHEDULE_TOPIC_XXXX", 0), 0, Code::IllegalTopic),
        (None, 0, Code::BadRequest),
    ] {
        assert_eq!(update(&mut world, "g", queue, offset).await, code);
    }
    assert_eq!(get(&mut world, "CID_RMQ_SYS_x").await.0, Code::IllegalConsumerGroup);
}

#[tokio::test]
async fn a_queue_tells_where_it_begins_ends_and_was_at_a_moment() {
    let mut world = three().await;
    let (begin, end, at) =
        (QueryOffsetPolicy::Beginning, QueryOffsetPolicy::End, QueryOffsetPolicy::Timestamp as i32);
    assert_eq!(query(&mut world, 0, begin as i32, None).await, (Code::Ok, 0));
    assert_eq!(query(&mut world, 0, end as i32, None).await, (Code::Ok, 3));
    for (ms, offset) in [(-60_000, 0), (5_000, 1), (15_000, 2), (3_600_000, 3)] {
        assert_eq!(query(&mut world, 0, at, Some(EPOCH + ms)).await, (Code::Ok, offset), "{ms} ms");
    }
    assert_eq!(query(&mut world, 0, at, None).await.0, Code::BadRequest, "no moment");
    assert_eq!(query(&mut world, 0, 7, None).await.0, Code::BadRequest, "a policy of the future");
    assert_eq!(query(&mut world, 1, begin as i32, None).await.0, Code::BadRequest);
}

#[tokio::test]
async fn a_pull_reads_from_an_offset_and_says_where_to_go_on() {
    let mut world = three().await;
    world.group("g").await;
    let (code, messages, next) = pull(&mut world, pulled_from(0)).await;
    assert_eq!((code, bodies(&messages), next), (Code::Ok, vec!["a", "b"], Some(2)));
    let system = messages[0].system_properties.as_ref().unwrap();
    assert_eq!((system.queue_offset(), system.receipt_handle.as_ref()), (0, None));
    let (code, messages, next) = pull(&mut world, pulled_from(2)).await;
    assert_eq!((code, bodies(&messages), next), (Code::Ok, vec!["c"], Some(3)));
    assert_eq!(pull(&mut world, pulled_from(3)).await, (Code::MessageNotFound, vec![], Some(3)));
    let (code, messages, next) = pull(&mut world, pulled_from(9)).await;
    assert_eq!((code, messages, next), (Code::IllegalOffset, vec![], Some(3)), "beyond the end");
    let tagged = FilterExpression { r#type: FilterType::Tag.into(), expression: "B".to_owned() };
    let wanted = PullMessageRequest { filter_expression: Some(tagged), ..pulled_from(0) };
    assert_eq!(bodies(&pull(&mut world, wanted).await.1), ["b"]);
    for (request, code) in [
        (pulled_from(-1), Code::IllegalOffset),
        (PullMessageRequest { batch_size: 0, ..pulled_from(0) }, Code::BadRequest),
        (PullMessageRequest { message_queue: None, ..pulled_from(0) }, Code::IllegalTopic),
        (PullMessageRequest { group: None, ..pulled_from(0) }, Code::IllegalConsumerGroup),
    ] {
        assert_eq!(pull(&mut world, request).await.0, code);
    }
    assert_eq!(world.receive(receive()).await.1.len(), 3, "no lease was taken");
}

#[tokio::test]
async fn a_waiting_pull_is_answered_by_what_arrives_and_ends_with_the_server() {
    let mut world = three().await;
    world.group("g").await;
    let long_polling_timeout = Some(prost_types::Duration { seconds: 20, nanos: 0 });
    let waiting = || PullMessageRequest { long_polling_timeout, ..pulled_from(3) };
    let mut frames = world.client.pull_message(call(waiting())).await.unwrap().into_inner();
    world.send(vec![message("d")]).await;
    let first = frames.next().await.unwrap().unwrap().content.unwrap();
    assert!(matches!(first, Content::Status(status) if status.code() == Code::Ok));
    let late = PullMessageRequest { offset: 4, ..waiting() };
    let mut frames = world.client.pull_message(call(late)).await.unwrap().into_inner();
    world.shutdown.cancel();
    let first = frames.next().await.unwrap().unwrap().content.unwrap();
    assert!(matches!(first, Content::Status(status) if status.code() == Code::InternalServerError));
}
