//! A state that lost something, made as small as it can be: the fewest operations, and the fewest writes that were lost.

use std::sync::Arc;

use crate::error::FaultError;
use fsverdict_disk::crash::{CrashState, WriteLog};
use fsverdict_judgement::journal::StateFinding;
use fsverdict_judgement::plan::{Candidate, Dataset};
use fsverdict_lab::trial::sequence_bounds;
use fsverdict_workload::workload::{OneSequence, SequenceWork, SequencesRecord};

use super::examine::CutStates;
use super::kept::KeptFindings;
use super::record::CutRecord;
use super::smaller::{MinimisedState, Smaller, is_same};
use super::{CutName, PowerCutting, file_error, remove_file, to_fault_error};

/// Less than the plan's work.
#[derive(Debug, Clone, Default)]
pub(super) struct Narrowed {
    /// One sequence.
    pub(super) only: Option<OneSequence>,
    /// Of each directory of files so many.
    pub(super) files: Option<u64>,
}

/// The folder for experiments, within that of the logs.
pub const TRIED_IN: &str = "minimise";
/// So many states of a smaller trial are looked at for one that loses the same.
const TRIED: u32 = 60;

impl<'a> PowerCutting<'a> {
    /// Finds the smallest state that loses the same data as this one. `tell` reports progress. Removes all files of
    /// experiments, also those that a killed process left.
    pub fn minimise_state(
        &self,
        candidate: &Candidate,
        name: CutName,
        tell: &dyn Fn(&str),
    ) -> Result<MinimisedState, FaultError> {
        self.forget_tried()?;
        // Each experiment runs in the circumstances of its own trial.
        let of_trial = Some(self.trial_number(name.part));
        let (attachments, narrowed) = (self.attachments.clone(), self.narrowed.clone());
        let (choice, folder) = (Arc::clone(&self.choice), self.folder.clone());
        let minimising = PowerCutting { choice, attachments, folder, narrowed, of_trial, ..*self };
        let smallest = minimising.find_smallest(candidate, name, tell);
        self.forget_tried()?;
        smallest
    }

    /// Removes files of former experiments.
    fn forget_tried(&self) -> Result<(), FaultError> {
        let removed = self.folder.remove_subfolder(TRIED_IN);
        removed.map(drop).map_err(|error| file_error(&self.folder.path_of(TRIED_IN), error))
    }

    fn find_smallest(
        &self,
        candidate: &Candidate,
        name: CutName,
        tell: &dyn Fn(&str),
    ) -> Result<MinimisedState, FaultError> {
        let (log, record) = (self.read_log(candidate, name.part)?, self.read_record(candidate, name.part)?);
        let wanted = self.findings_of(candidate, name.part, &[name.state], &record, &log)?;
        let wanted = wanted.into_iter().next().ok_or_else(|| to_fault_error("nothing was found"))?;
        if !wanted.outcome.is_loss() {
            return Err(to_fault_error(format!(
                "{name} of {} loses nothing: {}",
                candidate.name,
                wanted.outcome.words()
            )));
        }
        tell(&format!("{name}: {}: {}", wanted.outcome.words(), wanted.seen));
        let at_ns = record.moment_ns(&log, name.state);
        let mut smallest: Option<Smaller<'a>> = None;
        for narrowed in self.narrower_workloads(&record, &wanted, at_ns) {
            // A workload with more calls or files than one that already loses the data need not be tried.
            if smallest.as_ref().is_some_and(|found| found.cutting.narrowed.size() <= narrowed.size()) {
                continue;
            }
            let size = narrowed.describe_size();
            match self.try_smaller(candidate, narrowed, &wanted)? {
                Some(smaller) => {
                    tell(&format!("{size}: the same is lost in {}", smaller.state));
                    smallest = Some(smaller);
                }
                None => tell(&format!("{size}: it is not lost")),
            }
        }
        let reduced = match smallest {
            Some(smaller) => smaller,
            None => {
                // Examining needs the log beside the files it writes, and the run's own log must not be overwritten.
                drop(log);
                let cutting = self.narrowed_to(self.narrowed.clone())?;
                let (part, finding, state) = (name.part, wanted.clone(), name.state);
                let record = cutting.record_part(candidate, part)?;
                let log = cutting.read_log(candidate, part)?;
                Smaller { cutting, part, record, log, finding, state }
            }
        };
        let reduced = reduced.fewest_writes(candidate, &wanted)?;
        tell(&format!("{}: {}", reduced.state, reduced.finding.seen));
        reduced.describe_narrowed(candidate, &wanted)
    }

