//! Recall: a delayed message is called back.

use crate::Proxy;
use crate::context::Context;
use crate::names;
use crate::status::{self, Refused};
use broker::{GetTopic, Recall, Recalled};
use model::TopicKind;
use proto::v2::{Code, RecallMessageRequest, RecallMessageResponse};
use service::ServiceExt;
use wire::recall_handle::RecallHandle;

/// Calls back, and says what became of the message. Peer: `RecallMessageActivity` (RocketMQ 5.x), which cannot
/// tell, and answers what was too late with an internal error.
pub(crate) async fn recall(
    proxy: &Proxy,
    _: &Context,
    request: RecallMessageRequest,
) -> Result<RecallMessageResponse, Refused> {
    let topic = names::topic(request.topic.as_ref())?;
    let handle = RecallHandle::decode(&request.recall_handle)
        .map_err(|error| Refused::new(Code::BadRequest, format!("recall handle is invalid: {error}")))?;
    let found = proxy.service.ask(GetTopic { name: topic.clone() }).await?;
    let kind = found.map(|topic| topic.kind).filter(|_| proxy.settings.check_kind);
    if let Some(kind) = kind.filter(|kind| !matches!(kind, TopicKind::Delay | TopicKind::Mixed)) {
        let text = format!("topic {topic} takes {} messages, which cannot be recalled", kind.as_str());
        return Err(Refused::new(Code::MessagePropertyConflictWithType, text));
    }
    let id = handle.unique_key.clone();
    match proxy.service.ask(Recall { topic, handle }).await?? {
        Recalled::Recalled => Ok(RecallMessageResponse { status: Some(status::ok()), message_id: id }),
        Recalled::TooLate => {
            let text = format!("message {id} was delivered already, or its moment has passed");
            Err(Refused::new(Code::IllegalDeliveryTime, text))
        }
        Recalled::Unknown => {
            Err(Refused::new(Code::MessageNotFound, format!("no message {id} waits for its moment")))
        }
    }
}
