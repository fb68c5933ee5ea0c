//! Names in a call: topics, groups, and how the client reaches us.

use crate::accepted::Ends;
use crate::settings::{Host, Settings};
use crate::status::Refused;
use model::{GroupName, TopicName, is_system_topic};
use proto::v2::{self, AddressScheme, Code};
use std::net::IpAddr;

/// Groups that begin so are RocketMQ's own.
const SYSTEM_GROUP_PREFIX: &str = "CID_RMQ_SYS_";

/// A namespace is echoed with every queue of an answer, so it has a limit. Bytes.
const NAMESPACE_MAX: usize = 255;

/// So are the client's own addresses.
const ADDRESSES_MAX: usize = 64;
const HOST_MAX: usize = 255;

/// The topic that `resource` names. Its namespace means nothing to us; clients get it back.
pub(crate) fn topic(resource: Option<&v2::Resource>) -> Result<TopicName, Refused> {
    let illegal = |text: String| Refused::new(Code::IllegalTopic, text);
    let resource = resource.ok_or_else(|| illegal("the topic is missing".to_owned()))?;
    namespace(resource).map_err(illegal)?;
    let name = TopicName::new(&resource.name).map_err(|error| illegal(error.to_string()))?;
    if is_system_topic(name.as_str()) {
        return Err(illegal(format!("topic {name} belongs to the server, clients may not use it")));
    }
    Ok(name)
}

/// The group that `resource` names.
pub(crate) fn group(resource: Option<&v2::Resource>) -> Result<GroupName, Refused> {
    let illegal = |text: String| Refused::new(Code::IllegalConsumerGroup, text);
    let resource = resource.ok_or_else(|| illegal("the group is missing".to_owned()))?;
    namespace(resource).map_err(illegal)?;
    let name = GroupName::new(&resource.name).map_err(|error| illegal(error.to_string()))?;
    if name.as_str().starts_with(SYSTEM_GROUP_PREFIX) {
        return Err(illegal(format!("group {name} belongs to the server, clients may not use it")));
    }
    Ok(name)
}

fn namespace(resource: &v2::Resource) -> Result<(), String> {
    let length = resource.resource_namespace.len();
    if length > NAMESPACE_MAX {
        return Err(format!("the resource_namespace has {length} bytes, the limit is {NAMESPACE_MAX}"));
    }
    Ok(())
}

/// How a client shall reach us: as it says that it does; else as the operator advertises; else as its
/// connection did. The first is known to work for it, whatever lies between.
pub(crate) fn endpoints(
    asked: Option<v2::Endpoints>,
    settings: &Settings,
    ends: Ends,
) -> Result<v2::Endpoints, Refused> {
    let Some(asked) = asked.filter(|e| e.scheme() != AddressScheme::Unspecified && !e.addresses.is_empty())
    else {
        let own = Host { name: ends.local.ip().to_canonical().to_string(), port: ends.local.port() };
        return Ok(endpoint(settings.advertised.as_ref().unwrap_or(&own)));
    };
    let count = asked.addresses.len();
    if count > ADDRESSES_MAX || asked.addresses.iter().any(|address| address.host.len() > HOST_MAX) {
        return Err(Refused::new(
            Code::IllegalAccessPoint,
            format!(
                "the endpoints have {count} addresses, the limit is {ADDRESSES_MAX}, of {HOST_MAX} bytes each"
            ),
        ));
    }
    Ok(asked)
}

fn endpoint(host: &Host) -> v2::Endpoints {
    let scheme = match host.name.parse() {
        Ok(IpAddr::V4(_)) => AddressScheme::IPv4,
        Ok(IpAddr::V6(_)) => AddressScheme::IPv6,
        Err(_) => AddressScheme::DomainName,
    };
    v2::Endpoints {
        scheme: scheme.into(),
        addresses: vec![v2::Address { host: host.name.clone(), port: host.port.into() }],
    }
}

#[cfg(test)]
mod tests;
