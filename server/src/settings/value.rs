//! Reads the values of settings: each gives `None` for what is not one.

use remoting::Network;
use std::net::{IpAddr, ToSocketAddrs};

/// `true` or `false`.
pub fn switch(text: &str) -> Option<bool> {
    text.parse().ok()
}

/// A whole number within `least` and `most`.
pub fn number(text: &str, least: u64, most: u64) -> Option<u64> {
    text.parse().ok().filter(|n| (least..=most).contains(n))
}

/// Bytes within `least` and `most`: a whole number, and `KiB`, `MiB` or `GiB` where it counts those.
pub fn bytes(text: &str, least: u64, most: u64) -> Option<u64> {
    let units = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];
    let (digits, unit) = units
        .iter()
        .find_map(|&(name, unit)| Some((text.strip_suffix(name)?.trim_end(), unit)))
        .unwrap_or((text, 1));
    let bytes = digits.parse::<u64>().ok()?.checked_mul(unit)?;
    (least..=most).contains(&bytes).then_some(bytes)
}

/// Milliseconds from a duration such as `10s`, `15m`, `2h` or `90d`.
pub fn duration_ms(text: &str) -> Option<i64> {
    let unit = match text.chars().last()? {
        's' => 1000,
        'm' => 60_000,
        'h' => 3_600_000,
        'd' => 86_400_000,
        _ => return None,
    };
    text[..text.len() - 1].parse::<i64>().ok().filter(|&n| n > 0)?.checked_mul(unit)
}

/// A name of a cluster or broker: it stands in handles between blanks, so it holds none.
pub fn name(text: &str) -> Option<String> {
    let fits = (1..=127).contains(&text.len()) && text.chars().all(is_name_character);
    fits.then(|| text.to_owned())
}

/// Whether `c` may stand in the name of a cluster or broker.
pub fn is_name_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// The address of a host: as it is written, or as it resolves, IPv4 before IPv6.
pub fn host(text: &str) -> Option<IpAddr> {
    if let Ok(ip) = text.parse() {
        return Some(ip);
    }
    let found: Vec<IpAddr> = (text, 0).to_socket_addrs().ok()?.map(|address| address.ip()).collect();
    found.iter().find(|ip| ip.is_ipv4()).or(found.first()).copied()
}

/// Addresses separated by blanks, each a host, `:` and a port.
pub fn addresses(text: &str) -> Option<Vec<String>> {
    let is_address = |word: &str| {
        let (host, port) = word.rsplit_once(':')?;
        let is_host = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
            Some(ip) => ip.parse::<std::net::Ipv6Addr>().is_ok(),
            None => !host.is_empty() && host.chars().all(|c| is_name_character(c) || c == '.'),
        };
        number(port, 1, 65_535).filter(|_| is_host).map(|_| word.to_owned())
    };
    text.split_whitespace().map(is_address).collect()
}

/// Networks separated by blanks, each an address, `/` and how many bits its members share.
pub fn networks(text: &str) -> Option<Vec<Network>> {
    text.split_whitespace()
        .map(|word| {
            let (address, bits) = word.split_once('/')?;
            let address: IpAddr = address.parse().ok()?;
            let most = if address.is_ipv4() { 32 } else { 128 };
            Some(Network { address, bits: bits.parse().ok().filter(|&bits| bits <= most)? })
        })
        .collect()
}
