//! The named fields of a header: RocketMQ's `extFields`, texts under short names.
//!
//! A verb's header is read out of them field by field. Reading is as strict as it can be without refusing
//! what a real client sends: a field that must be there and is not, or does not hold what it should, is an
//! error that names it; fields nobody asks for are no error, since every client sends some.

use std::fmt::{self, Write as _};
use std::ops::Range;
use std::str::FromStr;

/// Named texts in the order they were set; a name stands at most once.
///
/// All texts lie in one string, so that a request's dozen fields cost two allocations.
#[derive(Clone, Default)]
pub struct Fields {
    text: String,
    spans: Vec<Span>,
}

/// Where a name and its value lie in the text.
#[derive(Clone)]
struct Span {
    name: Range<usize>,
    value: Range<usize>,
}

/// Why a header could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldError {
    /// A field that must be there is not.
    #[error("header field {field} is missing")]
    Missing {
        /// Its name on the wire.
        field: &'static str,
    },
    /// A field holds something else than it should.
    #[error("header field {field} is {value:?}, not {wanted}")]
    Unreadable {
        /// Its name on the wire.
        field: &'static str,
        /// The beginning of what it holds.
        value: String,
        /// What it should hold.
        wanted: &'static str,
    },
}

/// A number as a header field holds it, decimal.
pub trait Number: FromStr {
    /// What an error calls it.
    const KIND: &'static str;
}

impl Number for i32 {
    const KIND: &'static str = "a whole number of 32 bits";
}

impl Number for i64 {
    const KIND: &'static str = "a whole number of 64 bits";
}

impl Fields {
    /// None.
    pub const fn new() -> Self {
        Self { text: String::new(), spans: Vec::new() }
    }

    /// Sets `name` to `value` as it prints, in place of an earlier value.
    pub fn set(&mut self, name: &str, value: impl fmt::Display) {
        let start = self.text.len();
        // Writing to a string cannot fail; a Display that refuses leaves an empty value.
        let _ = write!(self.text, "{value}");
        let value = start..self.text.len();
        if let Some(at) = self.position(name) {
            self.spans[at].value = value;
            return;
        }
        let start = self.text.len();
        self.text.push_str(name);
        self.spans.push(Span { name: start..self.text.len(), value });
    }

    /// The value of `name`.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.position(name).map(|at| &self.text[self.spans[at].value.clone()])
    }

    /// All names and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.spans.iter().map(|span| (&self.text[span.name.clone()], &self.text[span.value.clone()]))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The text of a field that must be there; it may be empty.
    pub fn text(&self, field: &'static str) -> Result<&str, FieldError> {
        self.get(field).ok_or(FieldError::Missing { field })
    }

    /// The number in a field that must be there.
    pub fn number<N: Number>(&self, field: &'static str) -> Result<N, FieldError> {
        self.number_if_any(field)?.ok_or(FieldError::Missing { field })
    }

    /// The number in a field, where it is there and not empty.
    pub fn number_if_any<N: Number>(&self, field: &'static str) -> Result<Option<N>, FieldError> {
        let Some(value) = self.get(field).filter(|value| !value.is_empty()) else {
            return Ok(None);
        };
        let unreadable = |_| FieldError::Unreadable { field, value: beginning(value), wanted: N::KIND };
        value.parse().map(Some).map_err(unreadable)
    }

    /// Whether a field holds `true`, in any case; anything else, and nothing, is false. Peer: `Boolean.parseBoolean`.
    pub fn flag(&self, field: &str) -> bool {
        self.get(field).is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.spans.iter().position(|span| &self.text[span.name.clone()] == name)
    }
}

/// A type that stands in one field of a header.
pub(crate) trait Field: Sized {
    /// Reads it from the field called `name`.
    fn read(fields: &Fields, name: &'static str) -> Result<Self, FieldError>;

    /// Sets the field called `name`, or none.
    fn write(&self, fields: &mut Fields, name: &str);
}

impl Field for String {
    fn read(fields: &Fields, name: &'static str) -> Result<Self, FieldError> {
        fields.text(name).map(str::to_owned)
    }

