//! What all brokers say together.

use super::super::{Server, reach};
use crate::exit::{Exit, Failure};
use anyhow::anyhow;
use client::{AskError, Client, Delivered};
use std::collections::{BTreeMap, VecDeque};
use wire::property;
use wire::remoting::ResponseCode;
use wire::remoting::pending::List;

/// Messages of one answer.
const PAGE: i32 = 64;

/// A message that waits.
pub struct Waiting {
    /// It, and its place.
    pub delivered: Delivered,
    /// The delay level it was sent with; 0 where it was sent with a time.
    pub level: u8,
}

impl Waiting {
    /// When it is due, in ms since the epoch.
    pub fn due(&self) -> Option<i64> {
        self.text(property::TIMER_DELIVER_MS).and_then(|ms| ms.parse().ok())
    }

    /// One of its properties.
    pub fn text(&self, property: &str) -> Option<&str> {
        self.delivered.message.properties.get(property)
    }
}

/// The brokers that the name server knows, and what they answered.
pub struct Brokers {
    /// Those not asked yet.
    pub all: BTreeMap<String, Client>,
    /// The topic asked for, where it is one.
    topic: Option<String>,
    /// How many gave an answer.
    answered: usize,
    /// How many have no such topic.
    without_topic: usize,
    /// Those that do not know the question.
    foreign: Vec<String>,
}

impl Brokers {
    /// Connects to all of them.
    pub async fn of(server: &Server, topic: Option<&str>) -> Result<Self, Failure> {
        let names = reach::name_server(server).await?;
        let cluster = names.cluster().await.map_err(reach::names_refused(server))?;
        let mut all = BTreeMap::new();
        for (name, data) in &cluster.broker_addr_table {
            all.insert(name.clone(), reach::broker(reach::master(data)?).await?);
        }
        if all.is_empty() {
            return Err(Failure::new(
                Exit::NoServer,
                anyhow!("the name server at {} knows no broker", server.namesrv),
            ));
        }
        let topic = topic.map(str::to_owned);
        Ok(Self { all, topic, answered: 0, without_topic: 0, foreign: Vec::new() })
    }

    /// A broker's answer; `None` where it has no such topic, or is of another make that knows no such question.
    pub fn answered<T>(&mut self, name: &str, answer: Result<T, AskError>) -> Result<Option<T>, Failure> {
        match answer {
            Ok(answer) => {
                self.answered += 1;
                return Ok(Some(answer));
            }
            Err(error) => match error.code() {
                Some(ResponseCode::TopicNotExist) => self.without_topic += 1,
                Some(ResponseCode::RequestCodeNotSupported) => self.foreign.push(name.to_owned()),
                _ => return Err(reach::refused(error)),
            },
        }
        Ok(None)
    }

    /// Tells who could not say what waits; an error where nobody could.
    pub fn end(&self) -> Result<(), Failure> {
        match (&self.topic, self.answered) {
            (Some(topic), 0) if self.without_topic > 0 => {
                return Err(Failure::new(Exit::Refused, anyhow!("there is no topic {topic}")));
            }
            (_, 0) => {
                let makes = self.foreign.join(", ");
                return Err(Failure::new(Exit::Refused, anyhow!("{makes}: no broker of DueMQ")));
            }
            _ => {}
        }
        for name in &self.foreign {
            eprintln!("{name} is no broker of DueMQ: what waits there is not told");
        }
        Ok(())
    }

    /// What waits on all of them.
    pub async fn list(mut self, which: &List) -> Result<Merged, Failure> {
        let mut sources = Vec::new();
        for (name, broker) in std::mem::take(&mut self.all) {
            let mut source =
                Source { broker, next: Some(which.clone()), page: VecDeque::new(), is_cut: false };
            let filled = source.fill().await;
            if self.answered(&name, filled)?.is_some() {
                sources.push(source);
            }
        }
        self.end()?;
        Ok(Merged { sources })
    }
}

/// The messages of several brokers, in the order in which they fall due.
pub struct Merged {
    sources: Vec<Source>,
}

impl Merged {
    /// The next one; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Waiting>, Failure> {
        for source in &mut self.sources {
            source.fill().await.map_err(reach::refused)?;
        }
        let firsts = self.sources.iter_mut().filter(|source| !source.page.is_empty());
        Ok(firsts.min_by_key(|source| source.page[0].due()).and_then(|source| source.page.pop_front()))
    }

    /// Says where not all was looked at.
    pub fn tell_what_is_missing(&self) {
        if self.sources.iter().any(|source| source.is_cut) {
            eprintln!("so many messages wait under this key that some of the older ones were not looked at");
        }
    }
}

/// The messages of one broker, page by page.
struct Source {
    broker: Client,
    /// What is asked for next; `None` at the end.
    next: Option<List>,
    page: VecDeque<Waiting>,
    is_cut: bool,
}

impl Source {
    /// Fetches pages until there is a message, or none is left.
    async fn fill(&mut self) -> Result<(), AskError> {
        while self.page.is_empty()
            && let Some(mut ask) = self.next.take()
        {
            ask.max = Some(PAGE);
            let (messages, next) = self.broker.list_pending(&ask).await?;
            let levels = next.levels.as_deref().unwrap_or_default();
            let levels =
                levels.split(',').map(|level| level.parse().unwrap_or(0)).chain(std::iter::repeat(0));
            let waiting = messages.into_iter().zip(levels);
            self.page.extend(waiting.map(|(delivered, level)| Waiting { delivered, level }));
            self.is_cut |= next.more;
            if next.next_deliver_at.is_some() {
                ask.after_deliver_at = next.next_deliver_at;
                ask.after_log_offset = next.next_log_offset;
                self.next = Some(ask);
            }
        }
        Ok(())
    }
}
