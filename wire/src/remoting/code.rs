//! What is asked and how it went, as RocketMQ's numbers.

/// Defines an enum of RocketMQ's codes with their names and numbers.
macro_rules! codes {
    ($(#[doc = $about:literal])* $codes:ident, $unknown:ident; $($variant:ident = $number:literal $name:literal,)*) => {
        $(#[doc = $about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(i32)]
        pub enum $codes {
            $(#[doc = concat!("`", $name, "`, ", stringify!($number), ".")] $variant = $number,)*
        }

        impl $codes {
            /// All there are, by number.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// RocketMQ's name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// RocketMQ's number.
            pub const fn number(self) -> i32 {
                self as i32
            }
        }

        impl TryFrom<i32> for $codes {
            type Error = $unknown;

            fn try_from(number: i32) -> Result<Self, $unknown> {
                match number {
                    $($number => Ok(Self::$variant),)*
                    _ => Err($unknown(number)),
                }
            }
        }
    };
}

/// A request code nobody has given a meaning; the text is RocketMQ's own answer to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(" request type {0} not supported")]
pub struct UnknownRequest(pub i32);

/// A response code nobody has given a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("response code {0} is not known")]
pub struct UnknownResponse(pub i32);

codes! {
    /// What is asked. Peer: `RequestCode` (RocketMQ 5.x), the part that its clients and tools send; and from 20001 on
    /// what is this project's own.
    RequestCode, UnknownRequest;
    SendMessage = 10 "SEND_MESSAGE",
    PullMessage = 11 "PULL_MESSAGE",
    QueryMessage = 12 "QUERY_MESSAGE",
    QueryConsumerOffset = 14 "QUERY_CONSUMER_OFFSET",
    UpdateConsumerOffset = 15 "UPDATE_CONSUMER_OFFSET",
    UpdateAndCreateTopic = 17 "UPDATE_AND_CREATE_TOPIC",
    UpdateAndCreateTopicList = 18 "UPDATE_AND_CREATE_TOPIC_LIST",
    GetAllTopicConfig = 21 "GET_ALL_TOPIC_CONFIG",
    UpdateBrokerConfig = 25 "UPDATE_BROKER_CONFIG",
    GetBrokerConfig = 26 "GET_BROKER_CONFIG",
    GetBrokerRuntimeInfo = 28 "GET_BROKER_RUNTIME_INFO",
    SearchOffsetByTimestamp = 29 "SEARCH_OFFSET_BY_TIMESTAMP",
    GetMaxOffset = 30 "GET_MAX_OFFSET",
    GetMinOffset = 31 "GET_MIN_OFFSET",
    GetEarliestMsgStoretime = 32 "GET_EARLIEST_MSG_STORETIME",
    ViewMessageById = 33 "VIEW_MESSAGE_BY_ID",
    HeartBeat = 34 "HEART_BEAT",
    UnregisterClient = 35 "UNREGISTER_CLIENT",
    ConsumerSendMsgBack = 36 "CONSUMER_SEND_MSG_BACK",
    EndTransaction = 37 "END_TRANSACTION",
    GetConsumerListByGroup = 38 "GET_CONSUMER_LIST_BY_GROUP",
    CheckTransactionState = 39 "CHECK_TRANSACTION_STATE",
    NotifyConsumerIdsChanged = 40 "NOTIFY_CONSUMER_IDS_CHANGED",
    LockBatchMq = 41 "LOCK_BATCH_MQ",
    UnlockBatchMq = 42 "UNLOCK_BATCH_MQ",
    GetAllConsumerOffset = 43 "GET_ALL_CONSUMER_OFFSET",
    GetAllDelayOffset = 45 "GET_ALL_DELAY_OFFSET",
    CheckClientConfig = 46 "CHECK_CLIENT_CONFIG",
    GetTimerCheckPoint = 60 "GET_TIMER_CHECK_POINT",
    GetTimerMetrics = 61 "GET_TIMER_METRICS",
    PutKvConfig = 100 "PUT_KV_CONFIG",
    GetKvConfig = 101 "GET_KV_CONFIG",
    DeleteKvConfig = 102 "DELETE_KV_CONFIG",
    RegisterBroker = 103 "REGISTER_BROKER",
    UnregisterBroker = 104 "UNREGISTER_BROKER",
    GetRouteinfoByTopic = 105 "GET_ROUTEINFO_BY_TOPIC",
    GetBrokerClusterInfo = 106 "GET_BROKER_CLUSTER_INFO",
    UpdateAndCreateSubscriptiongroup = 200 "UPDATE_AND_CREATE_SUBSCRIPTIONGROUP",
    GetAllSubscriptiongroupConfig = 201 "GET_ALL_SUBSCRIPTIONGROUP_CONFIG",
    GetTopicStatsInfo = 202 "GET_TOPIC_STATS_INFO",
    GetConsumerConnectionList = 203 "GET_CONSUMER_CONNECTION_LIST",
    GetProducerConnectionList = 204 "GET_PRODUCER_CONNECTION_LIST",
    WipeWritePermOfBroker = 205 "WIPE_WRITE_PERM_OF_BROKER",
    GetAllTopicListFromNameserver = 206 "GET_ALL_TOPIC_LIST_FROM_NAMESERVER",
    DeleteSubscriptiongroup = 207 "DELETE_SUBSCRIPTIONGROUP",
    GetConsumeStats = 208 "GET_CONSUME_STATS",
    DeleteTopicInBroker = 215 "DELETE_TOPIC_IN_BROKER",
    DeleteTopicInNamesrv = 216 "DELETE_TOPIC_IN_NAMESRV",
    RegisterTopicInNamesrv = 217 "REGISTER_TOPIC_IN_NAMESRV",
    GetKvlistByNamespace = 219 "GET_KVLIST_BY_NAMESPACE",
    ResetConsumerClientOffset = 220 "RESET_CONSUMER_CLIENT_OFFSET",
    GetConsumerStatusFromClient = 221 "GET_CONSUMER_STATUS_FROM_CLIENT",
    InvokeBrokerToResetOffset = 222 "INVOKE_BROKER_TO_RESET_OFFSET",
    InvokeBrokerToGetConsumerStatus = 223 "INVOKE_BROKER_TO_GET_CONSUMER_STATUS",
    GetTopicsByCluster = 224 "GET_TOPICS_BY_CLUSTER",
    UpdateAndCreateSubscriptiongroupList = 225 "UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST",
    QueryTopicConsumeByWho = 300 "QUERY_TOPIC_CONSUME_BY_WHO",
    QueryConsumeTimeSpan = 303 "QUERY_CONSUME_TIME_SPAN",
    GetSystemTopicListFromNs = 304 "GET_SYSTEM_TOPIC_LIST_FROM_NS",
    GetSystemTopicListFromBroker = 305 "GET_SYSTEM_TOPIC_LIST_FROM_BROKER",
    CleanExpiredConsumequeue = 306 "CLEAN_EXPIRED_CONSUMEQUEUE",
    GetConsumerRunningInfo = 307 "GET_CONSUMER_RUNNING_INFO",
    QueryCorrectionOffset = 308 "QUERY_CORRECTION_OFFSET",
    ConsumeMessageDirectly = 309 "CONSUME_MESSAGE_DIRECTLY",
    SendMessageV2 = 310 "SEND_MESSAGE_V2",
    GetUnitTopicList = 311 "GET_UNIT_TOPIC_LIST",
    GetHasUnitSubTopicList = 312 "GET_HAS_UNIT_SUB_TOPIC_LIST",
    GetHasUnitSubUnunitTopicList = 313 "GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST",
    CloneGroupOffset = 314 "CLONE_GROUP_OFFSET",
    ViewBrokerStatsData = 315 "VIEW_BROKER_STATS_DATA",
    CleanUnusedTopic = 316 "CLEAN_UNUSED_TOPIC",
    GetBrokerConsumeStats = 317 "GET_BROKER_CONSUME_STATS",
    UpdateNamesrvConfig = 318 "UPDATE_NAMESRV_CONFIG",
    GetNamesrvConfig = 319 "GET_NAMESRV_CONFIG",
    SendBatchMessage = 320 "SEND_BATCH_MESSAGE",
    QueryConsumeQueue = 321 "QUERY_CONSUME_QUEUE",
    QueryDataVersion = 322 "QUERY_DATA_VERSION",
    ResumeCheckHalfMessage = 323 "RESUME_CHECK_HALF_MESSAGE",
    SendReplyMessage = 324 "SEND_REPLY_MESSAGE",
    SendReplyMessageV2 = 325 "SEND_REPLY_MESSAGE_V2",
    PushReplyMessageToClient = 326 "PUSH_REPLY_MESSAGE_TO_CLIENT",
    AddWritePermOfBroker = 327 "ADD_WRITE_PERM_OF_BROKER",
    GetAllProducerInfo = 328 "GET_ALL_PRODUCER_INFO",
    DeleteExpiredCommitlog = 329 "DELETE_EXPIRED_COMMITLOG",
    QueryTopicsByConsumer = 343 "QUERY_TOPICS_BY_CONSUMER",
    QuerySubscriptionByConsumer = 345 "QUERY_SUBSCRIPTION_BY_CONSUMER",
    GetTopicConfig = 351 "GET_TOPIC_CONFIG",
    GetSubscriptiongroupConfig = 352 "GET_SUBSCRIPTIONGROUP_CONFIG",
    UpdateAndGetGroupForbidden = 353 "UPDATE_AND_GET_GROUP_FORBIDDEN",
    LitePullMessage = 361 "LITE_PULL_MESSAGE",
    RecallMessage = 370 "RECALL_MESSAGE",
    QueryAssignment = 400 "QUERY_ASSIGNMENT",
    SetMessageRequestMode = 401 "SET_MESSAGE_REQUEST_MODE",
    GetAllMessageRequestMode = 402 "GET_ALL_MESSAGE_REQUEST_MODE",
    UpdateAndCreateStaticTopic = 513 "UPDATE_AND_CREATE_STATIC_TOPIC",
    GetBrokerMemberGroup = 901 "GET_BROKER_MEMBER_GROUP",
    BrokerHeartbeat = 904 "BROKER_HEARTBEAT",
    GetBrokerHaStatus = 907 "GET_BROKER_HA_STATUS",
    ListPending = 20_001 "LIST_PENDING",
    CountPending = 20_002 "COUNT_PENDING",
    RecallByKey = 20_003 "RECALL_BY_KEY",
    Reschedule = 20_004 "RESCHEDULE",
    PendingHistogram = 20_005 "PENDING_HISTOGRAM",
    PopMessage = 200_050 "POP_MESSAGE",
    AckMessage = 200_051 "ACK_MESSAGE",
    PeekMessage = 200_052 "PEEK_MESSAGE",
    ChangeMessageInvisibletime = 200_053 "CHANGE_MESSAGE_INVISIBLETIME",
    Notification = 200_054 "NOTIFICATION",
    PollingInfo = 200_055 "POLLING_INFO",
    PopRollback = 200_056 "POP_ROLLBACK",
    BatchAckMessage = 200_151 "BATCH_ACK_MESSAGE",
}

codes! {
    /// How it went. Peer: `ResponseCode` (RocketMQ 5.x), without the controller's and ACL's.
    ResponseCode, UnknownResponse;
    Success = 0 "SUCCESS",
    SystemError = 1 "SYSTEM_ERROR",
    SystemBusy = 2 "SYSTEM_BUSY",
    RequestCodeNotSupported = 3 "REQUEST_CODE_NOT_SUPPORTED",
    TransactionFailed = 4 "TRANSACTION_FAILED",
    FlushDiskTimeout = 10 "FLUSH_DISK_TIMEOUT",
    SlaveNotAvailable = 11 "SLAVE_NOT_AVAILABLE",
    FlushSlaveTimeout = 12 "FLUSH_SLAVE_TIMEOUT",
    MessageIllegal = 13 "MESSAGE_ILLEGAL",
    ServiceNotAvailable = 14 "SERVICE_NOT_AVAILABLE",
    VersionNotSupported = 15 "VERSION_NOT_SUPPORTED",
    NoPermission = 16 "NO_PERMISSION",
    TopicNotExist = 17 "TOPIC_NOT_EXIST",
    TopicExistAlready = 18 "TOPIC_EXIST_ALREADY",
    PullNotFound = 19 "PULL_NOT_FOUND",
    PullRetryImmediately = 20 "PULL_RETRY_IMMEDIATELY",
    PullOffsetMoved = 21 "PULL_OFFSET_MOVED",
    QueryNotFound = 22 "QUERY_NOT_FOUND",
    SubscriptionParseFailed = 23 "SUBSCRIPTION_PARSE_FAILED",
    SubscriptionNotExist = 24 "SUBSCRIPTION_NOT_EXIST",
    SubscriptionNotLatest = 25 "SUBSCRIPTION_NOT_LATEST",
    SubscriptionGroupNotExist = 26 "SUBSCRIPTION_GROUP_NOT_EXIST",
    FilterDataNotExist = 27 "FILTER_DATA_NOT_EXIST",
    FilterDataNotLatest = 28 "FILTER_DATA_NOT_LATEST",
    InvalidParameter = 29 "INVALID_PARAMETER",
    ConsumerNotOnline = 206 "CONSUMER_NOT_ONLINE",
    ConsumeMsgTimeout = 207 "CONSUME_MSG_TIMEOUT",
    NoMessage = 208 "NO_MESSAGE",
    PollingFull = 209 "POLLING_FULL",
    PollingTimeout = 210 "POLLING_TIMEOUT",
    BrokerNotExist = 211 "BROKER_NOT_EXIST",
    BroadcastConsumption = 213 "BROADCAST_CONSUMPTION",
    FlowControl = 215 "FLOW_CONTROL",
    IllegalOperation = 604 "ILLEGAL_OPERATION",
    GoAway = 1500 "GO_AWAY",
}

impl RequestCode {
    /// The request a binary header means: it holds 16 bits of a code, which the pop codes do not fit.
    ///
    /// No other code lies where theirs land, so nothing is lost by taking the landed ones for them.
    pub const fn widen(code: i16) -> i32 {
        match code {
            3442..=3448 | 3543 => code as i32 - 3442 + Self::PopMessage as i32,
            _ => code as i32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_found_by_its_number() {
        for &code in RequestCode::ALL {
            assert_eq!(RequestCode::try_from(code.number()), Ok(code));
        }
        for &code in ResponseCode::ALL {
            assert_eq!(ResponseCode::try_from(code.number()), Ok(code));
        }
        assert_eq!(
            RequestCode::try_from(99_999).unwrap_err().to_string(),
            " request type 99999 not supported"
        );
        assert_eq!(ResponseCode::try_from(99_999), Err(UnknownResponse(99_999)));
    }

    #[test]
    fn a_code_cut_to_sixteen_bits_is_found_again() {
        for &code in RequestCode::ALL {
            assert_eq!(RequestCode::widen(code.number() as i16), code.number(), "{}", code.name());
        }
    }
}
