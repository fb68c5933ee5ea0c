//! `duemq pending …`: what waits for its moment, seen, counted, moved and called back, on every broker of the cluster.

mod brokers;
mod count;
mod json;

pub use count::count;

use super::{ListPending, RecallPending, ReschedulePending, ShowPending, reach, show, when};
use crate::exit::{Exit, Failure};
use anyhow::anyhow;
use brokers::{Brokers, Waiting};
use jiff::ZonedDateTime;
use model::TopicName;
use serde_json::json;
use wire::property;
use wire::recall_handle::RecallHandle;
use wire::remoting::pending::{List, Moved, RecallByKey, Reschedule};

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
            reach::say(&if args.json { json::line(&message) } else { line(&message) })?;
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

/// Prints the messages of a key that wait, whole. None is exit code 1.
pub fn show(args: &ShowPending) -> Result<(), Failure> {
    let topic = TopicName::new(&args.topic).map_err(reach::wrong)?;
    let (key, _) = named(&topic, &args.key)?;
    let which = List { topic: Some(topic.to_string()), key: Some(key), ..List::default() };
    reach::run(async {
        let brokers = Brokers::of(&args.server, Some(topic.as_str())).await?;
        let mut all = brokers.list(&which).await?;
        let mut found = false;
        while let Some(message) = all.next().await? {
            found = true;
            let shown = if args.json {
                json::whole(&message)
            } else {
                show::pending(&message.delivered, message.level)
            };
            reach::say(&shown)?;
        }
        all.tell_what_is_missing();
        if found { Ok(()) } else { Err(nothing(&topic, &args.key)) }
    })
}

/// Calls back what waits under a key, or else the message of that id. Nothing to call back is exit code 1.
pub fn recall(args: &RecallPending) -> Result<(), Failure> {
    let topic = TopicName::new(&args.topic).map_err(reach::wrong)?;
    let (key, is_handle) = named(&topic, &args.key)?;
    let ways = if is_handle { &[true][..] } else { &[false, true] };
    reach::run(async {
        let mut brokers = Brokers::of(&args.server, Some(topic.as_str())).await?;
        let (mut recalled, mut visible, mut before) = (Vec::new(), 0, false);
        for (name, broker) in std::mem::take(&mut brokers.all) {
            for &unique in ways {
                let which = RecallByKey { topic: topic.to_string(), key: key.clone(), unique: Some(unique) };
                let mut more = true;
                while more {
                    let answer = broker.recall_by_key(&which).await;
                    let Some(done) = brokers.answered(&name, answer)? else { break };
                    if !args.json {
                        done.recalled.iter().try_for_each(|id| reach::say(&format!("recalled {id}\n")))?;
                    }
                    recalled.extend(done.recalled);
                    (before, more) = (before || done.before, done.more);
                    // Each round counts them anew.
                    if !more {
                        visible += done.visible;
                    }
                }
            }
        }
        brokers.end()?;
        let outcome = match (recalled.len(), visible) {
            (0, 0) if before => "recalled before",
            (0, 0) => "unknown",
            (0, _) => "too late",
            (_, _) => "recalled",
        };
        if args.json {
            let told = json!({ "outcome": outcome, "recalled": recalled, "tooLate": visible });
            reach::say(&format!("{told}\n"))?;
        }
        match outcome {
            "unknown" => return Err(nothing(&topic, &args.key)),
            "too late" => return Err(too_late(&topic, &args.key, visible)),
            "recalled before" if !args.json => reach::say("recalled before\n")?,
            _ if visible > 0 => eprintln!("too late for others: {}", delivered(visible)),
            _ => {}
        }
        Ok(())
    })
}

