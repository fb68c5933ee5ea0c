//! Members: who is connected, as tools want to know it.

use crate::{Broker, Reply, RequestId, Subscription};
use model::{
    ClientId, ConnectionId, ConsumeFrom, ConsumeKind, GroupName, MessageModel, Timestamp, TopicName,
};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// A connected client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// The connection it came by.
    pub connection: ConnectionId,
    /// Its own name.
    pub id: ClientId,
    /// Its language, as it says.
    pub language: String,
    /// Its version, as RocketMQ's ordinal or 0.
    pub version: i32,
    /// Its address.
    pub address: SocketAddr,
    /// When it was last heard of.
    pub seen: Timestamp,
}

/// A question for the members of a consumer group, and what they want.
#[derive(Clone, Debug)]
pub struct GetMembers {
    /// The group.
    pub group: GroupName,
}

/// A consumer group as its members say it is.
#[derive(Clone, Debug)]
pub struct Members {
    /// They.
    pub clients: Vec<Client>,
    /// How they get messages.
    pub kind: ConsumeKind,
    /// Shared or all.
    pub model: MessageModel,
    /// Where they begin without offsets.
    pub from: ConsumeFrom,
    /// What they want: of each topic the newest subscription.
    pub subscriptions: Vec<Subscription>,
}

/// A question for connected producers.
#[derive(Clone, Debug)]
pub struct GetProducers {
    /// Of one group; `None` for all.
    pub group: Option<String>,
}

/// A question for where the reply to a client's request goes.
#[derive(Clone, Debug)]
pub struct FindRequester {
    /// The client, as its heartbeats call it.
    pub client: ClientId,
}

/// A client that may be waiting for a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requester {
    /// The connection by which it produces.
    pub connection: ConnectionId,
    /// The time by the broker's clock.
    pub now: Timestamp,
}

impl Broker {
    pub(crate) fn find_requester(&mut self, id: RequestId, ask: &FindRequester) {
        let connection = self.clients.producer_called(&ask.client);
        let found = connection.map(|connection| Requester { connection, now: self.now.wall });
        self.reply_now(id, Reply::FindRequester(found));
    }

    pub(crate) fn get_members(&mut self, id: RequestId, ask: &GetMembers) {
        let members = self.clients.members(&ask.group);
        self.reply(id, Reply::GetMembers(members));
    }

    pub(crate) fn get_producers(&mut self, id: RequestId, ask: &GetProducers) {
        let all = &self.clients.producers;
        let wanted = all.iter().filter(|(group, _)| ask.group.as_ref().is_none_or(|asked| asked == *group));
        let producers: BTreeMap<String, Vec<Client>> =
            wanted.map(|(group, members)| (group.clone(), members.values().cloned().collect())).collect();
        self.reply(id, Reply::GetProducers(producers));
    }
}

impl crate::client::Clients {
    /// A group's members; `None` where nobody is there.
    pub(crate) fn members(&self, group: &GroupName) -> Option<Members> {
        let members = self.consumers.get(group)?;
        let newest = members.values().max_by_key(|member| member.about.seen)?;
        let mut subscriptions: BTreeMap<&TopicName, &Subscription> = BTreeMap::new();
        for subscription in members.values().flat_map(|member| &member.subscriptions) {
            let known = subscriptions.entry(&subscription.topic).or_insert(subscription);
            if subscription.version > known.version {
                *known = subscription;
            }
        }
        Some(Members {
            kind: newest.kind,
            model: newest.model,
            from: newest.from,
            subscriptions: subscriptions.into_values().cloned().collect(),
            clients: members.values().map(|member| member.about.clone()).collect(),
        })
    }

    /// The groups that have members who want a topic.
    pub(crate) fn groups_wanting<'a>(&'a self, topic: &'a TopicName) -> impl Iterator<Item = &'a GroupName> {
        let wants = move |members: &BTreeMap<ConnectionId, crate::client::Member>| {
            members.values().flat_map(|member| &member.subscriptions).any(|s| s.topic == *topic)
        };
        self.consumers.iter().filter(move |(_, members)| wants(members)).map(|(group, _)| group)
    }
}
