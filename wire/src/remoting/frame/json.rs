//! The JSON header: one object, its keys in alphabetical order, no white space.
//!
//! Read leniently: values of `extFields` may be numbers and booleans, unknown keys are skipped, `language`
//! may be a number, bytes that are no UTF-8 are replaced. Written strictly: every value of `extFields` is a
//! string, since Go's client gives up on anything else.

use super::{Command, DecodeError, MAX_FIELDS, Serialize};
use crate::remoting::fields::Fields;
use crate::remoting::language::Language;
use bytes::{BufMut, Bytes, BytesMut};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Header<'a> {
    code: i32,
    #[serde(default)]
    ext_fields: Option<Ext>,
    #[serde(default)]
    flag: i32,
    #[serde(default, borrow)]
    language: Option<Word<'a>>,
    opaque: i32,
    #[serde(default)]
    remark: Option<String>,
    #[serde(default)]
    version: i32,
}

pub(super) fn decode(header: &[u8], body: Bytes) -> Result<Command, DecodeError> {
    // Borrowed, and so without a copy, wherever the bytes are UTF-8.
    let text = String::from_utf8_lossy(header);
    let header: Header<'_> = serde_json::from_str(&text).map_err(DecodeError::Json)?;
    Ok(Command {
        code: header.code,
        language: header.language.map_or(Language::Other, |word| match word.0.parse() {
            Ok(number) => Language::from_number(number),
            Err(_) => Language::from_name(&word.0),
        }),
        version: header.version,
        opaque: header.opaque,
        flag: header.flag,
        remark: header.remark.filter(|remark| !remark.is_empty()),
        ext: header.ext_fields.map(|ext| ext.0).unwrap_or_default(),
        body,
        serialize: Serialize::Json,
    })
}

pub(super) fn encode(command: &Command, into: &mut BytesMut) {
    put(into, r#"{"code":"#);
    put_number(into, command.code);
    put(into, r#","extFields":{"#);
    for (i, (name, value)) in command.ext.iter().enumerate() {
        if i > 0 {
            put(into, ",");
        }
        put_string(into, name);
        put(into, ":");
        put_string(into, value);
    }
    put(into, r#"},"flag":"#);
    put_number(into, command.flag);
    put(into, r#","language":""#);
    put(into, command.language.name());
    put(into, r#"","opaque":"#);
    put_number(into, command.opaque);
    if let Some(remark) = &command.remark {
        put(into, r#","remark":"#);
        put_string(into, remark);
    }
    put(into, r#","serializeTypeCurrentRPC":"JSON","version":"#);
    put_number(into, command.version);
    put(into, "}");
}

fn put(into: &mut BytesMut, text: &str) {
    into.extend_from_slice(text.as_bytes());
}

fn put_number(into: &mut BytesMut, number: i32) {
    serde_json::to_writer(into.writer(), &number).expect("a buffer takes every number");
}

fn put_string(into: &mut BytesMut, text: &str) {
    serde_json::to_writer(into.writer(), text).expect("a buffer takes every string");
}

/// `extFields`: an object of texts.
struct Ext(Fields);

impl<'de> Deserialize<'de> for Ext {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Ext;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of strings")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Ext, A::Error> {
                let mut fields = Fields::new();
                while let Some(name) = map.next_key::<Word<'_>>()? {
                    let Some(value) = map.next_value::<Option<Word<'_>>>()? else {
                        continue;
                    };
                    fields.set(&name.0, value.0);
                    if fields.len() > MAX_FIELDS {
                        return Err(A::Error::custom(DecodeError::TooManyFields { limit: MAX_FIELDS }));
                    }
                }
                Ok(Ext(fields))
            }
        }
        from.deserialize_map(Read)
    }
}

/// A string, or a number or boolean as it prints; borrowed where it can be.
struct Word<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Word<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Word<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string, a number or a boolean")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Word(Cow::Borrowed(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Word(Cow::Owned(text.to_owned())))
            }

            fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
                Ok(Word(Cow::Borrowed(if value { "true" } else { "false" })))
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
                Ok(Word(Cow::Owned(value.to_string())))
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Self::Value, E> {
                Ok(Word(Cow::Owned(value.to_string())))
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<Self::Value, E> {
                Ok(Word(Cow::Owned(value.to_string())))
            }
        }
        from.deserialize_any(Read)
    }
}
