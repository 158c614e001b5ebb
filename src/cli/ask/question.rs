//! A question as far as it was understood, and the text of the plan that it begins with.

use std::path::PathBuf;

use fsverdict_judgement::plan::{Candidate, DeviceSource, Preset, RequiredProperty};
use fsverdict_text::Reason;

use super::super::CliError;
use super::asked_fault::AskedFault;
use super::features::Feature;
use super::folder::folder_plan;
use super::heard_bounds::{LatencyLimit, Tolerance};
use super::heard_candidates::HeardCandidates;
use super::heard_throughput::ThroughputLimit;
use super::sentence::Said;

/// A question, as far as it was understood.
pub(super) struct Question {
    pub(super) work: AskedWork,
    pub(super) device: Option<AskedDevice>,
    /// The number of devices that the words name, if it is more than one.
    pub(super) device_count: Option<Said<u32>>,
    pub(super) must: Vec<Said<RequiredProperty>>,
    /// The filesystems to compare, their options, and the features to compare with their lack.
    pub(super) candidates: HeardCandidates,
    pub(super) limits: Vec<Said<LatencyLimit>>,
    pub(super) throughputs: Vec<Said<ThroughputLimit>>,
    /// Faults that the candidates are examined for besides their work.
    pub(super) faults: Vec<Said<AskedFault>>,
    pub(super) tolerance: Option<Said<Tolerance>>,
    /// The user's words for the work, and for the time that the answer may take.
    pub(super) work_words: String,
    pub(super) time_words: String,
    /// Words that were not understood, and are left aside.
    pub(super) aside: Vec<String>,
}

pub(super) enum AskedWork {
    Preset(&'static Preset),
    Folder(PathBuf),
}

/// The device of a question.
#[derive(Clone)]
pub(super) struct AskedDevice {
    /// As the user named it.
    pub(super) said: String,
    pub(super) source: DeviceSource,
    /// Whether its size is the user's word; that of a model is otherwise the plan's, which knows how much is written.
    pub(super) sized: bool,
    /// For people.
    pub(super) shown: String,
}

impl Question {
    /// The required properties.
    pub(super) fn properties(&self) -> Vec<RequiredProperty> {
        self.must.iter().map(|said| said.value).collect()
    }

    /// Whether the words name the candidate's filesystem.
    pub(super) fn names_filesystem(&self, candidate: &Candidate) -> bool {
        self.candidates.named.iter().any(|said| said.value.filesystem.name == candidate.filesystem)
    }

    /// Whether encrypted candidates are tried: the question mentions encryption, or it is about a preset that always has them.
    pub(super) fn mentions_encryption(&self) -> bool {
        let is_on_request = match &self.work {
            AskedWork::Preset(preset) => preset.asked_by().encrypted_on_request,
            AskedWork::Folder(_) => false,
        };
        !is_on_request
            || self.properties().contains(&RequiredProperty::Encryption)
            || self.candidates.compared.iter().any(|said| said.value == Feature::Encryption)
    }

    /// The name of the preset, or of the plan for a folder.
    pub(super) fn name(&self) -> &'static str {
        match &self.work {
            AskedWork::Preset(preset) => preset.name,
            AskedWork::Folder(_) => "folder",
        }
    }

    /// The share of the preset's data that is taken, where all of it would take too long.
    pub(super) fn scale(&self) -> Option<f64> {
        match &self.work {
            AskedWork::Preset(preset) => preset.asked_by().scale,
            AskedWork::Folder(_) => None,
        }
    }

    /// The plan's text before anything of it is changed.
    ///
    /// # Errors
    /// When a folder's name is no text.
    pub(super) fn text(&self) -> Result<String, CliError> {
        match &self.work {
            AskedWork::Preset(preset) => Ok(preset.toml.to_owned()),
            AskedWork::Folder(folder) => {
                let path = folder.to_str().ok_or_else(|| {
                    CliError::Usage(Reason::new(
                        format!("{} has a name that no plan can hold", folder.display()),
                        "a plan is text in UTF-8; rename the folder, or name one above it",
                    ))
                })?;
                Ok(folder_plan(path))
            }
        }
    }
}
