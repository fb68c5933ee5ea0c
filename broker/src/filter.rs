//! Filters: which messages of a topic a consumer wants.

mod sql;

pub use sql::{Sql, SqlError};

use std::sync::Arc;
use wire::stored::View;
use wire::{property, tag};

/// Which messages are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filter {
    /// All of them.
    All,
    /// Those with one of these tags, compared by the tag itself.
    Tags(Vec<String>),
    /// Those of whose properties this holds.
    Sql(Arc<Sql>),
}

impl Filter {
    /// Reads a tag expression: blank or `*` is all, else tags separated by `||`. Peer: `FilterAPI`.
    pub fn tags(expression: &str) -> Self {
        if matches!(expression.trim(), "" | "*") {
            return Self::All;
        }
        let tags: Vec<String> =
            expression.split("||").map(str::trim).filter(|tag| !tag.is_empty()).map(str::to_owned).collect();
        if tags.is_empty() { Self::All } else { Self::Tags(tags) }
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
            Self::Tags(tags) => tags.iter().any(|tag| tag::code(tag) == tag_code),
        }
    }

    /// Whether this message is wanted.
    pub(crate) fn matches(&self, message: &View<'_>) -> bool {
        match self {
            Self::All => true,
            Self::Tags(tags) => {
                let tag = message.property(property::TAGS);
                tag.is_some_and(|tag| tags.iter().any(|wanted| wanted == tag))
            }
            Self::Sql(sql) => sql.matches(|name| message.property(name)),
        }
    }
}
