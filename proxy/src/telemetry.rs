//! Telemetry: a client says what it is, and is told what it is to do.
//!
//! Each frame of settings is answered with the whole of the settings, the client's own and ours. No client
//! starts without the answer, and each reads another part of it. Peer: `ClientActivity`,
//! `GrpcClientSettingsManager` (RocketMQ 5.x).

use crate::Proxy;
use crate::clients::{Known, OpenStream, Teller};
use crate::context::Context;
use crate::settings::Settings;
use crate::status::{self, Refused};
use crate::time::{duration, now_ms, span};
use crate::{message, names};
use broker::{Consumer, Disconnect, Filter, GetGroup, Notice, Register, Subscription};
use futures_util::{Stream, StreamExt};
use model::{ConsumeFrom, ConsumeKind, Group, GroupName, MessageModel, Pauses};
use prost::Message as _;
use proto::v2::retry_policy::Strategy;
use proto::v2::settings::PubSub;
use proto::v2::telemetry_command::Command;
use proto::v2::{self, ClientType, Code, FilterType, TelemetryCommand};
use service::ServiceExt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

/// Answers that may wait for a client that does not read.
const ANSWERS_MAX: usize = 64;

/// Settings are kept while their client is known, so they have a limit. Bytes.
const SETTINGS_MAX: usize = 64 << 10;

const PRODUCER_ATTEMPTS: i32 = 3;
const PRODUCER_PAUSE_MIN: Duration = Duration::from_millis(10);
const PRODUCER_PAUSE_MAX: Duration = Duration::from_secs(1);
const CONSUMER_PAUSE_MIN: Duration = Duration::from_secs(5);
const CONSUMER_PAUSE_MAX: Duration = Duration::from_hours(2);
const MULTIPLIER: u32 = 2;

/// A consumer's pauses between tries, in seconds, where its group has none of its own. Peer: the delay levels, and `CustomizedRetryPolicy`.
const CONSUMER_PAUSES: [u64; 18] =
    [1, 5, 10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200];

/// A consumer's messages in one receive.
pub(crate) const RECEIVE_BATCH: i32 = 32;

/// What the Node client says is its language: what it says, and what its code would say.
const NODE: [&str; 2] = ["HTTP", "NODE_JS"];

/// What the Python client says is its language.
const PYTHON: &str = "PYTHON";

/// Talks with a client for as long as it does. The stream ends with an error where the client is refused.
pub(crate) fn telemetry(
    proxy: Proxy,
    context: Context,
    inbound: impl Stream<Item = Result<TelemetryCommand, tonic::Status>> + Send + Unpin + 'static,
) -> impl Stream<Item = Result<TelemetryCommand, tonic::Status>> + Send + 'static {
    let (answers, outbound) = mpsc::channel(ANSWERS_MAX);
    // A task of its own: the answer's head must leave before the first frame has come in.
    tokio::spawn(async move {
        let stopping = proxy.stopping.clone();
        tokio::select! {
            () = stopping.cancelled() => {}
            () = talk(&proxy, &context, inbound, &answers) => {}
        }
    });
    ReceiverStream::new(outbound)
}

async fn talk(
    proxy: &Proxy,
    context: &Context,
    mut inbound: impl Stream<Item = Result<TelemetryCommand, tonic::Status>> + Unpin,
    answers: &mpsc::Sender<Result<TelemetryCommand, tonic::Status>>,
) {
    let mut open = None;
    loop {
        let frame = tokio::select! {
            () = answers.closed() => return,
            frame = inbound.next() => frame,
        };
        // A broken stream ends as a finished one does: there is nobody to tell.
        let Some(Ok(frame)) = frame else { return };
        let Some(Command::Settings(settings)) = frame.command else {
            // Else an answer that nobody waits for any more, or something of a later version.
            if !proxy.clients.answered(&context.client, &frame) {
                tracing::debug!(client = %context.client, "telemetry frame that nobody waits for");
            }
            continue;
        };
        let answer = settle(proxy, context, &mut open, settings, answers).await;
        let refused = answer.is_err();
        if let Err(refused) = &answer {
            tracing::debug!(client = %context.client, code = ?refused.code, why = refused.text, "settings refused");
        }
        let answer = answer.map(|settings| TelemetryCommand {
            status: Some(status::ok()),
            command: Some(Command::Settings(settings)),
        });
        if answers.send(answer.map_err(tonic::Status::from)).await.is_err() || refused {
            return;
        }
    }
}

