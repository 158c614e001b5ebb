//! Datasets, prepared for the trial: generated ones as recipes, and made real in memory where a command or a copy
//! of a user's folder needs them so: by the agent, or once for the whole run by a process before it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use fsverdict_judgement::journal::{DATASET_FACT, Facts, FolderContent, Learnt, STAGE};
use fsverdict_judgement::plan::{Dataset, Phase, PhaseWork, measure_variable, variable};
use fsverdict_linux::host::loop_device::{LoopDevice, LoopOptions};
use fsverdict_linux::host::syscall::own_descriptor;
use fsverdict_linux::sandbox::program::{Program, require_success};
use fsverdict_text::{Bytes, Hinted};
use fsverdict_workload::dataset;
use fsverdict_workload::dataset::{IoFailure, Manifest, Prepared, Staged, StagingRecord, Totals};

use super::error::TrialError;
use super::sink::Sink;
use super::spec::{Assignment, Staging, TestBench, TrialDevice, mentions_variable};

/// The agent's own tmpfs, which commands see read-only.
pub(super) const ROOM: &str = "/tmp/fsverdict";
pub(super) const DATA: &str = "/tmp/fsverdict/data";
/// The folder in which the process that stages for the whole run records the staged files.
pub(super) const RECORDS: &str = "/tmp/fsverdict/records";
/// Where an agent's sandbox shows the files that this process staged.
const HELD: &str = "/tmp/fsverdict-held";
/// Where the agent's sandbox shows the user's folders.
pub(super) const REAL: &str = "/tmp/fsverdict-real";

pub(super) struct Material {
    pub(super) prepared: Prepared,
    pub(super) staged: Option<Staged>,
}

#[derive(Default)]
pub(super) struct Materials {
    by_name: BTreeMap<String, Material>,
}

impl Materials {
    /// Prepares every dataset, and has those that a phase needs as files ready.
    pub(super) fn prepare_datasets(assignment: &Assignment, sink: &mut Sink) -> Result<Self, TrialError> {
        let Assignment { spec, bench: TestBench { staging, selected, .. } } = assignment;
        if !matches!(staging, Staging::Held { .. }) {
            make_room(staging)?;
        }
        let mut by_name = BTreeMap::new();
        for (name, dataset) in &spec.datasets {
            let names = spec.drawn.map_or(spec.seed, |drawn| drawn.names);
            let visible_dataset = as_seen_here(staging, name, dataset);
            let prepared = dataset::prepare_with_names(name, &visible_dataset, spec.seed, names)?;
            let staged = match (needed_as_files(&spec.phases, name, dataset), staging) {
                (false, _) => None,
                (true, Staging::Held { .. }) => {
                    Some(dataset::adopt_staged(&prepared, &staged_path(DATA).join(name), read_record(name)?)?)
                }
                (true, Staging::Memory | Staging::Disk { .. }) => {
                    sink.send_step(&format!("{STAGE}{name}"));
                    Some(dataset::stage_dataset(&prepared, &Path::new(DATA).join(name), selected.get(name))?)
                }
            };
            if let (Dataset::Folder { .. }, Some(staged)) = (dataset, &staged) {
                let fingerprint = content_fingerprint(&prepared, staged)?.to_string();
                let shown = Facts::from([(format!("{DATASET_FACT}{name}"), fingerprint.clone())]);
                let fingerprints = BTreeMap::from([(name.clone(), fingerprint)]);
                sink.send_learnt(shown, Learnt { held: fingerprints, ..Learnt::default() });
            }
            let notes = prepared.notes.iter().chain(staged.iter().flat_map(|staged| &staged.notes)).cloned();
            notes.for_each(|note| sink.send_caution("", note));
            by_name.insert(name.clone(), Material { prepared, staged });
        }
        if let Staging::Disk { folder, .. } | Staging::Held { on_disk: Some(folder) } = staging {
            sink.send_caution("", on_disk(folder));
        }
        Ok(Materials { by_name })
    }

    pub(super) fn get(&self, name: &str) -> Result<&Material, TrialError> {
        self.by_name.get(name).ok_or_else(|| TrialError::Unknown(format!("dataset `{name}`")))
    }

    /// The environment variables by which commands find the staged ones, and learn how large each is.
    pub(super) fn dataset_variables(&self) -> Vec<(String, OsString)> {
        let mut variables = Vec::new();
        for (name, material) in &self.by_name {
            if let Some(staged) = &material.staged {
                variables.push((variable(name), staged.path.as_os_str().to_owned()));
            }
            let totals = material.staged.as_ref().map(Staged::totals).or(material.prepared.totals());
            let Some(Totals { bytes, files, .. }) = totals else { continue };
            // At least 1 MiB, because programs that take such a number skip the test for 0.
            for (measure, value) in [("bytes", bytes), ("mib", (bytes >> 20).max(1)), ("files", files)] {
                variables.push((measure_variable(name, measure), value.to_string().into()));
            }
        }
        variables
    }
}

/// A fingerprint of a user's folder, since its content may differ in the next trial or run.
fn content_fingerprint(prepared: &Prepared, staged: &Staged) -> Result<FolderContent, TrialError> {
    let Totals { files, bytes, .. } = staged.totals();
    let digest = Manifest::for_generation(prepared, Some(staged), 0)?.digest();
    Ok(FolderContent { amount: format!("{files} files, {}", Bytes(bytes)), digest: format!("{digest:016x}") })
}

