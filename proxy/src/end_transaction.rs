//! End transaction: a half message is committed or rolled back.

use crate::Proxy;
use crate::context::Context;
use crate::names;
use crate::status::{self, Refused};
use broker::{EndTransaction, HalfName, Resolution};
use proto::v2::{Code, EndTransactionRequest, EndTransactionResponse, TransactionResolution};
use service::ServiceExt;

/// Ends the half that was sent to the topic under the transaction's id, which is its message's.
///
/// Peer: `EndTransactionActivity` (RocketMQ 5.x), which remembers halves for 30 s and knows none after; here the
/// broker knows them as long as they wait.
pub(crate) async fn end_transaction(
    proxy: &Proxy,
    _: &Context,
    request: EndTransactionRequest,
) -> Result<EndTransactionResponse, Refused> {
    let topic = names::topic(request.topic.as_ref())?;
    if request.transaction_id.trim().is_empty() {
        return Err(Refused::new(Code::InvalidTransactionId, "transaction_id is blank"));
    }
    let resolution = match request.resolution() {
        TransactionResolution::Commit => Resolution::Commit,
        TransactionResolution::Rollback => Resolution::Rollback,
        TransactionResolution::Unspecified => Resolution::Unknown,
    };
    let half = HalfName::Key(topic, request.transaction_id);
    proxy.service.ask(EndTransaction { half, group: None, resolution }).await??;
    Ok(EndTransactionResponse { status: Some(status::ok()) })
}
