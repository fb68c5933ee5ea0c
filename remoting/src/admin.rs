//! Administration: what RocketMQ's mqadmin and dashboard ask, one file a noun.

pub(crate) mod broker;
pub(crate) mod client;
pub(crate) mod connection;
pub(crate) mod group;
pub(crate) mod name_server;
pub(crate) mod offset;
pub(crate) mod pending;
pub(crate) mod progress;
pub(crate) mod register;
pub(crate) mod topic;

use crate::answer::{Answer, Answered, Refused};
use crate::caller::Caller;
use wire::remoting::admin::DataVersion;
use wire::remoting::{Command, RequestCode, ResponseCode};

/// Answers a request of a tool; `None` where its code is none of theirs.
pub(crate) async fn answer(caller: &Caller, code: RequestCode, request: &Command) -> Option<Answered> {
    Some(match code {
        RequestCode::UpdateAndCreateTopicList => topic::create_all(caller, request).await,
        RequestCode::GetAllTopicConfig => topic::configs(caller).await,
        RequestCode::GetTopicsByCluster => topic::of_cluster(caller, request).await,
        RequestCode::GetSystemTopicListFromNs => topic::system_of_name_server(caller).await,
        RequestCode::GetSystemTopicListFromBroker => topic::system(caller).await,
        RequestCode::GetUnitTopicList
        | RequestCode::GetHasUnitSubTopicList
        | RequestCode::GetHasUnitSubUnunitTopicList => Ok(topic::none()),
        RequestCode::DeleteTopicInBroker => topic::delete(caller, request).await,
        RequestCode::GetTopicStatsInfo => progress::topic(caller, request).await,
        RequestCode::QueryTopicConsumeByWho => topic::groups_of(caller, request).await,
        RequestCode::QueryConsumeQueue => topic::index(caller, request).await,
        RequestCode::GetEarliestMsgStoretime => topic::earliest(caller, request).await,
        RequestCode::UpdateAndCreateSubscriptiongroupList => group::create_all(caller, request).await,
        RequestCode::GetAllSubscriptiongroupConfig => group::configs(caller).await,
        RequestCode::DeleteSubscriptiongroup => group::delete(caller, request).await,
        RequestCode::QueryTopicsByConsumer => group::topics_of(caller, request).await,
        RequestCode::UpdateAndGetGroupForbidden => group::forbid(caller, request).await,
        RequestCode::QuerySubscriptionByConsumer => group::subscription(caller, request).await,
        RequestCode::GetConsumerConnectionList => connection::consumers(caller, request).await,
        RequestCode::GetProducerConnectionList => connection::producers(caller, request).await,
        RequestCode::GetAllProducerInfo => connection::all_producers(caller).await,
        RequestCode::GetConsumeStats => progress::group(caller, request).await,
        RequestCode::GetBrokerConsumeStats => progress::all(caller).await,
        RequestCode::QueryConsumeTimeSpan => progress::time_span(caller, request).await,
        RequestCode::InvokeBrokerToResetOffset => offset::reset(caller, request).await,
        RequestCode::QueryCorrectionOffset => offset::least(caller, request).await,
        RequestCode::CloneGroupOffset => offset::clone(caller, request).await,
        RequestCode::GetAllConsumerOffset => offset::all(caller).await,
        RequestCode::GetAllDelayOffset => broker::delay_offsets(caller).await,
        RequestCode::ListPending => pending::list(caller, request).await,
        RequestCode::CountPending => pending::count(caller).await,
        RequestCode::RecallByKey => pending::recall(caller, request).await,
        RequestCode::Reschedule => pending::reschedule(caller, request).await,
        RequestCode::PendingHistogram => pending::histogram(caller, request).await,
        RequestCode::GetTimerMetrics => broker::timer_metrics(caller).await,
        RequestCode::GetTimerCheckPoint => broker::timer_checkpoint(caller).await,
        RequestCode::GetConsumerRunningInfo => client::running_info(caller, request).await,
        RequestCode::ConsumeMessageDirectly => client::consume(caller, request).await,
        RequestCode::InvokeBrokerToGetConsumerStatus => client::status(caller, request).await,
        RequestCode::GetBrokerHaStatus => broker::replicas(caller).await,
        RequestCode::ResumeCheckHalfMessage => broker::resume_half(caller, request).await,
        RequestCode::GetBrokerRuntimeInfo => broker::runtime(caller).await,
        RequestCode::ViewBrokerStatsData => broker::stats(caller, request).await,
        RequestCode::GetBrokerConfig => broker::config(caller),
        RequestCode::UpdateBrokerConfig => broker::configure(caller, request).await,
        // Nothing is left over here that had to be cleaned.
        RequestCode::CleanExpiredConsumequeue
        | RequestCode::CleanUnusedTopic
        | RequestCode::DeleteExpiredCommitlog => Ok(Answer::success()),
        RequestCode::RegisterBroker => register::register(caller, request).await,
        RequestCode::UnregisterBroker => register::unregister(caller, request).await,
        RequestCode::QueryDataVersion => register::data_version(caller, request).await,
        RequestCode::BrokerHeartbeat => register::heartbeat(caller, request).await,
        RequestCode::GetBrokerMemberGroup => register::members(caller, request).await,
        RequestCode::RegisterTopicInNamesrv => register::register_topic(caller, request).await,
        RequestCode::DeleteTopicInNamesrv => register::delete_topic(caller, request).await,
        RequestCode::PutKvConfig => name_server::put(caller, request).await,
        RequestCode::GetKvConfig => name_server::get(caller, request).await,
        RequestCode::DeleteKvConfig => name_server::delete(caller, request).await,
        RequestCode::GetKvlistByNamespace => name_server::list(caller, request).await,
        RequestCode::WipeWritePermOfBroker => name_server::set_writable(caller, request, false).await,
        RequestCode::AddWritePermOfBroker => name_server::set_writable(caller, request, true).await,
        RequestCode::GetNamesrvConfig => name_server::config(caller),
        RequestCode::UpdateNamesrvConfig => name_server::configure(caller, request),
        _ => return None,
    })
}

/// The state of what is told whole every time: tools show it and compare it with nothing.
fn version() -> DataVersion {
    DataVersion { counter: 1, ..DataVersion::default() }
}

/// The answer to a text that could be no name, as to a name that is not there.
fn unnamed(code: ResponseCode, why: &impl ToString) -> Refused {
    Refused::new(code, why)
}
