//! Several devices lose their power at the same moment, each with what it had in its own cache.

use fsverdict_disk::crash::{CrashState, Survivors, WriteLog};
use fsverdict_judgement::plan::Candidate;

use super::PowerCutting;
use super::record::CutRecord;
use crate::error::FaultError;
use fsverdict_lab::lab::{LogPurpose, WriteLogFile};

impl PowerCutting<'_> {
    /// What each device is to hold in these states, which are named by the first of them.
    pub(super) fn part_of_several(
        &self,
        candidate: &Candidate,
        part: u32,
        record: &CutRecord,
        first: &WriteLog,
        states: &[CrashState],
    ) -> Result<Vec<WriteLogFile>, FaultError> {
        let of_device = |device: usize| {
            let states = match device {
                1 => states.to_vec(),
                _ => {
                    let own = self.log_of(candidate, part, device)?;
                    let there = |state: &CrashState| {
                        on_another(*state, record.moment_ns(first, *state), device, &own)
                    };
                    states.iter().map(there).collect()
                }
            };
            let purpose = LogPurpose::Enter { states, rule: self.rule_of(candidate, device)? };
            Ok(WriteLogFile { device, file: self.log_file(candidate, part, device), purpose })
        };
        (1..=self.device_count()).map(of_device).collect()
    }

    /// How many there are.
    pub(super) fn device_count(&self) -> usize {
        self.attachments.each().count()
    }
}

/// The state of the device of this number when the first is in that one, at this nanosecond of the clock that all have in common: as
/// much was completed as was by then, and of what was not durable the same survives; by chance, it is other chance.
pub(super) fn on_another(state: CrashState, moment_ns: u64, device: usize, log: &WriteLog) -> CrashState {
    let cut = log.requests().partition_point(|one| one.completed_ns <= moment_ns);
    let survivors = match state.survivors {
        // Mirrors are written alike: with the same chance they would always stay alike.
        Survivors::Some(seed) => Survivors::Some(seed ^ (device as u32).rotate_right(8)),
        // Which write of another is meant by a number nobody says.
        Survivors::Torn { .. } | Survivors::Only(_) | Survivors::Without(_) => Survivors::All,
        same => same,
    };
    CrashState { cut, survivors }
}
