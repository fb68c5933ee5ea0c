//! Filters: which messages of a topic a consumer wants.

use wire::tag;

/// Which messages are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filter {
    /// All of them.
    All,
    /// Those with one of these tags, compared by the tag itself.
    Tags(Vec<String>),
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

    /// Whether a message whose tag has this code may be wanted: another tag may have the same code.
    pub(crate) fn may_match(&self, tag_code: i64) -> bool {
        match self {
            Self::All => true,
            Self::Tags(tags) => tags.iter().any(|tag| tag::code(tag) == tag_code),
        }
    }

    /// Whether a message with this tag is wanted.
    pub(crate) fn matches(&self, tag: Option<&str>) -> bool {
        match self {
            Self::All => true,
            Self::Tags(tags) => tag.is_some_and(|tag| tags.iter().any(|wanted| wanted == tag)),
        }
    }
}
