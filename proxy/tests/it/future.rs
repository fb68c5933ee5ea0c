//! What a client of a later protocol sends besides: it is passed over, and what is known of it is done.

use crate::world::{bodies, call, message, receive, resource, world};
use bytes::{Buf, BufMut};
use futures_util::{StreamExt, stream};
use model::TopicKind;
use prost::Message as _;
use proto::v2::settings::PubSub;
use proto::v2::telemetry_command::Command;
use proto::v2::{self, ClientType, Code};
use tonic::Status;
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};

/// Bytes as they are.
#[derive(Default)]
struct Raw;

impl Codec for Raw {
    type Encode = Vec<u8>;
    type Decode = Vec<u8>;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, item: Vec<u8>, into: &mut EncodeBuf<'_>) -> Result<(), Status> {
        into.put_slice(&item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Vec<u8>>, Status> {
        Ok(Some(from.copy_to_bytes(from.remaining()).to_vec()))
    }
}

/// A message of the protocol and, behind it, fields 1000 (a number), 1001 (a text) and 1002 (a double).
fn with_more(message: &impl prost::Message) -> Vec<u8> {
    let mut bytes = message.encode_to_vec();
    prost::encoding::int64::encode(1000, &-1, &mut bytes);
    prost::encoding::string::encode(1001, &"of the future".to_owned(), &mut bytes);
    prost::encoding::double::encode(1002, &0.5, &mut bytes);
    bytes
}

#[tokio::test]
async fn fields_of_a_later_protocol_are_passed_over_at_any_depth() {
    let world = world().await;
    world.topic("t", TopicKind::Normal).await;
    let mut one = message("m");
    one.user_properties.insert("k".to_owned(), "v".to_owned());
    let system = with_more(&one.system_properties.take().unwrap());
    let mut inner = with_more(&one);
    // Its system properties are field 3, its message field 1 of the call.
    prost::encoding::bytes::encode(3, &system, &mut inner);
    let mut request = with_more(&v2::SendMessageRequest::default());
    prost::encoding::bytes::encode(1, &inner, &mut request);
    let mut raw = Grpc::new(world.channel.clone());
    raw.ready().await.unwrap();
    let path = "/apache.rocketmq.v2.MessagingService/SendMessage".parse().unwrap();
    let answer = raw.unary(call(request), path, Raw).await.unwrap().into_inner();
    let answer = v2::SendMessageResponse::decode(answer.as_slice()).unwrap();
    assert_eq!(answer.status.unwrap().code(), Code::Ok);

    let path = "/apache.rocketmq.v2.MessagingService/ReceiveMessage".parse().unwrap();
    raw.ready().await.unwrap();
    let mut frames = raw.server_streaming(call(with_more(&receive())), path, Raw).await.unwrap().into_inner();
    let mut messages = Vec::new();
    while let Some(frame) = frames.next().await {
        let frame = v2::ReceiveMessageResponse::decode(frame.unwrap().as_slice()).unwrap();
        if let Some(v2::receive_message_response::Content::Message(message)) = frame.content {
            messages.push(message);
        }
    }
    assert_eq!(bodies(&messages), ["m"]);
    assert_eq!(messages[0].user_properties["k"], "v");
    assert_eq!(messages[0].system_properties.as_ref().unwrap().message_id, "m");
}

#[tokio::test]
async fn values_of_a_later_protocol_are_the_default_or_refused_by_name() {
    let mut world = world().await;
    world.topic("t", TopicKind::Normal).await;
    let mut one = message("m");
    let system = one.system_properties.as_mut().unwrap();
    (system.message_type, system.body_encoding) = (99, 99);
    assert_eq!(world.send(vec![one]).await.status.unwrap().code(), Code::Ok);
    let expression = v2::FilterExpression { r#type: 99, expression: "*".to_owned() };
    let request = v2::ReceiveMessageRequest { filter_expression: Some(expression), ..receive() };
    assert_eq!(bodies(&world.receive(request).await.1), ["m"]);

    let publishing = v2::Publishing { topics: vec![resource("t").unwrap()], ..Default::default() };
    let settings = v2::Settings { pub_sub: Some(PubSub::Publishing(publishing)), ..Default::default() };
    let settings = v2::TelemetryCommand { status: None, command: Some(Command::Settings(settings)) };
    // A command that is not known here comes without one.
    let frames = stream::iter([v2::TelemetryCommand::default(), settings]).chain(stream::pending());
    let mut answers = world.telemetry(frames).await;
    let answer = answers.next().await.unwrap().unwrap();
    assert!(matches!(answer.command, Some(Command::Settings(_))), "the stream goes on");
    let beat = |client_type| call(v2::HeartbeatRequest { group: None, client_type });
    let answer = world.client.heartbeat(beat(99)).await.unwrap().into_inner();
    assert_eq!(answer.status.unwrap().code(), Code::UnrecognizedClientType);
    let answer = world.client.heartbeat(beat(ClientType::Producer.into())).await.unwrap().into_inner();
    assert_eq!(answer.status.unwrap().code(), Code::Ok);
    let end = v2::EndTransactionRequest {
        topic: resource("t"),
        transaction_id: "m".to_owned(),
        resolution: 99,
        ..Default::default()
    };
    let answer = world.client.end_transaction(call(end)).await.unwrap().into_inner();
    assert_eq!(answer.status.unwrap().code(), Code::InvalidTransactionId);
}
