//! Clients: who is connected, what each produces and consumes, and who must hear of changes.

use crate::config::CLIENT_ID_MAX;
use crate::filter::Filter;
use crate::members::Client;
use crate::transaction::Check;
use crate::{Broker, Config, Reply, RequestId};
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

/// Why a heartbeat was not taken: nothing of it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegisterError {
    /// The caller's: its own name is too long to be kept.
    #[error("the client's id has {length} bytes, the limit is {limit}")]
    ClientIdTooLong {
        /// Its bytes.
        length: usize,
        /// The limit.
        limit: usize,
    },
    /// The caller's: it has named too much, with what came before by its connection.
    #[error("the groups and subscriptions of this connection have {bytes} bytes, the limit is {limit}")]
    TooMuch {
        /// About, with what each fills beside its letters.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// Ours, passing: all clients together have named too much.
    #[error("the groups and subscriptions of all connections have {bytes} bytes, the limit is {limit}")]
    Full {
        /// About, with this heartbeat.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
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
    /// The same by connection.
    said: BTreeMap<ConnectionId, Said>,
    /// The connections by which a client produces.
    by_id: BTreeSet<(ClientId, ConnectionId)>,
    /// Bytes of all that was said, about.
    bytes: usize,
}

/// What was said by one connection.
#[derive(Debug)]
struct Said {
    client: ClientId,
    producers: BTreeSet<String>,
    /// The groups consumed for, and the bytes of each.
    consumers: BTreeMap<GroupName, usize>,
    bytes: usize,
}

/// What a group or subscription fills beside its letters, about.
const ENTRY_BYTES: usize = 256;

impl Consumer {
    /// Bytes that it fills, about.
    fn bytes(&self) -> usize {
        let one =
            |s: &Subscription| ENTRY_BYTES + s.topic.as_str().len() + s.expression.len() + s.filter.bytes();
        ENTRY_BYTES + self.group.as_str().len() + self.subscriptions.iter().map(one).sum::<usize>()
    }
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

    /// Takes note of what a heartbeat says, besides what its connection has said before; of all of it, or of nothing.
    fn say(&mut self, ask: &Register, config: &Config) -> Result<(), RegisterError> {
        let (length, limit) = (ask.client.0.len(), CLIENT_ID_MAX);
        if length > limit {
            return Err(RegisterError::ClientIdTooLong { length, limit });
        }
        let known = self.said.get(&ask.connection);
        let (mut more, mut less) = (0, 0);
        let producers: BTreeSet<&String> = ask.producers.iter().collect();
        for producer in producers {
            if known.is_none_or(|said| !said.producers.contains(producer)) {
                more += ENTRY_BYTES + producer.len();
            }
        }
        let consumers: BTreeMap<&GroupName, usize> =
            ask.consumers.iter().map(|consumer| (&consumer.group, consumer.bytes())).collect();
        for (group, bytes) in &consumers {
            more += bytes;
            less += known.and_then(|said| said.consumers.get(*group)).unwrap_or(&0);
        }
        let (bytes, limit) = (known.map_or(0, |said| said.bytes) + more - less, config.client_bytes_max);
        if more > less && bytes > limit {
            return Err(RegisterError::TooMuch { bytes, limit });
        }
        let (all, limit) = (self.bytes + more - less, config.clients_bytes_max);
        if more > less && all > limit {
            return Err(RegisterError::Full { bytes: all, limit });
        }
        self.bytes = all;
        let said = self.said.entry(ask.connection).or_insert_with(|| Said {
            client: ask.client.clone(),
            producers: BTreeSet::new(),
            consumers: BTreeMap::new(),
            bytes: 0,
        });
        said.bytes = bytes;
        said.producers.extend(ask.producers.iter().cloned());
        said.consumers.extend(consumers.into_iter().map(|(group, bytes)| (group.clone(), bytes)));
        if said.client != ask.client {
            let was = std::mem::replace(&mut said.client, ask.client.clone());
            self.by_id.remove(&(was, ask.connection));
        }
        if !said.producers.is_empty() {
            self.by_id.insert((ask.client.clone(), ask.connection));
        }
        Ok(())
    }

    /// Forgets that a connection produces for a group.
    fn produce_no_more(&mut self, connection: ConnectionId, group: &str) {
        let Some(said) = self.said.get_mut(&connection) else { return };
        if !said.producers.remove(group) {
            return;
        }
        said.bytes -= ENTRY_BYTES + group.len();
        self.bytes -= ENTRY_BYTES + group.len();
        if said.producers.is_empty() {
            self.by_id.remove(&(said.client.clone(), connection));
        }
        let members = self.producers.get_mut(group).expect("a producer is a member of its groups");
        members.remove(&connection);
        if members.is_empty() {
            self.producers.remove(group);
        }
    }

    /// Forgets what a connection has said, but not yet its membership of the groups that it consumes for: gives
    /// these.
    fn forget(&mut self, connection: ConnectionId) -> Vec<GroupName> {
        let Some(said) = self.said.get(&connection) else { return Vec::new() };
        let producers: Vec<String> = said.producers.iter().cloned().collect();
        for group in producers {
            self.produce_no_more(connection, &group);
        }
        let said = self.said.remove(&connection).expect("it was there");
        self.bytes -= said.bytes;
        said.consumers.into_keys().collect()
    }

    /// The connections of a group's members.
    pub(crate) fn connections(&self, group: &GroupName) -> Vec<ConnectionId> {
        self.consumers.get(group).into_iter().flat_map(BTreeMap::keys).copied().collect()
    }

    /// Takes the member that came by `connection` out of `group`; gives it back, where there was one.
    fn leave(&mut self, group: &GroupName, connection: ConnectionId) -> Option<Member> {
        if let Some(said) = self.said.get_mut(&connection)
            && let Some(bytes) = said.consumers.remove(group)
        {
            said.bytes -= bytes;
            self.bytes -= bytes;
        }
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
            None => self.registered(ask),
        };
        self.reply(id, Reply::Register(registered));
    }

    fn registered(&mut self, ask: Register) -> Result<(), RegisterError> {
        self.clients.say(&ask, &self.config)?;
        let about = Client {
            connection: ask.connection,
            id: ask.client,
            language: ask.language,
            version: ask.version,
            address: ask.address,
            seen: self.now.wall,
        };
        for producer in ask.producers {
            self.clients.producers.entry(producer).or_default().insert(ask.connection, about.clone());
        }
        for consumer in ask.consumers {
            if self.group_or_make(&consumer.group).is_err() {
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
        Ok(())
    }

    pub(crate) fn unregister(&mut self, id: RequestId, ask: &Unregister) {
        if let Some(group) = &ask.producer {
            self.clients.produce_no_more(ask.connection, group);
        }
        if let Some(group) = &ask.consumer {
            self.leave(group, ask.connection);
        }
        self.reply(id, Reply::Unregister(()));
    }

    pub(crate) fn disconnect(&mut self, id: RequestId, ask: Disconnect) {
        for group in self.clients.forget(ask.connection) {
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
