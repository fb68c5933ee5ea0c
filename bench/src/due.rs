//! How late do messages reach a consumer that waits for them?

use crate::latency::Latency;
use crate::load::{self, Due, Load};
use crate::machine::now_us;
use crate::report::Report;
use crate::target::{QUEUES, Target, Topic, connect};
use anyhow::{Context as _, bail};
use client::PullRequest;
use futures_util::{StreamExt as _, stream};
use proto::v2;
use proto::v2::messaging_service_client::MessagingServiceClient;
use proto::v2::receive_message_response::Content;
use proto::v2::settings::PubSub;
use proto::v2::telemetry_command::Command;
use serde_json::json;
use std::collections::HashSet;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tonic::Request;
use tonic::transport::{Channel, Endpoint};

/// What `duemq-bench due` is told.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Messages a second, sent and due.
    #[arg(long, default_value_t = 1000)]
    rate: u32,
    /// How long to send, in seconds.
    #[arg(long, default_value_t = 30)]
    seconds: u64,
    /// Bytes of each body.
    #[arg(long, default_value_t = 256)]
    size: usize,
    /// How many messages wait on the server already, for the record.
    #[arg(long, default_value_t = 0)]
    pending: u64,
    /// The door the consumer waits at.
    #[arg(long, value_enum, default_value_t = Door::Pull)]
    by: Door,
}

/// How a consumer receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Door {
    /// One parked pull a queue, by remoting.
    Pull,
    /// Parked receives by gRPC, each answer acked.
    Grpc,
}

/// Due times lie at random so many milliseconds ahead of the send.
const AHEAD: (u64, u64) = (5_000, 15_000);
/// How long a poll waits.
const POLL: Duration = Duration::from_secs(15);
/// How long after the last due time is waited for what is missing.
const PATIENCE: Duration = Duration::from_secs(20);
/// Receives parked at a time by gRPC.
const RECEIVES: usize = 4;
/// Messages an answer may hold.
const BATCH: i32 = 32;

/// A message that came: its number, its moment and when it was read, in microseconds since 1970.
type Came = (u64, i64, i64);

/// Measures it.
pub async fn run(target: &Target, args: &Args) -> anyhow::Result<Report> {
    let messages = u64::from(args.rate) * args.seconds;
    let mut input = json!({ "rate": args.rate, "seconds": args.seconds, "size": args.size, "by": format!("{:?}", args.by).to_lowercase() });
    if args.pending > 0 {
        input["pending"] = args.pending.into();
    }
    let mut report = Report::new("due", input);
    let topic = target.topic("due", "DELAY").await?;
    let (came, mut arrivals) = mpsc::unbounded_channel();
    let mut consumers = JoinSet::new();
    match args.by {
        Door::Pull => pulls(&topic, &came, &mut consumers).await?,
        Door::Grpc => receives(target, &topic, &came, &mut consumers).await?,
    }
    drop(came);
    let rate = Some(f64::from(args.rate));
    let load = Load { rate, ..Load::of(messages, args.size, Due::Ahead(AHEAD.0, AHEAD.1)) };
    let before = target.used();
    let sending = async {
        let sent = load.send(&topic).await;
        tokio::time::sleep(Duration::from_millis(AHEAD.1) + PATIENCE).await;
        sent
    };
    let (mut late, mut seen, mut doubles) = (Latency::new(), HashSet::new(), 0_u64);
    let mut sending = std::pin::pin!(sending);
    let sent = loop {
        tokio::select! {
            sent = &mut sending => break Some(sent?),
            Some((number, due_us, at_us)) = arrivals.recv() => {
                if seen.insert(number) { late.add(at_us - due_us) } else { doubles += 1 }
                if seen.len() as u64 == messages {
                    break None;
                }
            }
            Some(ended) = consumers.join_next() => {
                ended?.context("a consumer failed")?;
                bail!("the server ended a consumer's stream");
            }
        }
    };
    let used = target.used();
    late.tell("late", &mut report);
    report.add("early", late.early());
    report.add("doubles", doubles);
    report.add("missing", messages - seen.len() as u64);
    report.add("refused", sent.map_or(0, |sent| sent.refused));
    report.add_rounded("cpu_s_per_million", (used.cpu_s - before.cpu_s) / messages as f64 * 1e6);
    report.add("resident_mib", used.resident >> 20);
    Ok(report)
}

type Consumers = JoinSet<anyhow::Result<()>>;

