//! Client config: `CHECK_CLIENT_CONFIG` (46), asked by a consumer that does not filter by tags, before it starts.

use crate::answer::{Answer, Answered};
use crate::heartbeat::filter;
use wire::remoting::client_config::CheckClientRequestBody;
use wire::remoting::{Command, json};

pub(crate) fn check(request: &Command) -> Answered {
    let body: CheckClientRequestBody = json::read(&request.body)?;
    filter(&body.subscription_data.expression_type, &body.subscription_data.sub_string)?;
    Ok(Answer::success())
}
