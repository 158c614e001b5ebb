//! Datasets, prepared for the trial: generated ones as recipes, and made real in memory where a command or a copy
//! of a user's folder needs them so.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use crate::dataset::{self, Prepared, Staged, Totals};
use crate::plan::{Dataset, Work, measure_variable, variable};

use super::error::TrialError;
use super::sink::Sink;
use super::spec::{TrialSpec, mentions};

/// The agent's own room: a tmpfs, which commands see read-only.
pub(super) const ROOM: &str = "/tmp/fsverdict";
/// Where staged datasets lie.
pub(super) const DATA: &str = "/tmp/fsverdict/data";
/// Where the agent's cell shows the user's folders.
pub(super) const REAL: &str = "/tmp/fsverdict-real";

/// One dataset of the trial.
pub(super) struct Material {
    pub(super) prepared: Prepared,
    pub(super) staged: Option<Staged>,
}

/// All datasets of the trial.
pub(super) struct Materials {
    by_name: BTreeMap<String, Material>,
}

impl Materials {
    /// Prepares every dataset, and stages those that a phase needs as files.
    pub(super) fn gather(spec: &TrialSpec, sink: &mut Sink) -> Result<Self, TrialError> {
        std::fs::create_dir_all(DATA).map_err(TrialError::io("make a folder for the datasets"))?;
        let mut by_name = BTreeMap::new();
        for (name, dataset) in &spec.datasets {
            let prepared = dataset::prepare(name, &as_seen_here(name, dataset), spec.seed)?;
            let staged = if prepared.needs_staging() || wanted_as_files(spec, name) {
                sink.step(&format!("stage {name}"));
                Some(dataset::stage(&prepared, &Path::new(DATA).join(name))?)
            } else {
                None
            };
            let notes = prepared.notes().iter().chain(staged.iter().flat_map(Staged::notes)).cloned();
            notes.for_each(|note| sink.caution("", note));
            by_name.insert(name.clone(), Material { prepared, staged });
        }
        Ok(Materials { by_name })
    }

    pub(super) fn get(&self, name: &str) -> Result<&Material, TrialError> {
        self.by_name.get(name).ok_or_else(|| TrialError::Unknown(format!("dataset `{name}`")))
    }

    /// The environment variables by which commands find the staged ones, and learn how large each is.
    pub(super) fn variables(&self) -> Vec<(String, OsString)> {
        let mut variables = Vec::new();
        for (name, material) in &self.by_name {
            if let Some(staged) = &material.staged {
                variables.push((variable(name), staged.path().as_os_str().to_owned()));
            }
            let totals = material.staged.as_ref().map(Staged::totals).or(material.prepared.totals());
            let Some(Totals { bytes, files, .. }) = totals else { continue };
            // At least 1 MiB: 0 means "leave this test out" to the programs that take such a number.
            for (measure, value) in [("bytes", bytes), ("mib", (bytes >> 20).max(1)), ("files", files)] {
                variables.push((measure_variable(name, measure), value.to_string().into()));
            }
        }
        variables
    }
}

/// A user's folder is shown to the agent at a place of its own: its path may be covered by the agent's tmpfs.
fn as_seen_here(name: &str, dataset: &Dataset) -> Dataset {
    match dataset {
        Dataset::Folder { size, .. } => Dataset::Folder { path: Path::new(REAL).join(name), size: *size },
        generated => generated.clone(),
    }
}

fn wanted_as_files(spec: &TrialSpec, name: &str) -> bool {
    let name = variable(name);
    spec.phases.iter().any(|phase| match &phase.work {
        Work::Command(line) | Work::Adapter { options: line, .. } => mentions(line, &name),
        Work::Operation(_) => false,
    })
}
