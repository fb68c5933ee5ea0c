//! Recall: a delayed message is called back.

use crate::Proxy;
use crate::context::Context;
use crate::names;
use crate::status::Refused;
use proto::v2::{Code, RecallMessageRequest, RecallMessageResponse};

/// The broker has no such verb yet, and the answer says so.
pub(crate) async fn recall(
    _: &Proxy,
    _: &Context,
    request: RecallMessageRequest,
) -> Result<RecallMessageResponse, Refused> {
    names::topic(request.topic.as_ref())?;
    Err(Refused::new(Code::NotImplemented, "recalling a message is not supported yet"))
}
