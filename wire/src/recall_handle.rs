//! The handle by which a sender recalls or moves a delayed message.

use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use model::Timestamp;

const VERSION: &str = "v1";
const PARTS: usize = 5;
/// Longer than any handle we give; what is longer is not looked at.
const MAX_BYTES: usize = 4096;

/// Java writes the padding; clients in other languages may have lost it.
const TEXT: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// What a handle says. Its moment is a hint: the message may have been moved since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecallHandle {
    /// The message's topic.
    pub topic: String,
    /// The broker that holds it.
    pub broker: String,
    /// When it is due, as far as the handle knows.
    pub deliver_at: Timestamp,
    /// The message's unique key.
    pub unique_key: String,
}

/// Why a text is not a recall handle.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecallHandleError {
    /// Past any handle we give.
    #[error("the recall handle has {length} bytes, the limit is {MAX_BYTES}")]
    TooLong {
        /// Its length.
        length: usize,
    },
    /// Not in the alphabet of URL-safe Base64.
    #[error("the recall handle is not URL-safe Base64")]
    Base64,
    /// Not text inside.
    #[error("the recall handle holds no UTF-8")]
    NotUtf8,
    /// A handle of another kind.
    #[error("the recall handle begins with {found:?}, expected {VERSION:?}")]
    Version {
        /// How it begins.
        found: String,
    },
    /// Too few parts, or an empty one.
    #[error("the recall handle has no {part}")]
    Missing {
        /// The first one missing.
        part: &'static str,
    },
    /// A moment that is no number.
    #[error("the moment in the recall handle is {found:?}, not milliseconds since the epoch")]
    Moment {
        /// What stands there.
        found: String,
    },
}

impl RecallHandle {
    /// The handle as clients carry it: `v1 topic broker deliver_at unique_key` in URL-safe Base64, padded.
    ///
    /// Peer: `RecallMessageHandle.HandleV1#buildHandle` (RocketMQ 5.3 and later).
    pub fn encode(&self) -> String {
        let Self { topic, broker, deliver_at, unique_key } = self;
        TEXT.encode(format!("{VERSION} {topic} {broker} {deliver_at} {unique_key}"))
    }

    /// Reads a handle, padded or not. What follows the fifth part is passed over, as RocketMQ does.
    pub fn decode(text: &str) -> Result<Self, RecallHandleError> {
        if text.len() > MAX_BYTES {
            return Err(RecallHandleError::TooLong { length: text.len() });
        }
        let bytes = TEXT.decode(text).map_err(|_| RecallHandleError::Base64)?;
        let inner = std::str::from_utf8(&bytes).map_err(|_| RecallHandleError::NotUtf8)?;
        let mut parts = inner.splitn(PARTS + 1, ' ').take(PARTS);
        let version = parts.next().unwrap_or_default();
        if version != VERSION {
            return Err(RecallHandleError::Version { found: version.chars().take(16).collect() });
        }
        let mut next =
            |part| parts.next().filter(|p| !p.is_empty()).ok_or(RecallHandleError::Missing { part });
        let (topic, broker, moment, unique_key) =
            (next("topic")?, next("broker")?, next("moment")?, next("unique key")?);
        let ms = moment
            .parse()
            .map_err(|_| RecallHandleError::Moment { found: moment.chars().take(32).collect() })?;
        Ok(Self {
            topic: topic.to_owned(),
            broker: broker.to_owned(),
            deliver_at: Timestamp::from_millis(ms),
            unique_key: unique_key.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests;
