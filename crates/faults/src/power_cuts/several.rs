//! Power cuts of several devices at the same moment, each with its own volatile cache.

use fsverdict_disk::crash::{CrashState, Survivors, WriteLog};
use fsverdict_judgement::plan::Candidate;

use super::PowerCutting;
use super::record::CutRecord;
use super::states::undamaged_state;
use crate::error::FaultError;
use fsverdict_lab::lab::{LogPurpose, WriteLogFile};

impl PowerCutting<'_> {
    /// The states of each device that correspond to these states of the first, after its undamaged one.
    pub(super) fn files_of_devices(
        &self,
        candidate: &Candidate,
        part: u32,
        record: &CutRecord,
        first: &WriteLog,
        states: &[CrashState],
    ) -> Result<Vec<WriteLogFile>, FaultError> {
        let of_device = |device: usize| {
            let states: Vec<CrashState> = match device {
                1 => [undamaged_state(first)].into_iter().chain(states.iter().copied()).collect(),
                _ => {
                    let device_log = self.log_of(candidate, part, device)?;
                    let there = |state: &CrashState| {
                        on_another(*state, record.moment_ns(first, *state), device, &device_log)
                    };
                    [undamaged_state(&device_log)].into_iter().chain(states.iter().map(there)).collect()
                }
            };
            let purpose = LogPurpose::Enter { states, rule: self.loss_rule_of_device(candidate, device)? };
            Ok(WriteLogFile { device, file: self.log_file(candidate, part, device), purpose })
        };
        (1..=self.device_count()).map(of_device).collect()
    }

    /// How many there are.
    pub(super) fn device_count(&self) -> usize {
        self.attachments.iter().count()
    }
}

/// The state of the device of this number when the first is in the given state, at this nanosecond of their common
/// clock: the same time decides which requests had completed, and the same rule which non-durable writes survive;
/// random survivors are drawn independently.
pub(super) fn on_another(state: CrashState, moment_ns: u64, device: usize, log: &WriteLog) -> CrashState {
    let cut = log.requests().partition_point(|request| request.completed_ns <= moment_ns);
    let survivors = match state.survivors {
        // Mirrors are written alike: with the same chance they would always stay alike.
        Survivors::Some(seed) => Survivors::Some(seed ^ (device as u32).rotate_right(8)),
        // The number of a single write on one device has no counterpart on another.
        Survivors::Torn { .. } | Survivors::Only(_) | Survivors::Without(_) => Survivors::All,
        same => same,
    };
    CrashState { cut, survivors }
}
