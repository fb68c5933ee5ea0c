//! The number of a tag, by which consumers of a queue are told messages apart without reading them.

/// The number of `tag`: Java's `String.hashCode` over its UTF-16 units, sign extended.
///
/// A message without a tag has the number 0. Two tags may share a number, so a match is only a candidate;
/// clients compare the text. Peer: `MessageExtBrokerInner#tagsString2tagsCode` (RocketMQ 5.x).
pub fn code(tag: &str) -> i64 {
    let hash =
        tag.encode_utf16().fold(0_i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)));
    i64::from(hash)
}

#[cfg(test)]
mod tests;
