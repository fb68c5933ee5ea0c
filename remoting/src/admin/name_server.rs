//! The name server: values (100, 101, 102, 219), brokers out of use (205, 327), settings (318, 319).

use super::broker::{process, properties};
use crate::answer::{Answer, Answered, Refused};
use crate::caller::Caller;
use broker::{GetValues, PutValue, PutValueError};
use wire::remoting::admin::{Namespace, OfBroker, Table, Value, read_properties};
use wire::remoting::{Command, ResponseCode, json};

pub(crate) async fn put(caller: &Caller, request: &Command) -> Answered {
    let Value { namespace, key, value } = Value::read(&request.ext)?;
    change(caller, PutValue { namespace, key, value: Some(value.unwrap_or_default()) }).await
}

pub(crate) async fn delete(caller: &Caller, request: &Command) -> Answered {
    let Value { namespace, key, .. } = Value::read(&request.ext)?;
    change(caller, PutValue { namespace, key, value: None }).await
}

async fn change(caller: &Caller, ask: PutValue) -> Answered {
    match caller.ask(ask).await? {
        Ok(()) => Ok(Answer::success()),
        Err(error) => {
            let code = match error {
                PutValueError::Length { .. } => ResponseCode::InvalidParameter,
                PutValueError::TooMany { .. } => ResponseCode::SystemError,
                PutValueError::Unavailable { .. } => ResponseCode::ServiceNotAvailable,
            };
            Err(Refused::new(code, &error))
        }
    }
}

pub(crate) async fn get(caller: &Caller, request: &Command) -> Answered {
    let header = Value::read(&request.ext)?;
    let values = caller.ask(GetValues { namespace: header.namespace.clone() }).await?;
    match values.get(&header.key) {
        Some(value) => Ok(Answer::with_fields(|ext| ext.set("value", value))),
        None => {
            let why = format!("No config item, Namespace: {} Key: {}", header.namespace, header.key);
            Err(Refused::new(ResponseCode::QueryNotFound, &why))
        }
    }
}

pub(crate) async fn list(caller: &Caller, request: &Command) -> Answered {
    let header = Namespace::read(&request.ext)?;
    let table = caller.ask(GetValues { namespace: header.namespace.clone() }).await?;
    if table.is_empty() {
        let why = format!("No config item, Namespace: {}", header.namespace);
        return Err(Refused::new(ResponseCode::QueryNotFound, &why));
    }
    Ok(Answer::with_body(json::write(&Table { table })))
}

pub(crate) async fn set_writable(caller: &Caller, request: &Command, writable: bool) -> Answered {
    let header = OfBroker::read(&request.ext)?;
    let topics = caller.service.set_writable(header.broker.clone(), writable).await?;
    tracing::info!(broker = header.broker, writable, topics, "producers are told whether to use a broker");
    let field = if writable { "addTopicCount" } else { "wipeTopicCount" };
    Ok(Answer::with_fields(|ext| ext.set(field, topics)))
}

pub(crate) fn config(caller: &Caller) -> Answered {
    Ok(Answer::with_body(properties(&process(caller)?.name_server_settings())))
}

/// None of the name server's settings can be changed while it runs.
pub(crate) fn configure(caller: &Caller, request: &Command) -> Answered {
    let known = process(caller)?.name_server_settings();
    let changes = read_properties(&String::from_utf8_lossy(&request.body));
    match changes.iter().find(|(name, value)| !known.iter().any(|(n, v)| n == name && v == value)) {
        None => Ok(Answer::success()),
        Some((name, _)) if known.iter().any(|(known, _)| known == name) => {
            let why = format!("setting {name} cannot be changed while the server runs");
            Err(Refused::new(ResponseCode::NoPermission, &why))
        }
        Some((name, _)) => {
            Err(Refused::new(ResponseCode::InvalidParameter, &format!("there is no setting {name:?}")))
        }
    }
}
