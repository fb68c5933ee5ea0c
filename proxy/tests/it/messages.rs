//! Messages go in by gRPC and come out by gRPC.

use crate::engine::EPOCH;
use crate::world::{bodies, call, delayed, frames, handle, message, receive, resource, world};
use futures_util::{StreamExt, stream};
use model::TopicKind;
use proto::v2::settings::PubSub;
use proto::v2::telemetry_command::Command;
use proto::v2::{
    self, Code, ForwardMessageToDeadLetterQueueRequest, MessageQueue, MessageType, ReceiveMessageRequest,
    TelemetryCommand,
};
use service::ServiceExt;
use std::time::Duration;

const HOUR: Duration = Duration::from_hours(1);

#[tokio::test]
async fn a_message_wanted_in_an_hour_comes_after_it_and_never_before() {
    let mut world = world().await;
    world.topic("t", TopicKind::Delay).await;
    let due = EPOCH + 3_600_123;
    let sent = world.send(vec![delayed("m", due)]).await;
    assert_eq!(sent.status.unwrap().code(), Code::Ok);
    let entry = &sent.entries[0];
    assert_eq!((entry.message_id.as_str(), entry.recall_handle.is_empty()), ("m", false));
    assert_eq!(world.receive(receive()).await, (Code::MessageNotFound, vec![]));
    world.advance(HOUR.saturating_sub(Duration::from_secs(60))).await;
    assert_eq!(world.receive(receive()).await, (Code::MessageNotFound, vec![]));
    world.advance(Duration::from_mins(2)).await;
    let (code, messages) = world.receive(receive()).await;
    assert_eq!((code, bodies(&messages)), (Code::Ok, vec!["m"]));
    let system = messages[0].system_properties.as_ref().unwrap();
    assert_eq!((system.message_id.as_str(), system.message_type()), ("m", MessageType::Delay));
    assert_eq!(system.delivery_attempt(), 1);
    let at = system.delivery_timestamp.unwrap();
    assert_eq!(at.seconds * 1000 + i64::from(at.nanos) / 1_000_000, due);
    assert!(messages[0].user_properties.is_empty(), "{:?}", messages[0].user_properties);
}

#[tokio::test]
async fn a_waiting_receive_is_answered_when_a_delayed_message_falls_due() {
    let mut world = world().await;
    world.topic("t", TopicKind::Delay).await;
    world.send(vec![delayed("m", EPOCH + 10_000)]).await;
    let long_polling_timeout = Some(prost_types::Duration { seconds: 20, nanos: 0 });
    let request = ReceiveMessageRequest { long_polling_timeout, ..receive() };
    let waiting = world.client.receive_message(call(request)).await.unwrap().into_inner();
    // Less than the receive waits: whether it is parked by now or comes later, the message falls due first.
    world.advance(Duration::from_secs(10)).await;
    let (code, messages) = frames(waiting).await;
    assert_eq!((code, bodies(&messages)), (Code::Ok, vec!["m"]));
}

#[tokio::test]
async fn what_is_due_already_is_delivered_at_once_and_what_is_too_far_is_refused_whole() {
    let mut world = world().await;
    world.topic("t", TopicKind::Delay).await;
    let sent = world.send(vec![delayed("past", EPOCH - 60_000), delayed("zero", 0)]).await;
    assert_eq!(sent.status.unwrap().code(), Code::Ok);
    assert_eq!(sent.entries.iter().map(|e| e.recall_handle.as_str()).collect::<Vec<_>>(), ["", ""]);
    let (_, messages) = world.receive(receive()).await;
    assert_eq!(bodies(&messages), ["past", "zero"]);
    let thirty_years = EPOCH + 30 * 365 * 86_400_000;
    let refused = world.send(vec![delayed("near", EPOCH), delayed("far", thirty_years)]).await;
    let status = refused.status.unwrap();
    assert_eq!((status.code(), refused.entries.len()), (Code::IllegalDeliveryTime, 0));
    assert!(status.message.contains("message 1"), "{}", status.message);
    assert_eq!(world.receive(receive()).await.1, vec![], "nothing of a refused call is stored");
}

