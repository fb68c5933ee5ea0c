//! Questions: what a tool asks of a consumer, which answers for itself over its telemetry stream.
//!
//! Tools speak remoting, so a question comes in its words and is answered in them: what a consumer's threads are
//! at (307), and whether it can consume a message that it is given directly (309). A client says with its answer
//! which question it is to, by the number that it was given with it.
//!
//! Peer: `GrpcClientChannel`, `ClientActivity` (RocketMQ 5.x), where 307 is answered only with the threads asked for.

use crate::message;
use crate::time::now_ms;
use broker::{Filter, Register};
use bytes::Bytes;
use model::ConsumeKind;
use proto::v2::telemetry_command::Command as Frame;
use proto::v2::{self, Code, PrintThreadStackTraceCommand, TelemetryCommand, VerifyMessageCommand};
use service::{Call, Words};
use std::collections::HashMap;
use tokio::sync::oneshot;
use wire::remoting::admin::OfClient;
use wire::remoting::heartbeat::SubscriptionData;
use wire::remoting::running::{ConsumedDirectly, ConsumerRunningInfo};
use wire::remoting::{Command, RequestCode, ResponseCode, json};
use wire::stored::View;

/// The questions that a client was asked and has not answered. The service bounds how many there are.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    last: u64,
    open: HashMap<u64, Open>,
}

#[derive(Debug)]
struct Open {
    question: Command,
    /// What is told besides the client's own words.
    info: ConsumerRunningInfo,
    asked_ms: i64,
    answer: oneshot::Sender<Words>,
}

impl Questions {
    /// Takes a question; gives what the client is to be told. A question that no client of gRPC answers is dropped,
    /// and one that needs no word of the client's is answered.
    pub(crate) fn ask(
        &mut self,
        call: Call,
        known: Option<&Register>,
        since_ms: i64,
    ) -> Option<TelemetryCommand> {
        self.open.retain(|_, open| !open.answer.is_closed());
        let Call { question, answer } = call;
        let question = *question.downcast::<Command>().ok()?;
        self.last += 1;
        let nonce = self.last.to_string();
        let info = running_info(known, since_ms);
        let frame = match RequestCode::try_from(question.code).ok()? {
            RequestCode::GetConsumerRunningInfo => {
                if !OfClient::read(&question.ext).is_ok_and(|header| header.jstack) {
                    let body = json::write(&info);
                    Open { question, info, asked_ms: 0, answer }.say(ResponseCode::Success, None, body);
                    return None;
                }
                Frame::PrintThreadStackTraceCommand(PrintThreadStackTraceCommand { nonce })
            }
            RequestCode::ConsumeMessageDirectly => {
                let topic = View::parse(&question.body).ok()?.topic().to_owned();
                let topic = v2::Resource { resource_namespace: String::new(), name: topic };
                let mut message = message::shown(&question.body, &topic).ok()?;
                if let Some(system) = &mut message.system_properties {
                    system.delivery_attempt = Some(1);
                }
                Frame::VerifyMessageCommand(VerifyMessageCommand { nonce, message: Some(message) })
            }
            _ => return None,
        };
        self.open.insert(self.last, Open { question, info, asked_ms: now_ms(), answer });
        Some(TelemetryCommand { status: Some(crate::status::ok()), command: Some(frame) })
    }

    /// Takes what a client answered: `true` where it was to a question that is open.
    pub(crate) fn answered(&mut self, frame: &TelemetryCommand) -> bool {
        let nonce = match &frame.command {
            Some(Frame::ThreadStackTrace(stack)) => &stack.nonce,
            Some(Frame::VerifyMessageResult(result)) => &result.nonce,
            _ => return false,
        };
        let Some(open) = nonce.parse().ok().and_then(|nonce| self.open.remove(&nonce)) else { return false };
        let status = frame.status.clone().unwrap_or_default();
        match &frame.command {
            Some(Frame::ThreadStackTrace(stack)) => open.stack(&status, stack.thread_stack_trace()),
            _ => open.verified(&status),
        }
        true
    }
}

impl Open {
    fn stack(self, status: &v2::Status, stack: &str) {
        match status.code() {
            Code::Ok => {
                let info = ConsumerRunningInfo { jstack: Some(stack.to_owned()), ..self.info.clone() };
                self.say(ResponseCode::Success, None, json::write(&info));
            }
            _ => self.refused(status),
        }
    }

    fn verified(self, status: &v2::Status) {
        let result = match status.code() {
            Code::Ok => "CR_SUCCESS",
            Code::FailedToConsumeMessage => "CR_LATER",
            Code::MessageCorrupted => "CR_RETURN_NULL",
            _ => return self.refused(status),
        };
        let consumed = ConsumedDirectly {
            auto_commit: true,
            consume_result: result.to_owned(),
            order: false,
            remark: "from gRPC client".to_owned(),
            spent_time_mills: now_ms().saturating_sub(self.asked_ms).max(0),
        };
        self.say(ResponseCode::Success, None, json::write(&consumed));
    }

    /// The client cannot do it, or will not: a simple consumer has nothing that consumes, for one.
    fn refused(self, status: &v2::Status) {
        let code = match status.code() {
            Code::VerifyFifoMessageUnsupported => ResponseCode::NoPermission,
            _ => ResponseCode::SystemError,
        };
        let why = format!("the client answered {}: {}", status.code().as_str_name(), status.message);
        self.say(code, Some(why), Bytes::new());
    }

    fn say(self, code: ResponseCode, remark: Option<String>, body: Bytes) {
        let answer = Command { remark, body, ..self.question.answer(code) };
        // Whoever asked may wait no more.
        let _ = self.answer.send(Box::new(answer));
    }
}

/// What is known of a consumer without its word.
fn running_info(known: Option<&Register>, since_ms: i64) -> ConsumerRunningInfo {
    let consumers = known.map(|register| register.consumers.as_slice()).unwrap_or_default();
    let kind = match consumers.first().map(|consumer| consumer.kind) {
        Some(ConsumeKind::Pull) => "CONSUME_ACTIVELY",
        _ => "CONSUME_PASSIVELY",
    };
    let properties =
        [("PROP_CONSUME_TYPE", kind.to_owned()), ("PROP_CONSUMER_START_TIMESTAMP", since_ms.to_string())];
    let subscriptions = consumers.iter().flat_map(|consumer| &consumer.subscriptions);
    ConsumerRunningInfo {
        jstack: None,
        properties: properties.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        subscription_set: subscriptions
            .map(|subscription| SubscriptionData {
                expression_type: if matches!(subscription.filter, Filter::Sql(_)) { "SQL92" } else { "TAG" }
                    .to_owned(),
                sub_string: subscription.expression.clone(),
                sub_version: subscription.version,
                topic: subscription.topic.to_string(),
                ..SubscriptionData::default()
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests;
