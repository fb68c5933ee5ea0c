//! Transactions: ended by their producer, delayed, asked after.

use crate::engine::EPOCH;
use crate::world::{World, bodies, call, delayed, message, receive, resource, world};
use futures_util::{StreamExt, stream};
use model::TopicKind;
use proto::v2::settings::PubSub;
use proto::v2::telemetry_command::Command;
use proto::v2::{
    self, Code, EndTransactionRequest, Message, MessageType, TelemetryCommand, TransactionResolution,
};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;

/// The settings of a producer for topic `t`.
fn producer() -> TelemetryCommand {
    let publishing = v2::Publishing { topics: vec![resource("t").unwrap()], ..Default::default() };
    let settings = v2::Settings { pub_sub: Some(PubSub::Publishing(publishing)), ..Default::default() };
    TelemetryCommand { status: None, command: Some(Command::Settings(settings)) }
}

/// Sends a half message; gives its transaction's id.
async fn half(world: &mut World, mut message: Message) -> String {
    message.system_properties.as_mut().unwrap().message_type = MessageType::Transaction.into();
    let sent = world.send(vec![message]).await;
    assert_eq!(sent.status.unwrap().code(), Code::Ok);
    sent.entries[0].transaction_id.clone()
}

async fn end(world: &mut World, id: &str, resolution: TransactionResolution) {
    let request = EndTransactionRequest {
        topic: resource("t"),
        message_id: id.to_owned(),
        transaction_id: id.to_owned(),
        resolution: resolution.into(),
        ..Default::default()
    };
    let answer = world.client.end_transaction(call(request)).await.unwrap().into_inner();
    assert_eq!(answer.status.unwrap().code(), Code::Ok);
}

#[tokio::test]
async fn a_committed_message_is_visible_at_once_and_nobody_is_asked_after_it() {
    let mut world = world().await;
    world.topic("t", TopicKind::Transaction).await;
    let (say, said) = mpsc::unbounded_channel();
    say.send(producer()).unwrap();
    let mut commands = world.telemetry(UnboundedReceiverStream::new(said)).await;
    commands.next().await.unwrap().unwrap();
    for (id, resolution) in
        [("commit", TransactionResolution::Commit), ("rollback", TransactionResolution::Rollback)]
    {
        let id = half(&mut world, message(id)).await;
        end(&mut world, &id, resolution).await;
    }
    assert_eq!(bodies(&world.receive(receive()).await.1), ["commit"]);
    world.advance(Duration::from_mins(10)).await;
    // What the server had to ask would have come before this answer.
    say.send(producer()).unwrap();
    let next = commands.next().await.unwrap().unwrap();
    assert!(matches!(next.command, Some(Command::Settings(_))), "{next:?}");
}

#[tokio::test]
async fn a_committed_message_with_a_delivery_time_comes_once_at_it_and_a_rolled_back_one_never() {
    let mut world = world().await;
    world.topic("t", TopicKind::Transaction).await;
    let mut commands = world.telemetry(stream::iter([producer()]).chain(stream::pending())).await;
    commands.next().await.unwrap().unwrap();
    for (name, resolution) in
        [("commit", TransactionResolution::Commit), ("rollback", TransactionResolution::Rollback)]
    {
        let id = half(&mut world, delayed(name, EPOCH + 60_000)).await;
        end(&mut world, &id, resolution).await;
    }
    assert_eq!(world.receive(receive()).await.0, Code::MessageNotFound, "not before its time");
    world.advance(Duration::from_secs(61)).await;
    let (_, messages) = world.receive(receive()).await;
    assert_eq!(bodies(&messages), ["commit"]);
    world.ack(&[crate::world::handle(&messages[0])]).await;
    world.advance(Duration::from_hours(1)).await;
    assert_eq!(world.receive(receive()).await.0, Code::MessageNotFound);
}
