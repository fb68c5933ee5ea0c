//! Filters: which messages of a topic a consumer wants.

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
}
