//! Groups: 201, 207, 225, 343, 345, 353.

use super::connection::subscription_data;
use super::{topic::names, unnamed, version};
use crate::answer::{Answer, Answered, Refused};
use crate::caller::Caller;
use crate::group;
use broker::{
    DeleteGroup, DeleteGroupError, Forbid, ForbidError, GetForbidden, GetGroups, GetMembers, GetTopicsOf,
};
use model::{GroupName, TopicName};
use std::collections::BTreeMap;
use wire::remoting::admin::{
    AllGroups, DeleteGroup as DeleteHeader, FORBIDDEN_READ, GroupConfigs, GroupForbidden, OfGroup, Readable,
    SubscriptionOfGroup,
};
use wire::remoting::{Command, ResponseCode, json};

pub(crate) async fn create_all(caller: &Caller, request: &Command) -> Answered {
    let body: GroupConfigs = json::read(&request.body)?;
    let all = body.group_config_list.iter().map(group::group).collect::<Result<Vec<_>, _>>()?;
    for one in all {
        group::make(caller, one).await?;
    }
    Ok(Answer::success())
}

pub(crate) async fn configs(caller: &Caller) -> Answered {
    let groups = caller.ask(GetGroups).await?;
    let mut forbidden_table: BTreeMap<String, BTreeMap<String, i32>> = BTreeMap::new();
    for (group, topic) in caller.ask(GetForbidden).await? {
        forbidden_table.entry(group.to_string()).or_default().insert(topic.to_string(), FORBIDDEN_READ);
    }
    let body = AllGroups {
        data_version: version(),
        forbidden_table,
        subscription_group_table: groups
            .iter()
            .map(|one| (one.name.to_string(), group::config(one)))
            .collect(),
    };
    Ok(Answer::with_body(json::write(&body)))
}

/// Its offsets go in any case, whatever `cleanOffset` says: a group made again begins anew.
pub(crate) async fn delete(caller: &Caller, request: &Command) -> Answered {
    let header = DeleteHeader::read(&request.ext)?;
    let name = GroupName::new(&header.group).map_err(Refused::name(ResponseCode::InvalidParameter))?;
    match caller.ask(DeleteGroup { name }).await? {
        Ok(()) => {
            tracing::info!(group = header.group, "group deleted");
            Ok(Answer::success())
        }
        Err(error @ DeleteGroupError::Unavailable { .. }) => {
            Err(Refused::new(ResponseCode::ServiceNotAvailable, &error))
        }
    }
}

pub(crate) async fn topics_of(caller: &Caller, request: &Command) -> Answered {
    let header = OfGroup::read(&request.ext)?;
    let topics = match GroupName::new(&header.group) {
        Ok(group) => caller.ask(GetTopicsOf { group }).await?,
        Err(_) => Vec::new(),
    };
    let topics = topics.iter().map(ToString::to_string).collect();
    Ok(names(topics, Some(caller.settings.route_host.to_string())))
}

pub(crate) async fn subscription(caller: &Caller, request: &Command) -> Answered {
    let header = OfGroup::read(&request.ext)?;
    let topic = header.topic.unwrap_or_default();
    let group = GroupName::new(&header.group).map_err(|error| unnamed(ResponseCode::SystemError, &error))?;
    let members = caller.ask(GetMembers { group }).await?;
    let wanted = members.into_iter().flat_map(|members| members.subscriptions);
    let wanted = wanted.into_iter().find(|subscription| subscription.topic.as_str() == topic);
    let subscription_data = wanted.as_ref().map(subscription_data);
    let body = SubscriptionOfGroup { group: header.group, subscription_data, topic };
    Ok(Answer::with_body(json::write(&body)))
}

pub(crate) async fn forbid(caller: &Caller, request: &Command) -> Answered {
    let header = Readable::read(&request.ext)?;
    let ask = Forbid {
        group: GroupName::new(&header.group)
            .map_err(Refused::name(ResponseCode::SubscriptionGroupNotExist))?,
        topic: TopicName::new(&header.topic).map_err(Refused::name(ResponseCode::TopicNotExist))?,
        forbidden: header.readable.map(|readable| !readable.eq_ignore_ascii_case("true")),
    };
    match caller.ask(ask).await? {
        Ok(forbidden) => {
            let body = GroupForbidden { group: header.group, readable: !forbidden, topic: header.topic };
            Ok(Answer::with_body(json::write(&body)))
        }
        Err(error) => {
            let code = match error {
                ForbidError::TopicUnknown { .. } => ResponseCode::TopicNotExist,
                ForbidError::GroupUnknown { .. } => ResponseCode::SubscriptionGroupNotExist,
                ForbidError::Unavailable { .. } => ResponseCode::ServiceNotAvailable,
            };
            Err(Refused::new(code, &error))
        }
    }
}
