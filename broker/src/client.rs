//! Clients: who is connected, what each produces and consumes, and who must hear of changes.

use crate::filter::Filter;
use crate::members::Client;
use crate::transaction::Check;
use crate::{Broker, Reply, RequestId};
use model::{ClientId, ConnectionId, ConsumeFrom, ConsumeKind, GroupName, MessageModel, TopicName};
use std::collections::{BTreeMap, BTreeSet};

/// A client's heartbeat: all that it produces and consumes.
#[derive(Clone, Debug)]
pub struct Register {
    /// The connection it came by.
    pub connection: ConnectionId,
    /// The client.
    pub client: ClientId,
    /// Its language, as it says.
    pub language: String,
    /// Its version, as RocketMQ's ordinal or 0.
    pub version: i32,
    /// Its address, for tools.
    pub address: std::net::SocketAddr,
    /// The groups it produces for (gRPC: the topics).
    pub producers: Vec<String>,
    /// The groups it consumes for.
    pub consumers: Vec<Consumer>,
}

/// A member of a consumer group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consumer {
    /// The group.
    pub group: GroupName,
    /// How it gets messages.
    pub kind: ConsumeKind,
    /// Shared or all.
    pub model: MessageModel,
    /// Where it begins without offsets.
    pub from: ConsumeFrom,
    /// What it wants.
    pub subscriptions: Vec<Subscription>,
}

/// A topic that a consumer wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscription {
    /// The topic.
    pub topic: TopicName,
    /// Which messages.
    pub filter: Filter,
    /// The expression as the client wrote it.
    pub expression: String,
    /// The expression's version: greater is newer.
    pub version: i64,
}

/// Why a heartbeat was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegisterError {
    /// Ours, passing: the log cannot be written.
    #[error("the log cannot be written: {why}")]
    Unavailable {
        /// Why.
        why: String,
    },
}

/// A client leaves groups by itself.
#[derive(Clone, Debug)]
pub struct Unregister {
    /// The connection it came by.
    pub connection: ConnectionId,
    /// The client.
    pub client: ClientId,
    /// The group it no longer produces for.
    pub producer: Option<String>,
    /// The group it no longer consumes for.
    pub consumer: Option<GroupName>,
}

/// A connection is gone, and with it what was registered by it and the requests it waits for.
#[derive(Clone, Copy, Debug)]
pub struct Disconnect {
    /// Which.
    pub connection: ConnectionId,
}

/// A question for the members of a group.
#[derive(Clone, Debug)]
pub struct Consumers {
    /// The group.
    pub group: GroupName,
    /// The connection of the member that asks, where one does: it then lets go of what is no longer its own.
    pub member: Option<ConnectionId>,
}

/// Why there are no members to tell.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConsumersError {
    /// Nobody is there (1).
    #[error("no consumer for this group, {group}")]
    NoneOnline {
        /// The group.
        group: GroupName,
    },
}

/// Something a client must hear without having asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The members of a group, or what they want, have changed: rebalance.
    ConsumersChanged {
        /// The group.
        group: GroupName,
    },
    /// A half message waits for its producer's word.
    CheckTransaction(Box<Check>),
}

/// A member of a group, by the connection it came by.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) about: Client,
    pub(crate) kind: ConsumeKind,
    pub(crate) model: MessageModel,
    pub(crate) from: ConsumeFrom,
    pub(crate) subscriptions: Vec<Subscription>,
}

impl Member {
    /// The topics it wants. How it wants them is no matter of the others.
    fn topics(&self) -> BTreeSet<&TopicName> {
        self.subscriptions.iter().map(|subscription| &subscription.topic).collect()
    }
}

/// Who is connected. Nothing of it is kept over a restart: clients say it again.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    pub(crate) consumers: BTreeMap<GroupName, BTreeMap<ConnectionId, Member>>,
    pub(crate) producers: BTreeMap<String, BTreeMap<ConnectionId, Client>>,
    /// What each connection's producer is, by connection.
    producing: BTreeMap<ConnectionId, Producing>,
    /// The connections by which a client produces.
    by_id: BTreeSet<(ClientId, ConnectionId)>,
}

/// The producer at the end of a connection.
#[derive(Debug)]
struct Producing {
    client: ClientId,
    groups: BTreeSet<String>,
}

impl Clients {
    /// The newest subscription of a group to a topic.
    pub(crate) fn subscription(&self, group: &GroupName, topic: &TopicName) -> Option<&Subscription> {
        let members = self.consumers.get(group)?.values();
        members.flat_map(|m| &m.subscriptions).filter(|s| s.topic == *topic).max_by_key(|s| s.version)
    }

