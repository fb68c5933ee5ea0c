//! Which verb a request is for.

use crate::answer::{Answer, Answered, Outgoing, Refused};
use crate::caller::Caller;
use crate::{ack, admin, assignment};
use crate::{
    client_config, cluster, consumers, end_transaction, group, heartbeat, lock, offset, pop, pull, query,
    recall, reply, route, send, send_back, topic, unregister,
};
use std::sync::Arc;
use tracing::Instrument as _;
use wire::remoting::code::UnknownRequest;
use wire::remoting::{Command, RequestCode, ResponseCode};

/// Answers a request; `None` where no answer is wanted, not even an error.
pub(crate) async fn answer(caller: Arc<Caller>, request: Command) -> Option<Outgoing> {
    let is_one_way = request.is_one_way();
    let blank = request.answer(ResponseCode::Success);
    let code = RequestCode::try_from(request.code);
    let verb = code.map_or("unknown", RequestCode::name);
    let span = tracing::debug_span!("request", verb, opaque = request.opaque);
    let answered = async {
        let answered = match code {
            Ok(code) => by_code(&caller, code, request).await,
            Err(unknown) => Err(not_supported(unknown)),
        };
        let answer = answered.unwrap_or_else(Answer::from);
        tracing::debug!(code = answer.code.name(), remark = answer.remark, "answered");
        answer
    };
    let answer = answered.instrument(span).await;
    (!is_one_way).then(|| answer.into_command(blank))
}

async fn by_code(caller: &Caller, code: RequestCode, request: Command) -> Answered {
    if is_administration(code) && !caller.settings.may_administer(caller.address.ip()) {
        let why = format!("{} is allowed from this machine and from listed networks only", code.name());
        return Err(Refused::new(ResponseCode::NoPermission, &why));
    }
    match code {
        RequestCode::SendMessage => Ok(send::send_v1(caller, request).await),
        RequestCode::SendMessageV2 | RequestCode::SendBatchMessage => {
            Ok(send::send_v2(caller, request).await)
        }
        RequestCode::SendReplyMessage => Ok(reply::reply_v1(caller, request).await),
        RequestCode::SendReplyMessageV2 => Ok(reply::reply_v2(caller, request).await),
        RequestCode::ConsumerSendMsgBack => send_back::send_back(caller, &request).await,
        RequestCode::RecallMessage => Ok(recall::recall(caller, &request).await),
        RequestCode::PullMessage | RequestCode::LitePullMessage => pull::pull(caller, &request).await,
        RequestCode::PopMessage => pop::pop(caller, &request).await,
        RequestCode::PeekMessage => pop::peek(caller, &request).await,
        RequestCode::Notification => pop::notification(caller, &request).await,
        RequestCode::PollingInfo => pop::polling_info(caller, &request).await,
        RequestCode::AckMessage => ack::ack(caller, &request).await,
        RequestCode::BatchAckMessage => ack::batch_ack(caller, &request).await,
        RequestCode::ChangeMessageInvisibletime => ack::change_invisible(caller, &request).await,
        RequestCode::QueryAssignment => assignment::query(caller, &request).await,
        RequestCode::SetMessageRequestMode => assignment::set_mode(caller, &request).await,
        RequestCode::EndTransaction => end_transaction::end_transaction(caller, &request).await,
        RequestCode::QueryMessage => query::query(caller, &request).await,
        RequestCode::ViewMessageById => query::view(caller, &request).await,
        RequestCode::QueryConsumerOffset => offset::query(caller, &request).await,
        RequestCode::UpdateConsumerOffset => offset::commit(caller, &request).await,
        RequestCode::SearchOffsetByTimestamp => offset::search(caller, &request).await,
        RequestCode::GetMaxOffset => offset::max(caller, &request).await,
        RequestCode::GetMinOffset => offset::min(caller, &request).await,
        RequestCode::HeartBeat => heartbeat::heartbeat(caller, &request).await,
        RequestCode::UnregisterClient => unregister::unregister(caller, &request).await,
        RequestCode::GetConsumerListByGroup => consumers::consumers(caller, &request).await,
        RequestCode::LockBatchMq => lock::lock(caller, &request).await,
        RequestCode::UnlockBatchMq => lock::unlock(caller, &request).await,
        RequestCode::CheckClientConfig => client_config::check(&request),
        RequestCode::UpdateAndCreateTopic => topic::create(caller, &request).await,
        RequestCode::GetTopicConfig => topic::get(caller, &request).await,
        RequestCode::GetAllTopicListFromNameserver => topic::list(caller).await,
        RequestCode::UpdateAndCreateSubscriptiongroup => group::create(caller, &request).await,
        RequestCode::GetSubscriptiongroupConfig => group::get(caller, &request).await,
        RequestCode::GetRouteinfoByTopic => route::route(caller, &request).await,
        RequestCode::GetBrokerClusterInfo => cluster::cluster(caller).await,
        other => {
            if let Some(answered) = admin::answer(caller, other, &request).await {
                return answered;
            }
            Err(not_supported(UnknownRequest(other.number())))
        }
    }
}

