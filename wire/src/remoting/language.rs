//! The language a client says it is written in. Peer: `LanguageCode` (RocketMQ 5.x).

/// A client's language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Java.
    Java,
    /// C++.
    Cpp,
    /// .NET.
    DotNet,
    /// Python.
    Python,
    /// Delphi.
    Delphi,
    /// Erlang.
    Erlang,
    /// Ruby.
    Ruby,
    /// Any other, and every word and number not listed here.
    Other,
    /// An HTTP gateway.
    Http,
    /// Go.
    Go,
    /// PHP.
    Php,
    /// `OpenMessaging`.
    Oms,
    /// Rust.
    Rust,
    /// Node.js.
    NodeJs,
}

/// Every language by its number in the binary header.
const ALL: [(Language, &str); 14] = [
    (Language::Java, "JAVA"),
    (Language::Cpp, "CPP"),
    (Language::DotNet, "DOTNET"),
    (Language::Python, "PYTHON"),
    (Language::Delphi, "DELPHI"),
    (Language::Erlang, "ERLANG"),
    (Language::Ruby, "RUBY"),
    (Language::Other, "OTHER"),
    (Language::Http, "HTTP"),
    (Language::Go, "GO"),
    (Language::Php, "PHP"),
    (Language::Oms, "OMS"),
    (Language::Rust, "RUST"),
    (Language::NodeJs, "NODE_JS"),
];

impl Language {
    /// The name used in JSON headers.
    pub const fn name(self) -> &'static str {
        ALL[self.number() as usize].1
    }

    /// The number used in binary headers.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The language of that name; [`Language::Other`] where there is none.
    pub fn from_name(name: &str) -> Self {
        ALL.iter().find(|(_, known)| *known == name).map_or(Self::Other, |(language, _)| *language)
    }

    /// The language of that number; [`Language::Other`] where there is none.
    pub fn from_number(number: u8) -> Self {
        ALL.get(usize::from(number)).map_or(Self::Other, |(language, _)| *language)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_is_found_by_its_name_and_its_number() {
        for (number, (language, name)) in ALL.into_iter().enumerate() {
            assert_eq!(
                (Language::from_name(name), Language::from_number(number as u8)),
                (language, language)
            );
            assert_eq!((language.name(), usize::from(language.number())), (name, number));
        }
        assert_eq!(
            (Language::from_name("COBOL"), Language::from_number(127)),
            (Language::Other, Language::Other)
        );
    }
}
