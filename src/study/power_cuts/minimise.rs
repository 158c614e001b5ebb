//! A state that lost something, made as small as it can be: the fewest operations, and the fewest writes that were lost.

use std::sync::Arc;

use crate::lab::LabError;
use crate::study::error::SessionError;
use crate::trial::sequence_bounds;
use crate::workload::{OneSequence, SequenceWork, SequencesRecord};
use fsverdict_disk::crash::{CrashState, Survivors, WriteLog};
use fsverdict_judgement::journal::StateFinding;
use fsverdict_judgement::plan::{Candidate, Dataset};

use super::kept::KeptFindings;
use super::look::CutStates;
use super::record::CutRecord;
use super::{CutName, PowerCutting, plain};

/// Less than the plan's work.
#[derive(Debug, Clone, Default)]
pub(super) struct Narrowed {
    /// One sequence.
    pub(super) only: Option<OneSequence>,
    /// Of each directory of files so many.
    pub(super) files: Option<u64>,
}

/// The folder of what is tried, within that of the logs.
const TRIED_IN: &str = "minimise";
/// So many states of a smaller trial are looked at for one that loses the same.
const TRIED: u32 = 60;
/// Uncertain writes that are left out one by one, at most.
const WRITES: usize = 200;

/// A state that loses what another did, by less.
#[derive(Debug)]
pub struct MinimisedState {
    pub name: CutName,
    pub finding: StateFinding,
    /// What was done, in words, in its order.
    pub did: Vec<String>,
    /// The writes that were completed or underway and are not in it, in words.
    pub lost: Vec<String>,
    /// Whether the same came of it when all was done once more.
    pub came_twice: bool,
    /// A program for the shell that makes the state and shows what is wrong.
    pub script: String,
}

/// A smaller trial that was recorded, and the states of it that lose the same.
struct Smaller<'a> {
    cutting: PowerCutting<'a>,
    /// Of which recording: the first, unless nothing smaller was found.
    part: u32,
    record: CutRecord,
    log: WriteLog,
    finding: StateFinding,
    state: CrashState,
}

impl<'a> PowerCutting<'a> {
    /// Finds the smallest state that loses what this one does. `tell` hears what is tried. Nothing is left of what was tried, now or
    /// by somebody who was killed.
    pub fn minimise(
        &self,
        candidate: &Candidate,
        name: CutName,
        tell: &dyn Fn(&str),
    ) -> Result<MinimisedState, SessionError> {
        self.forget_tried()?;
        // What is tried is done in the circumstances of its own trial.
        let of_trial = Some(self.trial(name.part));
        let (attachments, narrowed) = (self.attachments.clone(), self.narrowed.clone());
        let (choice, folder) = (Arc::clone(&self.choice), self.folder.clone());
        let own = PowerCutting { choice, attachments, folder, narrowed, of_trial, ..*self };
        let found = own.smallest(candidate, name, tell);
        self.forget_tried()?;
        found
    }

    /// Removes what was tried before.
    fn forget_tried(&self) -> Result<(), SessionError> {
        match std::fs::remove_dir_all(self.folder.join(TRIED_IN)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(LabError::from(error).into()),
            _ => Ok(()),
        }
    }

