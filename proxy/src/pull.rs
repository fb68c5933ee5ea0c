//! Pull: a queue is read from an offset on. No lease is taken and nothing is to be acked: the consumer commits how
//! far it has come.
//!
//! The frames are a status, the messages, and the offset to go on at, which stands in every answer to a well-asked
//! pull: where nothing was found, too, and where the offset lies outside the queue.

use crate::Proxy;
use crate::context::Context;
use crate::message;
use crate::names;
use crate::offset;
use crate::receive::{batch, bearable, filter};
use crate::status::{self, Refused};
use crate::time::span;
use broker::{Pull, PullOutcome, Pulled};
use futures_util::{Stream, StreamExt, stream};
use proto::v2::pull_message_response::Content;
use proto::v2::{self, Code, PullMessageRequest, PullMessageResponse};
use service::ServiceExt;

type Frame = Result<PullMessageResponse, tonic::Status>;

/// The frames of a pull. Nothing happens before the first is polled.
pub(crate) fn pull(
    proxy: Proxy,
    context: Result<Context, Refused>,
    request: PullMessageRequest,
) -> impl Stream<Item = Frame> + Send + 'static {
    let frames = async move {
        let read = match context {
            Ok(context) => read(&proxy, &context, request).await,
            Err(refused) => Err(refused),
        };
        let frames = read.unwrap_or_else(|refused| {
            tracing::debug!(code = ?refused.code, why = refused.text, "pull refused");
            vec![Content::Status(refused.into())]
        });
        stream::iter(frames.into_iter().map(|content| Ok(PullMessageResponse { content: Some(content) })))
    };
    stream::once(frames).flatten()
}

async fn read(
    proxy: &Proxy,
    context: &Context,
    request: PullMessageRequest,
) -> Result<Vec<Content>, Refused> {
    let asked = request.message_queue.unwrap_or_default();
    let (topic, queue_id) = offset::queue(proxy, Some(&asked)).await?;
    let group = names::group(request.group.as_ref())?;
    let pull = Pull {
        group,
        topic,
        queue_id,
        queue_offset: offset::offset(request.offset)?,
        max_messages: batch(request.batch_size)?,
        max_bytes: None,
        filter: Some(filter(&request.filter_expression.unwrap_or_default())?),
        sub_version: 0,
        rechecks: false,
        commit_offset: None,
        wait: request
            .long_polling_timeout
            .and_then(span)
            .map(|wait| wait.min(bearable(context.left(), &proxy.settings))),
        member: None,
    };
    let pulled = tokio::select! {
        biased;
        pulled = proxy.service.ask(pull) => pulled??,
        () = proxy.stopping.cancelled() => {
            return Err(Refused::new(Code::InternalServerError, "the server is shutting down"));
        }
    };
    Ok(frames(&pulled, &asked.topic.unwrap_or_default()))
}

fn frames(pulled: &Pulled, topic: &v2::Resource) -> Vec<Content> {
    let status = match pulled.outcome {
        PullOutcome::Found => status::ok(),
        PullOutcome::NotFound => Refused::new(Code::MessageNotFound, "no new message").into(),
        PullOutcome::NothingMatched => Refused::new(Code::MessageNotFound, "no match message").into(),
        PullOutcome::OffsetMoved => {
            let text = format!("the queue holds {} to {}", pulled.min_offset, pulled.max_offset);
            Refused::new(Code::IllegalOffset, text).into()
        }
    };
    let mut frames = vec![Content::Status(status)];
    for bytes in &pulled.messages {
        match message::shown(bytes, topic) {
            Ok(message) => frames.push(Content::Message(message)),
            Err(error) => tracing::error!(%error, "a message pulled cannot be read"),
        }
    }
    frames.push(Content::NextOffset(pulled.next_offset.0));
    frames
}
