//! What tools may see of this process, and change while it runs.
//!
//! A change is checked as a whole start would check it, saved in the data folder, and then told to the broker. At the
//! next start it stands above the settings file and below the environment and the flags. Nothing that names a file,
//! an address or a port can be changed, so that no tool on the network can make the server write elsewhere.

use crate::settings::{ALIASES, KEYS, Raw, Settings, SettingsError};
use broker::Configure;
use service::{ChangeError, Process};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The file of run-time changes, in the data folder.
pub const FILE: &str = "settings.toml";

/// The settings that can be changed while the server runs.
const CHANGEABLE: [&str; 12] = [
    "flush",
    "max_delay",
    "delay_levels",
    "timer",
    "max_body_bytes",
    "auto_create_topics",
    "auto_create_groups",
    "default_queues",
    "pending_max",
    "pending_per_topic_max",
    "pending_per_second_max",
    "dedup_window",
];

/// This process, as tools see it.
pub struct ThisProcess {
    data: PathBuf,
    broker_name: String,
    /// What the ports turned out to be: settings may ask for any free one.
    store_host: SocketAddr,
    name_server: SocketAddr,
    raw: Mutex<Raw>,
}

impl ThisProcess {
    /// The process that runs with `raw` on the data folder `data`.
    pub fn new(
        data: PathBuf,
        broker_name: String,
        store_host: SocketAddr,
        name_server: SocketAddr,
        raw: Raw,
    ) -> Self {
        Self { data, broker_name, store_host, name_server, raw: Mutex::new(raw) }
    }
}

impl Process for ThisProcess {
    fn broker_settings(&self) -> Vec<(String, String)> {
        let raw = self.raw.lock().unwrap_or_else(PoisonError::into_inner);
        let value = |name: &'static str| match name {
            "broker_name" => self.broker_name.clone(),
            "advertise" => self.store_host.ip().to_string(),
            "broker_port" => self.store_host.port().to_string(),
            "namesrv_port" => self.name_server.port().to_string(),
            _ => raw.meant(name).to_owned(),
        };
        let mut all: Vec<(String, String)> =
            ALIASES.iter().map(|alias| (alias.name.to_owned(), (alias.show)(&value(alias.key)))).collect();
        // Tools look there for a name server: the one of this process is one in any case.
        for (_, address) in all.iter_mut().filter(|(name, value)| name == "namesrvAddr" && value.is_empty()) {
            *address = self.name_server.to_string();
        }
        all.push(("brokerId".to_owned(), "0".to_owned()));
        all.push(("brokerRole".to_owned(), "ASYNC_MASTER".to_owned()));
        all.extend(KEYS.iter().map(|key| (key.name.to_owned(), value(key.name))));
        all.sort();
        all
    }

    fn name_server_settings(&self) -> Vec<(String, String)> {
        let address = self.name_server;
        vec![
            ("listenPort".to_owned(), address.port().to_string()),
            ("namesrvAddr".to_owned(), address.to_string()),
            ("productEnvName".to_owned(), "center".to_owned()),
        ]
    }

    fn change(&self, changes: &[(String, String)]) -> Result<Configure, ChangeError> {
        let mut raw = self.raw.lock().unwrap_or_else(PoisonError::into_inner);
        let mut changed = raw.clone();
        for (name, text) in changes {
            let key = key_of(name)?;
            if !CHANGEABLE.contains(&key) {
                return Err(ChangeError::Fixed { name: name.clone() });
            }
            changed.change(name, text).map_err(|error| bad(&error))?;
        }
        let settings = Settings::check(&changed).map_err(|error| bad(&error))?;
        save(&self.data, &changed).map_err(|error| ChangeError::Unsaved { why: error.to_string() })?;
        *raw = changed;
        Ok(settings.configure())
    }

    fn disk_used(&self) -> Option<f64> {
        disk_used(&self.data)
    }
}

/// Our name of a setting, from ours or RocketMQ's.
fn key_of(name: &str) -> Result<&'static str, ChangeError> {
    let ours = KEYS.iter().find(|key| key.name == name).map(|key| key.name);
    let key = ours.or_else(|| ALIASES.iter().find(|alias| alias.name == name).map(|alias| alias.key));
    key.ok_or_else(|| ChangeError::Unknown { name: name.to_owned() })
}

fn bad(error: &SettingsError) -> ChangeError {
    ChangeError::Bad { why: error.to_string() }
}

/// Reads the changes made at run time, where there are any.
pub fn read_changes(data: &Path, raw: &mut Raw) -> Result<(), SettingsError> {
    let path = data.join(FILE);
    if path.exists() { raw.read_changes(&path) } else { Ok(()) }
}

/// Saves all changes made at run time: the old file or the new one is there, never a part.
fn save(data: &Path, raw: &Raw) -> std::io::Result<()> {
    let mut text =
        String::from("# Settings changed while the server ran. They stand above the settings file.\n");
    let changes: BTreeMap<&str, &str> = raw.changes().collect();
    for (name, value) in changes {
        writeln!(text, "{name} = {}", toml::Value::String(value.to_owned())).expect("a string takes all");
    }
    let (path, new) = (data.join(FILE), data.join("settings.toml.new"));
    let mut file = File::create(&new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&new, &path)?;
    File::open(data)?.sync_all()
}

#[expect(clippy::cast_precision_loss, reason = "a part of a disk is read by people")]
fn disk_used(data: &Path) -> Option<f64> {
    let disk = rustix::fs::statvfs(data).ok()?;
    let used = disk.f_blocks.saturating_sub(disk.f_bfree) as f64;
    let usable = used + disk.f_bavail as f64;
    (usable > 0.0).then(|| used / usable)
}

#[cfg(test)]
mod tests;
