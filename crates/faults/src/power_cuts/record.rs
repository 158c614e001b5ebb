//! Repeats a candidate's trial with a log of its writes, and describes the log.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use fsverdict_judgement::journal::{Event, Observation, ProgramPromise, Save, SequenceBatch, Status};
use fsverdict_judgement::plan::{Candidate, Dataset, Operation, OperationEffect, Phase, PhaseWork, Plan};
use fsverdict_lab::lab::{LabError, LogPurpose, WriteLogFile};
use fsverdict_lab::trial::{TrialSpec, sequence_bounds};
use fsverdict_text::Reason;
use fsverdict_workload::workload::{
    CutPromises, Recheck, ReplayedFolder, SavedFolder, SavedPhase, SequenceWork, SequencesRecord,
    WrittenFolder,
};

use super::{PowerCutting, file_error, remove_file};
use crate::error::FaultError;
use crate::interruptions::Interruptions;

/// Bytes of a candidate's log at most.
const LOG: u64 = 2 << 30;

/// The description of a candidate's log: the data that must exist, and from when.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct CutRecord {
    #[serde(flatten)]
    pub(crate) promises: CutPromises,
    /// When mkfs began, in nanoseconds of the device's clock.
    #[serde(default)]
    pub(crate) mkfs_ns: u64,
    /// When each phase began, in nanoseconds of the device's clock.
    #[serde(default)]
    pub(crate) began_ns: BTreeMap<String, u64>,
    /// The digest of the requests.
    pub(crate) trace: String,
}

