//! Messages as programs read them: one JSON object a line, moments in ms since 1970. `docs/compatibility.md` has the fields.

use super::brokers::Waiting;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use wire::{property, sys_flag};

/// A message of a list.
pub fn line(message: &Waiting) -> String {
    format!("{}\n", fields(message))
}

/// A message with its body and all its properties.
pub fn whole(waiting: &Waiting) -> String {
    let mut told = fields(waiting);
    let message = &waiting.delivered.message;
    let body = std::str::from_utf8(&message.body).ok();
    match body.filter(|_| message.sys_flag & sys_flag::COMPRESSED == 0) {
        Some(text) => told["body"] = json!(text),
        None => told["bodyBase64"] = json!(STANDARD.encode(&message.body)),
    }
    told["properties"] =
        message.properties.iter().map(|(name, value)| (name.to_owned(), json!(value))).collect();
    format!("{told}\n")
}

fn fields(waiting: &Waiting) -> Value {
    let place = &waiting.delivered.place;
    json!({
        "acceptedMs": place.stored_at.as_millis(),
        "dueMs": waiting.due(),
        "id": waiting.text(property::UNIQ_KEY),
        "keys": waiting.text(property::KEYS).unwrap_or_default().split_whitespace().collect::<Vec<_>>(),
        "level": waiting.level,
        "queue": place.queue_id.0,
        "tag": waiting.text(property::TAGS),
        "topic": place.topic,
    })
}
