//! How a trial ended: its result, and the causes outside of it that may have ended it.

use std::process::ExitStatus;

use crate::trial::TrialSpec;
use fsverdict_judgement::journal::{CommandRecord, Status};
use fsverdict_judgement::plan::PhaseWork;
use fsverdict_linux::sandbox::FROM_OUTSIDE;

use super::interruption::{Interruption, signal_from_outside, terminating_signal};

/// The end of a trial, as the conductor sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialEnd {
    /// Whether everything was measured and verified.
    pub status: Status,
    /// Why the trial failed; empty if it succeeded.
    pub reason: String,
    /// Advice to the user; empty if there is none.
    pub hint: String,
    /// Wall time in seconds.
    pub wall: f64,
    /// Whether a signal (from outside, or a crash) or a kernel panic ended the trial: that says nothing about the
    /// candidate until it happens again.
    pub killed: bool,
    /// The cause outside of the trial that ended it, if any: that says nothing about the candidate however often it
    /// happens.
    pub interrupted: Option<Interruption>,
    /// Whether the trial was killed from outside before its agent sent an event or its device got a request: that
    /// says nothing about the candidate however often it happens.
    pub unheard: bool,
    /// Whether the trial was stopped for a while and continued: its times include the pause.
    pub stopped: bool,
    /// The number (from 1) of a device of this machine that failed during the trial, and the error: that says nothing
    /// about the candidate.
    pub device_error: Option<(usize, String)>,
}

/// Describes the trial's last step for display: the phase, and the program that the plan runs in it.
pub(super) fn at_step(spec: &TrialSpec, step: &str) -> String {
    let work = spec.phases.iter().find(|phase| phase.name == step).map(|phase| &phase.work);
    match work {
        _ if step.is_empty() => "before its first step".to_owned(),
        Some(PhaseWork::Command(line)) => format!("at `{step}`, which runs: {line}"),
        Some(PhaseWork::Adapter { name, options }) => format!("at `{step}`, which runs: {name} {options}"),
        _ => format!("at `{step}`"),
    }
}

/// Describes the end of a trial that sent no result.
pub(super) fn describe_exit(status: Option<ExitStatus>) -> String {
    match (exit_signal(status), status.and_then(|status| status.code())) {
        (Some(signal), _) if FROM_OUTSIDE.contains(&signal) => {
            format!("the trial was killed by signal {signal}")
        }
        (Some(signal), _) => format!("the trial crashed (signal {signal})"),
        (None, Some(code)) => format!("the trial ended without a result (exit status {code})"),
        (None, None) => "the trial ended without a result".to_owned(),
    }
}

pub(super) fn exit_signal(status: Option<ExitStatus>) -> Option<i32> {
    status.and_then(terminating_signal)
}

/// Observations about the end of a trial from which a cause outside of it can be concluded.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct OutsideCauses {
    /// The signal that ended the trial as a whole before it had reported its result.
    pub(super) trial_signal: Option<i32>,
    /// The signal from outside that ended a program of a trial that failed.
    pub(super) program_signal: Option<i32>,
    /// The signal that a process of the guest's kernel got.
    pub(super) stub_signal: Option<i32>,
    /// Whether a debugger held the trial.
    pub(super) held: bool,
    /// Whether the guest ended during its work without a panic or a report.
    pub(super) guest_ended: bool,
    /// Whether it failed, or ended without a result.
    pub(super) failed: bool,
    /// Whether its programs are processes of this machine's kernel.
    pub(super) natively: bool,
    pub(super) guest_out_of_memory: bool,
    /// Whether this machine's kernel killed a process during the trial because memory ran out.
    pub(super) oom_kill: bool,
}

impl OutsideCauses {
    /// The cause outside of the trial, if there is one. A crash (SIGSEGV, SIGABRT, SIGBUS) is none: a program may
    /// crash because of its filesystem.
    pub(super) fn as_interruption(self) -> Option<Interruption> {
        const KILL: i32 = 9;
        // First, because it makes the trial's reports doubtful, however it ended.
        if let Some(signal) = self.stub_signal {
            return Some(Interruption::GuestProcess(signal));
        }
        let of_trial = self.trial_signal.filter(|signal| FROM_OUTSIDE.contains(signal));
        let interruption = match (self.held, of_trial, self.program_signal) {
            (true, ..) => Some(Interruption::Debugger),
            (false, Some(signal), _) => Some(Interruption::Signal(signal)),
            // In a guest, the guest's own kernel may have sent the signal.
            _ if self.failed && self.guest_out_of_memory => return Some(Interruption::GuestOutOfMemory),
            (false, None, Some(signal)) => Some(Interruption::Signal(signal)),
            _ => self.guest_ended.then_some(Interruption::GuestEnded),
        };
        match interruption {
            Some(Interruption::Signal(KILL)) if self.oom_kill => Some(Interruption::OutOfMemory),
            // The killed process may have been a program of the trial, or one that it had started.
            None if self.oom_kill && self.natively && self.failed => Some(Interruption::OutOfMemory),
            other => other,
        }
    }
}