    fn write(&self, fields: &mut Fields, name: &str) {
        fields.set(name, self);
    }
}

/// Both dialects have clients that write an empty text for none.
impl Field for Option<String> {
    fn read(fields: &Fields, name: &'static str) -> Result<Self, FieldError> {
        Ok(fields.get(name).filter(|text| !text.is_empty()).map(str::to_owned))
    }

    fn write(&self, fields: &mut Fields, name: &str) {
        if let Some(text) = self {
            fields.set(name, text);
        }
    }
}

impl<N: Number + Copy + fmt::Display> Field for N {
    fn read(fields: &Fields, name: &'static str) -> Result<Self, FieldError> {
        fields.number(name)
    }

    fn write(&self, fields: &mut Fields, name: &str) {
        fields.set(name, self);
    }
}

impl<N: Number + Copy + fmt::Display> Field for Option<N> {
    fn read(fields: &Fields, name: &'static str) -> Result<Self, FieldError> {
        fields.number_if_any(name)
    }

    fn write(&self, fields: &mut Fields, name: &str) {
        if let Some(number) = self {
            fields.set(name, *number);
        }
    }
}

/// Absent is false.
impl Field for bool {
    fn read(fields: &Fields, name: &'static str) -> Result<Self, FieldError> {
        Ok(fields.flag(name))
    }

    fn write(&self, fields: &mut Fields, name: &str) {
        fields.set(name, self);
    }
}

/// `true` or `false`, in any case, and nothing else: for the requests of this project's own, which no client of
/// RocketMQ writes in looser ways.
impl Field for Option<bool> {
    fn read(fields: &Fields, name: &'static str) -> Result<Self, FieldError> {
        let Some(value) = fields.get(name).filter(|value| !value.is_empty()) else { return Ok(None) };
        match value {
            _ if value.eq_ignore_ascii_case("true") => Ok(Some(true)),
            _ if value.eq_ignore_ascii_case("false") => Ok(Some(false)),
            _ => {
                Err(FieldError::Unreadable { field: name, value: beginning(value), wanted: "true or false" })
            }
        }
    }

    fn write(&self, fields: &mut Fields, name: &str) {
        if let Some(flag) = self {
            fields.set(name, flag);
        }
    }
}

/// Defines the header of a verb: its fields, their types and their names on the wire. A field of type
/// `Option` may be absent, and so may a `bool`, which is then false; any other must be there.
macro_rules! header {
    ($(#[doc = $about:literal])* $header:ident {
        $($(#[doc = $doc:literal])* $field:ident: $type:ty = $name:literal,)*
    }) => {
        $(#[doc = $about])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $header {
            $($(#[doc = $doc])* pub $field: $type,)*
        }

        impl $header {
            /// Reads it from a command's fields.
            pub fn read(fields: &$crate::remoting::Fields) -> Result<Self, $crate::remoting::FieldError> {
                Ok(Self { $($field: $crate::remoting::fields::Field::read(fields, $name)?,)* })
            }

            /// Sets a command's fields.
            pub fn write(&self, fields: &mut $crate::remoting::Fields) {
                $($crate::remoting::fields::Field::write(&self.$field, fields, $name);)*
            }
        }

        #[cfg(test)]
        impl proptest::arbitrary::Arbitrary for $header {
            type Parameters = ();
            type Strategy = proptest::strategy::BoxedStrategy<Self>;

            fn arbitrary_with((): ()) -> Self::Strategy {
                use proptest::strategy::Strategy as _;
                let fields = ($($crate::remoting::fields::any_field::<$type>(),)*);
                fields.prop_map(|($($field,)*)| Self { $($field,)* }).boxed()
            }
        }
    };
}
pub(crate) use header;

/// Enough of a text to recognise it by.
fn beginning(text: &str) -> String {
    text.chars().take(64).collect()
}

impl fmt::Debug for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// Equal where the same names hold the same values, in whatever order.
impl PartialEq for Fields {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().all(|(name, value)| other.get(name) == Some(value))
    }
}

impl Eq for Fields {}

impl<N: AsRef<str>, V: fmt::Display> FromIterator<(N, V)> for Fields {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        let mut fields = Self::new();
        for (name, value) in pairs {
            fields.set(name.as_ref(), value);
        }
        fields
    }
}

#[cfg(test)]
pub(crate) use tests::any_field;

#[cfg(test)]
mod tests;
