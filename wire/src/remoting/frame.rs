//! A frame: one command on a connection.
//!
//! | at    | bytes | field       | meaning                                                       |
//! |------:|------:|-------------|---------------------------------------------------------------|
//! | 0     | 4     | length      | of all that follows: 4 + header + body                        |
//! | 4     | 1     | dialect     | of the header: 0 JSON, 1 binary                               |
//! | 5     | 3     | header size | H                                                             |
//! | 8     | H     | header      | `frame/json.rs` and `frame/binary.rs` say how it is written     |
//! | 8 + H | rest  | body        | of whatever form the code says                                |
//!
//! Numbers are big-endian. Peer: `RemotingCommand`, `NettyDecoder` (RocketMQ 5.x).
//!
//! A frame that breaks these rules loses the connection, as it does there: where the next frame begins, or
//! which request waits for the error, is then anybody's guess.

mod binary;
mod json;

use crate::remoting::code::{RequestCode, ResponseCode};
use crate::remoting::fields::Fields;
use crate::remoting::language::Language;
use bytes::{Buf, BufMut, Bytes, BytesMut};

/// The most bytes a frame may have, with its length.
pub const MAX_BYTES: usize = 16 * 1024 * 1024;

/// The most fields a header may have: finding one is a walk over all.
pub const MAX_FIELDS: usize = 512;

/// What we say we are: the ordinal of RocketMQ 5.3.3.
pub const VERSION: i32 = 479;

const FLAG_ANSWER: i32 = 1;
const FLAG_ONE_WAY: i32 = 2;

/// Bytes before the header.
const PRELUDE: usize = 8;

/// The dialect of a header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Serialize {
    /// JSON, every client's default.
    #[default]
    Json,
    /// RocketMQ's binary one.
    RocketMq,
}

/// A request or an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// A [`RequestCode`] or a [`ResponseCode`], or neither.
    pub code: i32,
    /// What the sender is written in.
    pub language: Language,
    /// The sender's version, as RocketMQ's ordinal.
    pub version: i32,
    /// Joins an answer to its request; each side counts its own requests.
    pub opaque: i32,
    /// Bit 0: an answer; bit 1: no answer is wanted.
    pub flag: i32,
    /// What went wrong, for people.
    pub remark: Option<String>,
    /// The verb's header.
    pub ext: Fields,
    /// The verb's body.
    pub body: Bytes,
    /// The dialect it came in, or shall go out in.
    pub serialize: Serialize,
}

impl Command {
    /// A request that wants an answer. Its `opaque` is the sender's to set.
    pub fn request(code: RequestCode, ext: Fields, body: Bytes) -> Self {
        Self {
            code: code.number(),
            language: Language::Rust,
            version: VERSION,
            opaque: 0,
            flag: 0,
            remark: None,
            ext,
            body,
            serialize: Serialize::Json,
        }
    }

    /// The same request, wanting no answer.
    #[must_use]
    pub fn one_way(mut self) -> Self {
        self.flag |= FLAG_ONE_WAY;
        self
    }

    /// An answer to this request, in its dialect, saying it is by Java: the name every client knows.
    #[must_use]
    pub fn answer(&self, code: ResponseCode) -> Self {
        Self {
            code: code.number(),
            language: Language::Java,
            version: VERSION,
            opaque: self.opaque,
            flag: FLAG_ANSWER,
            remark: None,
            ext: Fields::new(),
            body: Bytes::new(),
            serialize: self.serialize,
        }
    }

    /// Whether this answers a request.
    pub fn is_answer(&self) -> bool {
        self.flag & FLAG_ANSWER != 0
    }

    /// Whether the sender wants no answer, not even an error.
    pub fn is_one_way(&self) -> bool {
        self.flag & FLAG_ONE_WAY != 0
    }

    /// Appends the frame.
    ///
    /// # Panics
    /// Where the header has 16 MiB and more, which no verb's has.
    pub fn encode(&self, into: &mut BytesMut) {
        self.encode_with(std::slice::from_ref(&self.body), into);
    }

