//! The words of an expression.

use super::SqlError;

/// How much of what was found an error shows, in characters.
const SHOWN_MAX: usize = 40;

/// What a word is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Not,
    And,
    Or,
    Between,
    In,
    True,
    False,
    Null,
    Is,
    Contains,
    StartsWith,
    EndsWith,
    Name,
    Text,
    Whole,
    Decimal,
    Equal,
    Unequal,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    Open,
    Close,
    Comma,
    Plus,
    Minus,
    End,
}

const WORDS: [(&str, Kind); 12] = [
    ("NOT", Kind::Not),
    ("AND", Kind::And),
    ("OR", Kind::Or),
    ("BETWEEN", Kind::Between),
    ("IN", Kind::In),
    ("TRUE", Kind::True),
    ("FALSE", Kind::False),
    ("NULL", Kind::Null),
    ("IS", Kind::Is),
    ("CONTAINS", Kind::Contains),
    ("STARTSWITH", Kind::StartsWith),
    ("ENDSWITH", Kind::EndsWith),
];

/// A word, and where it lies in the text, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) at: usize,
    pub(super) end: usize,
}

/// Gives the words of a text, one after the other.
pub(super) struct Lexer<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    /// The next word; behind the last one [`Kind::End`], for ever.
    pub(super) fn next(&mut self) -> Result<Token, SqlError> {
        self.skip()?;
        let at = self.at;
        let bytes = &self.text.as_bytes()[at..];
        let (kind, length) = match bytes {
            [] => (Kind::End, 0),
            [b'<', b'>', ..] => (Kind::Unequal, 2),
            [b'<', b'=', ..] => (Kind::LessOrEqual, 2),
            [b'>', b'=', ..] => (Kind::GreaterOrEqual, 2),
            [b'<', ..] => (Kind::Less, 1),
            [b'>', ..] => (Kind::Greater, 1),
            [b'=', ..] => (Kind::Equal, 1),
            [b'(', ..] => (Kind::Open, 1),
            [b')', ..] => (Kind::Close, 1),
            [b',', ..] => (Kind::Comma, 1),
            [b'+', ..] => (Kind::Plus, 1),
            [b'-', ..] => (Kind::Minus, 1),
            [b'\'', ..] => (Kind::Text, self.text_length(bytes)?),
            [b'0'..=b'9', ..] | [b'.', b'0'..=b'9', ..] => number(bytes),
            [first, ..] if is_name(*first) => {
                let length = run(bytes, |byte| is_name(byte) || byte.is_ascii_digit());
                let word = &self.text[at..at + length];
                let known = WORDS.iter().find(|(known, _)| known.eq_ignore_ascii_case(word));
                (known.map_or(Kind::Name, |(_, kind)| *kind), length)
            }
            _ => return Err(unexpected(self.text, at, self.text.len(), "a word, a number or an operator")),
        };
        self.at += length;
        Ok(Token { kind, at, end: self.at })
    }

    /// Passes over blanks and comments.
    fn skip(&mut self) -> Result<(), SqlError> {
        loop {
            let rest = &self.text[self.at..];
            self.at += match rest.as_bytes() {
                [b' ' | b'\t' | b'\n' | b'\r' | 0x0c, ..] => 1,
                [b'-', b'-', ..] => rest.find(['\n', '\r']).unwrap_or(rest.len()),
                [b'/', b'*', ..] => match rest[2..].find("*/") {
                    Some(end) => end + 4,
                    None => {
                        return Err(SqlError::Unended { at: place(self.text, self.at), what: "the comment" });
                    }
                },
                _ => return Ok(()),
            };
        }
    }

    /// The bytes of a text with its quotes.
    fn text_length(&self, bytes: &[u8]) -> Result<usize, SqlError> {
        let mut end = 1;
        loop {
            end += run(&bytes[end..], |byte| byte != b'\'');
            match bytes[end..] {
                [b'\'', b'\'', ..] => end += 2,
                [b'\'', ..] => return Ok(end + 1),
                _ => return Err(SqlError::Unended { at: place(self.text, self.at), what: "the text" }),
            }
        }
    }
}

/// A number's kind and bytes: digits with or without a point, and an exponent.
fn number(bytes: &[u8]) -> (Kind, usize) {
    let digits = |at: usize| run(&bytes[at..], |byte| byte.is_ascii_digit());
    let mut end = digits(0);
    let mut kind = Kind::Whole;
    if bytes.get(end) == Some(&b'.') {
        kind = Kind::Decimal;
        end += 1 + digits(end + 1);
    }
    if let Some(b'e' | b'E') = bytes.get(end) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits((end + 1 + sign).min(bytes.len()));
        if exponent > 0 {
            return (Kind::Decimal, end + 1 + sign + exponent);
        }
    }
    // The mark of a long number says nothing here: how large it is decides.
    if let (Kind::Whole, Some(b'l' | b'L')) = (kind, bytes.get(end)) {
        end += 1;
    }
    (kind, end)
}

fn run(bytes: &[u8], fits: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|byte| fits(**byte)).count()
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$')
}

/// Where byte `at` lies, in characters from 1 on.
pub(super) fn place(text: &str, at: usize) -> usize {
    text[..at].chars().count() + 1
}

/// Says that something else belongs to where `at..end` is, in bytes.
pub(super) fn unexpected(text: &str, at: usize, end: usize, expected: &str) -> SqlError {
    let found = if at == text.len() { "the end".to_owned() } else { shown(&text[at..end]) };
    SqlError::Unexpected { at: place(text, at), expected: expected.to_owned(), found }
}

/// A piece of the text as an error shows it: on one line, and not too much of it.
pub(super) fn shown(piece: &str) -> String {
    let mut chars = piece.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut shown: String = chars.by_ref().take(SHOWN_MAX).collect();
    if chars.next().is_some() {
        shown.push('…');
    }
    shown
}
