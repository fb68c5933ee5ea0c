//! The broker's name: `duemq-<host>`, chosen at the first start and saved, since handles that clients keep for
//! years carry it while a machine's name may change.

use crate::settings::Settings;
use crate::tls::host_name;
use std::io;
use std::path::{Path, PathBuf};

const FILE: &str = "broker-name";

/// Why the broker has no name.
#[derive(Debug, thiserror::Error)]
pub enum NameError {
    /// The file cannot be read or written.
    #[error("{doing} {}", path.display())]
    Io {
        /// What was attempted.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Somebody wrote something else into it.
    #[error("{} holds {found:?}, a name is 1 to 127 letters, digits, _ or -", path.display())]
    Bad {
        /// The file.
        path: PathBuf,
        /// What it holds.
        found: String,
    },
    /// The setting and the folder disagree: handles given out under the saved name would no longer be ours.
    #[error(
        "broker_name is {set:?}, but this data folder belongs to {saved:?}, and handles that clients hold carry \
         that name; leave broker_name out, or write the new name into {}", path.display()
    )]
    Other {
        /// The setting.
        set: String,
        /// The saved name.
        saved: String,
        /// The file.
        path: PathBuf,
    },
}

/// The saved name; at the first start the set one or `duemq-<host>`, which is saved then.
pub fn broker_name(settings: &Settings) -> Result<String, NameError> {
    let path = settings.data.join(FILE);
    match (saved(&path)?, &settings.broker_name) {
        (Some(saved), Some(set)) if saved != *set => Err(NameError::Other { set: set.clone(), saved, path }),
        (Some(saved), _) => Ok(saved),
        (None, set) => {
            let name = set.clone().unwrap_or_else(|| from_host(&host_name().unwrap_or_default()));
            save(&path, &name).map_err(|source| NameError::Io { doing: "writing", path, source })?;
            Ok(name)
        }
    }
}

fn saved(path: &Path) -> Result<Option<String>, NameError> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(NameError::Io { doing: "reading", path: path.to_owned(), source }),
    };
    match crate::settings::name(text.trim_end()) {
        Some(name) => Ok(Some(name)),
        None => Err(NameError::Bad { path: path.to_owned(), found: text.chars().take(64).collect() }),
    }
}

fn save(path: &Path, name: &str) -> io::Result<()> {
    let unsaved = path.with_extension("new");
    std::fs::write(&unsaved, format!("{name}\n"))?;
    std::fs::File::open(&unsaved)?.sync_all()?;
    std::fs::rename(&unsaved, path)
}

/// `duemq-` and the host's name as far as its first dot, with every other character than a name's as `-`.
fn from_host(host: &str) -> String {
    let host = host.split('.').next().unwrap_or_default();
    let clean: String =
        host.chars().take(64).map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    if clean.is_empty() { "duemq".to_owned() } else { format!("duemq-{clean}") }
}

#[cfg(test)]
mod tests;