    /// Appends the frame with `parts`, one after another, as its body in place of its own.
    ///
    /// # Panics
    /// As [`encode`](Self::encode).
    pub fn encode_with(&self, parts: &[Bytes], into: &mut BytesMut) {
        let start = into.len();
        into.put_bytes(0, PRELUDE);
        let dialect = match self.serialize {
            Serialize::Json => {
                json::encode(self, into);
                0
            }
            Serialize::RocketMq => {
                binary::encode(self, into);
                1
            }
        };
        let header = into.len() - start - PRELUDE;
        assert!(header < 1 << 24, "a header of {header} bytes does not fit its 24-bit length");
        for part in parts {
            into.extend_from_slice(part);
        }
        let length = (into.len() - start - 4) as u32;
        into[start..start + 4].copy_from_slice(&length.to_be_bytes());
        into[start + 4..start + PRELUDE].copy_from_slice(&(dialect << 24 | header as u32).to_be_bytes());
    }
}

/// Why bytes are no frame. The stream they came by cannot be read on.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// More bytes than allowed, or a negative length.
    #[error("frame length is {length}, the limit is {limit}")]
    TooLong {
        /// The declared length.
        length: u32,
        /// The most allowed.
        limit: usize,
    },
    /// Not even the header's own size fits.
    #[error("frame length is {length}, at least 4 are needed")]
    TooShort {
        /// The declared length.
        length: u32,
    },
    /// The header ends behind the frame.
    #[error("header size is {header}, the frame leaves room for {room}")]
    HeaderTooLong {
        /// The declared size of the header.
        header: usize,
        /// What the frame's length leaves for it.
        room: usize,
    },
    /// A dialect that is neither JSON nor binary.
    #[error("header dialect is {found}, known are 0 and 1")]
    UnknownDialect {
        /// Its number.
        found: u8,
    },
    /// The JSON header is none.
    #[error("the JSON header cannot be read")]
    Json(#[source] serde_json::Error),
    /// The binary header ends inside a field.
    #[error("header field {field} needs {needed} bytes, {left} are left")]
    Truncated {
        /// The field.
        field: &'static str,
        /// What it needs.
        needed: usize,
        /// What there is.
        left: usize,
    },
    /// A length in the binary header is negative.
    #[error("header field {field} is {length}")]
    NegativeLength {
        /// The field.
        field: &'static str,
        /// The length.
        length: i32,
    },
    /// More fields than allowed.
    #[error("the header has more than {limit} fields")]
    TooManyFields {
        /// The most allowed.
        limit: usize,
    },
}

/// Takes the first frame from `buffer`; `None` leaves it untouched until more has come.
///
/// What the prelude says is checked before the rest is there, so that nobody waits for a frame that is then
/// refused. Nothing is reserved for a length that was only declared.
pub fn decode(buffer: &mut BytesMut, limit: usize) -> Result<Option<Command>, DecodeError> {
    let Some(length) = buffer.first_chunk().map(|bytes| u32::from_be_bytes(*bytes)) else {
        return Ok(None);
    };
    if length as usize > limit.saturating_sub(4) {
        return Err(DecodeError::TooLong { length, limit });
    }
    if length < 4 {
        return Err(DecodeError::TooShort { length });
    }
    let Some(mark) = buffer[4..].first_chunk().map(|bytes| u32::from_be_bytes(*bytes)) else {
        return Ok(None);
    };
    let serialize = match (mark >> 24) as u8 {
        0 => Serialize::Json,
        1 => Serialize::RocketMq,
        found => return Err(DecodeError::UnknownDialect { found }),
    };
    let (header, room) = ((mark & 0x00FF_FFFF) as usize, length as usize - 4);
    if header > room {
        return Err(DecodeError::HeaderTooLong { header, room });
    }
    if buffer.len() < 4 + length as usize {
        return Ok(None);
    }
    let mut frame = buffer.split_to(4 + length as usize).freeze();
    frame.advance(PRELUDE);
    let header = frame.split_to(header);
    let command = match serialize {
        Serialize::Json => json::decode(&header, frame),
        Serialize::RocketMq => binary::decode(&header, frame),
    };
    command.map(Some)
}

#[cfg(test)]
mod tests;
