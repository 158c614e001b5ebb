//! A question as far as it was understood: the plan that it begins with, and how it is told before it is asked.

use std::path::PathBuf;

use fsverdict_disk::device::Model;
use fsverdict_judgement::plan::{DeviceSource, Plan, Preset, RequiredProperty, contestants};
use fsverdict_report::listing;
use fsverdict_text::{Bytes, Reason, duration_text, quoted};

use super::super::CliError;
use super::folder::folder_plan;

/// What is to be found out, as far as it was understood.
pub(super) struct Question {
    pub(super) work: AskedWork,
    pub(super) device: Option<AskedDevice>,
    pub(super) must: Vec<RequiredProperty>,
    /// Filesystems that it is between, where some were named.
    pub(super) between: Vec<&'static str>,
    /// Filesystems that are not to be tried.
    pub(super) excluded: Vec<&'static str>,
    /// What was said and is no part of it, as sentences for people.
    pub(super) aside: Vec<String>,
}

pub(super) enum AskedWork {
    Preset(&'static Preset),
    Folder(PathBuf),
}

/// What it is asked of.
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
    /// What it is called.
    pub(super) fn name(&self) -> &'static str {
        match &self.work {
            AskedWork::Preset(preset) => preset.name,
            AskedWork::Folder(_) => "folder",
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

    /// It and the plan that it came to, `left_out` being the candidates that lack what must hold.
    pub(super) fn told(&self, plan: &Plan, left_out: &[String]) -> String {
        let work = match &self.work {
            AskedWork::Preset(preset) => format!("{} (preset {})", preset.summary, preset.name),
            AskedWork::Folder(folder) => format!(
                "up to {} of {}: copied, read back, searched and removed",
                Bytes(200_000_000),
                quoted(&folder.to_string_lossy())
            ),
        };
        let device = self.device.as_ref().map_or_else(|| own_device(plan), |device| device.shown.clone());
        let must = match self.must.as_slice() {
            [] => String::new(),
            all => {
                format!("; must have: {}", all.iter().map(|one| one.word()).collect::<Vec<_>>().join(", "))
            }
        };
        let names: Vec<&str> = contestants(plan).map(|candidate| candidate.name.as_str()).collect();
        let time = plan.protocol.budget.map_or(String::new(), |time| {
            format!(
                "; time: up to {} (--for), and less where it is decided before; the first block ends in any case",
                duration_text(time)
            )
        });
        let without: Vec<&str> = left_out.iter().map(String::as_str).collect();
        let without = match without.as_slice() {
            [] => String::new(),
            some => format!("; left out, for want of that: {}", listing(some, 8)),
        };
        let aside: String = self.aside.iter().map(|one| format!("; {one}")).collect();
        format!(
            "work: {work}; device: {device}{must}; candidates: {}{without}{time}{aside}",
            listing(&names, 8)
        )
    }
}

/// The device of a plan whose question named none.
fn own_device(plan: &Plan) -> String {
    match (plan.models().as_slice(), &plan.device.source) {
        ([], DeviceSource::Image(size)) => {
            format!("a scratch image of {size} on this machine's disk, which is removed again")
        }
        ([], source) => source.to_string(),
        ([one], _) => {
            let summary = Model::named(one.split(':').next().unwrap_or(one));
            format!(
                "modelled, {one}{}",
                summary.map_or(String::new(), |model| format!(": {}", model.summary))
            )
        }
        (several, _) => format!("modelled, {}, one after the other", listing(several, 8)),
    }
}
