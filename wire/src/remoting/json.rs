//! Bodies: JSON as RocketMQ's library writes and reads it.
//!
//! Written as that library does: one line, keys in alphabetical order, absent rather than null, numbers as
//! keys in quotes (which it reads as well as its own bare ones). Read as it does, which is more than JSON:
//!
//! - keys may be bare numbers or words, and even objects, which are then known by their text;
//! - an object of only `$ref` points to a twin elsewhere in the document; it is left out;
//! - what is null is left out, and so are keys that nobody asks for;
//! - a text may stand for a number or a truth value, and these for a text: Go's client writes tag codes as texts.

mod lenient;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The deepest nesting read.
const DEPTH_MAX: usize = 32;

/// Why a body could not be read.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// It is not JSON, even by the looser rules.
    #[error("the body is not JSON: {wanted} is missing at byte {at}")]
    Syntax {
        /// What should stand there.
        wanted: &'static str,
        /// Where.
        at: usize,
    },
    /// It nests too deep.
    #[error("the body nests deeper than {limit} at byte {at}")]
    TooDeep {
        /// Where.
        at: usize,
        /// The deepest allowed.
        limit: usize,
    },
    /// It is JSON of another shape.
    #[error("the body does not have the shape asked for: {0}")]
    Shape(#[source] serde_json::Error),
}

/// Reads a body.
pub fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, BodyError> {
    T::deserialize(lenient::Lenient(parse(body)?)).map_err(BodyError::Shape)
}

/// Writes a body.
///
/// # Panics
/// Where a map's keys are neither texts nor numbers, which no body's are.
pub fn write<T: serde::Serialize>(value: &T) -> Bytes {
    serde_json::to_vec(value)
        .expect("bodies are made of texts, numbers, lists and maps by text or number")
        .into()
}

/// Writes a map whose keys are objects, as that library does: `{{"queueId":0}:1}`. It is no JSON.
///
/// # Panics
/// As [`write()`].
pub fn write_keyed<K: serde::Serialize, V: serde::Serialize>(
    entries: impl IntoIterator<Item = (K, V)>,
) -> String {
    let part = |text: Bytes| String::from_utf8(text.into()).expect("JSON is text");
    let mut map = String::from("{");
    for (key, value) in entries {
        if map.len() > 1 {
            map.push(',');
        }
        map.push_str(&part(write(&key)));
        map.push(':');
        map.push_str(&part(write(&value)));
    }
    map.push('}');
    map
}

/// Reads a body of any shape.
pub fn parse(body: &[u8]) -> Result<Value, BodyError> {
    let text = String::from_utf8_lossy(body);
    let mut parser = Parser { text: &text, at: 0, depth: 0 };
    let value = parser.value()?.unwrap_or(Value::Null);
    parser.blanks();
    if parser.at < text.len() { Err(parser.missing("the end")) } else { Ok(value) }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    /// The next value; `None` for a reference to another.
    fn value(&mut self) -> Result<Option<Value>, BodyError> {
        self.blanks();
        match self.peek() {
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::list).map(Some),
            Some(b'"') => self.string().map(Value::String).map(Some),
            _ => {
                let at = self.at;
                let value = serde_json::from_str(self.word()).ok();
                value.map(Some).ok_or(BodyError::Syntax { wanted: "a value", at })
            }
        }
    }

    fn nested<T>(&mut self, read: fn(&mut Self) -> Result<T, BodyError>) -> Result<T, BodyError> {
        if self.depth == DEPTH_MAX {
            return Err(BodyError::TooDeep { at: self.at, limit: DEPTH_MAX });
        }
        self.depth += 1;
        self.at += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn object(&mut self) -> Result<Option<Value>, BodyError> {
        let mut map = Map::new();
        let mut reference = false;
        while !self.take_if(b'}') {
            let key = self.key()?;
            if !self.take_if(b':') {
                return Err(self.missing("a colon"));
            }
            match self.value()? {
                Some(Value::Null) | None => {}
                Some(_) if key == "$ref" => reference = true,
                Some(value) => {
                    map.insert(key, value);
                }
            }
            if !self.take_if(b',') && self.peek() != Some(b'}') {
                return Err(self.missing("a comma or the end of the object"));
            }
        }
        Ok(if reference && map.is_empty() { None } else { Some(Value::Object(map)) })
    }

    fn list(&mut self) -> Result<Value, BodyError> {
        let mut list = Vec::new();
        while !self.take_if(b']') {
            list.extend(self.value()?);
            if !self.take_if(b',') && self.peek() != Some(b']') {
                return Err(self.missing("a comma or the end of the list"));
            }
        }
        Ok(Value::Array(list))
    }

    fn key(&mut self) -> Result<String, BodyError> {
        self.blanks();
        match self.peek() {
            Some(b'"') => self.string(),
            Some(b'{') => Ok(self.nested(Self::object)?.unwrap_or(Value::Null).to_string()),
            _ => match self.word() {
                "" => Err(self.missing("a key")),
                word => Ok(word.to_owned()),
            },
        }
    }

    fn string(&mut self) -> Result<String, BodyError> {
        let (start, bytes) = (self.at, self.text.as_bytes());
        let mut end = start + 1;
        while *bytes.get(end).ok_or(BodyError::Syntax { wanted: "a closing quote", at: start })? != b'"' {
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        self.at = end + 1;
        serde_json::from_str(&self.text[start..=end])
            .map_err(|_| BodyError::Syntax { wanted: "a string", at: start })
    }

    /// All up to the next sign of the grammar.
    fn word(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let end =
            rest.find(|c: char| c.is_ascii_whitespace() || "{}[],:\"".contains(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn take_if(&mut self, sign: u8) -> bool {
        self.blanks();
        let found = self.peek() == Some(sign);
        self.at += usize::from(found);
        found
    }

    fn blanks(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn missing(&self, wanted: &'static str) -> BodyError {
        BodyError::Syntax { wanted, at: self.at }
    }
}

#[cfg(test)]
mod tests;