#[tokio::test]
async fn beyond_a_limit_on_what_waits_a_call_is_refused_whole_with_the_limit() {
    let mut world = world().await;
    world.topic("t", TopicKind::Delay).await;
    let limits = broker::Configure {
        flush: broker::Flush::Sync,
        max_delay_ms: 86_400_000,
        levels: model::LevelTable::default(),
        timer_enabled: true,
        max_body_bytes: 1000,
        auto_create_topics: true,
        auto_create_groups: true,
        default_queues: 8,
        pending_max: Some(2),
        pending_per_topic_max: None,
        pending_per_second_max: None,
        dedup_window: Duration::from_secs(1),
    };
    world.service.ask(limits.clone()).await.unwrap();
    let due = EPOCH + 60_000;
    assert_eq!(world.send(vec![delayed("a", due)]).await.status.unwrap().code(), Code::Ok);
    let refused = world.send(vec![delayed("b", due), delayed("c", due)]).await;
    let status = refused.status.unwrap();
    assert_eq!((status.code(), refused.entries.len()), (Code::TooManyRequests, 0));
    let told = "message 1: timer message is under flow control: 2 pending, the limit pending_max is 2";
    assert_eq!(status.message, told);
    assert_eq!(world.send(vec![delayed("d", due)]).await.status.unwrap().code(), Code::Ok);
    world.advance(Duration::from_secs(60)).await;
    assert_eq!(bodies(&world.receive(receive()).await.1), ["a", "d"]);
    let limits = broker::Configure { pending_max: None, pending_per_second_max: Some(1), ..limits };
    world.service.ask(limits).await.unwrap();
    let due = EPOCH + 120_000;
    assert_eq!(world.send(vec![delayed("e", due)]).await.status.unwrap().code(), Code::Ok);
    let status = world.send(vec![delayed("f", due + 999)]).await.status.unwrap();
    let told = format!(
        "timer message is under flow control: 1 due in the second from {due}, the limit pending_per_second_max is 1"
    );
    assert_eq!((status.code(), status.message), (Code::TooManyRequests, told));
}

#[tokio::test]
async fn a_second_message_with_a_key_has_the_firsts_ids_and_its_status_says_so_and_when_that_is_due() {
    let mut world = world().await;
    world.topic("t", TopicKind::Delay).await;
    let keyed = |id: &str, ms: i64| {
        let mut message = delayed(id, EPOCH + ms);
        message.user_properties.insert("DUEMQ_DEDUP_KEY".into(), "order 4711".into());
        message
    };
    let first = world.send(vec![keyed("first", 60_000)]).await.entries.remove(0);
    let second = world.send(vec![keyed("second", 90_000)]).await;
    let status = second.status.as_ref().unwrap();
    let told =
        format!("duplicate=true: a message with this DUEMQ_DEDUP_KEY is there, due at {}", EPOCH + 60_000);
    assert_eq!((status.code(), &status.message), (Code::Ok, &told));
    let second = &second.entries[0];
    assert_eq!((second.message_id.as_str(), &second.recall_handle), ("first", &first.recall_handle));
    assert_eq!(second.status.as_ref().unwrap().message, told);
    let refused = world.send(vec![keyed("a", 60_000), delayed("b", EPOCH + 60_000)]).await;
    let status = refused.status.unwrap();
    assert_eq!(status.code(), Code::BadRequest);
    assert!(status.message.starts_with("message 0: property DUEMQ_DEDUP_KEY"), "{}", status.message);
    let mut long = keyed("long", 60_000);
    long.user_properties.insert("DUEMQ_DEDUP_KEY".into(), "k".repeat(256));
    let refused = world.send(vec![long]).await.status.unwrap();
    let told = "property DUEMQ_DEDUP_KEY has 256 bytes, it must have 1 to 255";
    assert_eq!((refused.code(), refused.message.as_str()), (Code::BadRequest, told));

    world.advance(Duration::from_secs(90)).await;
    let (_, messages) = world.receive(receive()).await;
    assert_eq!(bodies(&messages), ["first"]);
    assert_eq!(messages[0].user_properties["DUEMQ_DEDUP_KEY"], "order 4711");
    let third = world.send(vec![keyed("third", 120_000)]).await.entries.remove(0);
    assert_eq!((third.message_id.as_str(), third.recall_handle), ("first", first.recall_handle));
}

