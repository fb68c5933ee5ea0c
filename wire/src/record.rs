//! Payloads of the log's records that are not messages. Every layout is little-endian and begins with a
//! byte that tells its version; a text is its length in four bytes and then its UTF-8.
//!
//! The layouts stand beside their `encode` and `decode`. See docs/formats.md.

mod acks;
mod fields;
mod leases;
mod meta;
mod offsets;
mod recall;

pub use acks::{AckEntry, Acks};
pub use leases::{LeaseEntry, Leases};
pub use meta::Meta;
pub use offsets::{OffsetEntry, Offsets};
pub use recall::Recall;

/// Why a payload is not what its record says. The log checks its bytes, so this is a payload of another
/// version, or a fault of ours.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// Written by a build that knows more.
    #[error("the {record} record has version {found}, this build reads up to {known}")]
    Version {
        /// Which record.
        record: &'static str,
        /// Its version.
        found: u8,
        /// The newest version known here.
        known: u8,
    },
    /// The bytes end too early.
    #[error("the {record} record ends within its {field}, at byte {at} of {length}")]
    Short {
        /// Which record.
        record: &'static str,
        /// What was being read.
        field: &'static str,
        /// Where it begins.
        at: usize,
        /// Bytes of the payload.
        length: usize,
    },
    /// Bytes are left when everything is read.
    #[error("the {record} record has {length} bytes, its fields end at byte {at}")]
    Trailing {
        /// Which record.
        record: &'static str,
        /// Where its fields end.
        at: usize,
        /// Bytes of the payload.
        length: usize,
    },
    /// A text that is not UTF-8.
    #[error("the {field} of the {record} record is not UTF-8")]
    NotUtf8 {
        /// Which record.
        record: &'static str,
        /// Which text.
        field: &'static str,
    },
    /// A number without a meaning.
    #[error("the {field} of the {record} record is {found}, the highest known is {known}")]
    Unknown {
        /// Which record.
        record: &'static str,
        /// Which number.
        field: &'static str,
        /// What stands there.
        found: u8,
        /// The highest with a meaning.
        known: u8,
    },
    /// A name that breaks the rules of names.
    #[error("the name in the {record} record")]
    Name {
        /// Which record.
        record: &'static str,
        /// What is wrong with it.
        #[source]
        source: model::NameError,
    },
}

#[cfg(test)]
mod tests;