/// A request that is not served, and of what kind it is, where that is known. Which ones these are is listed in
/// docs/compatibility.md.
fn not_supported(unknown: UnknownRequest) -> Refused {
    let kind = match unknown.0 {
        402 | 908 | 1007 => "replicas",
        513 => "static topics",
        354 | 355 => "stores of another kind",
        902 | 903 => "containers of brokers",
        1001..=1018 => "controllers",
        2001..=2004 => "rules for cold data",
        3001..=3010 => "users and access lists",
        5001 => "other timers",
        200_056 => "pops taken back",
        200_070..=200_079 => "lite topics",
        _ => "",
    };
    let why = match kind {
        "" => unknown.to_string(),
        kind => format!("{kind} are not supported:{unknown}"),
    };
    Refused::new(ResponseCode::RequestCodeNotSupported, &why)
}

/// Whether this is asked by tools alone: what clients need for their own messages is not.
fn is_administration(code: RequestCode) -> bool {
    !matches!(
        code,
        RequestCode::SendMessage
            | RequestCode::SendMessageV2
            | RequestCode::SendBatchMessage
            | RequestCode::SendReplyMessage
            | RequestCode::SendReplyMessageV2
            | RequestCode::ConsumerSendMsgBack
            | RequestCode::RecallMessage
            | RequestCode::EndTransaction
            | RequestCode::PullMessage
            | RequestCode::LitePullMessage
            | RequestCode::QueryMessage
            | RequestCode::ViewMessageById
            | RequestCode::QueryConsumerOffset
            | RequestCode::UpdateConsumerOffset
            | RequestCode::SearchOffsetByTimestamp
            | RequestCode::GetMaxOffset
            | RequestCode::GetMinOffset
            | RequestCode::GetEarliestMsgStoretime
            | RequestCode::HeartBeat
            | RequestCode::UnregisterClient
            | RequestCode::GetConsumerListByGroup
            | RequestCode::LockBatchMq
            | RequestCode::UnlockBatchMq
            | RequestCode::CheckClientConfig
            | RequestCode::GetRouteinfoByTopic
            | RequestCode::GetBrokerClusterInfo
            | RequestCode::GetTopicConfig
            | RequestCode::GetSubscriptiongroupConfig
            | RequestCode::GetAllTopicListFromNameserver
            | RequestCode::GetKvConfig
            | RequestCode::QueryAssignment
            | RequestCode::PopMessage
            | RequestCode::AckMessage
            | RequestCode::PeekMessage
            | RequestCode::ChangeMessageInvisibletime
            | RequestCode::Notification
            | RequestCode::PollingInfo
            | RequestCode::PopRollback
            | RequestCode::BatchAckMessage
    )
}
