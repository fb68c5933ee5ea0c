//! Connections: who consumes (203) and produces (204, 328).

use crate::answer::{Answer, Answered, Refused};
use crate::caller::Caller;
use broker::{Client, Filter, GetMembers, GetProducers, Subscription};
use model::{ConsumeFrom, ConsumeKind, GroupName, MessageModel};
use wire::remoting::admin::{
    Connection, ConsumerConnection, OfConsumers, OfProducers, ProducerConnection, ProducerInfo, ProducerTable,
};
use wire::remoting::heartbeat::SubscriptionData;
use wire::remoting::{Command, ResponseCode, json};

pub(crate) async fn consumers(caller: &Caller, request: &Command) -> Answered {
    let header = OfConsumers::read(&request.ext)?;
    let members = match GroupName::new(&header.group) {
        Ok(group) => caller.ask(GetMembers { group }).await?,
        Err(_) => None,
    };
    let offline = || {
        let why = format!("the consumer group[{}] not online", header.group);
        Refused::new(ResponseCode::ConsumerNotOnline, &why)
    };
    let members = members.ok_or_else(offline)?;
    let body = ConsumerConnection {
        connection_set: members.clients.iter().map(connection).collect(),
        consume_from_where: match members.from {
            ConsumeFrom::Last => "CONSUME_FROM_LAST_OFFSET",
            ConsumeFrom::First => "CONSUME_FROM_FIRST_OFFSET",
            ConsumeFrom::Timestamp => "CONSUME_FROM_TIMESTAMP",
        }
        .to_owned(),
        consume_type: match members.kind {
            ConsumeKind::Pull => "CONSUME_ACTIVELY",
            ConsumeKind::Push => "CONSUME_PASSIVELY",
            ConsumeKind::Pop => "CONSUME_POP",
        }
        .to_owned(),
        message_model: match members.model {
            MessageModel::Clustering => "CLUSTERING",
            MessageModel::Broadcasting => "BROADCASTING",
        }
        .to_owned(),
        subscription_table: members
            .subscriptions
            .iter()
            .map(|subscription| (subscription.topic.to_string(), subscription_data(subscription)))
            .collect(),
    };
    Ok(Answer::with_body(json::write(&body)))
}

pub(crate) async fn producers(caller: &Caller, request: &Command) -> Answered {
    let header = OfProducers::read(&request.ext)?;
    let found = caller.ask(GetProducers { group: Some(header.group.clone()) }).await?;
    let Some(clients) = found.get(&header.group) else {
        let why = format!("the producer group[{}] not exist", header.group);
        return Err(Refused::new(ResponseCode::SystemError, &why));
    };
    let body = ProducerConnection { connection_set: clients.iter().map(connection).collect() };
    Ok(Answer::with_body(json::write(&body)))
}

pub(crate) async fn all_producers(caller: &Caller) -> Answered {
    let info = |client: &Client| ProducerInfo {
        client_id: client.id.to_string(),
        language: client.language.clone(),
        last_update_timestamp: client.seen.as_millis(),
        remote_ip: client.address.to_string(),
        version: client.version,
    };
    let all = caller.ask(GetProducers { group: None }).await?;
    let data = all.into_iter().map(|(group, clients)| (group, clients.iter().map(info).collect())).collect();
    Ok(Answer::with_body(json::write(&ProducerTable { data })))
}

fn connection(client: &Client) -> Connection {
    Connection {
        client_addr: client.address.to_string(),
        client_id: client.id.to_string(),
        language: client.language.clone(),
        version: client.version,
    }
}

/// A subscription as tools read it.
pub(super) fn subscription_data(subscription: &Subscription) -> SubscriptionData {
    let tags: Vec<String> = match &subscription.filter {
        Filter::Tags(tags) => tags.names().map(str::to_owned).collect(),
        Filter::All | Filter::Sql(_) => Vec::new(),
    };
    SubscriptionData {
        class_filter_mode: false,
        code_set: tags.iter().map(|tag| wire::tag::code(tag) as i32).collect(),
        expression_type: if matches!(subscription.filter, Filter::Sql(_)) { "SQL92" } else { "TAG" }
            .to_owned(),
        sub_string: subscription.expression.clone(),
        sub_version: subscription.version,
        tags_set: tags,
        topic: subscription.topic.to_string(),
    }
}
