//! Settings as they were written: which keys, what text, and by whom. Nothing is judged here but the names.

use super::SettingsError;
use super::keys::{ALIASES, KEYS, LISTS};
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
    /// An administrator, while the server ran.
    Change,
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
            Self::Change => f.write_str("changed at run time"),
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
#[derive(Clone, Debug, Default)]
pub struct Raw {
    top: BTreeMap<&'static str, Written>,
    /// What was changed at run time, in our words; a higher layer may stand above it.
    changes: BTreeMap<&'static str, String>,
}

/// Variables that the commands of the client read; no settings of the server.
const CLIENT_VARIABLES: [&str; 2] = ["DUEMQ_NAMESRV", "DUEMQ_CONFIG"];

impl Raw {
    /// What `name` was given, if anything.
    pub fn get(&self, name: &'static str) -> Option<&Written> {
        self.top.get(name)
    }

    /// The text that holds for `name`, in our words.
    pub fn meant(&self, name: &'static str) -> &str {
        self.get(name).map_or_else(|| super::keys::key(name).default, |written| &written.meant)
    }

    /// What was changed at run time: our name, and the text in our words.
    pub fn changes(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.changes.iter().map(|(name, text)| (*name, text.as_str()))
    }

    /// Changes one setting at run time: it holds from now on, whoever wrote it before.
    pub fn change(&mut self, name: &str, text: &str) -> Result<(), SettingsError> {
        let (key, meant) = meaning(name, text, &Origin::Change)?;
        self.changes.insert(key, meant.clone());
        let written = Written { name: name.to_owned(), text: text.to_owned(), meant, origin: Origin::Change };
        self.top.insert(key, written);
        Ok(())
    }

    /// Reads the changes of earlier runs: they stand above a file and below the environment.
    pub fn read_changes(&mut self, path: &Path) -> Result<(), SettingsError> {
        for (name, text) in read_table(path)? {
            let (key, meant) = meaning(&name, &text, &Origin::Change)?;
            self.changes.insert(key, meant);
            self.set(&name, &text, Origin::Change)?;
        }
        Ok(())
    }

    /// Writes one setting, by our name or RocketMQ's, over what a lower layer said.
    pub fn set(&mut self, name: &str, text: &str, origin: Origin) -> Result<(), SettingsError> {
        let (key, meant) = meaning(name, text, &origin)?;
        let written = Written { name: name.to_owned(), text: text.to_owned(), meant, origin };
        match self.top.get(key) {
            Some(before) if before.origin.same_layer(&written.origin) => Err(SettingsError::Twice {
                first: before.name.clone(),
                second: written.name,
                origin: written.origin,
            }),
            Some(before) if before.origin > written.origin => Ok(()),
            _ => {
                self.top.insert(key, written);
                Ok(())
            }
        }
    }

    /// Reads the settings of a TOML file: keys at its top, each with a text, a number or a truth value; some also
    /// with a list of texts.
    pub fn read_file(&mut self, path: &Path) -> Result<(), SettingsError> {
        for (name, text) in read_table(path)? {
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

/// Our name of a setting and its text in our words, from our name or RocketMQ's.
fn meaning(name: &str, text: &str, origin: &Origin) -> Result<(&'static str, String), SettingsError> {
    if let Some(key) = KEYS.iter().find(|key| key.name == name) {
        Ok((key.name, text.to_owned()))
    } else if let Some(alias) = ALIASES.iter().find(|alias| alias.name == name) {
        Ok((alias.key, (alias.translate)(text)))
    } else {
        Err(SettingsError::UnknownKey { key: name.to_owned(), origin: origin.clone() })
    }
}

/// Whether a setting, by our name, may be written as a list of texts.
fn is_list(key: &str) -> bool {
    LISTS.contains(&key)
}

/// The keys at the top of a TOML file, each with a text, a number or a truth value.
fn read_table(path: &Path) -> Result<Vec<(String, String)>, SettingsError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| SettingsError::Read { path: path.to_owned(), source })?;
    let table: toml::Table = text
        .parse()
        .map_err(|source| SettingsError::Syntax { path: path.to_owned(), source: Box::new(source) })?;
    let text = |(key, value): (String, toml::Value)| match value {
        toml::Value::String(text) => Ok((key, text)),
        toml::Value::Integer(number) => Ok((key, number.to_string())),
        toml::Value::Boolean(truth) => Ok((key, truth.to_string())),
        toml::Value::Array(list) if is_list(&key) && list.iter().all(toml::Value::is_str) => {
            Ok((key, list.iter().filter_map(toml::Value::as_str).collect::<Vec<_>>().join(" ")))
        }
        other => Err(SettingsError::NotOneValue { key, found: other.type_str(), path: path.to_owned() }),
    };
    table.into_iter().map(text).collect()
}