/// Records the programs of a trial that a signal ended.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct KilledPrograms {
    /// The first signal that came from outside.
    pub(super) from_outside: Option<i32>,
    /// Whether a program of a guest crashed. A User-Mode-Linux kernel ends a program with SIGSEGV if the program's
    /// process on this machine was killed because this machine lacks memory; the program may also have crashed by
    /// itself.
    pub(super) crashed: bool,
}

impl KilledPrograms {
    pub(super) fn note_command(&mut self, record: &CommandRecord, natively: bool) {
        const SEGMENTATION_FAULT: i32 = 11;
        self.from_outside = self.from_outside.or(signal_from_outside(record));
        let crashed =
            record.signal == Some(SEGMENTATION_FAULT) || record.exit == Some(128 + SEGMENTATION_FAULT);
        self.crashed |= crashed && !natively;
    }

    pub(super) fn describe_kill(self) -> Option<String> {
        match self.from_outside {
            Some(signal) => Some(format!("was killed by signal {signal}")),
            None => self.crashed.then(|| "crashed, or was killed from outside (signal 11)".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::OutsideCauses;
    use crate::lab::interruption::Interruption;

    #[test]
    fn what_ends_a_trial_from_outside_is_told_from_what_its_candidate_does() {
        let native = OutsideCauses { natively: true, failed: true, ..OutsideCauses::default() };
        let guest = OutsideCauses { natively: false, ..native };
        for (end, expected) in [
            (native, None),
            (OutsideCauses { trial_signal: Some(9), ..native }, Some(Interruption::Signal(9))),
            (OutsideCauses { trial_signal: Some(15), ..guest }, Some(Interruption::Signal(15))),
            // A crash may be the filesystem's doing.
            (OutsideCauses { trial_signal: Some(11), ..native }, None),
            (OutsideCauses { trial_signal: Some(6), ..guest }, None),
            (OutsideCauses { program_signal: Some(2), ..native }, Some(Interruption::Signal(2))),
            (
                OutsideCauses { program_signal: Some(9), oom_kill: true, ..native },
                Some(Interruption::OutOfMemory),
            ),
            (
                OutsideCauses { program_signal: Some(15), oom_kill: true, ..native },
                Some(Interruption::Signal(15)),
            ),
            (OutsideCauses { oom_kill: true, ..native }, Some(Interruption::OutOfMemory)),
            (OutsideCauses { oom_kill: true, failed: false, ..native }, None),
            // A guest that fails by itself while somebody else's program is killed has failed.
            (OutsideCauses { oom_kill: true, ..guest }, None),
            (
                OutsideCauses { trial_signal: Some(9), oom_kill: true, ..guest },
                Some(Interruption::OutOfMemory),
            ),
            (
                OutsideCauses { program_signal: Some(9), guest_out_of_memory: true, ..guest },
                Some(Interruption::GuestOutOfMemory),
            ),
            (OutsideCauses { guest_out_of_memory: true, ..guest }, Some(Interruption::GuestOutOfMemory)),
            (OutsideCauses { guest_out_of_memory: true, failed: false, ..guest }, None),
            (
                OutsideCauses { trial_signal: Some(9), guest_out_of_memory: true, ..guest },
                Some(Interruption::Signal(9)),
            ),
            (OutsideCauses { guest_ended: true, ..guest }, Some(Interruption::GuestEnded)),
            (OutsideCauses { held: true, ..native }, Some(Interruption::Debugger)),
            (
                OutsideCauses { stub_signal: Some(9), failed: false, ..guest },
                Some(Interruption::GuestProcess(9)),
            ),
            (
                OutsideCauses { stub_signal: Some(9), trial_signal: Some(15), oom_kill: true, ..guest },
                Some(Interruption::GuestProcess(9)),
            ),
        ] {
            assert_eq!(end.as_interruption(), expected, "{end:?}");
        }
    }
}
