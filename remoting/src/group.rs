//! Groups: `UPDATE_AND_CREATE_SUBSCRIPTIONGROUP` (200), `GET_SUBSCRIPTIONGROUP_CONFIG` (352).

use crate::answer::{Answer, Answered, Refused};
use crate::caller::Caller;
use broker::{CreateGroup, CreateGroupError, GetGroup};
use model::{Group, GroupName, Pauses};
use wire::remoting::group::{Customized, Exponential, Get, RetryPolicy, SubscriptionGroupConfig};
use wire::remoting::{Command, ResponseCode, json};

pub(crate) async fn create(caller: &Caller, request: &Command) -> Answered {
    let config: SubscriptionGroupConfig = json::read(&request.body)?;
    make(caller, group(&config)?).await?;
    Ok(Answer::success())
}

/// Makes or changes a group.
pub(crate) async fn make(caller: &Caller, group: Group) -> Result<(), Refused> {
    match caller.ask(CreateGroup { group }).await? {
        Ok(_) => Ok(()),
        Err(error @ CreateGroupError::Unavailable { .. }) => {
            Err(Refused::new(ResponseCode::ServiceNotAvailable, &error))
        }
    }
}

pub(crate) async fn get(caller: &Caller, request: &Command) -> Answered {
    let header = Get::read(&request.ext)?;
    let group = match GroupName::new(&header.group) {
        Ok(name) => caller.ask(GetGroup { name }).await?,
        Err(_) => None,
    };
    let unknown = || {
        let why = format!("group {} does not exist", header.group);
        Refused::new(ResponseCode::SubscriptionGroupNotExist, &why)
    };
    let group = group.ok_or_else(unknown)?;
    Ok(Answer::with_body(json::write(&config(&group))))
}

pub(crate) fn group(config: &SubscriptionGroupConfig) -> Result<Group, Refused> {
    let number = |field: &str, value: i32| {
        u32::try_from(value).map_err(|_| {
            Refused::new(ResponseCode::InvalidParameter, &format!("{field} is {value}, the least is 0"))
        })
    };
    let name = GroupName::new(&config.group_name).map_err(Refused::name(ResponseCode::InvalidParameter))?;
    Ok(Group {
        consume_enabled: config.consume_enable,
        broadcast_enabled: config.consume_broadcast_enable,
        ordered: config.consume_message_orderly,
        retry_queues: number("retryQueueNums", config.retry_queue_nums)?,
        retry_max: number("retryMaxTimes", config.retry_max_times)?,
        notify_changes: config.notify_consumer_ids_changed_enable,
        pauses: pauses(&config.group_retry_policy)?,
        ..Group::new(name)
    })
}

/// The pauses of a policy; none where it leaves them to the server. Peer: `GroupRetryPolicy#getRetryPolicy`.
fn pauses(policy: &RetryPolicy) -> Result<Option<Pauses>, Refused> {
    let refused = |why: &dyn std::fmt::Display| {
        Err(Refused::new(ResponseCode::InvalidParameter, &format!("groupRetryPolicy: {why}")))
    };
    // A negative number is refused as one past the limit.
    let ms = |ms: i64| u64::try_from(ms).unwrap_or(u64::MAX);
    let pauses = match policy.kind.as_str() {
        "CUSTOMIZED" => policy
            .customized
            .as_ref()
            .map(|list| Pauses::Listed(list.next.iter().map(|&pause| ms(pause)).collect())),
        "EXPONENTIAL" => {
            let Exponential { initial, max, multiplier } = policy.exponential.clone().unwrap_or_default();
            let multiplier = u32::try_from(multiplier).unwrap_or(u32::MAX);
            Some(Pauses::Growing { initial_ms: ms(initial), max_ms: ms(max), multiplier })
        }
        other => return refused(&format!("the type is {other:?}, it must be CUSTOMIZED or EXPONENTIAL")),
    };
    match pauses.as_ref().map_or(Ok(()), Pauses::check) {
        Ok(()) => Ok(pauses),
        Err(error) => refused(&error),
    }
}

fn policy(pauses: Option<&Pauses>) -> RetryPolicy {
    let ms = |ms: u64| i64::try_from(ms).unwrap_or(i64::MAX);
    match pauses {
        None => RetryPolicy::default(),
        Some(Pauses::Listed(all)) => RetryPolicy {
            customized: Some(Customized { next: all.iter().map(|&pause| ms(pause)).collect() }),
            ..RetryPolicy::default()
        },
        Some(Pauses::Growing { initial_ms, max_ms, multiplier }) => RetryPolicy {
            exponential: Some(Exponential {
                initial: ms(*initial_ms),
                max: ms(*max_ms),
                multiplier: i64::from(*multiplier),
            }),
            kind: "EXPONENTIAL".to_owned(),
            ..RetryPolicy::default()
        },
    }
}

pub(crate) fn config(group: &Group) -> SubscriptionGroupConfig {
    SubscriptionGroupConfig {
        consume_broadcast_enable: group.broadcast_enabled,
        consume_enable: group.consume_enabled,
        consume_message_orderly: group.ordered,
        group_name: group.name.to_string(),
        group_retry_policy: policy(group.pauses.as_ref()),
        notify_consumer_ids_changed_enable: group.notify_changes,
        retry_max_times: group.retry_max as i32,
        retry_queue_nums: group.retry_queues as i32,
        ..SubscriptionGroupConfig::default()
    }
}