    fn smallest(
        &self,
        candidate: &Candidate,
        name: CutName,
        tell: &dyn Fn(&str),
    ) -> Result<MinimisedState, SessionError> {
        let (log, record) = (self.log(candidate, name.part)?, self.read_record(candidate, name.part)?);
        let wanted = self.findings_of(candidate, name.part, &[name.state], &record, &log)?;
        let wanted = wanted.into_iter().next().ok_or_else(|| plain("nothing was found"))?;
        if !wanted.outcome.is_loss() {
            return Err(plain(format!(
                "{name} of {} loses nothing: {}",
                candidate.name,
                wanted.outcome.words()
            )));
        }
        tell(&format!("{name}: {}: {}", wanted.outcome.words(), wanted.seen));
        let at_ns = record.moment_ns(&log, name.state);
        let mut smallest: Option<Smaller<'a>> = None;
        for narrowed in self.narrower(&record, &wanted, at_ns) {
            // What has more calls, or files, than what loses already need not be tried.
            if smallest.as_ref().is_some_and(|found| found.cutting.narrowed.size() <= narrowed.size()) {
                continue;
            }
            let what = narrowed.told();
            match self.smaller(candidate, narrowed, &wanted)? {
                Some(smaller) => {
                    tell(&format!("{what}: the same is lost in {}", smaller.state));
                    smallest = Some(smaller);
                }
                None => tell(&format!("{what}: it is not lost")),
            }
        }
        let found = match smallest {
            Some(smaller) => smaller,
            None => {
                // Looking wants the log beside what it writes, and the run's own is not to be written over.
                drop(log);
                let cutting = self.narrowed_to(self.narrowed.clone())?;
                let (part, finding, state) = (name.part, wanted.clone(), name.state);
                let record = cutting.record(candidate, part)?;
                let log = cutting.log(candidate, part)?;
                Smaller { cutting, part, record, log, finding, state }
            }
        };
        let found = found.fewest_writes(candidate, &wanted)?;
        tell(&format!("{}: {}", found.state, found.finding.seen));
        found.told(candidate, &wanted)
    }

    /// Less and less work that may show the same: of sequences the one of which it was seen, or the last that had begun, alone, and then
    /// with fewer calls; of files to be saved 1, 2, 4 and so on.
    fn narrower(&self, record: &CutRecord, wanted: &StateFinding, at_ns: u64) -> Vec<Narrowed> {
        if let (Some(sequences), Some(phase)) = (&record.sequences, self.sequences()) {
            let bounds = sequence_bounds(phase, self.plan.protocol.seed);
            let mut all = Vec::new();
            let mut begun = sequences.begun_by(at_ns);
            if let Some(seen) = SequencesRecord::number_in(&wanted.seen) {
                begun.retain(|(number, _)| *number == seen);
            }
            for (number, calls) in begun.into_iter().take(4) {
                let some = |mask: u32| (0..calls).filter(|call| mask & (1 << call) > 0).collect::<Vec<u32>>();
                let mut masks: Vec<u32> = (1..1 << calls.min(8)).collect();
                masks.sort_by_key(|mask| (mask.count_ones(), *mask));
                let of =
                    |mask| Narrowed { only: Some(OneSequence { number, calls: some(mask) }), files: None };
                let can_be_done = |narrowed: &Narrowed| {
                    SequencesRecord::can_be_done(&SequenceWork {
                        bounds,
                        part: 0,
                        only: narrowed.only.clone(),
                    })
                };
                all.extend(masks.into_iter().map(of).filter(can_be_done));
            }
            return all;
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
    fn narrowed_to(&self, narrowed: Narrowed) -> Result<PowerCutting<'a>, SessionError> {
        let folder = self.folder.join(TRIED_IN);
        std::fs::create_dir_all(&folder).map_err(LabError::from)?;
        Ok(PowerCutting {
            plan: self.plan,
            faults: self.faults,
            choice: Arc::clone(&self.choice),
            attachments: self.attachments.clone(),
            folder,
            narrowed,
            of_trial: self.of_trial,
        })
    }

    fn findings_of(
        &self,
        candidate: &Candidate,
        part: u32,
        states: &[CrashState],
        record: &CutRecord,
        log: &WriteLog,
    ) -> Result<Vec<StateFinding>, SessionError> {
        let path = self.found_path(candidate).with_extension("looked");
        let kept = KeptFindings::open(&path, true)?;
        self.look_at(&CutStates { candidate, part, states, record, log }, &kept, &|_, _| {})?;
        std::fs::remove_file(&path).map_err(LabError::from)?;
        Ok(kept.findings())
    }

    /// Does less, and looks for a state that loses the same.
    fn smaller(
        &self,
        candidate: &Candidate,
        narrowed: Narrowed,
        wanted: &StateFinding,
    ) -> Result<Option<Smaller<'a>>, SessionError> {
        let cutting = self.narrowed_to(narrowed)?;
        let record = cutting.record(candidate, 0)?;
        let log = cutting.log(candidate, 0)?;
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
        self.only.as_ref().map_or(self.files.unwrap_or(u64::MAX), |one| one.calls.len() as u64)
    }