/// Parks a pull at each queue, and again after each answer.
async fn pulls(
    topic: &Topic,
    came: &mpsc::UnboundedSender<Came>,
    consumers: &mut Consumers,
) -> anyhow::Result<()> {
    for queue_id in 0..QUEUES {
        let client = connect(&topic.address).await?;
        let mut request = PullRequest {
            group: format!("{}_group", topic.name),
            topic: topic.name.clone(),
            queue_id,
            queue_offset: 0,
            max_messages: BATCH,
            tags: "*".to_owned(),
            wait: POLL,
        };
        let came = came.clone();
        consumers.spawn(async move {
            loop {
                let pulled = client.pull(&request).await?;
                let at_us = now_us();
                request.queue_offset = pulled.next_offset;
                for delivered in &pulled.messages {
                    if let Some((number, due_us)) = load::read(&delivered.message.body) {
                        came.send((number, due_us, at_us))?;
                    }
                }
            }
        });
    }
    Ok(())
}

/// Parks receives, acks what they answer, and parks them again.
async fn receives(
    target: &Target,
    topic: &Topic,
    came: &mpsc::UnboundedSender<Came>,
    consumers: &mut Consumers,
) -> anyhow::Result<()> {
    let grpc = &target.grpc;
    let channel = Endpoint::from_shared(format!("http://{grpc}"))?.connect().await;
    let mut client =
        MessagingServiceClient::new(channel.with_context(|| format!("no gRPC server at {grpc}"))?);
    let group = resource(&format!("{}_group", topic.name));
    let settings = stream::iter([settings(&group, &topic.name)]).chain(stream::pending());
    let mut answers = client.telemetry(call(settings)).await?.into_inner();
    answers.next().await.context("no answer to the settings")??;
    // The stream must stay open for as long as the client lives.
    consumers.spawn(async move {
        while answers.next().await.transpose()?.is_some() {}
        Ok(())
    });
    for _ in 0..RECEIVES {
        consumers.spawn(receive(
            client.clone(),
            topic.name.clone(),
            topic.broker.clone(),
            group.clone(),
            came.clone(),
        ));
    }
    Ok(())
}

async fn receive(
    mut client: MessagingServiceClient<Channel>,
    topic: String,
    broker: String,
    group: v2::Resource,
    came: mpsc::UnboundedSender<Came>,
) -> anyhow::Result<()> {
    loop {
        let broker = v2::Broker { name: broker.clone(), ..Default::default() };
        let queue = v2::MessageQueue {
            topic: Some(resource(&topic)),
            id: -1,
            broker: Some(broker),
            ..Default::default()
        };
        let every = v2::FilterExpression { r#type: v2::FilterType::Tag.into(), expression: "*".to_owned() };
        let request = v2::ReceiveMessageRequest {
            group: Some(group.clone()),
            message_queue: Some(queue),
            filter_expression: Some(every),
            batch_size: BATCH,
            invisible_duration: Some(prost_types::Duration { seconds: 60, nanos: 0 }),
            long_polling_timeout: Some(POLL.try_into()?),
            ..Default::default()
        };
        let mut request = call(request);
        request.set_timeout(POLL * 2);
        let mut frames = client.receive_message(request).await?.into_inner();
        let mut handles = Vec::new();
        while let Some(frame) = frames.next().await {
            let Some(Content::Message(message)) = frame?.content else { continue };
            let at_us = now_us();
            if let Some((number, due_us)) = load::read(&message.body) {
                came.send((number, due_us, at_us))?;
            }
            let system = message.system_properties.context("a message without system properties")?;
            handles.push(v2::AckMessageEntry {
                message_id: system.message_id,
                receipt_handle: system.receipt_handle.unwrap_or_default(),
                lite_topic: None,
            });
        }
        if !handles.is_empty() {
            let ack = v2::AckMessageRequest {
                group: Some(group.clone()),
                topic: Some(resource(&topic)),
                entries: handles,
            };
            client.ack_message(call(ack)).await?;
        }
    }
}

fn settings(group: &v2::Resource, topic: &str) -> v2::TelemetryCommand {
    let every = v2::FilterExpression { r#type: v2::FilterType::Tag.into(), expression: "*".to_owned() };
    let entry = v2::SubscriptionEntry { topic: Some(resource(topic)), expression: Some(every) };
    let subscription =
        v2::Subscription { group: Some(group.clone()), subscriptions: vec![entry], ..Default::default() };
    let settings = v2::Settings {
        client_type: Some(v2::ClientType::SimpleConsumer.into()),
        pub_sub: Some(PubSub::Subscription(subscription)),
        ..Default::default()
    };
    v2::TelemetryCommand { status: None, command: Some(Command::Settings(settings)) }
}

fn resource(name: &str) -> v2::Resource {
    v2::Resource { resource_namespace: String::new(), name: name.to_owned() }
}

/// A call by this program.
fn call<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    for (name, value) in
        [("x-mq-client-id", "duemq-bench"), ("x-mq-language", "JAVA"), ("x-mq-client-version", "5.2.0")]
    {
        request.metadata_mut().insert(name, value.parse().expect("visible characters"));
    }
    request
}
