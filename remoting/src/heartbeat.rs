//! Heartbeat: `HEART_BEAT` (34).

use crate::answer::{Answer, Answered, Refused};
use crate::caller::Caller;
use broker::{Consumer, Filter, Register, RegisterError, Subscription};
use model::{ClientId, ConsumeFrom, ConsumeKind, GroupName, MessageModel, TopicName};
use std::collections::BTreeMap;
use wire::remoting::heartbeat::{self, ConsumerData, HeartbeatData, SubscriptionData};
use wire::remoting::{Command, ResponseCode, json};

/// Bytes of a heartbeat, at most: as many as what it says may have once it is kept.
const HEARTBEAT_BYTES_MAX: usize = 4 << 20;

pub(crate) async fn heartbeat(caller: &Caller, request: &Command) -> Answered {
    let length = request.body.len();
    if length > HEARTBEAT_BYTES_MAX {
        let why = format!("the heartbeat has {length} bytes, the limit is {HEARTBEAT_BYTES_MAX}");
        return Err(Refused::new(ResponseCode::InvalidParameter, &why));
    }
    let body: HeartbeatData = json::read(&request.body)?;
    let mut unserved = BTreeMap::new();
    let consumers = body.consumer_data_set.into_iter();
    let consumers = consumers.filter_map(|data| consumer(data, &mut unserved)).collect();
    caller.set_unserved(unserved);
    let register = Register {
        connection: caller.connection,
        client: ClientId(body.client_id.into()),
        language: request.language.name().to_owned(),
        version: request.version,
        address: caller.address,
        producers: body.producer_data_set.into_iter().map(|producer| producer.group_name).collect(),
        consumers,
    };
    caller.ask(register).await?.map_err(|error| Refused::new(code_of(&error), &error))?;
    // Clients then send their subscriptions every time, and we never have to ask for what a restart forgot.
    let answer = heartbeat::Answer { supports_v2: false, subscriptions_changed: true };
    Ok(Answer::with_fields(|ext| answer.write(ext)))
}

fn code_of(error: &RegisterError) -> ResponseCode {
    match error {
        RegisterError::ClientIdTooLong { .. } | RegisterError::TooMuch { .. } => {
            ResponseCode::InvalidParameter
        }
        RegisterError::Full { .. } => ResponseCode::SystemBusy,
        RegisterError::Unavailable { .. } => ResponseCode::ServiceNotAvailable,
    }
}

/// What is wanted by expressions that cannot be served, and why.
type Unserved = BTreeMap<(GroupName, TopicName), Refused>;

/// A member of a group; none where the group's name could be no group's, which the peer passes over as well.
fn consumer(data: ConsumerData, unserved: &mut Unserved) -> Option<Consumer> {
    let group = GroupName::new(&data.group_name)
        .inspect_err(|error| tracing::debug!(%error, "group in a heartbeat passed over"))
        .ok()?;
    let wanted = data.subscription_data_set.into_iter();
    let subscriptions = wanted.filter_map(|data| subscription(&group, data, unserved)).collect();
    Some(Consumer {
        group,
        kind: match data.consume_type.as_str() {
            "CONSUME_ACTIVELY" => ConsumeKind::Pull,
            "CONSUME_POP" => ConsumeKind::Pop,
            _ => ConsumeKind::Push,
        },
        model: match data.message_model.as_str() {
            "BROADCASTING" => MessageModel::Broadcasting,
            _ => MessageModel::Clustering,
        },
        // The older words all mean the end of the queue by now. Peer: `RebalancePushImpl#computePullFromWhere`.
        from: match data.consume_from_where.as_str() {
            "CONSUME_FROM_FIRST_OFFSET" => ConsumeFrom::First,
            "CONSUME_FROM_TIMESTAMP" => ConsumeFrom::Timestamp,
            _ => ConsumeFrom::Last,
        },
        subscriptions,
    })
}

/// A subscription; none where its expression cannot be served: that is noted, and its pulls are refused.
fn subscription(group: &GroupName, data: SubscriptionData, unserved: &mut Unserved) -> Option<Subscription> {
    let topic = TopicName::new(&data.topic)
        .inspect_err(|error| tracing::debug!(%error, "subscription in a heartbeat passed over"))
        .ok()?;
    let filter = match filter(&data.expression_type, &data.sub_string) {
        Ok(filter) => filter,
        Err(refused) => {
            tracing::debug!(%group, %topic, why = refused.remark, "subscription in a heartbeat not served");
            unserved.insert((group.clone(), topic), refused);
            return None;
        }
    };
    Some(Subscription { topic, filter, expression: data.sub_string, version: data.sub_version })
}

/// Reads an expression of a type. Peer: `FilterAPI#build`, `ConsumerFilterManager#build`.
pub(crate) fn filter(kind: &str, expression: &str) -> Result<Filter, Refused> {
    match kind {
        _ if is_tag_expression(kind) => Filter::tags(expression)
            .map_err(|error| Refused::new(ResponseCode::SubscriptionParseFailed, &error)),
        "SQL92" => Filter::sql(expression).map_err(|error| {
            let why = format!("the SQL92 expression cannot be read: {error}");
            Refused::new(ResponseCode::SubscriptionParseFailed, &why)
        }),
        _ => Err(unsupported(kind)),
    }
}

/// What is said to a consumer whose expressions are of a type not served.
fn unsupported(kind: &str) -> Refused {
    let why = format!(
        "the broker does not support consumers that filter messages by {kind:?}, only by TAG and SQL92"
    );
    Refused::new(ResponseCode::SystemError, &why)
}

/// Whether an expression of this type is one of tags. Peer: `ExpressionType#isTagType`.
pub(crate) fn is_tag_expression(kind: &str) -> bool {
    matches!(kind, "" | "TAG")
}