impl PowerCutting<'_> {
    /// Repeats the candidate's first trial with this part of its work, and keeps the log of writes to each device. If
    /// something outside interrupts it, it is repeated.
    pub(crate) fn record_part(&self, candidate: &Candidate, part: u32) -> Result<CutRecord, FaultError> {
        let mut interruptions = Interruptions::default();
        loop {
            if let Some(record) = self.record_once(candidate, part, &mut interruptions)? {
                return Ok(record);
            }
        }
    }

    /// `None` where something outside ended it, or its kernel died for the first time.
    fn record_once(
        &self,
        candidate: &Candidate,
        part: u32,
        interruptions: &mut Interruptions,
    ) -> Result<Option<CutRecord>, FaultError> {
        let mut logs = Vec::new();
        for device in 1..=self.attachments.iter().count() {
            let file = self.log_file(candidate, part, device);
            remove_file(&file)?;
            logs.push(WriteLogFile { device, file, purpose: LogPurpose::Record { bound: LOG } });
        }
        let attachments = self.attachments.clone().with_logs(logs);
        let spec = self.trial_spec(candidate, part);
        let (mut saves, mut synced): (BTreeMap<String, Vec<Save>>, BTreeMap<String, u64>) =
            Default::default();
        let mut batches: Vec<SequenceBatch> = Vec::new();
        let mut promised: BTreeMap<String, Vec<ProgramPromise>> = BTreeMap::new();
        let (mut trace, mut is_full, mut mkfs_ns) = (String::new(), false, 0);
        let mut began_ns: BTreeMap<String, u64> = BTreeMap::new();
        let mut watch = |event: Event| match event {
            Event::Saved { phase, saves: more } => saves.entry(phase).or_default().extend(more),
            Event::Sequences { batches: more, .. } => batches.extend(more),
            Event::Promised { phase, promises } => promised.entry(phase).or_default().extend(promises),
            Event::Observation(observation) => {
                if observation.phase == "mkfs" {
                    mkfs_ns = (observation.value("began").unwrap_or(0.0) * 1e9) as u64;
                }
                if let Some(began) = observation.value("began") {
                    began_ns.entry(observation.phase.clone()).or_insert((began * 1e9) as u64);
                }
                synced.insert(observation.phase.clone(), durable_ns(&observation));
            }
            Event::Facts { facts, .. } => {
                trace = facts.get("device.trace").cloned().unwrap_or(std::mem::take(&mut trace));
                is_full |= facts.contains_key("device.log_is_full");
            }
            _ => {}
        };
        let end = self.choice.lab.run_trial(&spec, &attachments, 0, &mut watch)?;
        let failed = |reason: Reason| {
            FaultError::Refused(
                reason.after(format!("the trial of {} that was to be recorded: ", candidate.name)),
            )
        };
        if interruptions.count_interruption(&end)? || (end.killed && interruptions.is_first_death_at(0)) {
            return Ok(None);
        }
        if end.status != Status::Ok {
            return Err(failed(Reason::new(end.reason, end.hint)));
        }
        if is_full {
            return Err(failed(Reason::new(
                "it writes more than the log can hold",
                "scale its data down: --scale 0.1",
            )));
        }
        let sequences = self.sequences_phase().map(|phase| {
            let bounds = sequence_bounds(phase, self.plan.protocol.seed);
            let work =
                SequenceWork { bounds, part: self.part_of_trial(part), only: self.narrowed.only.clone() };
            SequencesRecord::new(work, batches)
        });
        let folders = self.saved_folders(&saves, &synced);
        let written = written_folders(self.plan, &synced);
        let replayed = replayed_folders(self.plan, &synced, &began_ns, &mut promised);
        let rechecks = self.rechecks(promised);
        let promises = CutPromises { folders, sequences, rechecks, written, replayed };
        let record = CutRecord { promises, mkfs_ns, began_ns, trace };
        let text = serde_json::to_vec(&record).map_err(std::io::Error::from).map_err(LabError::from)?;
        let file = self.record_file(candidate, part);
        file.replace(|out| out.write_all(&text)).map_err(|error| file_error(&file.path(), error))?;
        Ok(Some(record))
    }

    pub(crate) fn trial_spec(&self, candidate: &Candidate, part: u32) -> TrialSpec {
        TrialSpec {
            deadline: self.time.deadline,
            datasets: self.datasets(),
            phases: self.plan.phases.clone(),
            services: self.plan.services.clone(),
            part: self.part_of_trial(part),
            drawn: self.drawn_device(part),
            only: self.narrowed.only.clone(),
            devices: self.plan.device.count(),
            ..TrialSpec::without_work(candidate.clone(), self.plan.protocol.seed, self.plan.protocol.timeout)
        }
    }

    /// The plan's, or so many files of those that are saved.
    pub(super) fn datasets(&self) -> BTreeMap<String, Dataset> {
        let mut datasets = self.plan.datasets.clone();
        if let Some(most) = self.narrowed.files {
            for dataset in datasets.values_mut() {
                if let Dataset::Flat { files, .. } = dataset {
                    *files = (*files).min(most);
                }
            }
        }
        datasets
    }

    /// The saved files of each folder, in the order of the phases.
    fn saved_folders(
        &self,
        saves: &BTreeMap<String, Vec<Save>>,
        synced: &BTreeMap<String, u64>,
    ) -> Vec<SavedFolder> {
        let mut folders: Vec<SavedFolder> = Vec::new();
        for phase in &self.plan.phases {
            let Some(saves) = saves.get(&phase.name) else { continue };
            let dataset = phase.dataset.clone().unwrap_or_default();
            let into = phase.into.clone().unwrap_or_else(|| dataset.clone());
            let saved = SavedPhase {
                saves: saves.clone(),
                synced_ns: synced.get(&phase.name).copied().unwrap_or(u64::MAX),
            };
            match folders.iter_mut().find(|folder| folder.into == into) {
                Some(folder) => folder.phases.push(saved),
                None => folders.push(SavedFolder { into, dataset, phases: vec![saved] }),
            }
        }
        folders
    }

    /// The promises to commands, in the order of the phases.
    fn rechecks(&self, mut promised: BTreeMap<String, Vec<ProgramPromise>>) -> Vec<Recheck> {
        let recheck_of = |phase: &Phase| {
            let promises = promised.remove(&phase.name)?;
            Some(Recheck { phase: phase.name.clone(), line: phase.recheck.clone()?, promises })
        };
        self.plan.phases.iter().filter_map(recheck_of).collect()
    }
}

/// A folder that a phase worked in, and until when nothing else did.
struct PhaseFolder<'a> {
    phase: &'a Phase,
    into: String,
    dataset: String,
    synced_ns: u64,
    /// From when on something else may have changed it.
    until_ns: u64,
}

/// The folders of the phases with such an operation, from when they were synced until something else may have changed
/// them.
fn folders_of<'a>(
    plan: &'a Plan,
    synced: &BTreeMap<String, u64>,
    is_wanted: impl Fn(Operation) -> bool,
) -> Vec<PhaseFolder<'a>> {
    // A service may do anything at any time.
    if !plan.services.is_empty() {
        return Vec::new();
    }
    let is_wanted =
        |phase: &Phase| matches!(phase.work, PhaseWork::Operation(operation) if is_wanted(operation));
    let fold = |(at, phase): (usize, &'a Phase)| {
        let dataset = phase.dataset.clone()?;
        let into = phase.into.clone().unwrap_or_else(|| dataset.clone());
        let leaves = |other: &Phase| match other.work {
            PhaseWork::Operation(operation) if operation.effect() == OperationEffect::RollsBack => false,
            PhaseWork::Operation(operation) => {
                let elsewhere = other.into.as_deref() != Some(into.as_str());
                other.lines_around().next().is_none() && (elsewhere || operation.leaves_all_as_it_was())
            }
            PhaseWork::Command(_) | PhaseWork::Adapter { .. } => false,
        };
        let mut later = plan.phases.get(at..)?.windows(2);
        // The phase before it is over by then, even if it worked outside the clocks.
        let last = later.find_map(|pair| pair.last().filter(|next| !leaves(next)).and(pair.first()));
        let until_ns = last.map_or(Some(u64::MAX), |last| synced.get(&last.name).copied())?;
        let synced_ns = *synced.get(&phase.name)?;
        Some(PhaseFolder { phase, into, dataset, synced_ns, until_ns })
    };
    plan.phases.iter().enumerate().filter(|(_, phase)| is_wanted(phase)).filter_map(fold).collect()
}

