//! A candidate's trial done once more with a log of its writes, and what is known of that log.

use std::collections::BTreeMap;
use std::path::PathBuf;

use rustix::fs::{CWD, OFlags};
use serde::{Deserialize, Serialize};

use crate::host::whole_file;
use crate::lab::{LabError, LogPurpose, WriteLogFile};
use crate::trial::TrialSpec;
use crate::workload::{SavedFolder, SavedPhase};
use fsverdict_disk::crash::WriteLog;
use fsverdict_judgement::journal::{Event, Observation, Save, Status};
use fsverdict_judgement::plan::Candidate;
use fsverdict_text::{Links, Reason, open_regular};

use super::{PowerCutting, plain};
use crate::study::error::SessionError;

/// Bytes of a candidate's log at most.
const LOG: u64 = 2 << 30;
/// No file about a log is longer.
const LONGEST: u64 = 256 << 20;

/// What is known of a candidate's log: what must be there, and when.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::study) struct CutRecord {
    pub(in crate::study) folders: Vec<SavedFolder>,
    /// When mkfs began, in nanoseconds of the device's clock.
    #[serde(default)]
    pub(in crate::study) mkfs_ns: u64,
    /// The digest of the requests.
    pub(in crate::study) trace: String,
}

impl PowerCutting<'_> {
    /// Does the candidate's first trial once more, and keeps what it wrote to each of its devices.
    pub(in crate::study) fn record(&self, candidate: &Candidate) -> Result<CutRecord, SessionError> {
        let mut logs = Vec::new();
        for device in 1..=self.attachments.each().count() {
            let path = self.log_path(candidate, device);
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(LabError::from(error).into());
                }
                _ => logs.push(WriteLogFile { device, path, purpose: LogPurpose::Record { bound: LOG } }),
            }
        }
        let attachments = self.attachments.clone().with_logs(logs);
        let spec = self.spec(candidate);
        let (mut saves, mut synced): (BTreeMap<String, Vec<Save>>, BTreeMap<String, u64>) =
            Default::default();
        let (mut trace, mut is_full, mut mkfs_ns) = (String::new(), false, 0);
        let mut watch = |event: Event| match event {
            Event::Saved { phase, saves: more } => saves.entry(phase).or_default().extend(more),
            Event::Observation(observation) => {
                if observation.phase == "mkfs" {
                    mkfs_ns = (observation.value("began").unwrap_or(0.0) * 1e9) as u64;
                }
                synced.insert(observation.phase.clone(), durable_ns(&observation));
            }
            Event::Facts { facts, .. } => {
                trace = facts.get("device.trace").cloned().unwrap_or(std::mem::take(&mut trace));
                is_full |= facts.contains_key("device.log_is_full");
            }
            _ => {}
        };
        let end = self.choice.lab.run(&spec, &attachments, 0, &mut watch)?;
        let failed = |reason: Reason| {
            SessionError::Disk(
                reason.after(format!("the trial of {} that was to be recorded: ", candidate.name)),
            )
        };
        if end.status != Status::Ok {
            return Err(failed(Reason::new(end.reason, end.hint)));
        }
        if is_full {
            return Err(failed(Reason::new(
                "it writes more than is kept",
                "scale its data down: --scale 0.1",
            )));
        }
        let record = CutRecord { folders: self.folders(&saves, &synced), mkfs_ns, trace };
        let text = serde_json::to_vec(&record).map_err(std::io::Error::from).map_err(LabError::from)?;
        whole_file::replace(&self.record_path(candidate), |file| std::io::Write::write_all(file, &text))
            .map_err(LabError::from)?;
        Ok(record)
    }

    pub(in crate::study) fn spec(&self, candidate: &Candidate) -> TrialSpec {
        TrialSpec {
            datasets: self.plan.datasets.clone(),
            phases: self.plan.phases.clone(),
            devices: self.plan.device.count(),
            ..TrialSpec::without_work(candidate.clone(), self.plan.protocol.seed, self.plan.protocol.timeout)
        }
    }

    /// What was saved where, in the order of the phases.
    fn folders(
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

    pub(in crate::study) fn log_path(&self, candidate: &Candidate, device: usize) -> PathBuf {
        let number = if device > 1 { format!(".{device}") } else { String::new() };
        self.folder.join(format!("{}{number}.writes", candidate.name))
    }

    fn record_path(&self, candidate: &Candidate) -> PathBuf {
        self.folder.join(format!("{}.json", candidate.name))
    }

    pub(in crate::study) fn log(&self, candidate: &Candidate) -> Result<WriteLog, SessionError> {
        let file = open_regular(CWD, &self.log_path(candidate, 1), OFlags::RDONLY, Links::Refuse);
        let log = file.map_err(LabError::from).map(WriteLog::read)?;
        log.map_err(|error| SessionError::Disk(Reason::plain(error)))
    }

    pub(in crate::study) fn read_record(&self, candidate: &Candidate) -> Result<CutRecord, SessionError> {
        let file = open_regular(CWD, &self.record_path(candidate), OFlags::RDONLY, Links::Refuse);
        let input = std::io::Read::take(file.map_err(LabError::from)?, LONGEST);
        serde_json::from_reader(std::io::BufReader::new(input)).map_err(plain)
    }
}

/// When a phase was durable, in nanoseconds of the device's clock.
fn durable_ns(observation: &Observation) -> u64 {
    let seconds = |name| observation.value(name);
    match (seconds("began"), seconds("durable")) {
        (Some(began), Some(durable)) => ((began + durable) * 1e9) as u64,
        _ => u64::MAX,
    }
}
