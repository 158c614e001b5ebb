//! A candidate: a configuration under test. `axes.rs` lists the properties that can vary, one row each, with the
//! functions to read, name and show them.
//!
//! A candidate is stored as JSON in the run folder, and the order of its fields affects the plan's digest. A new field
//! must be omitted from the JSON when it is not set; no field may be renamed.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Layers, limits};
use fsverdict_text::{Bytes, bounded_list};

/// The filesystem name of a candidate that works in one of the user's folders, on any filesystem.
pub const DIRECTORY: &str = "directory";

/// The name of the processor model in which computation takes no time.
pub const FREE_CPU: &str = "free";
/// The processor model of a plan in simulated time that names none: it ships with the program and was measured.
pub const DEFAULT_CPU: &str = "epyc-vm";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// Short, unique within the plan, without white space.
    pub name: String,
    pub filesystem: String,
    /// The folder in which the candidate works, if `filesystem` is [`DIRECTORY`].
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
    /// The layers between the device and the filesystem.
    #[serde(flatten)]
    pub layers: Layers,
    /// I/O scheduler of the device; if absent, the device's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<String>,
    /// The circumstances of the candidate's trials that differ from the plan's.
    #[serde(default, skip_serializing_if = "Environment::is_plain")]
    pub under: Environment,
}

/// The circumstances of a candidate's trials that differ from the plan's.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Environment {
    /// The device's model; if absent, the plan's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The guest's kernel, a path or a name in the cache; if absent, the plan's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<PathBuf>,
    /// The guest's memory in addition to its datasets; if absent, the plan's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Bytes>,
    /// The processor model, or [`FREE_CPU`]; if absent, the plan's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<String>,
}

impl Candidate {
    /// A filesystem with default options and no layers, named after the filesystem.
    pub fn with_defaults(filesystem: &str) -> Self {
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

    /// The same candidate on these layers, which its name then includes.
    #[must_use]
    pub fn with_layers(&self, layers: Layers) -> Self {
        self.with_change(|candidate| candidate.layers = layers)
    }

    /// Whether both are the same but for their names.
    pub fn is_same_but_for_name(&self, other: &Self) -> bool {
        Self { name: self.name.clone(), ..other.clone() } == *self
    }
}

impl Environment {
    /// Whether all circumstances are the plan's own.
    pub fn is_plain(&self) -> bool {
        *self == Environment::default()
    }
}

impl Candidate {
    /// Whether its options speak of compression, as those of every filesystem that can be asked for it do.
    pub fn asks_for_compression(&self) -> bool {
        self.compression_options().any(|option| !turns_off(option))
    }

    /// Whether its options turn compression off.
    pub fn refuses_compression(&self) -> bool {
        self.compression_options().any(turns_off)
    }

    fn compression_options(&self) -> impl Iterator<Item = &str> {
        self.mkfs.iter().chain(&self.mount).map(String::as_str).filter(|option| option.contains("compress"))
    }
}

/// zfsprops(7): `compression=off`; btrfs(5): `compress=no`; bcachefs(8): `--compression=none`.
fn turns_off(option: &str) -> bool {
    option.rsplit_once('=').is_some_and(|(_, value)| ["off", "no", "none"].contains(&value))
}

#[cfg(test)]
mod tests {
    use super::Candidate;

    /// A pool without compression was taken for one that compresses, and its times were left out.
    #[test]
    fn compression_that_is_turned_off_is_not_asked_for() {
        let asks = |option: &str| {
            let candidate = Candidate { mkfs: vec![option.to_owned()], ..Candidate::with_defaults("zfs") };
            (candidate.asks_for_compression(), candidate.refuses_compression())
        };
        assert_eq!(asks("compression=zstd"), (true, false));
        assert_eq!(asks("compression=off"), (false, true));
        assert_eq!(asks("--compression=none"), (false, true));
        assert_eq!(asks("recordsize=8k"), (false, false));
    }
}
