//! What a plan names as its devices: one, or several of the same kind that a candidate has together.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::model::is_default;
use fsverdict_text::{Bytes, bounded_list};

/// More devices than this a candidate cannot have: the drivers of guests have few more, and nobody's question needs them.
pub(super) const MOST_DEVICES: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedDevice {
    /// A scratch image or a real block device; of several the first.
    pub source: DeviceSource,
    /// The second of several, and all after it.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "bounded_list::<_, _, { MOST_DEVICES - 1 }>"
    )]
    pub further: Vec<DeviceSource>,
    /// One of the modelled devices that stops to work while a trial goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fails: Option<DeviceFailure>,
    /// Where scratch images lie; the user's cache or `/var/tmp` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    /// Where datasets lie that are needed as files.
    #[serde(default, skip_serializing_if = "is_default")]
    pub staging: StagingChoice,
}

/// Where datasets lie that commands, or copies of a real folder, need as files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StagingChoice {
    /// In memory if they leave half of it free, else on disk.
    #[default]
    Auto,
    /// In memory, so that no other disk is waited for.
    Memory,
    /// On a scratch disk beside the image.
    Disk,
}

/// A scratch image made for the run, or a block device of the user's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceSource {
    /// A sparse file of this size, made and removed by fsverdict.
    Image(Bytes),
    Path(PathBuf),
    /// None of its own: each candidate works in a folder of the user's.
    Folders,
    /// A modelled device, served to a guest.
    Model {
        /// The model's name, with its state where it has several.
        name: String,
        size: Bytes,
    },
}

impl DeviceSource {
    /// Whether it is a model that a process of ours serves.
    pub fn is_modelled(&self) -> bool {
        matches!(self, DeviceSource::Model { .. })
    }
}

impl PlannedDevice {
    /// One device, with nothing else said.
    pub fn of(source: DeviceSource) -> Self {
        PlannedDevice {
            source,
            further: Vec::new(),
            fails: None,
            folder: None,
            staging: StagingChoice::default(),
        }
    }

    /// Every device, the first one first.
    pub fn all(&self) -> impl Iterator<Item = &DeviceSource> {
        std::iter::once(&self.source).chain(&self.further)
    }

    /// How many devices each trial has.
    pub fn count(&self) -> usize {
        1 + self.further.len()
    }

    /// Takes these devices in place of its own. A single one that is made for the run takes the place of each, since no two
    /// need differ; a block device of the user's is there once.
    pub fn replace(&mut self, sources: &[DeviceSource]) {
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

/// A modelled device that answers every request with an error from some moment on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceFailure {
    /// Which of the devices, from 1.
    pub device: usize,
    /// From when on, on the clock of the guest that is started for the trial.
    pub after: Duration,
}