    /// The members of a group by name, in order; one that came by two connections once.
    pub(crate) fn ids(&self, group: &GroupName) -> Vec<ClientId> {
        let members = self.consumers.get(group).into_iter().flat_map(BTreeMap::values);
        let mut ids: Vec<ClientId> = members.map(|member| member.about.id.clone()).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// A producer of a group, another one each turn.
    pub(crate) fn producer(&self, group: &str, turn: u32) -> Option<ConnectionId> {
        let members = self.producers.get(group).filter(|members| !members.is_empty())?;
        members.keys().nth(turn as usize % members.len()).copied()
    }

    /// The connection by which a client produces: the newest, where there are several.
    pub(crate) fn producer_called(&self, client: &ClientId) -> Option<ConnectionId> {
        let all = (client.clone(), ConnectionId(0))..=(client.clone(), ConnectionId(u64::MAX));
        self.by_id.range(all).next_back().map(|(_, connection)| *connection)
    }

    /// Notes a producer of `groups`, besides those that the connection has named before.
    fn produce(&mut self, about: &Client, groups: Vec<String>) {
        if groups.is_empty() {
            return;
        }
        let known = self
            .producing
            .entry(about.connection)
            .or_insert_with(|| Producing { client: about.id.clone(), groups: BTreeSet::new() });
        if known.client != about.id {
            let was = std::mem::replace(&mut known.client, about.id.clone());
            self.by_id.remove(&(was, about.connection));
        }
        self.by_id.insert((about.id.clone(), about.connection));
        for group in groups {
            self.producers.entry(group.clone()).or_default().insert(about.connection, about.clone());
            known.groups.insert(group);
        }
    }

    /// Notes that the producer at the end of `connection` is none of `group` any more; of none at all where
    /// `group` is `None`.
    fn produce_no_more(&mut self, connection: ConnectionId, group: Option<&str>) {
        let Some(known) = self.producing.get_mut(&connection) else { return };
        let gone = match group {
            Some(group) => known.groups.take(group).into_iter().collect(),
            None => std::mem::take(&mut known.groups),
        };
        if known.groups.is_empty() {
            self.by_id.remove(&(known.client.clone(), connection));
            self.producing.remove(&connection);
        }
        for group in gone {
            let members = self.producers.get_mut(&group).expect("a producer is a member of its groups");
            members.remove(&connection);
            if members.is_empty() {
                self.producers.remove(&group);
            }
        }
    }

    /// The connections of a group's members.
    pub(crate) fn connections(&self, group: &GroupName) -> Vec<ConnectionId> {
        self.consumers.get(group).into_iter().flat_map(BTreeMap::keys).copied().collect()
    }

    /// Takes the member that came by `connection` out of `group`; gives it back, where there was one.
    fn leave(&mut self, group: &GroupName, connection: ConnectionId) -> Option<Member> {
        let members = self.consumers.get_mut(group)?;
        let left = members.remove(&connection);
        if members.is_empty() {
            self.consumers.remove(group);
        }
        left
    }
}

impl Broker {
    pub(crate) fn register(&mut self, id: RequestId, ask: Register) {
        let registered = match self.unwritable() {
            Some(why) => Err(RegisterError::Unavailable { why }),
            None => {
                self.registered(ask);
                Ok(())
            }
        };
        self.reply(id, Reply::Register(registered));
    }

    fn registered(&mut self, ask: Register) {
        let about = Client {
            connection: ask.connection,
            id: ask.client,
            language: ask.language,
            version: ask.version,
            address: ask.address,
            seen: self.now.wall,
        };
        self.clients.produce(&about, ask.producers);
        for consumer in ask.consumers {
            if self.group_or_make(&consumer.group).is_none() {
                continue;
            }
            let member = Member {
                about: about.clone(),
                kind: consumer.kind,
                model: consumer.model,
                from: consumer.from,
                subscriptions: consumer.subscriptions,
            };
            let members = self.clients.consumers.entry(consumer.group.clone()).or_default();
            let before = members.insert(ask.connection, member);
            let now = &members[&ask.connection];
            let changed = before.is_none_or(|b| b.about.id != now.about.id || b.topics() != now.topics());
            if changed && consumer.model == MessageModel::Clustering {
                self.members_changed(&consumer.group);
            }
        }
    }

    pub(crate) fn unregister(&mut self, id: RequestId, ask: &Unregister) {
        if let Some(group) = &ask.producer {
            self.clients.produce_no_more(ask.connection, Some(group));
        }
        if let Some(group) = &ask.consumer {
            self.leave(group, ask.connection);
        }
        self.reply(id, Reply::Unregister(()));
    }

    pub(crate) fn disconnect(&mut self, id: RequestId, ask: Disconnect) {
        self.clients.produce_no_more(ask.connection, None);
        let groups: Vec<GroupName> = self.clients.consumers.keys().cloned().collect();
        for group in groups {
            self.leave(&group, ask.connection);
        }
        self.reply(id, Reply::Disconnect(()));
    }

    fn leave(&mut self, group: &GroupName, connection: ConnectionId) {
        let Some(left) = self.clients.leave(group, connection) else {
            return;
        };
        self.handovers.left(group, connection);
        if left.model == MessageModel::Clustering {
            self.members_changed(group);
        }
    }

    pub(crate) fn consumers(&mut self, id: RequestId, ask: &Consumers) {
        if let Some(member) = ask.member {
            self.handovers.asked(&ask.group, member, self.now.monotonic);
        }
        let clients = self.clients.ids(&ask.group);
        let answer = match clients.is_empty() {
            true => Err(ConsumersError::NoneOnline { group: ask.group.clone() }),
            false => Ok(clients),
        };
        self.reply(id, Reply::Consumers(answer));
    }
}
