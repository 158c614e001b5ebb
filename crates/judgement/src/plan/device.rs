//! The devices of a plan: one, or several of the same kind that a candidate uses together.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Candidate;
use super::choice_words::choice_words;
use super::stored_table::stored_table;
use fsverdict_text::{Bytes, Reason, bounded_list};

/// The maximum number of devices of a candidate: guests' drivers support few more, and no known use needs more.
pub(super) const MOST_DEVICES: usize = 8;

stored_table! {
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct PlannedDevice {
        /// A scratch image or a block device; the first device if there are several.
        source: DeviceSource,
        /// The second and all later devices.
        further in "bounded_list::<_, _, { MOST_DEVICES - 1 }>": Vec<DeviceSource>,
        /// One of the modelled devices, if it fails during a trial.
        fails?: DeviceFailure,
        /// The folder for scratch images; if absent, the user's cache or `/var/tmp`.
        folder?: PathBuf,
        /// Where datasets that are needed as files are stored.
        staging!: StagingChoice,
    }
}

choice_words! {
    /// Where datasets are stored that commands, or copies of a real folder, need as files.
    #[derive(Default)]
    pub enum StagingChoice, unknown "datasets cannot be staged in" {
        /// In memory if at least half of it stays free, otherwise on disk.
        #[default]
        Auto = "auto",
        /// In memory, so that trials wait for no other disk.
        Memory = "memory",
        /// On a scratch disk beside the image.
        Disk = "disk",
    }
}

/// A scratch image that is created for the run, or one of the user's block devices.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceSource {
    /// A sparse file of this size, which fsverdict creates and removes.
    Image(Bytes),
    Path(PathBuf),
    /// No device: each candidate works in one of the user's folders.
    #[default]
    Folders,
    /// A modelled device that a guest uses.
    Model {
        /// The model's name, with its state if the model has several.
        name: String,
        size: Bytes,
    },
}

impl DeviceSource {
    /// Whether the device is a model that a process of fsverdict serves.
    pub fn is_modelled(&self) -> bool {
        matches!(self, DeviceSource::Model { .. })
    }

    /// The size that the plan gives it; `None` for a real device and for folders.
    pub fn size(&self) -> Option<Bytes> {
        match self {
            DeviceSource::Image(size) | DeviceSource::Model { size, .. } => Some(*size),
            DeviceSource::Path(_) | DeviceSource::Folders => None,
        }
    }
}

impl PlannedDevice {
    /// A single device with default settings.
    pub fn from_source(source: DeviceSource) -> Self {
        PlannedDevice { source, ..PlannedDevice::default() }
    }

    /// Every device in order.
    pub fn all_sources(&self) -> impl Iterator<Item = &DeviceSource> {
        std::iter::once(&self.source).chain(&self.further)
    }

    /// The number of devices in each trial.
    pub fn count(&self) -> usize {
        1 + self.further.len()
    }

    /// Replaces the devices with these. A single device that is created for the run replaces every device, since they
    /// may be identical; a block device exists only once.
    pub fn replace_sources(&mut self, sources: &[DeviceSource]) {
        let Some((first, rest)) = sources.split_first() else { return };
        self.further = match (first, rest) {
            (DeviceSource::Image(_) | DeviceSource::Model { .. }, []) => {
                vec![first.clone(); self.further.len()]
            }
            (_, rest) => rest.to_vec(),
        };
        self.source = first.clone();
    }
}

/// A modelled device that fails: from some time on, it answers every request with an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceFailure {
    /// The number of the device, from 1.
    pub device: usize,
    /// The time of the failure, on the clock of the guest that is started for the trial.
    pub after: Duration,
}

/// How `{device.N}` begins and ends, in an option that names the second device or a later one.
const BEGINS: &str = "{device.";
const ENDS: char = '}';

/// The devices that a candidate's options name, each once, in order.
///
/// # Errors
/// Where something that begins like a device's name is none.
pub fn devices_named(candidate: &Candidate) -> Result<Vec<usize>, Reason> {
    let mut named = Vec::new();
    for word in candidate.mkfs.iter().chain(&candidate.mount) {
        for (at, _) in word.match_indices(BEGINS) {
            let number =
                word[at + BEGINS.len()..].split_once(ENDS).and_then(|(number, _)| number.parse().ok());
            let number = number.filter(|number| *number > 0).ok_or_else(|| {
                Reason::new(
                    format!("`{word}` names no device"),
                    "the second one is {device.2}, as in -l logdev={device.2}",
                )
            })?;
            named.push(number);
        }
    }
    named.sort_unstable();
    named.dedup();
    Ok(named)
}

/// The word with the path of each device it names in its place; one that has none stays.
pub fn with_devices(word: &str, path: impl Fn(usize) -> Option<String>) -> String {
    let mut rest = word;
    let mut replaced = String::new();
    while let Some((before, after)) = rest.split_once(BEGINS) {
        replaced += before;
        match after.split_once(ENDS).and_then(|(number, after)| Some((path(number.parse().ok()?)?, after))) {
            Some((path, after)) => {
                replaced += &path;
                rest = after;
            }
            None => {
                replaced += BEGINS;
                rest = after;
            }
        }
    }
    replaced + rest
}

#[cfg(test)]
mod tests {
    use super::{devices_named, with_devices};
    use crate::plan::Candidate;

    #[test]
    fn devices_are_named_and_put_in() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let candidate = |mkfs: &[&str], mount: &[&str]| Candidate {
            mkfs: words(mkfs),
            mount: words(mount),
            ..Candidate::with_defaults("xfs")
        };
        let both = candidate(&["-l", "logdev={device.3},size=64m"], &["rtdev={device.2}"]);
        assert_eq!(devices_named(&both).unwrap(), [2, 3]);
        for word in ["{device.}", "{device.x}", "{device.0}", "{device.2", "{device.-1}"] {
            devices_named(&candidate(&[word], &[])).unwrap_err();
        }
        let path = |number: usize| (number == 2).then(|| "/dev/vdb".to_owned());
        assert_eq!(
            with_devices("a={device.2},{device.3},{device.2}", path),
            "a=/dev/vdb,{device.3},/dev/vdb"
        );
        assert_eq!(with_devices("{device.", path), "{device.");
    }
}
