//! Filters: which messages of a topic a consumer wants.

mod sql;

pub use sql::{Sql, SqlError};

use std::sync::Arc;
use wire::stored::View;
use wire::{property, tag};

/// Tags of one filter, at most: what one message may cost grows with them.
pub const TAGS_MAX: usize = 1024;

/// Bytes of an expression of tags, at most.
pub const TAGS_BYTES_MAX: usize = 64 << 10;

/// Which messages are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filter {
    /// All of them.
    All,
    /// Those with one of these tags, compared by the tag itself.
    Tags(Arc<Tags>),
    /// Those of whose properties this holds.
    Sql(Arc<Sql>),
}

/// Tags of which a message must have one.
#[derive(Debug, PartialEq, Eq)]
pub struct Tags {
    names: Vec<Box<str>>,
    /// Their codes, in order.
    codes: Vec<i64>,
}

/// Why an expression of tags is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TagsError {
    /// It is longer than what is read.
    #[error("the expression of tags has {length} bytes, the limit is {limit}")]
    TooLong {
        /// Its bytes.
        length: usize,
        /// The limit.
        limit: usize,
    },
    /// It names too many.
    #[error("the expression has {count} tags, the limit is {limit}")]
    TooMany {
        /// How many.
        count: usize,
        /// The limit.
        limit: usize,
    },
}

impl Tags {
    /// They, as they were given.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(AsRef::as_ref)
    }
}

impl Filter {
    /// Reads a tag expression: blank or `*` is all, else tags separated by `||`. Peer: `FilterAPI`, without limits.
    ///
    /// # Errors
    /// It is longer than 64 KiB, or has more than 1024 tags.
    pub fn tags(expression: &str) -> Result<Self, TagsError> {
        if matches!(expression.trim(), "" | "*") {
            return Ok(Self::All);
        }
        if expression.len() > TAGS_BYTES_MAX {
            return Err(TagsError::TooLong { length: expression.len(), limit: TAGS_BYTES_MAX });
        }
        let names = expression.split("||").map(str::trim).filter(|tag| !tag.is_empty());
        let names: Vec<Box<str>> = names.map(Box::from).collect();
        if names.len() > TAGS_MAX {
            return Err(TagsError::TooMany { count: names.len(), limit: TAGS_MAX });
        }
        if names.is_empty() {
            return Ok(Self::All);
        }
        let mut codes: Vec<i64> = names.iter().map(|tag| tag::code(tag)).collect();
        codes.sort_unstable();
        Ok(Self::Tags(Arc::new(Tags { names, codes })))
    }

    /// Reads a SQL92 expression.
    pub fn sql(expression: &str) -> Result<Self, SqlError> {
        Sql::parse(expression).map(Arc::new).map(Self::Sql)
    }

    /// Whether it must see the message itself, since no client looks again at what it was given.
    pub(crate) fn needs_message(&self) -> bool {
        matches!(self, Self::Sql(_))
    }

    /// Whether a message whose tag has this code may be wanted: another tag may have the same code.
    pub(crate) fn may_match(&self, tag_code: i64) -> bool {
        match self {
            Self::All | Self::Sql(_) => true,
            Self::Tags(tags) => tags.codes.binary_search(&tag_code).is_ok(),
        }
    }

    /// Whether this message is wanted.
    pub(crate) fn matches(&self, message: &View<'_>) -> bool {
        match self {
            Self::All => true,
            Self::Tags(tags) => {
                let tag = message.property(property::TAGS);
                tag.is_some_and(|tag| tags.names().any(|wanted| wanted == tag))
            }
            Self::Sql(sql) => sql.matches(|name| message.property(name)),
        }
    }

    /// Bytes that it fills, about.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::All => 0,
            Self::Tags(tags) => tags.names().map(|tag| tag.len() + TAG_BYTES).sum(),
            Self::Sql(sql) => sql.text().len() * SQL_FACTOR,
        }
    }
}

/// What a tag fills beside its letters.
const TAG_BYTES: usize = 32;
/// How much more a condition that was read fills than its text.
const SQL_FACTOR: usize = 8;

#[cfg(test)]
mod tests;
