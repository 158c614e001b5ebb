//! A candidate: a configuration under test. `axes.rs` lists the properties that can vary, one row each, with the
//! functions to read, name and show them.
//!
//! A candidate is stored as JSON in the run folder, and the order of its fields affects the plan's digest. A new field
//! must be omitted from the JSON when it is not set; no field may be renamed.

use std::path::PathBuf;

use super::stored_table::stored_table;
use super::{Layers, limits};
use fsverdict_text::{Bytes, bounded_list};

/// The filesystem name of a candidate that works in one of the user's folders, on any filesystem.
pub const DIRECTORY: &str = "directory";

/// The name of the processor model in which computation takes no time.
pub const FREE_CPU: &str = "free";
/// The processor model of a plan in simulated time that names none: it ships with the program and was measured.
pub const DEFAULT_CPU: &str = "epyc-vm";

stored_table! {
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct Candidate {
        /// Short, unique within the plan, without white space.
        name: String,
        filesystem: String,
        /// The folder in which the candidate works, if `filesystem` is [`DIRECTORY`].
        path?: PathBuf,
        /// Words added to the filesystem's fair default mkfs options.
        mkfs in "bounded_list::<_, _, { limits::OPTIONS }>": Vec<String>,
        /// Mount options (comma-separated in TOML) added to the filesystem's fair defaults.
        mount in "bounded_list::<_, _, { limits::OPTIONS }>": Vec<String>,
        /// The layers between the device and the filesystem.
        #[serde(flatten)]
        layers: Layers,
        /// I/O scheduler of the device; if absent, the device's own.
        scheduler?: String,
        /// The circumstances of the candidate's trials that differ from the plan's.
        under!: Environment,
    }
}

stored_table! {
    /// The circumstances of a candidate's trials that differ from the plan's.
    #[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
    pub struct Environment {
        /// The device's model; if absent, the plan's.
        model?: String,
        /// The guest's kernel, a path or a name in the cache; if absent, the plan's.
        kernel?: PathBuf,
        /// The guest's memory in addition to its datasets; if absent, the plan's.
        memory?: Bytes,
        /// The processor model, or [`FREE_CPU`]; if absent, the plan's.
        cpu?: String,
    }
}

impl Candidate {
    /// A filesystem with default options and no layers, named after the filesystem.
    pub fn with_defaults(filesystem: &str) -> Self {
        Self { name: filesystem.to_owned(), filesystem: filesystem.to_owned(), ..Self::default() }
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
