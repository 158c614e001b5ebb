//! A configuration under test. What can be varied of it, and how each is read, named and shown, stands in `axes.rs`, one row each.
//!
//! Stored as JSON in the run folder, and part of the plan's digest by the order of its fields: one may be added, and is left
//! out where nothing was said; none may be renamed.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Layers, limits};
use fsverdict_text::{Bytes, bounded_list};

/// What stands in the place of a filesystem where a folder of the user's is worked in, whatever it lies on.
pub const DIRECTORY: &str = "directory";

/// What stands in the place of a processor model where computation takes no time.
pub const FREE_CPU: &str = "free";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// Short, unique within the plan, without white space.
    pub name: String,
    pub filesystem: String,
    /// The folder that is worked in, where `filesystem` is [`DIRECTORY`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// Words added to the filesystem's fair default mkfs options.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "bounded_list::<_, _, { limits::OPTIONS }>"
    )]
    pub mkfs: Vec<String>,
    /// Mount options (comma-separated in TOML) added to the filesystem's fair defaults.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "bounded_list::<_, _, { limits::OPTIONS }>"
    )]
    pub mount: Vec<String>,
    /// What lies between its device and its filesystem.
    #[serde(flatten)]
    pub layers: Layers,
    /// I/O scheduler of the device; the device's own when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<String>,
    /// What it is tried under, where that is not the plan's own.
    #[serde(default, skip_serializing_if = "Environment::is_plain")]
    pub under: Environment,
}

/// What a candidate is tried under, where it is not the plan's own.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Environment {
    /// The device's model; the plan's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The guest's kernel, a path or a name in the cache; the plan's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<PathBuf>,
    /// The guest's memory besides its datasets; the plan's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Bytes>,
    /// The processor model, or [`FREE_CPU`]; the plan's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<String>,
}

impl Candidate {
    /// A filesystem as it is by itself, under its own name.
    pub fn plain(filesystem: &str) -> Self {
        Self {
            name: filesystem.to_owned(),
            filesystem: filesystem.to_owned(),
            path: None,
            mkfs: Vec::new(),
            mount: Vec::new(),
            layers: Layers::default(),
            scheduler: None,
            under: Environment::default(),
        }
    }

    /// The same on these layers, which its name says.
    #[must_use]
    pub fn on(&self, layers: Layers) -> Self {
        self.changed(|one| one.layers = layers)
    }
}

impl Environment {
    /// Nothing but the plan's own.
    pub fn is_plain(&self) -> bool {
        *self == Environment::default()
    }
}
