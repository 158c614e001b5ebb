//! Reduces a state that loses data: the fewest lost writes that cause the same loss, and whether it is reproducible.

use crate::error::FaultError;
use fsverdict_disk::crash::{CrashState, Survivors, WriteLog};
use fsverdict_judgement::journal::StateFinding;
use fsverdict_judgement::plan::Candidate;
use fsverdict_workload::workload::SequencesRecord;

use super::record::CutRecord;
use super::{CutName, PowerCutting};

/// Uncertain writes that are left out one by one, at most.
const WRITES: usize = 200;

/// A reduced state that loses the same data.
#[derive(Debug)]
pub struct MinimisedState {
    pub name: CutName,
    pub finding: StateFinding,
    /// The calls that were made, in words, in order.
    pub did: Vec<String>,
    /// The writes that were completed or underway and are not in it, in words.
    pub lost: Vec<String>,
    /// Whether the same came of it when all was done once more.
    pub came_twice: bool,
    /// A shell script that makes the state and shows the loss.
    pub script: String,
}

/// A smaller trial that was recorded, and the states of it that lose the same.
pub(super) struct Smaller<'a> {
    pub(super) cutting: PowerCutting<'a>,
    /// The number of the recording: the first, unless a smaller one was found.
    pub(super) part: u32,
    pub(super) record: CutRecord,
    pub(super) log: WriteLog,
    pub(super) finding: StateFinding,
    pub(super) state: CrashState,
}

/// Whether it comes to the same, by one of the promises that were broken where any were.
pub(super) fn is_same(finding: &StateFinding, wanted: &StateFinding) -> bool {
    finding.outcome.is_loss()
        && match wanted.broken.is_empty() {
            true => finding.outcome == wanted.outcome,
            false => finding.broken.iter().any(|promise| wanted.broken.contains(promise)),
        }
}

impl Smaller<'_> {
    /// Finds the fewest lost writes at this moment that cause the loss: none, or one; else all of the original state.
    pub(super) fn fewest_writes(
        mut self,
        candidate: &Candidate,
        wanted: &StateFinding,
    ) -> Result<Self, FaultError> {
        let cut = self.state.cut;
        let rule = self.cutting.loss_rule_of_first_device(candidate)?;
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
    pub(super) fn describe_narrowed(
        self,
        candidate: &Candidate,
        wanted: &StateFinding,
    ) -> Result<MinimisedState, FaultError> {
        let Smaller { cutting, part, record, log, finding, state } = self;
        let name = CutName { part, state };
        let rule = cutting.loss_rule_of_first_device(candidate)?;
        let lost: Vec<String> = log
            .lost_requests(state, rule)
            .iter()
            .map(|lost| {
                format!("{} sectors of 512 bytes at sector {}", lost.request.sectors, lost.request.sector)
            })
            .collect();
        let at_ns = record.moment_ns(&log, state);
        let did = match &record.promises.sequences {
            Some(sequences) => sequences.describe_sequence(SequencesRecord::number_in(&finding.seen)),
            None => record.describe_done(at_ns, cutting.plan),
        };
        drop(log);
        let again = cutting.record_part(candidate, part)?;
        let log = cutting.read_log(candidate, part)?;
        let twice = cutting.findings_of(candidate, part, &[state], &again, &log)?;
        let came_twice = again.trace == record.trace
            && twice.first().is_some_and(|once_more| {
                is_same(once_more, wanted)
                    && once_more.seen == finding.seen
                    && once_more.outcome == finding.outcome
            });
        let mut minimised = MinimisedState { name, finding, did, lost, came_twice, script: String::new() };
        minimised.script = cutting.write_script(candidate, &minimised, &again, at_ns)?;
        Ok(minimised)
    }
}
