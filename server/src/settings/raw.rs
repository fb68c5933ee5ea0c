//! Settings as they were written: which keys, what text, and by whom. Nothing is judged here but the names.

use super::SettingsError;
use super::keys::{ALIASES, KEYS};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// Who wrote a setting. A later variant wins over an earlier one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// Nobody: the table's default.
    Default,
    /// A settings file.
    File(PathBuf),
    /// This variable.
    Environment(String),
    /// The command line.
    Flag,
}

impl Origin {
    /// Whether both are of the same layer, where a setting may be written only once.
    fn same_layer(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("the default"),
            Self::File(path) => write!(f, "file {}", path.display()),
            Self::Environment(variable) => write!(f, "environment variable {variable}"),
            Self::Flag => f.write_str("command line"),
        }
    }
}

/// One setting as it was written.
#[derive(Clone, Debug)]
pub struct Written {
    /// The name that was used: ours or RocketMQ's.
    pub name: String,
    /// The text, as it was written.
    pub text: String,
    /// The text in our words; another than `text` only for some of RocketMQ's names.
    pub meant: String,
    /// By whom.
    pub origin: Origin,
}

/// All settings as they were written, the highest layer of each.
#[derive(Debug, Default)]
pub struct Raw(BTreeMap<&'static str, Written>);

/// Variables that the commands of the client read; no settings of the server.
const CLIENT_VARIABLES: [&str; 2] = ["DUEMQ_NAMESRV", "DUEMQ_CONFIG"];

impl Raw {
    /// What `name` was given, if anything.
    pub fn get(&self, name: &'static str) -> Option<&Written> {
        self.0.get(name)
    }

    /// Writes one setting, by our name or RocketMQ's, over what a lower layer said.
    pub fn set(&mut self, name: &str, text: &str, origin: Origin) -> Result<(), SettingsError> {
        let (key, meant) = if let Some(key) = KEYS.iter().find(|key| key.name == name) {
            (key.name, text.to_owned())
        } else if let Some(alias) = ALIASES.iter().find(|alias| alias.name == name) {
            (alias.key, (alias.translate)(text))
        } else {
            return Err(SettingsError::UnknownKey { key: name.to_owned(), origin });
        };
        let written = Written { name: name.to_owned(), text: text.to_owned(), meant, origin };
        match self.0.get(key) {
            Some(before) if before.origin.same_layer(&written.origin) => Err(SettingsError::Twice {
                first: before.name.clone(),
                second: written.name,
                origin: written.origin,
            }),
            Some(before) if before.origin > written.origin => Ok(()),
            _ => {
                self.0.insert(key, written);
                Ok(())
            }
        }
    }

    /// Reads the settings of a TOML file: keys at its top, each with a text, a number or a truth value.
    pub fn read_file(&mut self, path: &Path) -> Result<(), SettingsError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| SettingsError::Read { path: path.to_owned(), source })?;
        let table: toml::Table = text
            .parse()
            .map_err(|source| SettingsError::Syntax { path: path.to_owned(), source: Box::new(source) })?;
        for (name, value) in table {
            let text = match value {
                toml::Value::String(text) => text,
                toml::Value::Integer(number) => number.to_string(),
                toml::Value::Boolean(truth) => truth.to_string(),
                other => {
                    return Err(SettingsError::NotOneValue {
                        key: name,
                        found: other.type_str(),
                        path: path.to_owned(),
                    });
                }
            };
            self.set(&name, &text, Origin::File(path.to_owned()))?;
        }
        Ok(())
    }

    /// Takes every variable that begins with `DUEMQ_`.
    ///
    /// What an orchestrator sets by itself for a service called duemq (`DUEMQ_SERVICE_…`, `DUEMQ_PORT…`) is
    /// passed over: nobody wrote it, and no setting has such a name.
    pub fn read_environment(
        &mut self,
        variables: impl Iterator<Item = (String, String)>,
    ) -> Result<(), SettingsError> {
        for (variable, text) in variables {
            let Some(name) = variable.strip_prefix("DUEMQ_") else { continue };
            let orchestrators = name.starts_with("SERVICE_") || name == "PORT" || name.starts_with("PORT_");
            if orchestrators || CLIENT_VARIABLES.contains(&variable.as_str()) {
                continue;
            }
            self.set(&name.to_ascii_lowercase(), &text, Origin::Environment(variable.clone()))?;
        }
        Ok(())
    }
}
