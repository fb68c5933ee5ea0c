//! How a call ended: the protocol's code for each refusal there is.
//!
//! No wildcard stands here: a refusal that is new to the broker does not compile until it has its code.
//! Peer: `ResponseBuilder` (RocketMQ 5.x), which answers most refusals of its broker with one internal error.

use broker::{
    AckError, CommitOffsetError, EndTransactionError, PopError, PullError, RecallError, RegisterError,
    SendBackError, SendRefusal,
};
use proto::v2::{self, Code};
use service::Unavailable;

/// Why a call, or an entry of one, is refused: its code, and in words what was wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) code: Code,
    pub(crate) text: String,
}

impl Refused {
    pub(crate) fn new(code: Code, text: impl Into<String>) -> Self {
        Self { code, text: text.into() }
    }
}

/// The status of what went well.
pub(crate) fn ok() -> v2::Status {
    v2::Status { code: Code::Ok.into(), message: "OK".to_owned() }
}

/// The status of a call whose entries have these: theirs where all have the same, else one that points to them.
pub(crate) fn of_entries<'a>(entries: impl IntoIterator<Item = Option<&'a v2::Status>>) -> v2::Status {
    let mut all = entries.into_iter().flatten();
    let Some(first) = all.next() else { return ok() };
    if all.all(|status| status.code == first.code) {
        return first.clone();
    }
    v2::Status { code: Code::MultipleResults.into(), message: "the entries ended differently".to_owned() }
}

impl From<Refused> for v2::Status {
    fn from(refused: Refused) -> Self {
        Self { code: refused.code.into(), message: refused.text }
    }
}

/// For streams that carry no status of their own: they end with gRPC's.
impl From<Refused> for tonic::Status {
    fn from(refused: Refused) -> Self {
        let code = refused.code as i32;
        let text = format!("{} ({code})", refused.text);
        match code {
            42_900 => Self::resource_exhausted(text),
            40_000..=49_999 => Self::invalid_argument(text),
            _ => Self::internal(text),
        }
    }
}

impl From<Unavailable> for Refused {
    fn from(error: Unavailable) -> Self {
        let code = match error {
            Unavailable::Busy => Code::TooManyRequests,
            Unavailable::Stopping => Code::InternalServerError,
        };
        Self::new(code, error.to_string())
    }
}

impl From<SendRefusal> for Refused {
    fn from(error: SendRefusal) -> Self {
        let code = match error {
            SendRefusal::TopicUnknown { .. } | SendRefusal::TooManyTopics { .. } => Code::TopicNotFound,
            SendRefusal::SystemTopic { .. } => Code::IllegalTopic,
            SendRefusal::NotWritable { .. } => Code::Forbidden,
            SendRefusal::QueueUnknown { .. }
            | SendRefusal::TransactionInBatch
            | SendRefusal::DedupKeyInBatch
            | SendRefusal::DedupKeyInTransaction
            | SendRefusal::DedupKeyLength { .. } => Code::BadRequest,
            SendRefusal::WrongKind { .. } => Code::MessagePropertyConflictWithType,
            SendRefusal::UniqueKeyTooLong { .. } => Code::IllegalMessageId,
            SendRefusal::EmptyBody => Code::MessageBodyEmpty,
            SendRefusal::BodyTooLarge { .. } => Code::MessageBodyTooLarge,
            SendRefusal::PropertiesTooLarge { .. } => Code::MessagePropertiesTooLarge,
            SendRefusal::DelayNotANumber { .. }
            | SendRefusal::TooFar { .. }
            | SendRefusal::RecallIllegal
            | SendRefusal::DelayInBatch { .. } => Code::IllegalDeliveryTime,
            SendRefusal::GroupUnknown { .. } => Code::ConsumerGroupNotFound,
            SendRefusal::TooManyPending { .. }
            | SendRefusal::TooManyPendingOfTopic { .. }
            | SendRefusal::TooManyPendingInSecond { .. }
            | SendRefusal::Busy { .. } => Code::TooManyRequests,
            // The client can do nothing about these; what it asked was right.
            SendRefusal::TimerDisabled
            | SendRefusal::DedupKeyUnreadable { .. }
            | SendRefusal::SecondUncounted { .. }
            | SendRefusal::Unavailable { .. } => Code::InternalServerError,
        };
        Self::new(code, error.to_string())
    }
}