#[tokio::test]
async fn a_message_of_another_kind_than_its_topic_is_refused() {
    let mut world = world().await;
    world.topic("t", TopicKind::Normal).await;
    let refused = world.send(vec![delayed("m", EPOCH + 5000)]).await;
    assert_eq!(refused.status.unwrap().code(), Code::MessagePropertyConflictWithType);
    assert_eq!(world.send(vec![message("m")]).await.status.unwrap().code(), Code::Ok);
}

#[tokio::test]
async fn an_acked_message_comes_never_again_and_an_unacked_one_after_its_lease() {
    let mut world = world().await;
    world.topic("t", TopicKind::Normal).await;
    world.send(vec![message("a"), message("b")]).await;
    let (_, messages) = world.receive(receive()).await;
    assert_eq!(bodies(&messages), ["a", "b"]);
    let [done, left] = messages.as_slice() else { panic!("{} messages", messages.len()) };
    let acked = world.ack(&[handle(done)]).await;
    assert_eq!(acked.status.unwrap().code(), Code::Ok);
    assert_eq!(acked.entries[0].receipt_handle, handle(done));
    world.advance(Duration::from_secs(20)).await;
    assert_eq!(world.receive(receive()).await.0, Code::MessageNotFound);
    world.advance(Duration::from_secs(11)).await;
    let (_, again) = world.receive(receive()).await;
    assert_eq!(again.len(), 1);
    assert_eq!(again[0].body, left.body);
    let system = again[0].system_properties.as_ref().unwrap();
    assert_eq!((system.delivery_attempt(), again[0].topic.as_ref().unwrap().name.as_str()), (2, "t"));
    let acked = world.ack(&[handle(left), handle(&again[0]), "nonsense"]).await;
    assert_eq!(acked.status.unwrap().code(), Code::MultipleResults);
    let codes: Vec<Code> = acked.entries.iter().map(|entry| entry.status.as_ref().unwrap().code()).collect();
    assert_eq!(codes, [Code::InvalidReceiptHandle, Code::Ok, Code::InvalidReceiptHandle]);
}

#[tokio::test]
async fn a_changed_lease_has_a_new_handle_and_the_old_one_is_dead() {
    let mut world = world().await;
    world.topic("t", TopicKind::Normal).await;
    world.send(vec![message("m")]).await;
    let (_, messages) = world.receive(receive()).await;
    let old = handle(&messages[0]).to_owned();
    let changed = world.change(&old, Duration::from_secs(5)).await;
    assert_eq!(changed.status.unwrap().code(), Code::Ok);
    assert_ne!(changed.receipt_handle, old);
    let refused = world.change(&old, Duration::from_secs(5)).await;
    assert_eq!(refused.status.unwrap().code(), Code::InvalidReceiptHandle);
    let refused = world.ack(&[&old]).await;
    assert_eq!(refused.status.unwrap().code(), Code::InvalidReceiptHandle);
    assert_eq!(world.ack(&[&changed.receipt_handle]).await.status.unwrap().code(), Code::Ok);
    world.advance(HOUR).await;
    assert_eq!(world.receive(receive()).await.0, Code::MessageNotFound);
}

#[tokio::test]
async fn a_message_refused_by_its_consumer_comes_again_at_once() {
    let mut world = world().await;
    world.topic("t", TopicKind::Normal).await;
    world.send(vec![message("m")]).await;
    let (_, messages) = world.receive(receive()).await;
    let changed = world.change(handle(&messages[0]), Duration::ZERO).await;
    assert_eq!(changed.status.unwrap().code(), Code::Ok);
    let (_, again) = world.receive(receive()).await;
    assert_eq!(again[0].system_properties.as_ref().unwrap().delivery_attempt(), 2);
}

