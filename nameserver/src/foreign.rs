//! Foreign brokers: they register, are heard of, and leave.
//!
//! A broker is a name with members, each with an id (0 for the master) and an address. Members live by being heard
//! of: a registration, a question for the version of their topics, a heartbeat. What they serve is told a part at a
//! time as well as whole, so what a registration leaves out stays as it was. Peer: `RouteInfoManager` (RocketMQ 5.x).

use crate::route::{BrokerData, BrokerName, NameServer, Queues};
use model::{ConnectionId, Monotonic, TopicName};
use std::collections::BTreeMap;
use std::time::Duration;

/// Members of foreign brokers at most.
const MEMBERS_MAX: usize = 1000;
/// Topics of foreign brokers at most, each counted once for each broker that serves it.
const TOPICS_MAX: usize = 100_000;
/// Bytes of a cluster's or a broker's name, or of an address.
const WORD_MAX: usize = 255;

/// How long a member may be silent, where it does not say. Peer: `DEFAULT_BROKER_CHANNEL_EXPIRED_TIME`.
const SILENCE: Duration = Duration::from_secs(120);
/// The least and the most it may say.
const SILENCE_LIMITS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(3600));

/// A member of a broker, as it calls itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its cluster.
    pub cluster: String,
    /// Its broker's name.
    pub name: String,
    /// Its id, 0 for the master.
    pub id: i64,
    /// Its address, `host:port`.
    pub address: String,
}

/// Which state a broker's topics are in. Peer: `DataVersion`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TopicsVersion {
    /// Grows when another member becomes the master.
    pub state: i64,
    /// When they last changed, in ms since the epoch.
    pub timestamp: i64,
    /// Grows with each change.
    pub counter: i64,
}

/// What a member registers.
#[derive(Clone, Debug)]
pub struct Registration {
    /// Who.
    pub member: Member,
    /// Where its slaves get their data; only they are told.
    pub ha_address: String,
    /// How long it may be silent, where it says.
    pub silence_max: Option<Duration>,
    /// The state of its topics.
    pub version: TopicsVersion,
    /// Topics it serves, all of them or some. One without queues is no longer served.
    pub topics: Vec<(TopicName, Queues)>,
}

/// A registration that was taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registered {
    /// Whether the member was not here before.
    pub is_new: bool,
    /// Of a slave: its master's address, and where it gets its data.
    pub master: Option<(String, String)>,
}

/// Why a registration was not taken. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegisterError {
    /// A name or an address that could not be told to clients.
    #[error(
        "{field} is {value:?}, it must have 1 to {WORD_MAX} visible ASCII characters without quotes, commas and \\"
    )]
    Word {
        /// The field.
        field: &'static str,
        /// The beginning of what it holds.
        value: String,
    },
    /// An id below 0.
    #[error("brokerId is {id}, it must not be below 0")]
    Id {
        /// The id.
        id: i64,
    },
    /// Somebody living has that name and id.
    #[error("broker {name} with id {id} is {holder}, which is alive: {address} needs a name of its own")]
    Taken {
        /// The broker's name.
        name: String,
        /// The id.
        id: i64,
        /// The address of whoever has it.
        holder: String,
        /// The address of who would have it.
        address: String,
    },
    /// Somebody living has that name in another cluster.
    #[error("broker {name} is in cluster {known}, not in {given}")]
    OtherCluster {
        /// The broker's name.
        name: String,
        /// Where it is.
        known: String,
        /// Where it would be.
        given: String,
    },
    /// A single topic of a member that has not told all of its topics before.
    #[error("broker {name} with id {id} has not registered all of its topics: a single one says too little")]
    NotWhole {
        /// The broker's name.
        name: String,
        /// The member's id.
        id: i64,
    },
    /// As many members as there may be.
    #[error("{MEMBERS_MAX} brokers are registered, which is the limit")]
    TooManyMembers,
    /// More topics than there may be.
    #[error(
        "with {more} more there would be more than {TOPICS_MAX} topics of other brokers, which is the limit"
    )]
    TooManyTopics {
        /// How many the registration adds.
        more: usize,
    },
}

/// A member that is no longer here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departed {
    /// Its broker's name.
    pub name: String,
    /// Its id.
    pub id: i64,
    /// Its address.
    pub address: String,
}

/// The foreign brokers.
#[derive(Debug, Default)]
pub(crate) struct Foreign {
    by_name: BTreeMap<String, Named>,
    /// Nobody has been silent for too long before this; it may turn out that nobody has at it.
    look_at: Option<Monotonic>,
}

/// A broker's name and whoever lives under it; never nobody.
#[derive(Debug)]
struct Named {
    cluster: String,
    name: BrokerName,
    members: BTreeMap<i64, Live>,
    /// How many topics are registered under the name.
    topics: usize,
}

