//! A message as a person reads it.

use super::when;
use client::Delivered;
use std::fmt::Write;
use wire::{property, sys_flag};

/// Bytes of a body that are shown.
const SHOWN_MAX: usize = 4096;

/// The message's text, and below it what is known of it.
pub fn message(delivered: &Delivered) -> String {
    let Delivered { message, place } = delivered;
    let property = |name| message.properties.get(name);
    let moment = |name| property(name).and_then(|ms| ms.parse::<i64>().ok());
    let mut text = format!("{}\n", body(&message.body, message.sys_flag));
    let mut line =
        |what: &str, value: &str| writeln!(text, "  {what:<9} {value}").expect("a string takes all");
    line("id", &plain(property(property::UNIQ_KEY).unwrap_or("none")));
    let delivered_at = moment(property::TIMER_DEQUEUE_MS).unwrap_or(place.stored_at.as_millis());
    match moment(property::TIMER_DELIVER_MS) {
        Some(due) => {
            line("due", &when::shown(due));
            line("delivered", &format!("{}, {}", when::shown(delivered_at), late(delivered_at - due)));
        }
        None => line("delivered", &when::shown(delivered_at)),
    }
    for (what, name) in [("tag", property::TAGS), ("keys", property::KEYS)] {
        if let Some(value) = property(name) {
            line(what, &plain(value));
        }
    }
    line(
        "queue",
        &format!("{} of {}, offset {}", place.queue_id.0, plain(&place.topic), place.queue_offset.0),
    );
    text
}

/// A message that waits: its text, and below it what is known of it.
pub fn pending(Delivered { message, place }: &Delivered, level: u8) -> String {
    let property = |name| message.properties.get(name);
    let mut text = format!("{}\n", body(&message.body, message.sys_flag));
    let mut line =
        |what: &str, value: &str| writeln!(text, "  {what:<9} {value}").expect("a string takes all");
    line("id", &plain(property(property::UNIQ_KEY).unwrap_or("none")));
    if let Some(due) = property(property::TIMER_DELIVER_MS).and_then(|ms| ms.parse().ok()) {
        line("due", &when::shown(due));
    }
    line("accepted", &when::shown(place.stored_at.as_millis()));
    for (what, name) in [("tag", property::TAGS), ("keys", property::KEYS)] {
        if let Some(value) = property(name) {
            line(what, &plain(value));
        }
    }
    if level > 0 {
        line("level", &level.to_string());
    }
    line("queue", &format!("{} of {}", place.queue_id.0, plain(&place.topic)));
    text
}

fn late(ms: i64) -> String {
    match ms {
        0 => "on the millisecond".to_owned(),
        ms if ms > 0 => format!("{ms} ms late"),
        ms => format!("{} ms early", -ms),
    }
}

fn body(bytes: &[u8], flags: i32) -> String {
    if flags & sys_flag::COMPRESSED != 0 {
        return format!("({} bytes, compressed by the producer)", bytes.len());
    }
    match std::str::from_utf8(bytes) {
        Ok(text) if text.len() <= SHOWN_MAX => plain(text),
        Ok(text) => {
            format!("{}… ({} bytes in all)", plain(&text[..text.floor_char_boundary(SHOWN_MAX)]), text.len())
        }
        Err(_) => format!("({} bytes that are no text)", bytes.len()),
    }
}

/// The text without what a terminal would obey: whoever may send must not be able to steer it.
pub fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() && c != '\n' && c != '\t' {
            plain.extend(c.escape_default());
        } else {
            plain.push(c);
        }
    }
    plain
}

#[cfg(test)]
mod tests;
