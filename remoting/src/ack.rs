//! Ack: `ACK_MESSAGE` (200051), `BATCH_ACK_MESSAGE` (200151), `CHANGE_MESSAGE_INVISIBLETIME` (200053).

use crate::answer::{Answer, Answered, Refused};
use crate::caller::Caller;
use crate::pop::{invisible, names};
use broker::{Ack, AckError, ChangeInvisible};
use wire::ReceiptHandle;
use wire::receipt_handle::{ReceiptHandleError, Retry};
use wire::remoting::ack::{self, Batch, BatchAck, Header};
use wire::remoting::{Command, ResponseCode, json};

/// Messages acked by one request, at most.
const BATCH_MAX: usize = 4096;

pub(crate) async fn ack(caller: &Caller, request: &Command) -> Answered {
    let header = Header::read(&request.ext)?;
    let (group, topic) = names(&header.group, &header.topic)?;
    let handle = handle(&header.handle, header.queue_id, header.queue_offset)?;
    for acked in caller.ask(Ack { group, topic, handles: vec![handle] }).await? {
        acked.map_err(|error| Refused::new(code_of(&error), &error))?;
    }
    Ok(Answer::success())
}

/// The handle in a header, of the message that the header names besides.
fn handle(text: &str, queue_id: i32, queue_offset: i64) -> Result<ReceiptHandle, Refused> {
    let illegal = |why: &dyn std::error::Error| Refused::new(ResponseCode::MessageIllegal, &why);
    let handle: ReceiptHandle = text.parse().map_err(|error: ReceiptHandleError| illegal(&error))?;
    let queue_id = u32::try_from(queue_id).map_err(|_| illegal_queue(queue_id))?;
    Ok(ReceiptHandle { queue_id, queue_offset, ..handle })
}

fn illegal_queue(queue_id: i32) -> Refused {
    Refused::new(ResponseCode::MessageIllegal, &format!("queueId[{queue_id}] is illegal"))
}

/// All that is named is checked before anything is acked. Acked in part is acked, and the remark tells how many
/// were not.
pub(crate) async fn batch_ack(caller: &Caller, request: &Command) -> Answered {
    let body: Batch = if request.body.is_empty() { Batch::default() } else { json::read(&request.body)? };
    let mut left = BATCH_MAX;
    let asks = body.acks.iter().map(|ack| asked(ack, &body.broker_name, &mut left));
    let asks = asks.collect::<Result<Vec<Ack>, Refused>>()?;
    let (mut acked, mut refused) = (0_usize, Vec::new());
    for ask in asks.into_iter().filter(|ask| !ask.handles.is_empty()) {
        for one in caller.ask(ask).await? {
            match one {
                Ok(()) => acked += 1,
                Err(error) => refused.push(error),
            }
        }
    }
    match refused.first() {
        None if acked == 0 => Err(Refused::new(ResponseCode::NoMessage, &"the batch names no message")),
        None => Ok(Answer::success()),
        Some(first) if acked == 0 => Err(Refused::new(code_of(first), first)),
        Some(first) => {
            let remark = format!("{} of {} were not acked: {first}", refused.len(), refused.len() + acked);
            Ok(Answer { remark: Some(remark), ..Answer::success() })
        }
    }
}

fn asked(ack: &BatchAck, broker: &str, left: &mut usize) -> Result<Ack, Refused> {
    let illegal = |why: &dyn ToString| Refused::new(ResponseCode::MessageIllegal, &why.to_string());
    let (group, topic) = names(&ack.group, &ack.topic)?;
    let queue_id = u32::try_from(ack.queue_id).map_err(|_| illegal_queue(ack.queue_id))?;
    let retry = Retry::parse(&ack.retry)
        .ok_or_else(|| illegal(&format!("the field r of a batch ack is {:?}, not 0, 1 or 2", ack.retry)))?;
    let offsets = ack.offsets(*left).map_err(|error| illegal(&error))?;
    *left -= offsets.len();
    let handles = offsets.into_iter().map(|queue_offset| ReceiptHandle {
        start_offset: ack.start_offset,
        pop_time: ack.pop_time,
        invisible_ms: ack.invisible_ms,
        revive_queue: ack.revive_queue,
        retry,
        broker: broker.to_owned(),
        queue_id,
        queue_offset,
        log_offset: None,
    });
    Ok(Ack { group, topic, handles: handles.collect() })
}

pub(crate) async fn change_invisible(caller: &Caller, request: &Command) -> Answered {
    let header = ack::Change::read(&request.ext)?;
    let (group, topic) = names(&header.group, &header.topic)?;
    let handle = handle(&header.handle, header.queue_id, header.queue_offset)?;
    let invisible = invisible(header.invisible_ms)?;
    let (mut answer, fields) = match caller.ask(ChangeInvisible { group, topic, handle, invisible }).await? {
        Ok(handle) => {
            let ReceiptHandle { pop_time, invisible_ms, revive_queue, .. } = handle;
            (Answer::success(), ack::ChangeAnswer { pop_time, invisible_ms, revive_queue })
        }
        // Clients read the fields before the code.
        Err(error) => (Refused::new(code_of(&error), &error).into(), ack::ChangeAnswer::default()),
    };
    fields.write(&mut answer.ext);
    Ok(answer)
}

/// Peer: `AckMessageProcessor`, `ChangeInvisibleTimeProcessor` (RocketMQ 5.x), which tell nobody that a lease was
/// over.
fn code_of(error: &AckError) -> ResponseCode {
    match error {
        AckError::LeaseOver | AckError::OffsetUnknown { .. } => ResponseCode::NoMessage,
        AckError::QueueUnknown { .. } => ResponseCode::MessageIllegal,
        AckError::InvisibleTooLong { .. } => ResponseCode::InvalidParameter,
        AckError::TopicUnknown { .. } => ResponseCode::TopicNotExist,
        AckError::Unavailable { .. } => ResponseCode::ServiceNotAvailable,
    }
}
