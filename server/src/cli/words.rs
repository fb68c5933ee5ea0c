//! Words and numbers of the command line, each refused with what it may be.

/// An address of one name server: `host:port`.
pub fn address(text: &str) -> Result<String, String> {
    if text.contains("://") {
        return Err("it is host:port, without http:// or the like before it".to_owned());
    }
    if text.contains([';', ',']) {
        return Err("it is one name server's address, not a list".to_owned());
    }
    let example = "it is host:port, such as 127.0.0.1:9876 or [::1]:9876";
    let Some((host, port)) = text.rsplit_once(':') else { return Err(example.to_owned()) };
    let bare_ipv6 = host.contains(':') && !(host.starts_with('[') && host.ends_with(']'));
    if host.is_empty() || host.contains(char::is_whitespace) || bare_ipv6 {
        return Err(example.to_owned());
    }
    match port.parse::<u16>() {
        Ok(1..) => Ok(text.to_owned()),
        Ok(0) | Err(_) => Err(format!("{port:?} is no port, which is a number from 1 to 65535")),
    }
}

/// A delay level.
pub fn level(text: &str) -> Result<u32, String> {
    let wanted = "a delay level is a whole number from 1; RocketMQ's table ends with 18";
    number(text, i32::MAX as u64, wanted).map(|level| level as u32)
}

/// How many messages.
pub fn count(text: &str) -> Result<u64, String> {
    number(text, u64::MAX, "it is a whole number from 1")
}

/// How many queues.
pub fn queues(text: &str) -> Result<u32, String> {
    number(text, 1024, "it is a whole number from 1 to 1024").map(|queues| queues as u32)
}

fn number(text: &str, most: u64, wanted: &str) -> Result<u64, String> {
    let number = text.trim().parse().ok().filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| wanted.to_owned())
}

/// A message's tag. RocketMQ's stored form knows no escapes, so control characters cannot stand in it.
pub fn tag(text: &str) -> Result<String, String> {
    let wanted = "a tag is a text that is not blank, without || and control characters";
    let fits = !text.trim().is_empty() && !text.contains("||") && !text.contains(char::is_control);
    if fits { Ok(text.to_owned()) } else { Err(wanted.to_owned()) }
}

/// A message's key: they travel with blanks between them.
pub fn key(text: &str) -> Result<String, String> {
    let wanted = "a key is one word, without blanks and control characters; give --key again for another";
    let fits = !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || c.is_control());
    if fits { Ok(text.to_owned()) } else { Err(wanted.to_owned()) }
}

/// A key or an id to look for.
pub fn one(text: &str) -> Result<String, String> {
    key(text).map_err(|_| "a key or an id is one word, without blanks and control characters".to_owned())
}

/// Tags that are wanted: `*` for all, or tags with `||` between them.
pub fn tags(text: &str) -> Result<String, String> {
    let wanted = "it is one tag, or several such as 'a || b'";
    let fits = text.split("||").all(|tag| !tag.trim().is_empty()) && !text.contains(char::is_control);
    if fits { Ok(text.to_owned()) } else { Err(wanted.to_owned()) }
}

#[cfg(test)]
mod tests;