fn written_folders(plan: &Plan, synced: &BTreeMap<String, u64>) -> Vec<WrittenFolder> {
    let folders = folders_of(plan, synced, Operation::is_checked_after_cut).into_iter();
    let folders = folders.filter(|folder| folder.phase.after.is_none());
    folders
        .map(|PhaseFolder { into, dataset, synced_ns, until_ns, .. }| WrittenFolder {
            into,
            dataset,
            synced_ns,
            until_ns,
        })
        .collect()
}

/// The folders in which traces were replayed by phases that nothing runs around or beside.
fn replayed_folders(
    plan: &Plan,
    synced: &BTreeMap<String, u64>,
    began_ns: &BTreeMap<String, u64>,
    promised: &mut BTreeMap<String, Vec<ProgramPromise>>,
) -> Vec<ReplayedFolder> {
    let replays = |operation: Operation| operation.effect() == OperationEffect::Replays;
    let folders = folders_of(plan, synced, replays).into_iter();
    let folders = folders.filter(|folder| folder.phase.lines_around().next().is_none());
    folders
        .filter_map(|PhaseFolder { phase, into, dataset, synced_ns, until_ns }| {
            Some(ReplayedFolder {
                into,
                dataset,
                ordered: phase.threads.unwrap_or(1) == 1,
                began_ns: *began_ns.get(&phase.name)?,
                synced_ns,
                // Until the sync returned, it was made by the phase itself.
                until_ns: until_ns.max(synced_ns),
                durable_calls: promised.remove(&phase.name).unwrap_or_default(),
            })
        })
        .collect()
}

/// When a phase was durable, in nanoseconds of the device's clock.
fn durable_ns(observation: &Observation) -> u64 {
    let seconds = |name| observation.value(name);
    match (seconds("began"), seconds("durable")) {
        (Some(began), Some(durable)) => ((began + durable) * 1e9) as u64,
        _ => u64::MAX,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::written_folders;
    use fsverdict_judgement::plan::{Operation, Phase, PhaseWork, Plan};

    #[test]
    fn what_is_copied_is_promised_until_something_else_may_work_there() {
        let mut plan: Plan =
            serde_json::from_str(include_str!("../../../../tests/runs/demo/plan.json")).unwrap();
        let phase = |name: &str, operation, into: &str| Phase {
            name: name.to_owned(),
            work: PhaseWork::Operation(operation),
            dataset: Some(into.to_owned()),
            into: Some(into.to_owned()),
            before: None,
            beside: None,
            after: None,
            ..plan.phases[0].clone()
        };
        let phases = vec![
            phase("copy", Operation::TreeWrite, "tree"),
            phase("read", Operation::TreeRead, "tree"),
            phase("notes", Operation::DirectoryFill, "notes"),
            phase("save", Operation::DirectorySave, "notes"),
            phase("remove", Operation::TreeRemove, "tree"),
        ];
        plan.services.clear();
        plan.phases = phases;
        let synced: BTreeMap<String, u64> =
            (1..).zip(&plan.phases).map(|(number, phase)| (phase.name.clone(), number * 100)).collect();
        let windows = |plan: &Plan| -> Vec<(String, u64, u64)> {
            let of = |folder: super::WrittenFolder| (folder.into, folder.synced_ns, folder.until_ns);
            written_folders(plan, &synced).into_iter().map(of).collect()
        };
        // Reading changes nothing; the notes are rewritten at once.
        assert_eq!(windows(&plan), [("tree".to_owned(), 100, 400), ("notes".to_owned(), 300, 300)]);
        plan.phases.truncate(3);
        assert_eq!(windows(&plan)[0].2, u64::MAX);
        // A command may do anything, and a line before a phase, too.
        plan.phases[1].before = Some("true".to_owned());
        assert_eq!(windows(&plan)[0].2, 100);
    }
}