/// Takes a client's settings: registers it, remembers it, and gives the whole of its settings.
async fn settle(
    proxy: &Proxy,
    context: &Context,
    open: &mut Option<OpenStream>,
    settings: v2::Settings,
    answers: &Teller,
) -> Result<v2::Settings, Refused> {
    let length = settings.encoded_len();
    if length > SETTINGS_MAX {
        let text = format!("the settings have {length} bytes, the limit is {SETTINGS_MAX}");
        return Err(Refused::new(Code::BadRequest, text));
    }
    let (producers, consumers) = roles(&settings)?;
    let group = consumers.first().map(|consumer| consumer.group.clone());
    let connection = if let Some(connection) = open.as_ref().and_then(OpenStream::connection) {
        connection
    } else {
        let entered = proxy.clients.enter(&context.client, answers.clone());
        let (stream, connection) =
            entered.map_err(|full| Refused::new(Code::TooManyRequests, full.to_string()))?;
        *open = Some(stream);
        connection
    };
    let register = Register {
        connection,
        client: context.client.clone(),
        language: context.language.clone(),
        version: 0,
        address: context.ends.peer,
        producers,
        consumers,
    };
    proxy.service.ask(register.clone()).await??;
    let group = match group {
        Some(name) => Some(ask_group(proxy, name).await?),
        None => None,
    };
    let known = Known {
        register: Arc::new(register),
        fifo: group.as_ref().is_some_and(|group| group.ordered),
        request_timeout: settings.request_timeout.and_then(span),
    };
    if !proxy.clients.settle(&context.client, connection, known) {
        // It left in between, and its connection with it: nobody else would take it out of its groups again.
        proxy.service.ask(Disconnect { connection }).await?;
    }
    Ok(merged(settings, &context.language, group.as_ref(), &proxy.settings))
}

/// What tells a client of `notice`; nothing where gRPC's clients have no use for it.
pub(crate) fn command(notice: Notice) -> Option<TelemetryCommand> {
    let Notice::CheckTransaction(check) = notice else { return None };
    let topic = v2::Resource { resource_namespace: String::new(), name: check.group.clone() };
    let message = message::shown(&check.message, &topic).ok()?;
    let recover =
        v2::RecoverOrphanedTransactionCommand { message: Some(message), transaction_id: check.unique_key };
    let command = Command::RecoverOrphanedTransactionCommand(recover);
    Some(TelemetryCommand { status: Some(status::ok()), command: Some(command) })
}

/// A group's settings; the default ones where there is no such group.
pub(crate) async fn ask_group(proxy: &Proxy, name: GroupName) -> Result<Group, Refused> {
    let found = proxy.service.ask(GetGroup { name: name.clone() }).await?;
    Ok(found.unwrap_or_else(|| Group::new(name)))
}

/// What a client produces and consumes, as it says.
fn roles(settings: &v2::Settings) -> Result<(Vec<String>, Vec<Consumer>), Refused> {
    match &settings.pub_sub {
        Some(PubSub::Publishing(publishing)) => {
            let topics = publishing.topics.iter();
            let topics: Result<Vec<String>, Refused> =
                topics.map(|topic| names::topic(Some(topic)).map(|name| name.as_str().to_owned())).collect();
            Ok((topics?, Vec::new()))
        }
        Some(PubSub::Subscription(subscription)) => {
            Ok((Vec::new(), vec![consumer(settings.client_type(), subscription)?]))
        }
        None => {
            Err(Refused::new(Code::BadRequest, "there is no publishing or subscription data in settings"))
        }
    }
}

fn consumer(kind: ClientType, subscription: &v2::Subscription) -> Result<Consumer, Refused> {
    let group = names::group(subscription.group.as_ref())?;
    let version = now_ms();
    let mut subscriptions = Vec::with_capacity(subscription.subscriptions.len());
    for entry in &subscription.subscriptions {
        let wanted = entry.expression.clone().unwrap_or_default();
        let filter = match wanted.r#type() {
            // Nothing is handed out by it: each receive brings its own, and a wrong one is refused there.
            FilterType::Sql => Filter::sql(&wanted.expression).unwrap_or(Filter::All),
            FilterType::Tag | FilterType::Unspecified => {
                Filter::tags(&wanted.expression).unwrap_or(Filter::All)
            }
        };
        let topic = names::topic(entry.topic.as_ref())?;
        subscriptions.push(Subscription { topic, filter, expression: wanted.expression, version });
    }
    Ok(Consumer {
        group,
        // Peer: `ClientActivity#buildConsumeType`, which tools show.
        kind: if kind == ClientType::SimpleConsumer { ConsumeKind::Pull } else { ConsumeKind::Push },
        model: MessageModel::Clustering,
        from: ConsumeFrom::Last,
        subscriptions,
    })
}

