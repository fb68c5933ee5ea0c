//! A served front, and a client's short ways to call it.

use crate::engine::{self, Clock};
use broker::{CreateGroup, CreateTopic};
use futures_util::{Stream, StreamExt};
use model::{Group, GroupName, Permission, TopicKind, TopicName};
use proto::v2::messaging_service_client::MessagingServiceClient;
use proto::v2::receive_message_response::Content;
use proto::v2::{self, ReceiveMessageRequest, TelemetryCommand};
use proxy::{Accepted, Proxy, Settings};
use service::{Local, Service, ServiceExt};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tokio_util::sync::CancellationToken;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Streaming};

pub type Client = MessagingServiceClient<Channel>;

/// A server: engine, front, and a connection to it.
pub struct World {
    pub clock: Clock,
    pub service: Arc<Local>,
    pub client: Client,
    /// The client's connection, for calls that it would not make.
    pub channel: Channel,
    pub shutdown: CancellationToken,
    pub served: tokio::task::JoinHandle<()>,
}

pub async fn world() -> World {
    let clock = Clock::new();
    let service = engine::start(clock.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let local = listener.local_addr().unwrap();
    let incoming = TcpListenerStream::new(listener)
        .map(move |accepted| accepted.map(|io| Accepted { peer: io.peer_addr().unwrap(), local, io }));
    let shutdown = CancellationToken::new();
    let proxy = Proxy::new(service.clone(), Settings::default());
    let serving = proxy.serve(incoming, shutdown.clone());
    let served = tokio::spawn(async move { serving.await.unwrap() });
    let channel = Endpoint::from_shared(format!("http://{local}")).unwrap().connect().await.unwrap();
    World { clock, service, client: Client::new(channel.clone()), channel, shutdown, served }
}

impl World {
    pub async fn topic(&self, name: &str, kind: TopicKind) {
        self.topic_of(name, kind, 4).await;
    }

    pub async fn topic_of(&self, name: &str, kind: TopicKind, queues: u32) {
        let ask = CreateTopic {
            name: TopicName::new(name).unwrap(),
            read_queues: queues,
            write_queues: queues,
            permission: Permission::READ_WRITE,
            kind: Some(kind),
            order: false,
            sys_flag: 0,
        };
        self.service.ask(ask).await.unwrap().unwrap();
    }

    pub async fn group(&self, name: &str) {
        self.group_with(name, |_| ()).await;
    }

    pub async fn group_with(&self, name: &str, change: impl FnOnce(&mut Group)) {
        let mut group = Group::new(GroupName::new(name).unwrap());
        change(&mut group);
        self.service.ask(CreateGroup { group }).await.unwrap().unwrap();
    }

    pub async fn ordered_group(&self, name: &str) {
        self.group_with(name, |group| group.ordered = true).await;
    }

    /// Lets time pass, and the engine see it.
    pub async fn advance(&self, time: Duration) {
        self.clock.advance(time);
        self.service.topics(None).await.unwrap();
    }

    pub async fn send(&mut self, messages: Vec<v2::Message>) -> v2::SendMessageResponse {
        self.client.send_message(call(v2::SendMessageRequest { messages })).await.unwrap().into_inner()
    }

    pub async fn receive(&mut self, request: ReceiveMessageRequest) -> (v2::Code, Vec<v2::Message>) {
        frames(self.client.receive_message(call(request)).await.unwrap().into_inner()).await
    }

    pub async fn ack(&mut self, handles: &[&str]) -> v2::AckMessageResponse {
        let entries = handles.iter().zip(0..).map(|(handle, id)| v2::AckMessageEntry {
            message_id: format!("id{id}"),
            receipt_handle: (*handle).to_owned(),
            lite_topic: None,
        });
        let request =
            v2::AckMessageRequest { group: resource("g"), topic: resource("t"), entries: entries.collect() };
        self.client.ack_message(call(request)).await.unwrap().into_inner()
    }

    pub async fn change(&mut self, handle: &str, time: Duration) -> v2::ChangeInvisibleDurationResponse {
        let request = v2::ChangeInvisibleDurationRequest {
            group: resource("g"),
            topic: resource("t"),
            receipt_handle: handle.to_owned(),
            invisible_duration: Some(time.try_into().unwrap()),
            ..Default::default()
        };
        self.client.change_invisible_duration(call(request)).await.unwrap().into_inner()
    }

    pub async fn telemetry(
        &mut self,
        frames: impl Stream<Item = TelemetryCommand> + Send + 'static,
    ) -> Streaming<TelemetryCommand> {
        self.client.telemetry(call(frames)).await.unwrap().into_inner()
    }
}

/// A call by client `c`.
pub fn call<T>(message: T) -> Request<T> {
    call_by("c", message)
}

pub fn call_by<T>(client: &'static str, message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("x-mq-client-id", client.parse().unwrap());
    request.metadata_mut().insert("x-mq-language", "JAVA".parse().unwrap());
    request
}

#[expect(clippy::unnecessary_wraps, reason = "every field of this type is optional")]
pub fn resource(name: &str) -> Option<v2::Resource> {
    Some(v2::Resource { resource_namespace: String::new(), name: name.to_owned() })
}

/// A message of topic `t`.
pub fn message(id: &str) -> v2::Message {
    v2::Message {
        topic: resource("t"),
        system_properties: Some(v2::SystemProperties { message_id: id.to_owned(), ..Default::default() }),
        body: id.as_bytes().to_vec().into(),
        ..Default::default()
    }
}

/// A message wanted at `ms` since the epoch.
pub fn delayed(id: &str, ms: i64) -> v2::Message {
    let mut message = message(id);
    let at = prost_types::Timestamp { seconds: ms / 1000, nanos: (ms % 1000 * 1_000_000) as i32 };
    message.system_properties.as_mut().unwrap().delivery_timestamp = Some(at);
    message
}

/// A receive of group `g` from topic `t` that does not wait.
pub fn receive() -> ReceiveMessageRequest {
    ReceiveMessageRequest {
        group: resource("g"),
        message_queue: Some(v2::MessageQueue { topic: resource("t"), id: -1, ..Default::default() }),
        batch_size: 32,
        invisible_duration: Some(prost_types::Duration { seconds: 30, nanos: 0 }),
        long_polling_timeout: Some(prost_types::Duration { seconds: 0, nanos: 0 }),
        ..Default::default()
    }
}

/// The status of a receive, and its messages. The last frame must be the moment.
pub async fn frames(mut frames: Streaming<v2::ReceiveMessageResponse>) -> (v2::Code, Vec<v2::Message>) {
    let (mut code, mut messages, mut moments) = (None, Vec::new(), 0);
    while let Some(frame) = frames.next().await {
        match frame.unwrap().content.unwrap() {
            Content::Status(status) => code = Some(status.code()),
            Content::Message(message) => messages.push(message),
            Content::DeliveryTimestamp(_) => moments += 1,
        }
    }
    assert_eq!(moments, 1);
    (code.unwrap(), messages)
}

pub fn bodies(messages: &[v2::Message]) -> Vec<&str> {
    let mut all: Vec<&str> = messages.iter().map(|m| std::str::from_utf8(&m.body).unwrap()).collect();
    all.sort_unstable();
    all
}

pub fn handle(message: &v2::Message) -> &str {
    message.system_properties.as_ref().unwrap().receipt_handle()
}
