//! SQL92: conditions on a message's properties, in RocketMQ's grammar and with its truth of three values.
//!
//! | level     | words, from the loosest to the tightest binding                                       |
//! |-----------|---------------------------------------------------------------------------------------|
//! | or        | `OR`                                                                                  |
//! | and       | `AND`                                                                                 |
//! | equality  | `=`, `<>`, `IS NULL`, `IS NOT NULL`                                                   |
//! | tests     | `>`, `>=`, `<`, `<=`, `[NOT] BETWEEN … AND …`, `[NOT] IN ('…', …)`, `[NOT] CONTAINS`, |
//! |           | `[NOT] STARTSWITH`, `[NOT] ENDSWITH`                                                  |
//! | before    | `NOT`, `-`, `+`                                                                       |
//! | operands  | `'text'` (a quote in it is written twice), `7`, `7.5`, `1e3`, `TRUE`, `FALSE`,        |
//! |           | `NULL`, a property's name (letters, digits, `_`, `$`), `( … )`                        |
//!
//! Words are written in any case; properties' names and texts are compared by each letter. `--` begins a
//! comment up to the line's end, `/*` one up to `*/`. There is no arithmetic.
//!
//! What may surprise is the peer's, and expressions written for it count on it:
//!
//! - `NOT` binds before everything: `NOT a = 1` is `(NOT a) = 1`.
//! - A property is a text. Beside a number it is read as that kind of number: `5` and `'7'` as 32 bits, past
//!   that 64, `5.0` as a double. A text that is none makes the whole expression fail, and the message is not
//!   wanted, unless a condition before it has decided already.
//! - A comparison with an absent property is unknown; but `'x' = a` and `b = a` are false where only `a` is
//!   absent, and true where both are. `CONTAINS` and its like are false, never unknown.
//! - A property alone is no condition that can hold: it is unknown where absent, else false.
//!
//! Otherwise than there: text behind a complete expression is refused, not passed over; `0.0` is a number; a
//! comment may end the text; texts as numbers are in plain decimal digits; and there are limits.
//!
//! Peer: `SelectorParser`, `ComparisonExpression`, `LogicExpression`, `UnaryExpression` (RocketMQ 5.x).

mod eval;
mod lex;
mod parse;

use eval::Condition;
use std::fmt;

/// The most bytes of an expression: room for an `IN` with a few hundred ids. What one message may cost grows
/// with it.
pub const LENGTH_MAX: usize = 16 << 10;

/// How deep conditions and parentheses may lie in each other.
pub const DEPTH_MAX: usize = 64;

/// How many properties an expression may ask for: each is looked up once for each message.
pub const PROPERTIES_MAX: usize = 64;

/// A condition on a message's properties.
pub struct Sql {
    text: Box<str>,
    properties: parse::Names,
    condition: Condition,
}

/// Why a text is no condition. Places are counted in characters, from 1 on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SqlError {
    /// Nothing is there.
    #[error("the expression is empty")]
    Empty,
    /// It is longer than what is read.
    #[error("the expression has {length} bytes, the limit is {limit}")]
    TooLong {
        /// Its bytes.
        length: usize,
        /// The limit.
        limit: usize,
    },
    /// Something else belongs there.
    #[error("at character {at}: expected {expected}, found {found}")]
    Unexpected {
        /// Where.
        at: usize,
        /// What would fit.
        expected: String,
        /// What stands there, its beginning.
        found: String,
    },
    /// A text or a comment has no end.
    #[error("at character {at}: {what} has no end")]
    Unended {
        /// Where it begins.
        at: usize,
        /// Which of them.
        what: &'static str,
    },
    /// A number past what 64 bits hold.
    #[error("at character {at}: the number {number} is too large")]
    NumberTooLarge {
        /// Where.
        at: usize,
        /// Its beginning.
        number: String,
    },
    /// Conditions in conditions in conditions.
    #[error("at character {at}: the expression is nested deeper than {limit}")]
    TooDeep {
        /// Where.
        at: usize,
        /// The limit.
        limit: usize,
    },
    /// It asks for too many different properties.
    #[error("at character {at}: the expression names more than {limit} properties")]
    TooManyProperties {
        /// Where the first too many stands.
        at: usize,
        /// The limit.
        limit: usize,
    },
}

impl Sql {
    /// Reads an expression.
    pub fn parse(text: &str) -> Result<Self, SqlError> {
        if text.len() > LENGTH_MAX {
            return Err(SqlError::TooLong { length: text.len(), limit: LENGTH_MAX });
        }
        if text.trim().is_empty() {
            return Err(SqlError::Empty);
        }
        let (condition, properties) = parse::parse(text)?;
        Ok(Self { text: text.into(), properties, condition })
    }

    /// The expression as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether a message with these properties is wanted: what is unknown or fails is not.
    pub fn matches<'a>(&self, property: impl Fn(&str) -> Option<&'a str>) -> bool {
        let values: Vec<Option<&str>> = self.properties.iter().map(|name| property(name)).collect();
        self.condition.holds(&values) == Ok(Some(true))
    }
}

/// The same text is the same condition.
impl PartialEq for Sql {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Sql {}

impl fmt::Debug for Sql {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Sql").field(&self.text).finish()
    }
}

#[cfg(test)]
mod tests;