    fn told(&self) -> String {
        match (&self.only, self.files) {
            (Some(one), _) => format!("sequence {} with its calls {:?} alone", one.number, one.calls),
            (None, Some(1)) => "1 file".to_owned(),
            (None, Some(files)) => format!("{files} files"),
            (None, None) => "all of it".to_owned(),
        }
    }
}

/// Whether it comes to the same, by one of the promises that were broken where any were.
fn is_same(finding: &StateFinding, wanted: &StateFinding) -> bool {
    finding.outcome.is_loss()
        && match wanted.broken.is_empty() {
            true => finding.outcome == wanted.outcome,
            false => finding.broken.iter().any(|promise| wanted.broken.contains(promise)),
        }
}

impl Smaller<'_> {
    /// Of the writes that may be lost at its moment as few as do it: none, or one; else those that were.
    fn fewest_writes(mut self, candidate: &Candidate, wanted: &StateFinding) -> Result<Self, SessionError> {
        let cut = self.state.cut;
        let rule = self.cutting.rule(candidate)?;
        let uncertain = self.log.uncertain_at(cut, rule).len().min(WRITES) as u32;
        let without = (0..uncertain).map(Survivors::Without);
        let states: Vec<CrashState> = std::iter::once(Survivors::All)
            .chain(without)
            .map(|survivors| CrashState { cut, survivors })
            .collect();
        let part = self.part;
        let findings = self.cutting.findings_of(candidate, part, &states, &self.record, &self.log)?;
        for state in states {
            let name = CutName { part, state }.to_string();
            let same = |finding: &&StateFinding| finding.state == name && is_same(finding, wanted);
            if let Some(finding) = findings.iter().find(same) {
                self.finding = finding.clone();
                self.state = state;
                break;
            }
        }
        Ok(self)
    }

    /// Does all of it once more, and tells.
    fn told(self, candidate: &Candidate, wanted: &StateFinding) -> Result<MinimisedState, SessionError> {
        let Smaller { cutting, part, record, log, finding, state } = self;
        let name = CutName { part, state };
        let rule = cutting.rule(candidate)?;
        let lost: Vec<String> = log
            .lost(state, rule)
            .iter()
            .map(|one| {
                format!("{} sectors of 512 bytes at sector {}", one.request.sectors, one.request.sector)
            })
            .collect();
        let did = match &record.sequences {
            Some(sequences) => sequences.told(SequencesRecord::number_in(&finding.seen)),
            None => {
                let folders = record.folders.iter().map(|folder| format!("files saved in {}", folder.into));
                let programs = record.rechecks.iter().map(|recheck| format!("the phase {}", recheck.phase));
                folders.chain(programs).collect()
            }
        };
        let at_ns = record.moment_ns(&log, state);
        drop(log);
        let again = cutting.record(candidate, part)?;
        let log = cutting.log(candidate, part)?;
        let twice = cutting.findings_of(candidate, part, &[state], &again, &log)?;
        let came_twice = again.trace == record.trace
            && twice.first().is_some_and(|once_more| {
                is_same(once_more, wanted)
                    && once_more.seen == finding.seen
                    && once_more.outcome == finding.outcome
            });
        let mut minimised = MinimisedState { name, finding, did, lost, came_twice, script: String::new() };
        minimised.script = cutting.script(candidate, &minimised, &again, at_ns)?;
        Ok(minimised)
    }
}
