//! `duemq send`.

use super::{Send, reach, when};
use crate::exit::{Exit, Failure};
use anyhow::anyhow;
use client::AskError;
use jiff::ZonedDateTime;
use model::{LevelTable, Properties, TopicName};
use wire::property;
use wire::remoting::ResponseCode;

/// Sends one message and tells its id and when it is due.
pub fn send(args: &Send) -> Result<(), Failure> {
    let topic = TopicName::new(&args.topic).map_err(reach::wrong)?;
    let now = ZonedDateTime::now();
    let due = Due::of(args, &now)?;
    let properties = properties(args, &due);
    reach::run(async {
        let names = reach::name_server(&args.server).await?;
        let route = reach::route_for_send(&names, &args.server, topic.as_str()).await?;
        let first = route
            .broker_datas
            .first()
            .ok_or_else(|| Failure::new(Exit::NoServer, anyhow!("topic {topic} has no broker")))?;
        let address = reach::master(first)?;
        let broker = reach::broker(address).await?;
        let body = args.body.clone().into_bytes().into();
        let sent =
            broker.send(topic.as_str(), body, &properties).await.map_err(|error| match error.code() {
                Some(ResponseCode::TopicNotExist) => reach::no_topic(topic.as_str()),
                Some(ResponseCode::MessageIllegal) if due.is_later(&now) && due.is_blamed(&error) => {
                    refused_delay(error, args, &due, &now)
                }
                _ => reach::refused_at(address)(error),
            })?;
        let id = sent.unique_key.unwrap_or(sent.message_id);
        let said = reach::say(&format!("sent to {topic}, {}\nid {id}\n", due.said(&ZonedDateTime::now())));
        said.map_err(|Failure { exit, error }| Failure {
            exit,
            error: error.context("sent, but the output could not be written"),
        })?;
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

    fn is_later(&self, now: &ZonedDateTime) -> bool {
        match self {
            Self::After(ms) => *ms > 0,
            Self::At(ms) => *ms > now.timestamp().as_millisecond(),
            Self::Now | Self::Level(_) => false,
        }
    }

    /// Whether the server's words name the delay.
    fn is_blamed(&self, error: &AskError) -> bool {
        self.property().is_some_and(|(name, _)| error.to_string().contains(name))
    }

    /// What was done, for a message that was taken at `now`.
    fn said(&self, now: &ZonedDateTime) -> String {
        let now = now.timestamp().as_millisecond();
        match self {
            Self::Now | Self::After(0) => "due at once".to_owned(),
            // The server took it a little earlier than the answer came.
            Self::After(ms) => format!("due about {}", when::shown(now.saturating_add(*ms))),
            Self::At(ms) if *ms <= now => format!("due at once: {} is past", when::shown(*ms)),
            Self::At(ms) => format!("due {}", when::shown(*ms)),
            Self::Level(level) => {
                let table = LevelTable::default();
                if *level > table.max() {
                    return format!("due after the duration of delay level {level}");
                }
                let at = when::shown(now.saturating_add(table.delay_ms(*level)));
                format!("due about {at}, unless the server has a delay level {level} of its own")
            }
        }
    }
}

/// A delay the server does not take, most likely since it is longer than the server's limit: in the words it was
/// asked for with, then in the server's.
fn refused_delay(error: AskError, args: &Send, due: &Due, now: &ZonedDateTime) -> Failure {
    let now = now.timestamp().as_millisecond();
    let (asked, ms) = match (due, &args.delay) {
        (Due::At(ms), _) => (format!("--at {}", when::shown(*ms)), ms.saturating_sub(now)),
        (Due::After(ms), Some(delay)) => (format!("--delay {delay:#}"), *ms),
        (Due::After(ms), None) => (format!("--delay {ms}ms"), *ms),
        (Due::Now | Due::Level(_), _) => return reach::refused(error),
    };
    let hint = format!(
        "{asked} is {} ahead, which the server does not take; max_delay is the setting that says how far is",
        when::days(ms)
    );
    let Failure { exit, error } = reach::refused(error);
    Failure { exit, error: error.context(hint) }
}

/// The message's properties.
fn properties(args: &Send, due: &Due) -> Properties {
    let mut properties = Properties::new();
    if let Some(tag) = &args.tag {
        properties.set(property::TAGS, tag.as_str());
    }
    if !args.keys.is_empty() {
        properties.set(property::KEYS, args.keys.join(" "));
    }
    if let Some((name, value)) = due.property() {
        properties.set(name, value);
    }
    properties
}

#[cfg(test)]
mod tests;
