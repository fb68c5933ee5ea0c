//! End transaction: a half message is committed or rolled back.

use crate::Proxy;
use crate::context::Context;
use crate::names;
use crate::status::Refused;
use proto::v2::{Code, EndTransactionRequest, EndTransactionResponse};

/// The broker takes no transactional messages yet, and the answer says so.
pub(crate) async fn end_transaction(
    _: &Proxy,
    _: &Context,
    request: EndTransactionRequest,
) -> Result<EndTransactionResponse, Refused> {
    names::topic(request.topic.as_ref())?;
    Err(Refused::new(Code::NotImplemented, "transactional messages are not supported yet"))
}
