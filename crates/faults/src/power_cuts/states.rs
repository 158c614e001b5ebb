//! Which states of a recorded candidate are looked at, and at which moment of each power was cut.

use fsverdict_disk::crash::{CrashState, CutWindow, Survivors, WriteLog, sample};
use fsverdict_judgement::plan::Candidate;
use fsverdict_text::Reason;

use crate::error::FaultError;
use fsverdict_lab::trial::CutLook;
use fsverdict_workload::workload::{Recheck, SavedFolder, SequencesRecord};

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
        let windows = record.cut_windows();
        if windows.is_empty() {
            return Err(FaultError::Refused(Reason::plain(format!("{} saved nothing", candidate.name))));
        }
        let (rule, seed) = (self.loss_rule(candidate)?, self.plan.protocol.seed);
        let mut states =
            sample(log, rule, &windows, wanted as usize, seed, |now_ns| record.promised_by(log, now_ns));
        let promised = record.sequences.iter().flat_map(SequencesRecord::promised_ns);
        states.extend(promised.map(|promised_ns| {
            let cut = log.requests().partition_point(|one| one.completed_ns <= promised_ns);
            CrashState { cut, survivors: Survivors::None }
        }));
        states.sort_unstable();
        states.dedup();
        Ok(states)
    }
}

impl CutRecord {
    /// From when to when promises were made.
    fn cut_windows(&self) -> Vec<CutWindow> {
        let began = self.folders.iter().filter_map(SavedFolder::began_ns).min();
        let until = self.folders.iter().filter_map(SavedFolder::synced_ns).max();
        let saved = began.zip(until).map(|(from_ns, until_ns)| CutWindow { from_ns, until_ns });
        let sequences = self.sequences.iter().flat_map(SequencesRecord::windows);
        let sequences =
            sequences.map(|window| CutWindow { from_ns: window.ready_ns, until_ns: window.until_ns });
        let programs = self.rechecks.iter().filter_map(Recheck::window);
        let programs = programs.map(|[from_ns, until_ns]| CutWindow { from_ns, until_ns });
        let mut windows: Vec<CutWindow> = saved.into_iter().chain(sequences).chain(programs).collect();
        windows.sort_by_key(|window| window.from_ns);
        windows
    }

    /// The time up to which promises hold in a state whose last request completed at this nanosecond.
    fn promised_by(&self, log: &WriteLog, now_ns: u64) -> usize {
        let requests = log.requests();
        let next = requests.get(requests.partition_point(|one| one.completed_ns <= now_ns));
        let until_ns = next.map_or(u64::MAX, |next| next.completed_ns);
        let folders: usize = self.folders.iter().map(|folder| folder.promised_by(now_ns)).sum();
        let programs: usize = self.rechecks.iter().map(|recheck| recheck.made_before(until_ns)).sum();
        let written = self.written.iter().filter(|folder| folder.synced_ns <= now_ns).count();
        folders
            + programs
            + written
            + self.sequences.as_ref().map_or(0, |sequences| sequences.promised_by(now_ns))
    }

    /// When power was cut in this state, in nanoseconds of the device's clock: the device holds the same until the next of its
    /// requests is completed, so that of sequences the last call that returned before then counts, too, of programs the last promise, and of files the last that was saved.
    pub(super) fn moment_ns(&self, log: &WriteLog, state: CrashState) -> u64 {
        let from_ns = log.moment_ns(state.cut);
        let until_ns = log.requests().get(state.cut).map_or(u64::MAX, |next| next.completed_ns);
        let returned = self.sequences.as_ref().and_then(|all| all.last_return(from_ns, until_ns));
        let promised = self.rechecks.iter().filter_map(|one| one.last_between(from_ns, until_ns)).max();
        let saved = self.folders.iter().filter_map(|one| one.last_between(from_ns, until_ns)).max();
        returned.max(promised).max(saved).unwrap_or(from_ns)
    }

    /// The information that a guest needs to examine these states.
    pub(super) fn look_for(&self, log: &WriteLog, states: &[CrashState]) -> CutLook {
        let moments_ns: Vec<u64> = states.iter().map(|state| self.moment_ns(log, *state)).collect();
        let sequences = self.sequences.as_ref().map(|sequences| sequences.only_at(&moments_ns));
        // One more state stands behind the promise of each sequence: these are many.
        let is_thorough = |state: &CrashState| {
            sequences.is_none() || state.survivors != Survivors::None || state.cut.is_multiple_of(THOROUGH)
        };
        let thorough = states.iter().map(is_thorough).collect();
        CutLook {
            moments_ns,
            thorough,
            folders: self.folders.clone(),
            sequences,
            rechecks: self.rechecks.clone(),
            written: self.written.clone(),
        }
    }
}
