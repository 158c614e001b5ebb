//! Which states of a recorded candidate are looked at, and at which moment of each power was cut.

use fsverdict_disk::crash::{CrashState, CutWindow, Survivors, WriteLog, sample_states};
use fsverdict_judgement::plan::{Candidate, OperationEffect, PhaseWork, Plan};
use fsverdict_text::Reason;

use crate::error::FaultError;
use fsverdict_lab::trial::CutLook;
use fsverdict_workload::workload::{CutPromises, SequencesRecord};

use super::PowerCutting;
use super::record::CutRecord;

/// Of the states behind sequences' promises one in so many is looked at thoroughly.
const THOROUGH: usize = 8;

impl PowerCutting<'_> {
    /// Of sequences one state behind the last promise of each, in which all is lost that may be; and so many as the plan has it, drawn
    /// by its seed, shared out evenly where work takes several trials.
    pub(super) fn choose_states(
        &self,
        log: &WriteLog,
        candidate: &Candidate,
        record: &CutRecord,
    ) -> Result<Vec<CrashState>, FaultError> {
        self.some_states(log, candidate, record, self.faults.power_cuts.div_ceil(self.parts()))
    }

    /// The same with so many random states.
    pub(super) fn some_states(
        &self,
        log: &WriteLog,
        candidate: &Candidate,
        record: &CutRecord,
        wanted: u32,
    ) -> Result<Vec<CrashState>, FaultError> {
        let windows = record.promises.windows();
        let windows: Vec<CutWindow> =
            windows.into_iter().map(|[from_ns, until_ns]| CutWindow { from_ns, until_ns }).collect();
        if windows.is_empty() {
            return Err(FaultError::Refused(Reason::plain(format!("{} saved nothing", candidate.name))));
        }
        let (rule, seed) = (self.loss_rule_of_first_device(candidate)?, self.plan.protocol.seed);
        let mut states = sample_states(log, rule, &windows, wanted as usize, seed, |now_ns| {
            record.promised_by(log, now_ns)
        });
        let promised = record.promises.sequences.iter().flat_map(SequencesRecord::promised_ns);
        states.extend(promised.map(|promised_ns| {
            let cut = log.requests().partition_point(|request| request.completed_ns <= promised_ns);
            CrashState { cut, survivors: Survivors::None }
        }));
        states.sort_unstable();
        states.dedup();
        Ok(states)
    }
}

impl CutRecord {
    /// Describes in words the work done by this moment: the folders in which files were saved, and the phases with
    /// promises of programs. Work that began later is no part of the state.
    pub(super) fn describe_done(&self, at_ns: u64, plan: &Plan) -> Vec<String> {
        let had_begun = |phase: &str| self.began_ns.get(phase).is_none_or(|began_ns| *began_ns <= at_ns);
        let saves_into = |into: &str| {
            let mut phases = plan.phases.iter().filter(|phase| {
                phase.into.as_deref().or(phase.dataset.as_deref()).is_some_and(|folder| folder == into)
                    && matches!(phase.work, PhaseWork::Operation(operation)
                        if operation.effect() == OperationEffect::SavesFiles)
            });
            phases.clone().next().is_none() || phases.any(|phase| had_begun(&phase.name))
        };
        let folders = self.promises.folders.iter().filter(|folder| saves_into(&folder.into));
        let folders = folders.map(|folder| format!("files saved in {}", folder.into));
        let programs = self.promises.rechecks.iter().filter(|recheck| had_begun(&recheck.phase));
        let replayed = self.promises.replayed.iter().filter(|folder| folder.began_ns <= at_ns);
        let replayed = replayed.map(|folder| format!("a trace replayed in {}", folder.into));
        folders
            .chain(replayed)
            .chain(programs.map(|recheck| format!("the phase {}", recheck.phase)))
            .collect()
    }

    /// The number of promises that must hold in a state that ends with the request completed at this nanosecond.
    fn promised_by(&self, log: &WriteLog, now_ns: u64) -> usize {
        let requests = log.requests();
        let next = requests.get(requests.partition_point(|request| request.completed_ns <= now_ns));
        self.promises.count_by(now_ns, next.map_or(u64::MAX, |next| next.completed_ns))
    }

    /// When power was cut in this state, in nanoseconds of the device's clock: the device holds the same until the next of its
    /// requests is completed, so that the last promise before then counts, too.
    pub(super) fn moment_ns(&self, log: &WriteLog, state: CrashState) -> u64 {
        let from_ns = log.moment_ns(state.cut);
        let until_ns = log.requests().get(state.cut).map_or(u64::MAX, |next| next.completed_ns);
        self.promises.last_between(from_ns, until_ns).unwrap_or(from_ns)
    }

    /// The information that a guest needs to examine the undamaged state, in which no promise is looked at, and then
    /// these; `waits_freely` where time is simulated.
    pub(super) fn look_for(&self, log: &WriteLog, states: &[CrashState], waits_freely: bool) -> CutLook {
        let moments_ns = states.iter().map(|state| self.moment_ns(log, *state));
        let moments_ns: Vec<u64> = [0].into_iter().chain(moments_ns).collect();
        let sequences = self.promises.sequences.as_ref().map(|sequences| sequences.only_at(&moments_ns));
        // One more state stands behind the promise of each sequence: these are many.
        let is_thorough = |state: &CrashState| {
            sequences.is_none() || state.survivors != Survivors::None || state.cut.is_multiple_of(THOROUGH)
        };
        let thorough = [true].into_iter().chain(states.iter().map(is_thorough)).collect();
        let promises = CutPromises { sequences, ..self.promises.clone() };
        CutLook { moments_ns, thorough, promises, waits_freely }
    }
}

/// The undamaged state of a recorded device, as its trial left it: nothing is lost, and all is unmounted.
pub(super) fn undamaged_state(log: &WriteLog) -> CrashState {
    CrashState { cut: log.requests().len(), survivors: Survivors::All }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::CutRecord;
    use fsverdict_judgement::plan::Plan;
    use fsverdict_workload::workload::{CutPromises, Recheck};

    /// A script of a cut in the first of two phases once said that both had been done.
    #[test]
    fn phases_that_begin_after_the_cut_are_not_among_what_was_done() {
        let plan: Plan = serde_json::from_str(include_str!("../../../../tests/runs/demo/plan.json")).unwrap();
        let recheck =
            |phase: &str| Recheck { phase: phase.to_owned(), line: "true".to_owned(), promises: Vec::new() };
        let record = CutRecord {
            promises: CutPromises {
                rechecks: vec![recheck("first"), recheck("second"), recheck("unknown")],
                ..CutPromises::default()
            },
            mkfs_ns: 0,
            began_ns: BTreeMap::from([("first".to_owned(), 100), ("second".to_owned(), 200)]),
            trace: String::new(),
        };
        assert_eq!(record.describe_done(150, &plan), ["the phase first", "the phase unknown"]);
        assert_eq!(
            record.describe_done(200, &plan),
            ["the phase first", "the phase second", "the phase unknown"]
        );
    }
}
