//! Shapes read out of JSON, with a scalar of one kind taken for one of another where it can be.

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{Deserializer, Error as _, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Error, Value};

/// A value that is read with some goodwill. Peer: the casts of fastjson's `TypeUtils`.
pub(super) struct Lenient(pub Value);

impl IntoDeserializer<'_, Error> for Lenient {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// Reads a number: of a text, the number it holds; of an empty one, 0.
macro_rules! number {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            match self.0 {
                Value::String(text) => {
                    let number = match text.trim() {
                        "" => Ok(0.into()),
                        text => text.parse::<serde_json::Number>(),
                    };
                    number.map_err(|_| Error::custom(format_args!("{text:?} is no number")))?.$method(visitor)
                }
                other => other.$method(visitor),
            }
        })*
    };
}

impl<'de> Deserializer<'de> for Lenient {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Array(list) => visitor.visit_seq(SeqDeserializer::new(list.into_iter().map(Lenient))),
            Value::Object(map) => {
                let pairs = map.into_iter().map(|(key, value)| (Lenient(key.into()), Lenient(value)));
                visitor.visit_map(MapDeserializer::new(pairs))
            }
            scalar => scalar.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &self.0 {
            Value::String(text) => visitor.visit_bool(text.eq_ignore_ascii_case("true")),
            Value::Number(number) => visitor.visit_bool(number.as_i64() != Some(0)),
            _ => self.0.deserialize_bool(visitor),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &self.0 {
            Value::Number(_) | Value::Bool(_) => visitor.visit_string(self.0.to_string()),
            _ => self.0.deserialize_string(visitor),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    number! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
        deserialize_f32 deserialize_f64
    }

    forward_to_deserialize_any! {
        char bytes byte_buf unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier
        ignored_any i128 u128
    }
}
