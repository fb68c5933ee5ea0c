//! Reply: the answer to a request that was a message, `SEND_REPLY_MESSAGE` (324) and `SEND_REPLY_MESSAGE_V2`
//! (325), handed on to who asked, `PUSH_REPLY_MESSAGE_TO_CLIENT` (326).
//!
//! A reply comes with the header of a [send](super::send) and is answered as one. It is handed on with that
//! header, spelled in words, and what is here; the requester answers with a code alone.

use super::fields::header;

header! {
    /// What the broker says of a reply that it hands on. Peer: `ReplyMessageRequestHeader` (RocketMQ 5.x).
    Handed {
        /// The replier's address.
        born_host: String = "bornHost",
        /// The broker's address.
        store_host: String = "storeHost",
        /// When it was handed on, in ms since the epoch.
        handed_at: i64 = "storeTimestamp",
    }
}
