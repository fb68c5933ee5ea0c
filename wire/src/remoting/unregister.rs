//! Unregister: `UNREGISTER_CLIENT` (35). No body; the answer has no fields.

use super::fields::header;

header! {
    /// Who leaves which groups. Peer: `UnregisterClientRequestHeader`.
    Header {
        /// The client.
        client_id: String = "clientID",
        /// The group it no longer produces for.
        producer_group: Option<String> = "producerGroup",
        /// The group it no longer consumes for.
        consumer_group: Option<String> = "consumerGroup",
    }
}
