//! Assignment: `QUERY_ASSIGNMENT` (400), `SET_MESSAGE_REQUEST_MODE` (401).

use crate::answer::{Answer, Answered, Refused};
use crate::caller::Caller;
use crate::pop::names;
use broker::{GetAssignment, SetConsumeMode, SetConsumeModeError, Strategy};
use model::{ClientId, ConsumeMode, MessageModel};
use wire::remoting::assignment::{self, Assignment, POP, PULL, Query, SetMode};
use wire::remoting::lock::MessageQueue;
use wire::remoting::{Command, ResponseCode, json};

/// What stands for the number of one queue where a member reads them all.
const ALL_QUEUES: i32 = -1;

pub(crate) async fn query(caller: &Caller, request: &Command) -> Answered {
    let body: Query = json::read(&request.body)?;
    let (group, topic) = names(&body.consumer_group, &body.topic)?;
    let strategy = match body.strategy_name.as_str() {
        "AVG" => Strategy::Runs,
        "AVG_BY_CIRCLE" => Strategy::Turns,
        other => {
            let why = format!("strategyName is {other:?}, known are AVG and AVG_BY_CIRCLE");
            return Err(Refused::new(ResponseCode::InvalidParameter, &why));
        }
    };
    let model = match body.message_model.as_str() {
        "BROADCASTING" => MessageModel::Broadcasting,
        _ => MessageModel::Clustering,
    };
    let ask = GetAssignment { group, topic, client: ClientId(body.client_id.into()), model, strategy };
    let Some(assigned) = caller.ask(ask).await? else {
        return Ok(Answer::with_body(json::write(&assignment::Answer::default())));
    };
    let broker = caller.broker_name().await?;
    let mode = if assigned.pop { POP } else { PULL };
    let queues = assigned.queues.into_iter().map(|queue| Assignment {
        message_queue: MessageQueue {
            broker_name: broker.clone(),
            queue_id: queue.map_or(ALL_QUEUES, |queue| i32::try_from(queue.0).unwrap_or(i32::MAX)),
            topic: body.topic.clone(),
        },
        mode: mode.to_owned(),
    });
    let answer = assignment::Answer { message_queue_assignments: Some(queues.collect()) };
    Ok(Answer::with_body(json::write(&answer)))
}

pub(crate) async fn set_mode(caller: &Caller, request: &Command) -> Answered {
    let body: SetMode = json::read(&request.body)?;
    let (group, topic) = names(&body.consumer_group, &body.topic)?;
    let pop = match body.mode.as_str() {
        POP => true,
        PULL => false,
        other => {
            let why = format!("mode is {other:?}, it must be {POP} or {PULL}");
            return Err(Refused::new(ResponseCode::InvalidParameter, &why));
        }
    };
    let mode = ConsumeMode { pop, share: body.pop_share_queue_num };
    match caller.ask(SetConsumeMode { group, topic, mode }).await? {
        Ok(()) => Ok(Answer::success()),
        Err(error) => Err(Refused::new(code_of(&error), &error)),
    }
}

/// Peer: `QueryAssignmentProcessor#setMessageRequestMode` (RocketMQ 5.x).
fn code_of(error: &SetConsumeModeError) -> ResponseCode {
    match error {
        SetConsumeModeError::RetryTopic { .. } => ResponseCode::NoPermission,
        SetConsumeModeError::TopicUnknown { .. } => ResponseCode::TopicNotExist,
        SetConsumeModeError::GroupUnknown { .. } => ResponseCode::SubscriptionGroupNotExist,
        SetConsumeModeError::Unavailable { .. } => ResponseCode::ServiceNotAvailable,
    }
}
