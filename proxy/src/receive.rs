//! Receive: messages are taken with leases, and handed over in a stream of frames.
//!
//! The frames are a status, the messages, and the moment they left. A stream that its client gives up before
//! the end is a failed call for every client, so what was taken for it is given back.
//! Peer: `ReceiveMessageActivity`, `ReceiveMessageResponseStreamWriter` (RocketMQ 5.x).

use crate::Proxy;
use crate::assignment::ANY_QUEUE;
use crate::clients::Known;
use crate::context::Context;
use crate::message;
use crate::names;
use crate::settings::Settings;
use crate::status::{self, Refused};
use crate::telemetry::{RECEIVE_BATCH, ask_group};
use crate::time::{now_ms, span, timestamp};
use broker::{ChangeInvisible, Filter, Pop, PoppedMessage};
use futures_util::future::join_all;
use futures_util::{Stream, StreamExt, stream};
use model::{GroupName, QueueId, TopicName};
use proto::v2::receive_message_response::Content;
use proto::v2::{self, Code, FilterType, ReceiveMessageRequest, ReceiveMessageResponse};
use service::{Service, ServiceExt};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;

/// How long what was taken in vain stays invisible after that. Peer: a constant of the same size.
const GIVEN_BACK_FOR: Duration = Duration::from_secs(1);

/// How long before the client stops waiting an answer leaves, at most.
const AHEAD_MAX: Duration = Duration::from_millis(500);

/// How long clients wait for an answer that needs no waiting, where they do not say.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(3);

type Frame = Result<ReceiveMessageResponse, tonic::Status>;

/// The frames of a receive. Nothing happens before the first is polled; dropping them gives up.
pub(crate) fn receive(
    proxy: Proxy,
    context: Result<Context, Refused>,
    request: ReceiveMessageRequest,
) -> impl Stream<Item = Frame> + Send + 'static {
    let frames = async move {
        let taken = match context {
            Ok(context) => take(&proxy, &context, request).await,
            Err(refused) => Err(refused),
        };
        stream::iter(taken.unwrap_or_else(|refused| {
            tracing::debug!(code = ?refused.code, why = refused.text, "receive refused, or nothing found");
            Frames::refused(refused)
        }))
    };
    stream::once(frames).flatten()
}

async fn take(proxy: &Proxy, context: &Context, request: ReceiveMessageRequest) -> Result<Frames, Refused> {
    let known = proxy.known(&context.client);
    let wait = wait(&request, known.as_ref(), context.left(), &proxy.settings);
    let auto_renew = request.auto_renew;
    let queue = request.message_queue.unwrap_or_default();
    let topic = names::topic(queue.topic.as_ref())?;
    let group = names::group(request.group.as_ref())?;
    // A lease that the server shall renew begins as any other; it is the renewal that makes it last.
    let invisible = lease(request.auto_renew, request.invisible_duration, &proxy.settings)?;
    let filter = filter(&request.filter_expression.unwrap_or_default())?;
    let max_messages = batch(request.batch_size)?;
    let ordered = match known {
        Some(known) => known.fifo,
        // Its settings have not come yet, or are forgotten: what holds for its group holds for it.
        None => ask_group(proxy, group.clone()).await?.ordered,
    };
    let attempt_id = request.attempt_id.filter(|id| !id.is_empty());
    let length = attempt_id.as_ref().map_or(0, String::len);
    if length > ATTEMPT_ID_MAX {
        let text = format!("attempt_id has {length} bytes, the limit is {ATTEMPT_ID_MAX}");
        return Err(Refused::new(Code::BadRequest, text));
    }
    let pop = Pop {
        group: group.clone(),
        topic: topic.clone(),
        queue_id: asked_queue(queue.id, ordered, request.auto_renew),
        max_messages,
        invisible,
        wait,
        from_end: true,
        filter,
        ordered,
        attempt_id: attempt_id.clone(),
        renewed_for: auto_renew.then(|| context.client.clone()),
    };
    let popped = tokio::select! {
        biased;
        popped = proxy.service.ask(pop) => popped??.messages,
        () = proxy.stopping.cancelled() => Vec::new(),
    };
    if popped.is_empty() {
        return Err(Refused::new(Code::MessageNotFound, "no new message"));
    }
    if auto_renew {
        proxy.renew_for(&context.client, &group, &topic, &popped);
    }
    let give_back = GiveBack {
        service: Arc::clone(&proxy.service),
        group,
        topic,
        messages: popped,
        // The same attempt gets the same messages again, and no other one may overtake it.
        armed: !(ordered && attempt_id.is_some()),
    };
    Ok(Frames::of(give_back, queue.topic.unwrap_or_default()))
}

/// Bytes of an attempt's id, at most: each lease of an ordered group keeps it.
const ATTEMPT_ID_MAX: usize = 256;

/// How long the broker may wait for a message: as the client asks, else as long as it would wait for the answer;
/// never as long as that the answer comes too late.
fn wait(
    request: &ReceiveMessageRequest,
    known: Option<&Known>,
    left: Option<Duration>,
    settings: &Settings,
) -> Duration {
    let asked = request.long_polling_timeout.and_then(span);
    let asked = asked.unwrap_or_else(|| {
        let round_trip = known.and_then(|known| known.request_timeout).unwrap_or(REQUEST_TIMEOUT) / 2;
        left.map_or(settings.poll_max, |left| left.saturating_sub(round_trip))
    });
    asked.min(bearable(left, settings))
}