    /// Less and less work that may show the same: of sequences the one of which it was seen, or the last that had begun, alone, and then
    /// with fewer calls; of files to be saved 1, 2, 4 and so on.
    fn narrower_workloads(&self, record: &CutRecord, wanted: &StateFinding, at_ns: u64) -> Vec<Narrowed> {
        if let (Some(sequences), Some(phase)) = (&record.promises.sequences, self.sequences_phase()) {
            let bounds = sequence_bounds(phase, self.plan.protocol.seed);
            let mut workloads = Vec::new();
            let mut begun = sequences.begun_by(at_ns);
            if let Some(seen) = SequencesRecord::number_in(&wanted.seen) {
                begun.retain(|(number, _)| *number == seen);
            }
            for (number, calls) in begun.into_iter().take(4) {
                let some = |mask: u32| (0..calls).filter(|call| mask & (1 << call) > 0).collect::<Vec<u32>>();
                let mut masks: Vec<u32> = (1..1 << calls.min(8)).collect();
                masks.sort_by_key(|mask| (mask.count_ones(), *mask));
                let narrowed_to =
                    |mask| Narrowed { only: Some(OneSequence { number, calls: some(mask) }), files: None };
                let can_be_done = |narrowed: &Narrowed| {
                    SequencesRecord::can_be_done(&SequenceWork {
                        bounds,
                        part: 0,
                        only: narrowed.only.clone(),
                    })
                };
                workloads.extend(masks.into_iter().map(narrowed_to).filter(can_be_done));
            }
            return workloads;
        }
        let most = self.plan.datasets.values().filter_map(|dataset| match dataset {
            Dataset::Flat { files, .. } => Some(*files),
            _ => None,
        });
        let most = most.max().unwrap_or(0);
        let sizes = (0..32).map(|power| 1 << power).take_while(|files| *files < most);
        sizes.map(|files| Narrowed { only: None, files: Some(files) }).collect()
    }

    /// The same run with less to do, in a folder of its own.
    fn narrowed_to(&self, narrowed: Narrowed) -> Result<PowerCutting<'a>, FaultError> {
        let folder = self.folder.open_or_create_subfolder(TRIED_IN);
        let folder = folder.map_err(|error| file_error(&self.folder.path_of(TRIED_IN), error))?;
        Ok(PowerCutting {
            plan: self.plan,
            faults: self.faults,
            choice: Arc::clone(&self.choice),
            attachments: self.attachments.clone(),
            folder,
            narrowed,
            of_trial: self.of_trial,
            time: self.time,
        })
    }

    pub(super) fn findings_of(
        &self,
        candidate: &Candidate,
        part: u32,
        states: &[CrashState],
        record: &CutRecord,
        log: &WriteLog,
    ) -> Result<Vec<StateFinding>, FaultError> {
        let file = self.passing_findings_file(candidate);
        let findings_file = KeptFindings::open_file(&file, true)?;
        self.examine_states(&CutStates { candidate, part, states, record, log }, &findings_file, &|_, _| {})?;
        remove_file(&file)?;
        Ok(findings_file.findings())
    }

    /// Does less, and looks for a state that loses the same.
    fn try_smaller(
        &self,
        candidate: &Candidate,
        narrowed: Narrowed,
        wanted: &StateFinding,
    ) -> Result<Option<Smaller<'a>>, FaultError> {
        let cutting = self.narrowed_to(narrowed)?;
        let record = cutting.record_part(candidate, 0)?;
        let log = cutting.read_log(candidate, 0)?;
        let states = cutting.some_states(&log, candidate, &record, TRIED)?;
        let findings = cutting.findings_of(candidate, 0, &states, &record, &log)?;
        let same = findings.into_iter().filter(|finding| is_same(finding, wanted));
        let named = same.filter_map(|finding| Some((finding.state.parse::<CutName>().ok()?.state, finding)));
        let first = named.min_by_key(|(state, _)| *state);
        Ok(first.map(|(state, finding)| Smaller { cutting, part: 0, record, log, finding, state }))
    }
}

impl Narrowed {
    /// Calls, or files.
    fn size(&self) -> u64 {
        self.only.as_ref().map_or(self.files.unwrap_or(u64::MAX), |sequence| sequence.calls.len() as u64)
    }

    fn describe_size(&self) -> String {
        match (&self.only, self.files) {
            (Some(one), _) => format!("sequence {} with its calls {:?} alone", one.number, one.calls),
            (None, Some(1)) => "1 file".to_owned(),
            (None, Some(files)) => format!("{files} files"),
            (None, None) => "all of it".to_owned(),
        }
    }
}
