//! What every call says of itself, in its metadata: who calls, in which language, from where, and by when it
//! wants the answer.
//!
//! An `authorization` is not looked at: nobody is refused here yet, and one client sends it even without keys.

use crate::accepted::Ends;
use crate::status::Refused;
use model::ClientId;
use proto::v2::Code;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use tokio::time::Instant;
use tonic::metadata::MetadataMap;

const CLIENT_ID: &str = "x-mq-client-id";
const LANGUAGE: &str = "x-mq-language";
const DEADLINE: &str = "grpc-timeout";

/// A client's id is kept while the client is known, so it has a limit. Bytes.
const CLIENT_ID_MAX: usize = 512;
/// So has its language, which is only shown and compared.
const LANGUAGE_MAX: usize = 32;

/// What a call says of itself.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    /// Who calls.
    pub(crate) client: ClientId,
    /// In upper case, as the client says; empty where it does not.
    pub(crate) language: String,
    /// The ends of its connection.
    pub(crate) ends: Ends,
    /// When the client stops waiting.
    pub(crate) deadline: Option<Instant>,
}

impl Context {
    /// Reads the metadata of `request`, which has just come in.
    pub(crate) fn of<T>(request: &tonic::Request<T>) -> Result<Self, Refused> {
        const NOWHERE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
        let ends = request.extensions().get().copied().unwrap_or(Ends { peer: NOWHERE, local: NOWHERE });
        Self::read(request.metadata(), ends, Instant::now())
    }

    fn read(metadata: &MetadataMap, ends: Ends, now: Instant) -> Result<Self, Refused> {
        let text = |key| metadata.get(key).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let client = text(CLIENT_ID);
        if client.trim().is_empty() {
            return Err(Refused::new(
                Code::ClientIdRequired,
                format!("client id cannot be empty: {CLIENT_ID}"),
            ));
        }
        if client.len() > CLIENT_ID_MAX {
            let text = format!("{CLIENT_ID} has {} bytes, the limit is {CLIENT_ID_MAX}", client.len());
            return Err(Refused::new(Code::ClientIdRequired, text));
        }
        Ok(Self {
            client: ClientId(client.into()),
            language: text(LANGUAGE).chars().take(LANGUAGE_MAX).collect::<String>().to_uppercase(),
            ends,
            deadline: timeout(text(DEADLINE)).and_then(|left| now.checked_add(left)),
        })
    }

    /// The time until the client stops waiting; `None` where it waits for ever.
    pub(crate) fn left(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }
}

/// Reads gRPC's form of a timeout: up to eight digits and a unit. Anything else is none.
fn timeout(text: &str) -> Option<Duration> {
    let unit = text.chars().last()?;
    let digits = text.strip_suffix(unit)?;
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number: u64 = digits.parse().ok()?;
    match unit {
        'H' => Some(Duration::from_secs(number * 3600)),
        'M' => Some(Duration::from_secs(number * 60)),
        'S' => Some(Duration::from_secs(number)),
        'm' => Some(Duration::from_millis(number)),
        'u' => Some(Duration::from_micros(number)),
        'n' => Some(Duration::from_nanos(number)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
