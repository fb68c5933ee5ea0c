//! Client config: `CHECK_CLIENT_CONFIG` (46), asked by a consumer that does not filter by tags, before it starts.

use crate::answer::{Answer, Answered, Refused};
use crate::heartbeat::is_tag_expression;
use crate::pull::unsupported;
use wire::remoting::client_config::CheckClientRequestBody;
use wire::remoting::{Command, ResponseCode, json};

pub(crate) fn check(request: &Command) -> Answered {
    let body: CheckClientRequestBody = json::read(&request.body)?;
    let kind = &body.subscription_data.expression_type;
    if is_tag_expression(kind) {
        Ok(Answer::success())
    } else {
        Err(Refused::new(ResponseCode::SystemError, &unsupported(kind)))
    }
}
