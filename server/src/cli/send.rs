//! `duemq send`.

use super::{Send, reach, when};
use crate::exit::Failure;
use anyhow::anyhow;
use jiff::ZonedDateTime;
use model::{Properties, TopicName};
use wire::property;
use wire::remoting::ResponseCode;

/// Sends one message and tells its id and when it is due.
pub fn send(args: &Send) -> Result<(), Failure> {
    let topic = TopicName::new(&args.topic).map_err(reach::wrong)?;
    let now = ZonedDateTime::now();
    let due = Due::of(args, &now)?;
    let properties = properties(args, &due)?;
    reach::run(async {
        let names = reach::name_server(&args.server).await?;
        let route = reach::route_for_send(&names, topic.as_str()).await?;
        let first =
            route.broker_datas.first().ok_or_else(|| reach::wrong(anyhow!("topic {topic} has no broker")))?;
        let broker = reach::broker(reach::master(first)?).await?;
        let body = args.body.clone().into_bytes().into();
        let sent =
            broker.send(topic.as_str(), body, &properties).await.map_err(|error| match error.code() {
                Some(ResponseCode::TopicNotExist) => reach::no_topic(topic.as_str()),
                _ => reach::refused(error),
            })?;
        let id = sent.unique_key.unwrap_or(sent.message_id);
        reach::say(&format!("sent to {topic}, {}\nid {id}\n", due.said(&now)))?;
        if let Some(remark) = sent.remark.filter(|remark| !remark.is_empty()) {
            eprintln!("the server remarks: {remark}");
        }
        Ok(())
    })
}

/// When a message is wanted, as the server is told it.
#[derive(Debug, PartialEq, Eq)]
enum Due {
    Now,
    /// Milliseconds from when the server takes it.
    After(i64),
    /// Milliseconds since 1970.
    At(i64),
    Level(u32),
}

impl Due {
    fn of(args: &Send, now: &ZonedDateTime) -> Result<Self, Failure> {
        Ok(match (&args.delay, &args.at, args.level) {
            (Some(delay), _, _) => {
                Self::After(when::delay_ms(delay, now).map_err(|why| reach::wrong(anyhow!(why)))?)
            }
            (_, Some(at), _) => Self::At(at.timestamp().as_millisecond()),
            (_, _, Some(level)) => Self::Level(level),
            (None, None, None) => Self::Now,
        })
    }

    fn property(&self) -> Option<(&'static str, String)> {
        match self {
            Self::Now => None,
            Self::After(ms) => Some((property::TIMER_DELAY_MS, ms.to_string())),
            Self::At(ms) => Some((property::TIMER_DELIVER_MS, ms.to_string())),
            Self::Level(level) => Some((property::DELAY, level.to_string())),
        }
    }

    fn said(&self, now: &ZonedDateTime) -> String {
        let now = now.timestamp().as_millisecond();
        match self {
            Self::Now | Self::After(0) => "due at once".to_owned(),
            Self::After(ms) => format!("due {}", when::shown(now.saturating_add(*ms))),
            Self::At(ms) if *ms <= now => format!("due at once: {} is past", when::shown(*ms)),
            Self::At(ms) => format!("due {}", when::shown(*ms)),
            Self::Level(level) => format!("due after the duration of delay level {level}"),
        }
    }
}

/// The message's properties. RocketMQ's stored form knows no escapes, so two characters cannot stand in them.
fn properties(args: &Send, due: &Due) -> Result<Properties, Failure> {
    let mut properties = Properties::new();
    let words = [("tag", &args.tag)].into_iter().filter_map(|(what, word)| Some((what, word.as_ref()?)));
    for (what, word) in words.chain(args.keys.iter().map(|key| ("key", key))) {
        if word.trim().is_empty()
            || word.contains(['\u{1}', '\u{2}'])
            || (what == "key" && word.contains(' '))
        {
            return Err(reach::wrong(anyhow!("the {what} is {word:?}, it must be a word")));
        }
    }
    if let Some(tag) = &args.tag {
        properties.set(property::TAGS, tag.as_str());
    }
    if !args.keys.is_empty() {
        properties.set(property::KEYS, args.keys.join(" "));
    }
    if let Some((name, value)) = due.property() {
        properties.set(name, value);
    }
    Ok(properties)
}

#[cfg(test)]
mod tests;