#[tokio::test]
async fn only_messages_with_a_wanted_tag_are_received() {
    let mut world = world().await;
    world.topic("t", TopicKind::Normal).await;
    let tagged = |id: &str, tag: &str| {
        let mut message = message(id);
        message.system_properties.as_mut().unwrap().tag = Some(tag.to_owned());
        message
    };
    world.send(vec![tagged("1", "A"), tagged("2", "B"), tagged("3", "C")]).await;
    let expression =
        v2::FilterExpression { r#type: v2::FilterType::Tag.into(), expression: "A || C".to_owned() };
    let request = ReceiveMessageRequest { filter_expression: Some(expression), ..receive() };
    let (_, messages) = world.receive(request).await;
    assert_eq!(bodies(&messages), ["1", "3"]);
}

#[tokio::test]
async fn an_ordered_group_waits_for_its_message_and_the_same_attempt_gets_it_again() {
    let mut world = world().await;
    world.topic("t", TopicKind::Fifo).await;
    world.ordered_group("g").await;
    let grouped = |id: &str| {
        let mut message = message(id);
        message.system_properties.as_mut().unwrap().message_group = Some("order".to_owned());
        message
    };
    world.send(vec![grouped("1"), grouped("2")]).await;
    let take = |attempt: &str| ReceiveMessageRequest {
        batch_size: 1,
        attempt_id: Some(attempt.to_owned()),
        auto_renew: true,
        ..receive()
    };
    let (_, first) = world.receive(take("a")).await;
    assert_eq!(bodies(&first), ["1"]);
    assert_eq!(first[0].system_properties.as_ref().unwrap().message_group(), "order");
    assert_eq!(bodies(&world.receive(take("a")).await.1), ["1"], "its answer may have been lost");
    assert_eq!(world.receive(take("b")).await.0, Code::MessageNotFound);
    let (_, first) = world.receive(take("a")).await;
    assert_eq!(world.ack(&[handle(&first[0])]).await.status.unwrap().code(), Code::Ok);
    assert_eq!(bodies(&world.receive(take("b")).await.1), ["2"]);
}

#[tokio::test]
async fn a_sql_expression_selects_by_properties_and_a_wrong_one_is_refused() {
    let mut world = world().await;
    world.topic("t", TopicKind::Normal).await;
    let numbered = |id: &str, tag: &str, n: &str| {
        let mut message = message(id);
        message.user_properties.insert("n".to_owned(), n.to_owned());
        message.system_properties.as_mut().unwrap().tag = Some(tag.to_owned());
        message
    };
    world.send(vec![numbered("1", "A", "1"), numbered("2", "A", "5"), numbered("3", "C", "5")]).await;
    let selected = |expression: &str| {
        let expression =
            v2::FilterExpression { r#type: v2::FilterType::Sql.into(), expression: expression.to_owned() };
        ReceiveMessageRequest { filter_expression: Some(expression), ..receive() }
    };
    assert_eq!(world.receive(selected("n >")).await.0, Code::IllegalFilterExpression);
    let (_, messages) = world.receive(selected("n > 2 AND TAGS <> 'C'")).await;
    assert_eq!(bodies(&messages), ["2"]);
}

#[tokio::test]
async fn a_message_given_up_in_order_is_a_dead_letter_and_the_next_one_follows() {
    let mut world = world().await;
    world.topic("t", TopicKind::Fifo).await;
    world.ordered_group("g").await;
    let grouped = |id: &str| {
        let mut message = message(id);
        message.system_properties.as_mut().unwrap().message_group = Some("order".to_owned());
        message
    };
    world.send(vec![grouped("poison"), grouped("good")]).await;
    let one = || ReceiveMessageRequest { batch_size: 1, ..receive() };
    let (_, first) = world.receive(one()).await;
    assert_eq!(bodies(&first), ["poison"]);
    let give_up = |receipt_handle: &str| {
        call(ForwardMessageToDeadLetterQueueRequest {
            group: resource("g"),
            topic: resource("t"),
            receipt_handle: receipt_handle.to_owned(),
            message_id: "poison".to_owned(),
            delivery_attempt: 3,
            max_delivery_attempts: 3,
            lite_topic: None,
        })
    };
    let mut client = world.client.clone();
    let mut forward = async |handle: &str| {
        let answer = client.forward_message_to_dead_letter_queue(give_up(handle)).await.unwrap();
        answer.into_inner().status.unwrap().code()
    };
    // A handle as remoting gives them, and one of nobody.
    assert_eq!(forward("0 1 30000 999 0 b 0 0").await, Code::InvalidReceiptHandle);
    assert_eq!(forward("0 1 30000 999 0 b 0 0 0").await, Code::InvalidReceiptHandle);
    assert_eq!(forward(handle(&first[0])).await, Code::Ok);
    assert_eq!(forward(handle(&first[0])).await, Code::InvalidReceiptHandle, "its lease has ended");
    assert_eq!(bodies(&world.receive(one()).await.1), ["good"]);
    let queue = MessageQueue { topic: resource("%DLQ%g"), id: -1, ..Default::default() };
    let dead = ReceiveMessageRequest { message_queue: Some(queue), group: resource("looking"), ..receive() };
    let (_, dead) = world.receive(dead).await;
    assert_eq!(bodies(&dead), ["poison"], "once, whatever was tried");
    let origin = dead[0].system_properties.as_ref().unwrap().dead_letter_queue.clone().unwrap();
    assert_eq!((origin.topic.as_str(), origin.message_id.as_str()), ("t", "poison"));
}

#[tokio::test]
async fn a_producer_that_does_not_end_its_transaction_is_asked_over_its_telemetry_stream() {
    let mut world = world().await;
    world.topic("t", TopicKind::Transaction).await;
    let publishing = v2::Publishing { topics: vec![resource("t").unwrap()], ..Default::default() };
    let settings = v2::Settings { pub_sub: Some(PubSub::Publishing(publishing)), ..Default::default() };
    let settings = TelemetryCommand { status: None, command: Some(Command::Settings(settings)) };
    let mut commands = world.telemetry(stream::iter([settings]).chain(stream::pending())).await;
    commands.next().await.unwrap().unwrap();
    let mut half = message("m");
    half.system_properties.as_mut().unwrap().message_type = MessageType::Transaction.into();
    let sent = world.send(vec![half]).await;
    let transaction_id = sent.entries[0].transaction_id.clone();
    assert_eq!(world.receive(receive()).await.0, Code::MessageNotFound, "not committed");
    world.advance(Duration::from_secs(7)).await;
    let asked = commands.next().await.unwrap().unwrap();
    assert_eq!(asked.status.unwrap().code(), Code::Ok);
    let Some(Command::RecoverOrphanedTransactionCommand(asked)) = asked.command else {
        panic!("no question")
    };
    assert_eq!(asked.transaction_id, transaction_id);
    let message = asked.message.unwrap();
    assert_eq!((&*message.body, &message.topic), (&b"m"[..], &resource("t")));
    let system = message.system_properties.unwrap();
    assert_eq!((system.message_id.as_str(), system.message_type()), ("m", MessageType::Transaction));
    let end = v2::EndTransactionRequest {
        topic: resource("t"),
        message_id: system.message_id,
        transaction_id,
        resolution: v2::TransactionResolution::Commit.into(),
        source: v2::TransactionSource::SourceServerCheck.into(),
        trace_context: String::new(),
    };
    let ended = world.client.end_transaction(call(end)).await.unwrap().into_inner();
    assert_eq!(ended.status.unwrap().code(), Code::Ok);
    let (_, messages) = world.receive(receive()).await;
    assert_eq!(bodies(&messages), ["m"]);
    assert!(messages[0].user_properties.is_empty(), "{:?}", messages[0].user_properties);
}
