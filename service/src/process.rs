//! The process around the engine: its settings and its disk, as fronts may show and change them.

use broker::Configure;

/// What the process knows beyond its engine.
pub trait Process: Send + Sync {
    /// The settings of the broker, by RocketMQ's names where it has one; none holds a secret.
    fn broker_settings(&self) -> Vec<(String, String)>;

    /// The settings of the name server.
    fn name_server_settings(&self) -> Vec<(String, String)>;

    /// Checks changed settings, all or none, and saves them for the next start; what is given is for the broker.
    /// Blocks on the disk.
    fn change(&self, changes: &[(String, String)]) -> Result<Configure, ChangeError>;

    /// How full the disk is that the data lies on, 0 to 1; `None` where that cannot be told.
    fn disk_used(&self) -> Option<f64>;
}

/// Why settings were not changed. Nothing was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// The caller's: no setting has that name.
    #[error("there is no setting {name:?}")]
    Unknown {
        /// The name.
        name: String,
    },
    /// The caller's: the setting holds for the life of the process.
    #[error("setting {name} cannot be changed while the server runs")]
    Fixed {
        /// The name.
        name: String,
    },
    /// The caller's: the value is not one of this setting.
    #[error("{why}")]
    Bad {
        /// Which setting, its value, and what it may be.
        why: String,
    },
    /// Ours: the change could not be saved.
    #[error("saving the settings: {why}")]
    Unsaved {
        /// Why.
        why: String,
    },
}
