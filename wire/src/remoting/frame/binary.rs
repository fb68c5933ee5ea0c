//! The binary header.
//!
//! | bytes  | field                                                             |
//! |-------:|-------------------------------------------------------------------|
//! | 2      | code, cut to 16 bits (see [`RequestCode::widen`])                 |
//! | 1      | language                                                          |
//! | 2      | version                                                           |
//! | 4      | opaque                                                            |
//! | 4      | flag                                                              |
//! | 4 + n  | remark; a length of 0 is none                                     |
//! | 4 + n  | fields: each 2 + n name, 4 + n value, until the length is used up |
//!
//! Peer: `RocketMQSerializable` (RocketMQ 5.x).

use super::{Command, DecodeError, FLAG_ANSWER, MAX_FIELDS, Serialize};
use crate::remoting::code::RequestCode;
use crate::remoting::fields::Fields;
use crate::remoting::language::Language;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use std::borrow::Cow;

pub(super) fn decode(mut header: &[u8], body: Bytes) -> Result<Command, DecodeError> {
    let from = &mut header;
    need(from, "code", 2 + 1 + 2 + 4 + 4)?;
    let (code, language, version, opaque, flag) =
        (from.get_i16(), from.get_u8(), from.get_i16(), from.get_i32(), from.get_i32());
    let remark = take_long(from, "remark")?;
    let mut rest = take_long(from, "extFields")?;
    let mut ext = Fields::new();
    while !rest.is_empty() {
        need(rest, "name length", 2)?;
        let length = i32::from(rest.get_i16());
        let name = take(&mut rest, "name", length)?;
        let value = take_long(&mut rest, "value")?;
        ext.set(&text(name), text(value));
        if ext.len() > MAX_FIELDS {
            return Err(DecodeError::TooManyFields { limit: MAX_FIELDS });
        }
    }
    Ok(Command {
        code: if flag & FLAG_ANSWER == 0 { RequestCode::widen(code) } else { i32::from(code) },
        language: Language::from_number(language),
        version: i32::from(version),
        opaque,
        flag,
        remark: (!remark.is_empty()).then(|| text(remark).into_owned()),
        ext,
        body,
        serialize: Serialize::RocketMq,
    })
}

pub(super) fn encode(command: &Command, into: &mut BytesMut) {
    into.put_i16(command.code as i16);
    into.put_u8(command.language.number());
    into.put_i16(command.version as i16);
    into.put_i32(command.opaque);
    into.put_i32(command.flag);
    put_long(into, command.remark.as_deref().unwrap_or_default());
    let length_at = into.len();
    into.put_i32(0);
    for (name, value) in command.ext.iter() {
        // A name that does not fit its length is one no reader of this dialect could ask for.
        let Ok(length) = i16::try_from(name.len()) else {
            continue;
        };
        into.put_i16(length);
        into.extend_from_slice(name.as_bytes());
        put_long(into, value);
    }
    let length = (into.len() - length_at - 4) as u32;
    into[length_at..length_at + 4].copy_from_slice(&length.to_be_bytes());
}

fn put_long(into: &mut BytesMut, text: &str) {
    into.put_u32(text.len() as u32);
    into.extend_from_slice(text.as_bytes());
}

fn need(from: &[u8], field: &'static str, needed: usize) -> Result<(), DecodeError> {
    if from.len() < needed { Err(DecodeError::Truncated { field, needed, left: from.len() }) } else { Ok(()) }
}

fn take<'a>(from: &mut &'a [u8], field: &'static str, length: i32) -> Result<&'a [u8], DecodeError> {
    let needed = usize::try_from(length).map_err(|_| DecodeError::NegativeLength { field, length })?;
    need(from, field, needed)?;
    let (taken, rest) = from.split_at(needed);
    *from = rest;
    Ok(taken)
}

fn take_long<'a>(from: &mut &'a [u8], field: &'static str) -> Result<&'a [u8], DecodeError> {
    need(from, field, 4)?;
    let length = from.get_i32();
    take(from, field, length)
}

fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}