/// Gives what waits under a key, or the message of that id or handle, another moment. Nothing to move is exit code 1.
pub fn reschedule(args: &ReschedulePending) -> Result<(), Failure> {
    let topic = TopicName::new(&args.topic).map_err(reach::wrong)?;
    let (key, is_handle) = named(&topic, &args.key)?;
    let mut which =
        Reschedule { topic: topic.to_string(), key, unique: Some(is_handle), ..Reschedule::default() };
    match (&args.at, &args.r#in) {
        (Some(at), _) => which.deliver_at = Some(at.timestamp().as_millisecond()),
        (None, Some(delay)) => {
            let ms = when::delay_ms(delay, &ZonedDateTime::now());
            which.delay_ms = Some(ms.map_err(|why| reach::wrong(anyhow!(why)))?);
        }
        (None, None) => return Err(reach::wrong(anyhow!("--at or --in tells the new moment"))),
    }
    reach::run(async {
        let mut brokers = Brokers::of(&args.server, Some(topic.as_str())).await?;
        let (mut moved, mut visible, mut recalled) = (Vec::new(), 0, false);
        for (name, broker) in std::mem::take(&mut brokers.all) {
            which.before = None;
            loop {
                let answer = broker.reschedule(&which).await;
                let Some(done) = brokers.answered(&name, answer)? else { break };
                // All come to the moment that the first was given.
                (which.deliver_at, which.delay_ms) = (Some(done.deliver_at), None);
                for Moved { id, from } in &done.moved {
                    if !args.json {
                        let (from, to) = (when::shown(*from), when::shown(done.deliver_at));
                        reach::say(&format!("rescheduled {id} from {from} to {to}\n"))?;
                    }
                }
                moved.extend(done.moved);
                recalled |= done.recalled;
                which.before = done.before_log_offset;
                if which.before.is_none() {
                    visible += done.visible;
                    break;
                }
            }
        }
        brokers.end()?;
        let outcome = match (moved.len(), visible) {
            (0, 0) if recalled => "recalled",
            (0, 0) => "unknown",
            (0, _) => "too late",
            (_, _) => "moved",
        };
        if args.json {
            let to = which.deliver_at;
            let moved: Vec<_> = moved
                .iter()
                .map(|Moved { id, from }| json!({ "id": id, "fromMs": from, "toMs": to }))
                .collect();
            let told = json!({ "outcome": outcome, "moved": moved, "tooLate": visible });
            reach::say(&format!("{told}\n"))?;
        }
        match (outcome, moved.len()) {
            ("unknown", _) => return Err(nothing(&topic, &args.key)),
            ("too late", _) => return Err(too_late(&topic, &args.key, visible)),
            ("recalled", _) => {
                let why = anyhow!("the message of {topic} with {:?} was called back before", args.key);
                return Err(Failure::new(Exit::Refused, why));
            }
            (_, 1) if !args.json => reach::say("1 message moved\n")?,
            (_, count) if !args.json => reach::say(&format!("{count} messages moved\n"))?,
            _ => {}
        }
        if visible > 0 {
            eprintln!("too late for others: {}", delivered(visible));
        }
        Ok(())
    })
}

/// The id or key that is meant; and whether it was told by a recall handle, and so is an id.
fn named(topic: &TopicName, key: &str) -> Result<(String, bool), Failure> {
    match RecallHandle::decode(key) {
        Ok(handle) if handle.topic == topic.as_str() => Ok((handle.unique_key, true)),
        Ok(handle) => {
            let why = anyhow!(
                "the recall handle is of topic {}, asked for was {topic}",
                show::plain(&handle.topic)
            );
            Err(reach::wrong(why))
        }
        Err(_) => Ok((key.to_owned(), false)),
    }
}

fn delivered(count: u64) -> String {
    match count {
        1 => "1 message was delivered already".to_owned(),
        count => format!("{count} messages were delivered already"),
    }
}

fn too_late(topic: &TopicName, key: &str, visible: u64) -> Failure {
    let delivered = delivered(visible);
    Failure::new(Exit::Refused, anyhow!("too late: of {topic} with {key:?} {delivered}, and none waits"))
}

fn nothing(topic: &TopicName, key: &str) -> Failure {
    Failure::new(Exit::Refused, anyhow!("no message of {topic} with {key:?} waits"))
}

/// When it is due, its topic, id and keys.
fn line(message: &Waiting) -> String {
    let due = message.due().map_or_else(|| "unknown".to_owned(), when::shown);
    let id = message.text(property::UNIQ_KEY).unwrap_or("none");
    let keys = message.text(property::KEYS).unwrap_or_default();
    let topic = show::plain(&message.delivered.place.topic);
    let line = format!("{due}  {topic}  {}  {}", show::plain(id), show::plain(keys));
    format!("{}\n", line.trim_end())
}