/// Where a folder of the process that staged for the whole run is shown to the agent.
pub(super) fn staged_path(folder: &str) -> PathBuf {
    let below = Path::new(folder).strip_prefix(ROOM).unwrap_or(Path::new(folder));
    Path::new(HELD).join(below)
}

/// A user's folder is shown to the agent at a place of its own: its path may be covered by the agent's tmpfs. Where
/// it was staged before, it is not shown at all.
fn as_seen_here(staging: &Staging, name: &str, dataset: &Dataset) -> Dataset {
    match (dataset, staging) {
        (Dataset::Folder { size, .. }, Staging::Held { .. }) => {
            Dataset::Folder { path: staged_path(DATA).join(name), size: *size }
        }
        (Dataset::Folder { size, .. }, _) => {
            Dataset::Folder { path: Path::new(REAL).join(name), size: *size }
        }
        (generated, _) => generated.clone(),
    }
}

/// Whether a dataset must lie somewhere as files: a user's folder always, others where a command names them.
fn needed_as_files(phases: &[Phase], name: &str, dataset: &Dataset) -> bool {
    let variable = variable(name);
    let named = phases.iter().any(|phase| {
        let around = phase.lines_around().any(|line| mentions_variable(line, &variable));
        around
            || match &phase.work {
                PhaseWork::Command(line) | PhaseWork::Adapter { options: line, .. } => {
                    mentions_variable(line, &variable)
                }
                PhaseWork::Operation(_) => false,
            }
    });
    named || matches!(dataset, Dataset::Folder { .. })
}

/// Bytes that the datasets take at most that must lie somewhere as files; `None` where none must.
///
/// A folder of the user's without a stated size is measured.
///
/// # Errors
/// If such a folder cannot be read, with its path.
pub fn bytes_to_stage(
    datasets: &BTreeMap<String, Dataset>,
    phases: &[Phase],
) -> Result<Option<u64>, IoFailure> {
    let sizes = to_stage(datasets, phases).map(|(_, dataset)| dataset::room_for(dataset));
    Ok(sizes.collect::<Result<Vec<u64>, _>>()?.into_iter().reduce(u64::saturating_add))
}

/// The datasets that must lie somewhere as files.
pub(super) fn to_stage<'a>(
    datasets: &'a BTreeMap<String, Dataset>,
    phases: &'a [Phase],
) -> impl Iterator<Item = (&'a String, &'a Dataset)> {
    datasets.iter().filter(|(name, dataset)| needed_as_files(phases, name, dataset))
}

/// The folder for the datasets: memory as it is, or a scratch disk mounted there.
fn make_room(staging: &Staging) -> Result<(), TrialError> {
    std::fs::create_dir_all(DATA).map_err(TrialError::io_error("make a folder for the datasets"))?;
    let Staging::Disk { device, .. } = staging else { return Ok(()) };
    let failed = |error: &dyn std::fmt::Display| TrialError::Host(error.to_string());
    let (path, _attached) = match device {
        TrialDevice::Image { descriptor, owner } => {
            let image = own_descriptor(*descriptor)
                .ok_or_else(|| failed(&"no disk for the datasets was handed over"))?;
            let options = LoopOptions { owner: *owner, ..LoopOptions::default() };
            let attached = LoopDevice::attach_image(image.as_fd(), &options)
                .map_err(|error| TrialError::Refused(error.reason()))?;
            (attached.path().to_owned(), Some(attached))
        }
        TrialDevice::Guest { path, .. } => (path.clone(), None),
        TrialDevice::Block { .. } | TrialDevice::Folder { .. } => {
            return Err(failed(&"datasets are never staged on a real device"));
        }
    };
    let path = path.to_string_lossy().into_owned();
    // No journal, because the data are gone with the run anyway. One inode per 4 KiB, because files may be small.
    let format =
        ["mkfs.ext4", "-q", "-F", "-O", "^has_journal", "-m", "0", "-i", "4096", "-E", "nodiscard", &path];
    for argv in [&format[..], &["mount", "-t", "ext4", "-o", "noatime", &path, DATA][..]] {
        require_success(Program::new(argv.iter().copied()).run("stage")?)?;
    }
    // The mount keeps the loop device, which clears itself after it.
    Ok(())
}

/// The caution about datasets that do not fit into memory.
fn on_disk(folder: &Path) -> String {
    format!(
        "the datasets do not fit into memory and are staged on disk (in {}): phases that copy them wait for that disk, too, and must not share it with the filesystem under test",
        folder.display()
    )
}

/// Writes the record of each staged dataset that other processes need.
pub(super) fn write_records(materials: &Materials) -> Result<(), TrialError> {
    std::fs::create_dir_all(RECORDS).map_err(TrialError::io_error("make a folder for the records"))?;
    for (name, material) in &materials.by_name {
        let Some(staged) = &material.staged else { continue };
        let text = serde_json::to_vec(&staged.staging_record(&material.prepared)?).unwrap_or_default();
        std::fs::write(record_file(Path::new(RECORDS), name), text)
            .map_err(TrialError::io_error("write down what was staged"))?;
    }
    Ok(())
}

fn read_record(name: &str) -> Result<StagingRecord, TrialError> {
    let text = std::fs::read(record_file(&staged_path(RECORDS), name))
        .map_err(TrialError::io_error("read what was staged"))?;
    serde_json::from_slice(&text).map_err(|error| {
        TrialError::Host(format!(
            "what was staged of dataset `{name}` is not recorded as it should be: {error}"
        ))
    })
}

fn record_file(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.json"))
}