/// The whole of a client's settings: its own, echoed, and ours.
///
/// `group` is a consumer's. No form of its pauses suits every client: Node reads only the exponential one,
/// Python only the list; all others read both, and get that of the group's, which is a list unless it was set.
fn merged(
    mut settings: v2::Settings,
    language: &str,
    group: Option<&Group>,
    ours: &Settings,
) -> v2::Settings {
    let (attempts, strategy) = match group {
        None => (PRODUCER_ATTEMPTS, exponential(PRODUCER_PAUSE_MIN, PRODUCER_PAUSE_MAX)),
        Some(group) => {
            let attempts = i32::try_from(group.retry_max).unwrap_or(i32::MAX).saturating_add(1);
            let strategy = strategy(language, group.pauses.as_ref(), attempts);
            (attempts, strategy)
        }
    };
    let poll = match settings.client_type() {
        ClientType::PushConsumer => ours.poll_push,
        _ => ours.poll_max,
    };
    settings.backoff_policy = Some(v2::RetryPolicy { max_attempts: attempts, strategy: Some(strategy) });
    match &mut settings.pub_sub {
        Some(PubSub::Publishing(publishing)) => {
            publishing.max_body_size = i32::try_from(ours.body_max).unwrap_or(i32::MAX);
            publishing.validate_message_type = ours.check_kind;
        }
        Some(PubSub::Subscription(subscription)) => {
            subscription.fifo = Some(group.is_some_and(|group| group.ordered));
            subscription.receive_batch_size = Some(RECEIVE_BATCH);
            // In whole seconds, and at least one: Python and Node read no more of it.
            let poll = Duration::from_secs(poll.as_secs().max(1));
            subscription.long_polling_timeout = Some(duration(poll));
        }
        None => {}
    }
    settings.metric = Some(v2::Metric { on: false, endpoints: None });
    settings
}

/// A consumer's pauses, in the form that its language reads: as near to the group's as that form can come.
fn strategy(language: &str, pauses: Option<&Pauses>, attempts: i32) -> Strategy {
    let ms = Duration::from_millis;
    match (NODE.contains(&language), pauses) {
        (true, None) => exponential(CONSUMER_PAUSE_MIN, CONSUMER_PAUSE_MAX),
        // It reads whole seconds, and would try again at once for ever with none.
        (true, Some(pauses)) => {
            let second = |pause: u64| ms(pause).max(Duration::from_secs(1));
            exponential(second(pauses.before(0)), second(pauses.before(usize::MAX)))
        }
        (false, Some(&Pauses::Growing { initial_ms, max_ms, multiplier })) if language != PYTHON => {
            growing(ms(initial_ms), ms(max_ms), multiplier)
        }
        (false, pauses) => {
            let next = match pauses {
                None => CONSUMER_PAUSES.map(|seconds| duration(Duration::from_secs(seconds))).to_vec(),
                Some(Pauses::Listed(all)) => all.iter().map(|&pause| duration(ms(pause))).collect(),
                Some(growing @ Pauses::Growing { .. }) => {
                    let count = usize::try_from(attempts).unwrap_or(1).clamp(1, Pauses::COUNT_MAX);
                    (0..count).map(|retry| duration(ms(growing.before(retry)))).collect()
                }
            };
            Strategy::CustomizedBackoff(v2::CustomizedBackoff { next })
        }
    }
}

fn exponential(initial: Duration, max: Duration) -> Strategy {
    growing(initial, max, MULTIPLIER)
}

fn growing(initial: Duration, max: Duration, multiplier: u32) -> Strategy {
    Strategy::ExponentialBackoff(v2::ExponentialBackoff {
        initial: Some(duration(initial)),
        max: Some(duration(max)),
        #[expect(clippy::cast_precision_loss, reason = "it is 100 at most")]
        multiplier: multiplier as f32,
    })
}

#[cfg(test)]
mod tests;