/// A member that lives.
#[derive(Debug)]
struct Live {
    address: String,
    ha_address: String,
    connection: ConnectionId,
    heard: Monotonic,
    silence_max: Duration,
    version: TopicsVersion,
    /// How many topics the greatest registration of this version had.
    told: usize,
}

impl NameServer {
    /// A foreign broker's member says by a connection that it is there and what it serves.
    ///
    /// The broker of this process may say so too, which says nothing new.
    pub fn register(
        &mut self,
        now: Monotonic,
        connection: ConnectionId,
        ask: Registration,
    ) -> Result<Registered, RegisterError> {
        let Registration { member, ha_address, silence_max, version, topics } = ask;
        member.check()?;
        if let Some(own) = self.own.as_ref().filter(|own| own.name == member.name) {
            if (member.id, &member.address) == (0, &own.address) {
                return Ok(Registered::default());
            }
            return Err(member.taken(&own.address));
        }
        self.foreign.check(&member, version, topics.len())?;
        let is_new_topic = |(topic, queues): &&(TopicName, Queues)| {
            serves(queues) && !self.queues.contains_key(&(topic.clone(), member.name.as_str().into()))
        };
        let more = topics.iter().filter(is_new_topic).count();
        if self.foreign.topics() + more > TOPICS_MAX {
            return Err(RegisterError::TooManyTopics { more });
        }

        let named = self.foreign.by_name.entry(member.name.clone()).or_insert_with(|| Named {
            cluster: member.cluster.clone(),
            name: member.name.as_str().into(),
            members: BTreeMap::new(),
            topics: 0,
        });
        // A slave that becomes the master, or the other way round, is still one member.
        named.members.retain(|id, live| live.address != member.address || *id == member.id);
        let before = named.members.get(&member.id).filter(|live| live.address == member.address);
        let is_new = before.is_none();
        let told = before.filter(|live| live.version == version).map_or(0, |live| live.told);
        // A slave serves what its master serves; what it says counts where no master lives.
        let speaks = named.members.first_key_value().is_none_or(|(least, _)| *least >= member.id);
        let live = Live {
            address: member.address,
            ha_address,
            connection,
            heard: now,
            silence_max: silence_max.unwrap_or(SILENCE).clamp(SILENCE_LIMITS.0, SILENCE_LIMITS.1),
            version,
            told: if speaks { told.max(topics.len()) } else { 0 },
        };
        let ends = live.ends();
        named.members.insert(member.id, live);
        if speaks && topics.len() > told {
            for (topic, queues) in topics {
                named.set(&mut self.queues, topic, queues);
            }
        }
        let master = named.members.get(&0).filter(|_| member.id != 0);
        let master = master.map(|master| (master.address.clone(), master.ha_address.clone()));
        self.foreign.look_at = Some(self.foreign.look_at.map_or(ends, |before| before.min(ends)));
        Ok(Registered { is_new, master })
    }

    /// A member is heard of: it lives on. Tells the state of its topics; `None` where it is not registered.
    pub fn heard(&mut self, now: Monotonic, cluster: &str, address: &str) -> Option<TopicsVersion> {
        let of_cluster = self.foreign.by_name.values_mut().filter(|named| named.cluster == cluster);
        let live =
            of_cluster.flat_map(|named| named.members.values_mut()).find(|live| live.address == address)?;
        live.heard = now;
        Some(live.version)
    }

    /// A foreign broker serves some topic as it is now. Nothing where that broker is not registered.
    pub fn update_foreign(
        &mut self,
        broker: &str,
        topic: TopicName,
        queues: Queues,
    ) -> Result<(), RegisterError> {
        let is_full = self.foreign.topics() >= TOPICS_MAX;
        let Some(named) = self.foreign.by_name.get_mut(broker) else { return Ok(()) };
        if is_full && serves(&queues) && !self.queues.contains_key(&(topic.clone(), named.name.clone())) {
            return Err(RegisterError::TooManyTopics { more: 1 });
        }
        named.set(&mut self.queues, topic, queues);
        Ok(())
    }

    /// Foreign brokers, of one cluster or of all, no longer serve a topic, until they say again that they do.
    ///
    /// What the broker of this process serves is told by nobody else.
    pub fn remove_foreign(&mut self, topic: &TopicName, cluster: Option<&str>) {
        for named in self.foreign.by_name.values_mut() {
            if cluster.is_none_or(|cluster| named.cluster == cluster)
                && self.queues.remove(&(topic.clone(), named.name.clone())).is_some()
            {
                named.topics -= 1;
                for live in named.members.values_mut() {
                    live.told = 0;
                }
            }
        }
    }

    /// A member goes by itself. Whoever has its place by another address stays.
    pub fn unregister(&mut self, member: &Member) -> Option<Departed> {
        self.depart(|name, _, live| name == member.name && live.address == member.address).pop()
    }

