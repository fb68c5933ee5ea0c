//! `duemq pending …`: what waits for its moment, seen, counted and called back, on every broker of the cluster.

use super::{CountPending, ListPending, RecallPending, Server, ShowPending, reach, show, when};
use crate::exit::{Exit, Failure};
use anyhow::anyhow;
use client::{Client, Delivered};
use model::TopicName;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use wire::property;
use wire::remoting::pending::{List, RecallByKey};

/// Messages of one answer.
const PAGE: i32 = 64;

/// Prints what waits, a line each, in the order in which it will leave each broker.
pub fn list(args: &ListPending) -> Result<(), Failure> {
    let topic = args.topic.as_deref().map(TopicName::new).transpose().map_err(reach::wrong)?;
    let moment =
        |moment: &Option<jiff::ZonedDateTime>| moment.as_ref().map(|m| m.timestamp().as_millisecond());
    let which = List {
        topic: topic.map(|topic| topic.to_string()),
        key: args.key.clone(),
        from: moment(&args.from),
        until: moment(&args.until),
        ..List::default()
    };
    reach::run(async {
        let mut left = args.count;
        let mut told = 0_u64;
        for (_, broker) in brokers(&args.server).await? {
            let mut pages = Pages::of(&broker, which.clone());
            while let Some(messages) = pages.next(left).await? {
                for message in &messages {
                    reach::say(&line(message))?;
                }
                told += messages.len() as u64;
                left = left.saturating_sub(messages.len() as u64);
            }
        }
        if told == 0 {
            eprintln!("nothing waits");
        } else if left == 0 {
            eprintln!("there may be more: --count tells how many to list, --from where to begin");
        }
        Ok(())
    })
}

/// Prints how many wait of each topic.
pub fn count(args: &CountPending) -> Result<(), Failure> {
    reach::run(async {
        let mut all: BTreeMap<String, u64> = BTreeMap::new();
        for (_, broker) in brokers(&args.server).await? {
            for (topic, count) in broker.count_pending().await.map_err(reach::refused)?.pending {
                *all.entry(topic).or_default() += count;
            }
        }
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
        let mut found = false;
        for (_, broker) in brokers(&args.server).await? {
            let mut pages = Pages::of(&broker, which.clone());
            while let Some(messages) = pages.next(u64::MAX).await? {
                for message in &messages {
                    found = true;
                    reach::say(&show::pending(message))?;
                }
            }
        }
        if found { Ok(()) } else { Err(nothing(&topic, &args.key)) }
    })
}

/// Calls back what waits under a key. Nothing to call back is exit code 1.
pub fn recall(args: &RecallPending) -> Result<(), Failure> {
    let topic = TopicName::new(&args.topic).map_err(reach::wrong)?;
    let which = RecallByKey { topic: topic.to_string(), key: args.key.clone(), unique: args.id };
    reach::run(async {
        let (mut recalled, mut visible) = (0, 0);
        for (_, broker) in brokers(&args.server).await? {
            loop {
                let done = broker.recall_by_key(&which).await.map_err(reach::refused)?;
                for id in &done.recalled {
                    reach::say(&format!("recalled {id}\n"))?;
                }
                recalled += done.recalled.len();
                visible += done.visible;
                if !done.more || done.recalled.is_empty() {
                    break;
                }
            }
        }
        match (recalled, visible) {
            (0, 0) => Err(nothing(&topic, &args.key)),
            (0, _) => Err(Failure::new(
                Exit::Refused,
                anyhow!("too late: {visible} messages of {topic} with {:?} were delivered already", args.key),
            )),
            (_, 0) => Ok(()),
            (_, _) => {
                eprintln!("too late for {visible} others, which were delivered already");
                Ok(())
            }
        }
    })
}

fn nothing(topic: &TopicName, key: &str) -> Failure {
    Failure::new(Exit::Refused, anyhow!("no message of {topic} with {key:?} waits"))
}

/// Connections to all brokers that the name server knows, by name.
async fn brokers(server: &Server) -> Result<BTreeMap<String, Client>, Failure> {
    let names = reach::name_server(server).await?;
    let cluster = names.cluster().await.map_err(reach::names_refused(server))?;
    let mut brokers = BTreeMap::new();
    for (name, data) in &cluster.broker_addr_table {
        brokers.insert(name.clone(), reach::broker(reach::master(data)?).await?);
    }
    if brokers.is_empty() {
        return Err(Failure::new(
            Exit::NoServer,
            anyhow!("the name server at {} knows no broker", server.namesrv),
        ));
    }
    Ok(brokers)
}

/// The pages of a list, one after the other.
struct Pages<'a> {
    broker: &'a Client,
    /// What is asked for next; `None` at the end.
    next: Option<List>,
}

impl<'a> Pages<'a> {
    fn of(broker: &'a Client, which: List) -> Self {
        Self { broker, next: Some(which) }
    }

    /// The next page, of at most `most` messages; `None` where there is none or none is wanted. It may be empty.
    async fn next(&mut self, most: u64) -> Result<Option<Vec<Delivered>>, Failure> {
        let Some(mut ask) = self.next.take().filter(|_| most > 0) else { return Ok(None) };
        ask.max = Some(i32::try_from(most).unwrap_or(PAGE).min(PAGE));
        let (messages, next) = self.broker.list_pending(&ask).await.map_err(reach::refused)?;
        if next.next_deliver_at.is_some() {
            ask.after_deliver_at = next.next_deliver_at;
            ask.after_log_offset = next.next_log_offset;
            self.next = Some(ask);
        }
        Ok(Some(messages))
    }
}

/// When it is due, its topic, id and keys.
fn line(Delivered { message, place }: &Delivered) -> String {
    let property = |name| message.properties.get(name);
    let due = property(property::TIMER_DELIVER_MS).and_then(|ms| ms.parse().ok());
    let due = due.map_or_else(|| "unknown".to_owned(), when::shown);
    let id = property(property::UNIQ_KEY).unwrap_or("none");
    let keys = property(property::KEYS).unwrap_or_default();
    format!("{due}  {}  {}  {}\n", show::plain(&place.topic), show::plain(id), show::plain(keys))
        .replace("  \n", "\n")
}
