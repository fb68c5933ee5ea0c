//! Send: `SEND_MESSAGE` (10), `SEND_MESSAGE_V2` (310), `SEND_BATCH_MESSAGE` (320).

use crate::answer::{Answer, Answered, Refused};
use crate::caller::Caller;
use broker::{AutoCreate, Send, SendError, SendRefusal, Sent};
use model::{Message, QueueId, Timestamp, TopicName};
use wire::remoting::send::{self, DUPLICATE, Header, REGION, Spelling, TRACE_ON};
use wire::remoting::{Command, ResponseCode, batch};
use wire::{message_id, property};

/// The topic whose settings a new topic takes: naming it lets a send make its topic.
const TEMPLATE: &str = "TBW102";

/// Properties of a message at most: they are looked through one by one.
const PROPERTIES_MAX: usize = 1024;

/// Messages of a batch at most.
const BATCH_MAX: usize = 65_536;

/// Sends by a header spelled in words.
pub(crate) async fn send_v1(caller: &Caller, request: Command) -> Answer {
    send(caller, request, Spelling::V1).await
}

/// Sends by a header spelled in letters.
pub(crate) async fn send_v2(caller: &Caller, request: Command) -> Answer {
    send(caller, request, Spelling::V2).await
}

async fn send(caller: &Caller, request: Command, spelling: Spelling) -> Answer {
    let answer = store(caller, request, spelling).await.unwrap_or_else(Answer::from);
    signed(caller, answer)
}

/// The answer, telling of region and tracing: Java's producer looks for them in all, refusals too.
pub(crate) fn signed(caller: &Caller, mut answer: Answer) -> Answer {
    answer.ext.set(REGION, &caller.settings.region);
    answer.ext.set(TRACE_ON, caller.settings.trace_on);
    answer
}

async fn store(caller: &Caller, request: Command, spelling: Spelling) -> Answered {
    let header = Header::read(&request.ext, spelling)?;
    let send = wanted(caller, &header, request)?;
    let sent = caller.ask(send).await?.map_err(|error| refused(&error, header.batch))?;
    Ok(stored(caller, &sent, header.batch))
}

/// What a request asks the broker to store.
pub(crate) fn wanted(caller: &Caller, header: &Header, request: Command) -> Result<Send, Refused> {
    let topic = TopicName::new(&header.topic).map_err(Refused::name(ResponseCode::InvalidParameter))?;
    if header.batch && topic.is_retry() {
        return Err(Refused::new(ResponseCode::MessageIllegal, &format!("topic {topic} takes no batches")));
    }
    let settings = &caller.settings;
    let may_create = settings.auto_create_topics && header.default_topic == TEMPLATE;
    let wish = header.default_topic_queues.max(1).unsigned_abs();
    Ok(Send {
        topic,
        queue_id: u32::try_from(header.queue_id).ok().map(QueueId),
        messages: messages(caller, header, request)?,
        auto_create: may_create.then(|| AutoCreate { queues: wish.min(settings.default_topic_queues) }),
        check_kind: settings.check_kind,
        // As RocketMQ: it turns only the moments of gRPC into levels.
        as_level: false,
        batch: header.batch,
        max_reconsume_times: header.max_reconsume_times,
    })
}

fn messages(caller: &Caller, header: &Header, request: Command) -> Result<Vec<Message>, Refused> {
    let illegal = |error: &dyn std::error::Error| Refused::new(ResponseCode::MessageIllegal, &error);
    let message = |flag, body, properties: &[u8]| {
        let count = properties.split(|byte| *byte == 2).count();
        if count > PROPERTIES_MAX {
            let why = format!("the message has {count} properties, the limit is {PROPERTIES_MAX}");
            return Err(Refused::new(ResponseCode::MessageIllegal, &why));
        }
        let properties = property::decode(properties).map_err(|error| illegal(&error))?;
        Ok(Message {
            flag,
            sys_flag: header.sys_flag,
            born_at: Timestamp::from_millis(header.born_at),
            born_host: caller.address,
            reconsume_times: header.reconsume_times.unwrap_or(0),
            prepared_transaction_offset: 0,
            properties,
            body,
        })
    };
    if !header.batch {
        let properties = header.properties.as_deref().unwrap_or_default();
        return Ok(vec![message(header.flag, request.body, properties.as_bytes())?]);
    }
    // The header's own properties are the batch's, and go to none of its messages. Peer: `MessageDecoder#decodeMessages`.
    let items = batch::decode(request.body, BATCH_MAX).map_err(|error| illegal(&error))?;
    items.into_iter().map(|item| message(item.flag, item.body, &item.properties)).collect()
}

/// The answer that tells where messages are stored.
pub(crate) fn stored(caller: &Caller, sent: &[Sent], is_batch: bool) -> Answer {
    let first = sent.first().expect("what is stored is one message at least");
    let ids: Vec<String> =
        sent.iter().map(|sent| message_id::encode(caller.settings.store_host, sent.log_offset)).collect();
    let header = send::Answer {
        message_id: ids.join(","),
        queue_id: first.queue_id.0 as i32,
        queue_offset: first.queue_offset.0,
        transaction_id: (!is_batch).then(|| first.unique_key.clone()),
        recall_handle: first.recall_handle.clone(),
    };
    let mut answer = Answer::with_fields(|ext| header.write(ext));
    if first.duplicate {
        answer.ext.set(DUPLICATE, true);
    }
    Answer { remark: first.remark.clone(), ..answer }
}

/// Peer: `SendMessageProcessor#handlePutMessageResult` (RocketMQ 5.x). Producers try again on 1, 2, 14, 16
/// and 17, and give up on 13.
fn refused(error: &SendError, is_batch: bool) -> Refused {
    let code = match error.why {
        SendRefusal::TopicUnknown { .. } | SendRefusal::TooManyTopics { .. } => ResponseCode::TopicNotExist,
        SendRefusal::SystemTopic { .. } | SendRefusal::NotWritable { .. } => ResponseCode::NoPermission,
        SendRefusal::QueueUnknown { .. } => ResponseCode::InvalidParameter,
        SendRefusal::WrongKind { .. }
        | SendRefusal::EmptyBody
        | SendRefusal::BodyTooLarge { .. }
        | SendRefusal::PropertiesTooLarge { .. }
        | SendRefusal::DelayNotANumber { .. }
        | SendRefusal::TooFar { .. }
        | SendRefusal::DelayInBatch { .. }
        | SendRefusal::RecallIllegal
        | SendRefusal::UniqueKeyTooLong { .. }
        | SendRefusal::DedupKeyInBatch
        | SendRefusal::DedupKeyInTransaction
        | SendRefusal::DedupKeyLength { .. }
        | SendRefusal::TransactionInBatch => ResponseCode::MessageIllegal,
        SendRefusal::TimerDisabled
        | SendRefusal::DedupKeyUnreadable { .. }
        | SendRefusal::SecondUncounted { .. }
        | SendRefusal::TooManyPending { .. }
        | SendRefusal::TooManyPendingInSecond { .. }
        | SendRefusal::TooManyPendingOfTopic { .. } => ResponseCode::SystemError,
        SendRefusal::GroupUnknown { .. } => ResponseCode::SubscriptionGroupNotExist,
        SendRefusal::Busy { .. } => ResponseCode::SystemBusy,
        SendRefusal::Unavailable { .. } => ResponseCode::ServiceNotAvailable,
    };
    // Where there is only one message, its index tells nothing.
    if is_batch { Refused::new(code, &error) } else { Refused::new(code, &error.why) }
}
