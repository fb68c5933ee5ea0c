//! `duemq pending …`: what waits for its moment, seen, counted and called back, on every broker of the cluster.

use super::{CountPending, ListPending, RecallPending, Server, ShowPending, reach, show, when};
use crate::exit::{Exit, Failure};
use anyhow::anyhow;
use client::{AskError, Client, Delivered};
use model::TopicName;
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use wire::property;
use wire::remoting::ResponseCode;
use wire::remoting::pending::{List, RecallByKey};

/// Messages of one answer.
const PAGE: i32 = 64;

/// Prints what waits, a line each, in the order in which it falls due.
pub fn list(args: &ListPending) -> Result<(), Failure> {
    let topic = args.topic.as_deref().map(TopicName::new).transpose().map_err(reach::wrong)?;
    let moment =
        |moment: &Option<jiff::ZonedDateTime>| moment.as_ref().map(|at| at.timestamp().as_millisecond());
    let (from, until) = (moment(&args.from), moment(&args.until));
    if let (Some(from), Some(until)) = (from, until)
        && from > until
    {
        return Err(reach::wrong(anyhow!("--from {} is behind --until", when::shown(from))));
    }
    let topic = topic.map(|topic| topic.to_string());
    let which = List { topic, key: args.key.clone(), from, until, ..List::default() };
    reach::run(async {
        let brokers = Brokers::of(&args.server, args.topic.as_deref()).await?;
        let mut all = brokers.list(&which).await?;
        let mut left = args.count;
        while left > 0 {
            let Some(message) = all.next().await? else { break };
            reach::say(&line(&message))?;
            left -= 1;
        }
        if left == args.count {
            eprintln!("nothing waits");
        } else if left == 0 && all.next().await?.is_some() {
            eprintln!("there is more: --count tells how many to list, --from where to begin");
        }
        all.tell_what_is_missing();
        Ok(())
    })
}

/// Prints how many wait of each topic.
pub fn count(args: &CountPending) -> Result<(), Failure> {
    reach::run(async {
        let mut brokers = Brokers::of(&args.server, None).await?;
        let mut all: BTreeMap<String, u64> = BTreeMap::new();
        for (name, broker) in std::mem::take(&mut brokers.all) {
            if let Some(counts) = brokers.answered(&name, broker.count_pending().await)? {
                for (topic, count) in counts.pending {
                    *all.entry(topic).or_default() += count;
                }
            }
        }
        brokers.end()?;
        let width = all.keys().map(String::len).max().unwrap_or(0).max("in all".len());
        let mut text = String::new();
        for (topic, count) in &all {
            writeln!(text, "{topic:<width$}  {count:>12}").expect("a string takes all");
        }
        writeln!(text, "{:<width$}  {:>12}", "in all", all.values().sum::<u64>())
            .expect("a string takes all");
        reach::say(&text)
    })
}

/// Prints the messages of a key that wait, whole. None is exit code 1.
pub fn show(args: &ShowPending) -> Result<(), Failure> {
    let topic = TopicName::new(&args.topic).map_err(reach::wrong)?;
    let which = List { topic: Some(topic.to_string()), key: Some(args.key.clone()), ..List::default() };
    reach::run(async {
        let brokers = Brokers::of(&args.server, Some(topic.as_str())).await?;
        let mut all = brokers.list(&which).await?;
        let mut found = false;
        while let Some(message) = all.next().await? {
            found = true;
            reach::say(&show::pending(&message))?;
        }
        all.tell_what_is_missing();
        if found { Ok(()) } else { Err(nothing(&topic, &args.key)) }
    })
}

/// Calls back what waits under a key, or else the message of that id. Nothing to call back is exit code 1.
pub fn recall(args: &RecallPending) -> Result<(), Failure> {
    let topic = TopicName::new(&args.topic).map_err(reach::wrong)?;
    reach::run(async {
        let mut brokers = Brokers::of(&args.server, Some(topic.as_str())).await?;
        let (mut recalled, mut visible, mut before) = (0, 0, false);
        for (name, broker) in std::mem::take(&mut brokers.all) {
            for unique in [false, true] {
                let which = RecallByKey { topic: topic.to_string(), key: args.key.clone(), unique };
                let mut more = true;
                while more {
                    let answer = broker.recall_by_key(&which).await;
                    let Some(done) = brokers.answered(&name, answer)? else { break };
                    for id in &done.recalled {
                        reach::say(&format!("recalled {id}\n"))?;
                    }
                    recalled += done.recalled.len();
                    (before, more) = (before || done.before, done.more);
                    // Each round counts them anew.
                    if !more {
                        visible += done.visible;
                    }
                }
            }
        }
        brokers.end()?;
        let delivered = match visible {
            1 => "1 message was delivered already".to_owned(),
            count => format!("{count} messages were delivered already"),
        };
        match (recalled, visible) {
            (0, 0) if before => reach::say("recalled before\n"),
            (0, 0) => Err(nothing(&topic, &args.key)),
            (0, _) => Err(Failure::new(
                Exit::Refused,
                anyhow!("too late: of {topic} with {:?} {delivered}, and none waits", args.key),
            )),
            (_, 0) => Ok(()),
            (_, _) => {
                eprintln!("too late for others: {delivered}");
                Ok(())
            }
        }
    })
}

fn nothing(topic: &TopicName, key: &str) -> Failure {
    Failure::new(Exit::Refused, anyhow!("no message of {topic} with {key:?} waits"))
}

/// The brokers that the name server knows, and what they answered.
struct Brokers {
    all: BTreeMap<String, Client>,
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
    async fn of(server: &Server, topic: Option<&str>) -> Result<Self, Failure> {
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
    fn answered<T>(&mut self, name: &str, answer: Result<T, AskError>) -> Result<Option<T>, Failure> {
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
    fn end(&self) -> Result<(), Failure> {
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
    async fn list(mut self, which: &List) -> Result<Merged, Failure> {
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
struct Merged {
    sources: Vec<Source>,
}

impl Merged {
    /// The next one; `None` at the end.
    async fn next(&mut self) -> Result<Option<Delivered>, Failure> {
        for source in &mut self.sources {
            source.fill().await.map_err(reach::refused)?;
        }
        let firsts = self.sources.iter_mut().filter(|source| !source.page.is_empty());
        Ok(firsts.min_by_key(|source| due(&source.page[0])).and_then(|source| source.page.pop_front()))
    }

    fn tell_what_is_missing(&self) {
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
    page: VecDeque<Delivered>,
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
            self.page.extend(messages);
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

/// When a message is due, in ms since the epoch.
fn due(Delivered { message, .. }: &Delivered) -> Option<i64> {
    message.properties.get(property::TIMER_DELIVER_MS).and_then(|ms| ms.parse().ok())
}

/// When it is due, its topic, id and keys.
fn line(delivered: &Delivered) -> String {
    let Delivered { message, place } = delivered;
    let due = due(delivered).map_or_else(|| "unknown".to_owned(), when::shown);
    let id = message.properties.get(property::UNIQ_KEY).unwrap_or("none");
    let keys = message.properties.get(property::KEYS).unwrap_or_default();
    let line = format!("{due}  {}  {}  {}", show::plain(&place.topic), show::plain(id), show::plain(keys));
    format!("{}\n", line.trim_end())
}
