//! Pull: messages of one queue, from an offset on.

use crate::{AskError, Client, accepted};
use bytes::{Buf as _, Bytes};
use model::Message;
use std::time::Duration;
use wire::remoting::pull::{Answer, Header, SUBSCRIPTION, SUSPEND};
use wire::remoting::{Command, Fields, RequestCode, ResponseCode};
use wire::stored::{self, PlacedOwned};

/// How much longer an answer may take than the server was asked to wait.
const SLACK: Duration = Duration::from_secs(5);

/// What is wanted.
#[derive(Clone, Debug)]
pub struct PullRequest {
    /// Who reads.
    pub group: String,
    /// The topic.
    pub topic: String,
    /// The queue.
    pub queue_id: i32,
    /// From where on.
    pub queue_offset: i64,
    /// Messages at most.
    pub max_messages: i32,
    /// Which tags: `*`, or tags with `||` between.
    pub tags: String,
    /// How long the server may wait where there is nothing; zero for not at all.
    pub wait: Duration,
}

/// How a pull went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PullOutcome {
    /// There are messages.
    Found,
    /// There is nothing new.
    NothingNew,
    /// Nothing so far has one of the tags; pull on from the next offset.
    NothingMatched,
    /// The offset lies outside the queue; pull on from the next offset.
    OffsetMoved,
}

/// What a pull found.
#[derive(Clone, Debug)]
pub struct Pulled {
    /// How it went.
    pub outcome: PullOutcome,
    /// Where the next pull begins.
    pub next_offset: i64,
    /// The queue's least offset.
    pub min_offset: i64,
    /// That of its next message.
    pub max_offset: i64,
    /// The messages.
    pub messages: Vec<Delivered>,
}

/// A message and its place.
#[derive(Clone, Debug)]
pub struct Delivered {
    /// The message, its body as it was sent: compressed, where its producer compressed it.
    pub message: Message,
    /// Its place.
    pub place: PlacedOwned,
}

impl Client {
    /// Reads a queue without committing anything.
    pub async fn pull(&self, request: &PullRequest) -> Result<Pulled, AskError> {
        let header = Header {
            group: request.group.clone(),
            topic: request.topic.clone(),
            queue_id: request.queue_id,
            queue_offset: request.queue_offset,
            max_messages: request.max_messages,
            sys_flag: SUBSCRIPTION | if request.wait.is_zero() { 0 } else { SUSPEND },
            commit_offset: Some(0),
            suspend_ms: Some(request.wait.as_millis() as i64),
            subscription: Some(request.tags.clone()),
            subscription_version: Some(0),
            expression_type: Some("TAG".to_owned()),
            max_bytes: None,
        };
        let mut ext = Fields::new();
        header.write(&mut ext);
        let verb = RequestCode::PullMessage;
        let answer =
            self.call_within(Command::request(verb, ext, Bytes::new()), request.wait + SLACK).await?;
        let good = [
            ResponseCode::Success,
            ResponseCode::PullNotFound,
            ResponseCode::PullRetryImmediately,
            ResponseCode::PullOffsetMoved,
        ];
        let (code, answer) = accepted(verb, answer, &good)?;
        let fields = Answer::read(&answer.ext)?;
        Ok(Pulled {
            outcome: match code {
                ResponseCode::Success => PullOutcome::Found,
                ResponseCode::PullRetryImmediately => PullOutcome::NothingMatched,
                ResponseCode::PullOffsetMoved => PullOutcome::OffsetMoved,
                _ => PullOutcome::NothingNew,
            },
            next_offset: fields.next_offset,
            min_offset: fields.min_offset,
            max_offset: fields.max_offset,
            messages: messages(answer.body)?,
        })
    }
}

/// Takes messages in their stored form, end to end, apart.
pub(crate) fn messages(mut body: Bytes) -> Result<Vec<Delivered>, AskError> {
    let mut messages = Vec::new();
    while body.has_remaining() {
        let size = stored::View::parse(&body)?.total_size();
        let (message, place) = stored::decode(&body.split_to(size))?;
        messages.push(Delivered { message, place });
    }
    Ok(messages)
}