impl From<PopError> for Refused {
    fn from(error: PopError) -> Self {
        let code = match error {
            PopError::GroupUnknown { .. } => Code::ConsumerGroupNotFound,
            PopError::GroupForbidden { .. }
            | PopError::TopicForbidden { .. }
            | PopError::NotReadable { .. } => Code::Forbidden,
            PopError::NamesTooLong(_) => Code::IllegalConsumerGroup,
            PopError::TopicUnknown { .. } => Code::TopicNotFound,
            PopError::QueueUnknown { .. } | PopError::TooMany { .. } => Code::BadRequest,
            PopError::InvisibleTooLong { .. } => Code::IllegalInvisibleTime,
            PopError::TooManyParked { .. } => Code::TooManyRequests,
            PopError::Unreadable { .. } | PopError::Unavailable { .. } => Code::InternalServerError,
        };
        Self::new(code, error.to_string())
    }
}

impl From<PullError> for Refused {
    fn from(error: PullError) -> Self {
        let code = match error {
            PullError::GroupUnknown { .. } => Code::ConsumerGroupNotFound,
            PullError::GroupForbidden { .. }
            | PullError::TopicForbidden { .. }
            | PullError::NotReadable { .. } => Code::Forbidden,
            PullError::TopicUnknown { .. } => Code::TopicNotFound,
            PullError::QueueUnknown { .. } => Code::BadRequest,
            PullError::TooManyParked { .. } => Code::TooManyRequests,
            // These are of pulls that leave the filter to the heartbeat, which none of this front's does.
            PullError::NotSubscribed { .. }
            | PullError::SubscriptionNotLatest { .. }
            | PullError::Unreadable { .. } => Code::InternalServerError,
        };
        Self::new(code, error.to_string())
    }
}

impl From<CommitOffsetError> for Refused {
    fn from(error: CommitOffsetError) -> Self {
        let code = match error {
            CommitOffsetError::TopicUnknown { .. } => Code::TopicNotFound,
            CommitOffsetError::QueueUnknown { .. } => Code::BadRequest,
            CommitOffsetError::GroupUnknown { .. } => Code::ConsumerGroupNotFound,
        };
        Self::new(code, error.to_string())
    }
}

impl From<AckError> for Refused {
    fn from(error: AckError) -> Self {
        let code = match error {
            // A client that is told so stops trying, which is right: the message comes again by itself.
            AckError::LeaseOver | AckError::OffsetUnknown { .. } | AckError::QueueUnknown { .. } => {
                Code::InvalidReceiptHandle
            }
            AckError::InvisibleTooLong { .. } => Code::IllegalInvisibleTime,
            AckError::TopicUnknown { .. } => Code::TopicNotFound,
            AckError::Unavailable { .. } => Code::InternalServerError,
        };
        Self::new(code, error.to_string())
    }
}

impl From<RecallError> for Refused {
    fn from(error: RecallError) -> Self {
        let code = match error {
            RecallError::TopicUnknown { .. } => Code::TopicNotFound,
            RecallError::WrongTopic { .. } | RecallError::WrongBroker { .. } => Code::BadRequest,
            RecallError::Unreadable { .. } | RecallError::Unavailable { .. } => Code::InternalServerError,
        };
        Self::new(code, error.to_string())
    }
}

impl From<EndTransactionError> for Refused {
    fn from(error: EndTransactionError) -> Self {
        let code = match error {
            EndTransactionError::HalfUnknown | EndTransactionError::WrongGroup { .. } => {
                Code::InvalidTransactionId
            }
            EndTransactionError::Unreadable { .. } | EndTransactionError::Unavailable { .. } => {
                Code::InternalServerError
            }
        };
        Self::new(code, error.to_string())
    }
}

impl From<SendBackError> for Refused {
    fn from(error: SendBackError) -> Self {
        let code = match error {
            SendBackError::GroupUnknown { .. } => Code::ConsumerGroupNotFound,
            SendBackError::MessageUnknown { .. } => Code::InvalidReceiptHandle,
            SendBackError::Unavailable { .. } => Code::InternalServerError,
        };
        Self::new(code, error.to_string())
    }
}

impl From<RegisterError> for Refused {
    fn from(error: RegisterError) -> Self {
        match error {
            RegisterError::ClientIdTooLong { .. } | RegisterError::TooMuch { .. } => {
                Self::new(Code::BadRequest, error.to_string())
            }
            RegisterError::Full { .. } => Self::new(Code::TooManyRequests, error.to_string()),
            RegisterError::Unavailable { .. } => Self::new(Code::InternalServerError, error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests;
