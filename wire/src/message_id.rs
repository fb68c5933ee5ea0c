//! Ids of messages: the offset id, which names a place in a server's log, and the unique key.

use std::net::{IpAddr, SocketAddr};

use model::{LogOffset, Timestamp};

const V4_DIGITS: usize = 32;
const V6_DIGITS: usize = 56;
const DAY_MS: i64 = 86_400_000;

/// Why a text is not an offset id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageIdError {
    /// Neither the length of an id with an IPv4 address nor that of one with an IPv6 address.
    #[error("the message id has {length} characters, expected {V4_DIGITS} or {V6_DIGITS}")]
    Length {
        /// Its length in bytes.
        length: usize,
    },
    /// Something that is no hexadecimal digit.
    #[error("the message id holds no hexadecimal digit at character {at}")]
    Digit {
        /// Where.
        at: usize,
    },
    /// A port that is none. The unique keys that clients make look like offset ids and mostly end here.
    #[error("the port in the message id is {found}, the limit is 65535")]
    Port {
        /// What stands there.
        found: u32,
    },
}

/// The offset id of the record at `log_offset` of the server at `host`: address, port (4 bytes) and log
/// offset (8 bytes) in upper-case hexadecimal, 32 characters for IPv4 and 56 for IPv6.
///
/// Peer: `MessageDecoder#createMessageId` (RocketMQ 5.x). Clients connect to the address in it.
pub fn encode(host: SocketAddr, log_offset: LogOffset) -> String {
    let mut bytes = Vec::with_capacity(V6_DIGITS / 2);
    match host.ip().to_canonical() {
        IpAddr::V4(address) => bytes.extend_from_slice(&address.octets()),
        IpAddr::V6(address) => bytes.extend_from_slice(&address.octets()),
    }
    bytes.extend_from_slice(&u32::from(host.port()).to_be_bytes());
    bytes.extend_from_slice(&log_offset.0.to_be_bytes());
    upper_hex(&bytes)
}

/// Reads an offset id, in upper or lower case.
///
/// # Errors
/// Another length, another character, or a port past 65535.
pub fn decode(id: &str) -> Result<(SocketAddr, LogOffset), MessageIdError> {
    let address_bytes = match id.len() {
        V4_DIGITS => 4,
        V6_DIGITS => 16,
        length => return Err(MessageIdError::Length { length }),
    };
    let mut bytes = [0_u8; V6_DIGITS / 2];
    for (at, digit) in id.bytes().enumerate() {
        let value = char::from(digit).to_digit(16).ok_or(MessageIdError::Digit { at })?;
        bytes[at / 2] = bytes[at / 2] << 4 | value as u8;
    }
    let address: IpAddr =
        if address_bytes == 4 { first::<4>(&bytes).into() } else { first::<16>(&bytes).into() };
    let found = u32::from_be_bytes(first(&bytes[address_bytes..]));
    let port = u16::try_from(found).map_err(|_| MessageIdError::Port { found })?;
    let log_offset = u64::from_be_bytes(first(&bytes[address_bytes + 4..]));
    Ok((SocketAddr::new(address, port), LogOffset(log_offset)))
}

/// A unique key for a message whose producer sent none: 32 upper-case hexadecimal digits.
///
/// | at | bytes | field          | meaning                                                         |
/// |---:|------:|----------------|-----------------------------------------------------------------|
/// |  0 |     4 | address        | of `host`; an IPv6 address folded to four bytes                 |
/// |  4 |     2 | port and place | the port, crossed with the highest 16 bits of the log offset    |
/// |  6 |     4 | place          | bits 16 to 47 of the log offset                                 |
/// | 10 |     4 | moment         | ms from the start of the month (UTC) to `at`                    |
/// | 14 |     2 | place          | the lowest 16 bits of the log offset                            |
///
/// The same arguments give the same key; two places of one server never do. The moment stands where tools
/// look for it: `mqadmin queryMsgByUniqueKey` searches around it. Peer: `MessageClientIDSetter` (RocketMQ 5.x).
pub fn make_unique_key(host: SocketAddr, at: Timestamp, log_offset: LogOffset) -> String {
    let address = match host.ip().to_canonical() {
        IpAddr::V4(address) => address.to_bits(),
        IpAddr::V6(address) => {
            address.octets().as_chunks().0.iter().fold(0, |all, part| all ^ u32::from_be_bytes(*part))
        }
    };
    let place = log_offset.0;
    let mut bytes = Vec::with_capacity(16);
    bytes.extend_from_slice(&address.to_be_bytes());
    bytes.extend_from_slice(&((place >> 48) as u16 ^ host.port()).to_be_bytes());
    bytes.extend_from_slice(&((place >> 16) as u32).to_be_bytes());
    bytes.extend_from_slice(&month_ms(at).to_be_bytes());
    bytes.extend_from_slice(&(place as u16).to_be_bytes());
    upper_hex(&bytes)
}

/// Milliseconds from the start of the month, in UTC, to `at`.
fn month_ms(at: Timestamp) -> u32 {
    let ms = at.as_millis();
    let of_day = ms.rem_euclid(DAY_MS);
    // Counted from March on, every month but the last has a fixed place in the year, and a leap day is the
    // last day of its year: 400 years are always 146097 days, and 719468 days lie between 0000-03-01 and 1970.
    let day_of_era = (ms.div_euclid(DAY_MS) + 719_468).rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month_from_march + 2) / 5;
    (day_of_month * DAY_MS + of_day) as u32
}

fn first<const N: usize>(bytes: &[u8]) -> [u8; N] {
    *bytes.first_chunk().expect("an id has its full length")
}

fn upper_hex(bytes: &[u8]) -> String {
    const DIGITS: [u8; 16] = *b"0123456789ABCDEF";
    let digit = |value: u8| char::from(DIGITS[usize::from(value)]);
    bytes.iter().flat_map(|&byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests;