    /// A connection is closed: whoever registered by it last is gone.
    pub fn disconnect(&mut self, connection: ConnectionId) -> Vec<Departed> {
        self.depart(|_, _, live| live.connection == connection)
    }

    /// Whoever has been silent for too long is gone.
    pub fn expire(&mut self, now: Monotonic) -> Vec<Departed> {
        if self.foreign.look_at.is_none_or(|at| now < at) {
            return Vec::new();
        }
        let gone = self.depart(|_, _, live| live.ends() <= now);
        let living = self.foreign.by_name.values().flat_map(|named| named.members.values());
        self.foreign.look_at = living.map(Live::ends).min();
        gone
    }

    /// When [`expire`](Self::expire) has something to look at, at the soonest.
    pub fn next_expiry(&self) -> Option<Monotonic> {
        self.foreign.look_at
    }

    /// Takes out the members that `goes` says, and the names nobody lives under any more.
    fn depart(&mut self, goes: impl Fn(&str, i64, &Live) -> bool) -> Vec<Departed> {
        let mut gone = Vec::new();
        for named in self.foreign.by_name.values_mut() {
            let leaving = named.members.extract_if(.., |id, live| goes(&named.name, *id, live));
            gone.extend(leaving.map(|(id, live)| Departed {
                name: named.name.to_string(),
                id,
                address: live.address,
            }));
        }
        for Departed { name, .. } in &gone {
            if self.foreign.by_name.get(name).is_some_and(|named| named.members.is_empty()) {
                self.foreign.by_name.remove(name);
                self.forget(name);
            }
        }
        gone
    }
}

impl Foreign {
    pub(crate) fn broker(&self, name: &str) -> Option<BrokerData> {
        self.by_name.get(name).map(Named::data)
    }

    pub(crate) fn brokers(&self) -> impl Iterator<Item = BrokerData> {
        self.by_name.values().map(Named::data)
    }

    fn topics(&self) -> usize {
        self.by_name.values().map(|named| named.topics).sum()
    }

    /// Whether a member may register `topics` topics under its name and id.
    fn check(&self, member: &Member, version: TopicsVersion, topics: usize) -> Result<(), RegisterError> {
        let named = self.by_name.get(&member.name);
        if let Some(other) = named.filter(|named| named.cluster != member.cluster) {
            let (known, given) = (other.cluster.clone(), member.cluster.clone());
            return Err(RegisterError::OtherCluster { name: member.name.clone(), known, given });
        }
        match named.and_then(|named| named.members.get(&member.id)) {
            // Of two masters the one with the greater state was chosen later.
            Some(holder) if holder.address != member.address && version.state <= holder.version.state => {
                Err(member.taken(&holder.address))
            }
            None if topics == 1 => Err(RegisterError::NotWhole { name: member.name.clone(), id: member.id }),
            None if self.by_name.values().map(|named| named.members.len()).sum::<usize>() >= MEMBERS_MAX => {
                Err(RegisterError::TooManyMembers)
            }
            Some(_) | None => Ok(()),
        }
    }
}

impl Named {
    fn data(&self) -> BrokerData {
        BrokerData {
            cluster: self.cluster.clone(),
            name: self.name.to_string(),
            addresses: self.members.iter().map(|(id, live)| (*id, live.address.clone())).collect(),
            local: false,
        }
    }

    fn set(&mut self, all: &mut BTreeMap<(TopicName, BrokerName), Queues>, topic: TopicName, queues: Queues) {
        let entry = (topic, self.name.clone());
        if serves(&queues) {
            self.topics += usize::from(all.insert(entry, queues).is_none());
        } else {
            self.topics -= usize::from(all.remove(&entry).is_some());
        }
    }
}

impl Live {
    fn ends(&self) -> Monotonic {
        self.heard.after(self.silence_max)
    }
}

impl Member {
    /// Whether clients can be told of it. Go's client takes a route apart at commas and quotes.
    fn check(&self) -> Result<(), RegisterError> {
        for (field, value) in
            [("clusterName", &self.cluster), ("brokerName", &self.name), ("brokerAddr", &self.address)]
        {
            let fits = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | ',' | '\\');
            if !(1..=WORD_MAX).contains(&value.len()) || !value.chars().all(fits) {
                return Err(RegisterError::Word { field, value: value.chars().take(64).collect() });
            }
        }
        if self.id < 0 { Err(RegisterError::Id { id: self.id }) } else { Ok(()) }
    }

    fn taken(&self, holder: &str) -> RegisterError {
        let (name, address) = (self.name.clone(), self.address.clone());
        RegisterError::Taken { name, id: self.id, holder: holder.to_owned(), address }
    }
}

/// Whether there is a queue at all.
fn serves(queues: &Queues) -> bool {
    queues.read > 0 || queues.write > 0
}
