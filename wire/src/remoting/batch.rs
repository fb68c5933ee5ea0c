//! Batch: the body of `SEND_BATCH_MESSAGE` (320), messages end to end without a count.
//!
//! | bytes | field                                        |
//! |------:|----------------------------------------------|
//! | 4     | size of all of this message, this field too  |
//! | 4     | magic, 0                                     |
//! | 4     | body checksum, 0                             |
//! | 4     | flag                                         |
//! | 4 + n | body                                         |
//! | 2 + n | properties, encoded                          |
//!
//! Topic, queue, time and the rest stand once, in the header. Peer: `MessageDecoder#encodeMessage` (RocketMQ 5.x).

use bytes::{Buf, BufMut, Bytes};

/// Bytes of a message without body and properties.
const FIXED: usize = 4 + 4 + 4 + 4 + 4 + 2;

/// A message of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The producer's own number.
    pub flag: i32,
    /// The body.
    pub body: Bytes,
    /// The properties, encoded; see `wire::property`.
    pub properties: Bytes,
}

/// Why a body is no batch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// It holds no message.
    #[error("the batch is empty")]
    Empty,
    /// It holds more messages than allowed.
    #[error("the batch has more than {limit} messages")]
    TooMany {
        /// The most allowed.
        limit: usize,
    },
    /// A size or length that does not fit what is there.
    #[error("message {index} of the batch: {field} is {value}, {left} bytes are left for it")]
    Length {
        /// Which message, from 0 on.
        index: usize,
        /// Which size.
        field: &'static str,
        /// The size.
        value: i64,
        /// The bytes there are.
        left: usize,
    },
}

/// Takes a batch of at most `limit` messages apart; their bytes are shared with `body`.
pub fn decode(mut body: Bytes, limit: usize) -> Result<Vec<Item>, BatchError> {
    let mut items = Vec::new();
    while !body.is_empty() {
        if items.len() == limit {
            return Err(BatchError::TooMany { limit });
        }
        items.push(item(&mut body, items.len())?);
    }
    if items.is_empty() { Err(BatchError::Empty) } else { Ok(items) }
}

fn item(from: &mut Bytes, index: usize) -> Result<Item, BatchError> {
    let wrong = |field, value, left| BatchError::Length { index, field, value, left };
    let size = from.first_chunk().map(|bytes| i32::from_be_bytes(*bytes));
    let size = size.ok_or(wrong("the size of its size field", 4, from.len()))?;
    if size < FIXED as i32 || size as usize > from.len() {
        return Err(wrong("size", i64::from(size), from.len()));
    }
    let mut message = from.split_to(size as usize);
    message.advance(12);
    let flag = message.get_i32();
    let length = message.get_i32();
    if length < 0 || length as usize + 2 > message.len() {
        return Err(wrong("body length", i64::from(length), message.len() - 2));
    }
    let body = message.split_to(length as usize);
    let length = message.get_i16();
    if usize::try_from(length) != Ok(message.len()) {
        return Err(wrong("properties length", i64::from(length), message.len()));
    }
    Ok(Item { flag, body, properties: message })
}

/// Appends a message to a batch.
pub fn encode(item: &Item, into: &mut Vec<u8>) {
    into.put_u32((FIXED + item.body.len() + item.properties.len()) as u32);
    into.put_u32(0);
    into.put_u32(0);
    into.put_i32(item.flag);
    into.put_u32(item.body.len() as u32);
    into.extend_from_slice(&item.body);
    into.put_u16(item.properties.len() as u16);
    into.extend_from_slice(&item.properties);
}

#[cfg(test)]
mod tests;