/// How long the broker may wait at most where the client waits for the answer for `left`.
pub(crate) fn bearable(left: Option<Duration>, settings: &Settings) -> Duration {
    let bearable = left.map_or(settings.poll_max, |left| left.saturating_sub(AHEAD_MAX.min(left / 4)));
    bearable.min(settings.poll_max)
}

/// How long what is taken stays invisible to others.
fn lease(
    auto_renew: bool,
    asked: Option<prost_types::Duration>,
    settings: &Settings,
) -> Result<Duration, Refused> {
    if auto_renew {
        return Ok(settings.lease_auto);
    }
    let asked = asked.unwrap_or_default();
    let (min, max) = (settings.lease_min, settings.lease_max);
    span(asked).filter(|time| (min..=max).contains(time)).ok_or_else(|| {
        let (min, max) = (min.as_secs(), max.as_secs());
        let text = format!("invisible_duration is {} s, allowed is {min} s to {max} s", asked.seconds);
        Refused::new(Code::IllegalInvisibleTime, text)
    })
}

/// Which messages a client asks for.
pub(crate) fn filter(asked: &v2::FilterExpression) -> Result<Filter, Refused> {
    match asked.r#type() {
        FilterType::Tag | FilterType::Unspecified => Filter::tags(&asked.expression)
            .map_err(|error| Refused::new(Code::IllegalFilterExpression, error.to_string())),
        FilterType::Sql => Filter::sql(&asked.expression)
            .map_err(|error| Refused::new(Code::IllegalFilterExpression, error.to_string())),
    }
}

/// How many messages at most.
pub(crate) fn batch(asked: i32) -> Result<u32, Refused> {
    match u32::try_from(asked) {
        Ok(asked) if asked > 0 => Ok(asked.min(RECEIVE_BATCH as u32)),
        _ => Err(Refused::new(Code::BadRequest, format!("batch_size is {asked}, it must be 1 or more"))),
    }
}

/// The queue to take from: any, but for a push consumer in order, which polls each queue it was assigned.
/// A simple consumer polls one after the other, and would wait at an empty one while others have messages.
fn asked_queue(id: i32, ordered: bool, push: bool) -> Option<QueueId> {
    if id == ANY_QUEUE || !ordered || !push {
        return None;
    }
    u32::try_from(id).ok().map(QueueId)
}

/// The frames of an answer. What is in them is given back where they are dropped before their end.
struct Frames {
    status: Option<v2::Status>,
    taken: Option<GiveBack>,
    topic: v2::Resource,
    next: usize,
    moment_sent: bool,
}

impl Frames {
    fn refused(refused: Refused) -> Self {
        Self {
            status: Some(refused.into()),
            taken: None,
            topic: v2::Resource::default(),
            next: 0,
            moment_sent: false,
        }
    }

    fn of(taken: GiveBack, topic: v2::Resource) -> Self {
        Self { status: Some(status::ok()), taken: Some(taken), topic, next: 0, moment_sent: false }
    }

    fn content(&mut self) -> Option<Content> {
        if let Some(status) = self.status.take() {
            return Some(Content::Status(status));
        }
        while let Some(popped) = self.taken.as_ref().and_then(|taken| taken.messages.get(self.next)) {
            self.next += 1;
            match message::leaving(popped, &self.topic) {
                Ok(message) => return Some(Content::Message(message)),
                // Its lease ends by itself, and at last it is a dead letter: nothing is lost.
                Err(error) => {
                    tracing::error!(handle = %popped.handle, %error, "a message taken cannot be read");
                }
            }
        }
        if !self.moment_sent {
            self.moment_sent = true;
            return Some(Content::DeliveryTimestamp(timestamp(now_ms())));
        }
        if let Some(taken) = &mut self.taken {
            taken.armed = false;
        }
        None
    }
}

impl Iterator for Frames {
    type Item = Frame;

    fn next(&mut self) -> Option<Frame> {
        self.content().map(|content| Ok(ReceiveMessageResponse { content: Some(content) }))
    }
}

/// Messages taken for a client. Unless told that they reached it, they become visible to others soon.
struct GiveBack {
    service: Arc<dyn Service>,
    group: GroupName,
    topic: TopicName,
    messages: Vec<PoppedMessage>,
    armed: bool,
}

impl Drop for GiveBack {
    fn drop(&mut self) {
        if !self.armed {
            return;
        }
        // Without a runtime the server has ended, and the leases end by themselves.
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        let (service, group, topic) = (Arc::clone(&self.service), self.group.clone(), self.topic.clone());
        let messages = std::mem::take(&mut self.messages);
        tracing::debug!(%group, %topic, count = messages.len(), "a receive was given up, its messages are given back");
        runtime.spawn(async move {
            let asks = messages.into_iter().map(|PoppedMessage { handle, .. }| {
                let (group, topic) = (group.clone(), topic.clone());
                service.ask(ChangeInvisible { group, topic, handle, invisible: GIVEN_BACK_FOR })
            });
            // Refused or not: at the worst a lease runs its full time.
            join_all(asks).await;
        });
    }
}

#[cfg(test)]
mod tests;
