//! Causes that end a trial from outside: a signal that another process sent, memory that ran out, a debugger, the end
//! of a process that works for the trial. None of them says anything about the candidate, however often it happens.

use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use fsverdict_judgement::journal::CommandRecord;

use fsverdict_linux::sandbox::FROM_OUTSIDE;

/// How many times a trial is tried that ends from outside each time. After that its candidate is skipped.
pub const ATTEMPTS: usize = 3;

/// Why a trial ended that nothing inside it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interruption {
    /// One of its processes was killed by a signal that no program sends to itself.
    Signal(i32),
    /// A process of the guest's kernel got this signal from outside. The guest's reports may be a consequence.
    GuestProcess(i32),
    /// This machine, or the control group of the run, ran out of memory, and the kernel killed a process for it.
    OutOfMemory,
    /// The guest ran out of the memory that the plan gives it: filesystem, workload and memory do not fit together.
    GuestOutOfMemory,
    /// A debugger held it and did not let go.
    Debugger,
    /// The guest ended during its work without a panic and without a report about its agent, as QEMU and a
    /// User-Mode-Linux kernel do after SIGTERM.
    GuestEnded,
    /// The process that serves its device crashed.
    DeviceProcess,
}

impl Interruption {
    /// Whether the trial can end otherwise when it is tried again. A guest has as much memory as before.
    pub fn can_pass(self) -> bool {
        self != Interruption::GuestOutOfMemory
    }

    /// Whether the reports of the trial until then may be a consequence of it. The guest goes on for a moment without
    /// the process that was killed: a checker that ended by it, for example, has not found the filesystem in order.
    pub fn spoils_reports(self) -> bool {
        matches!(self, Interruption::GuestProcess(_))
    }
}

impl fmt::Display for Interruption {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Interruption::Signal(signal) => write!(formatter, "killed by signal {signal}"),
            Interruption::GuestProcess(signal) => {
                write!(formatter, "a process of its guest got signal {signal}")
            }
            Interruption::OutOfMemory => formatter.write_str("killed by signal 9 because memory ran out"),
            Interruption::GuestOutOfMemory => formatter.write_str("its guest ran out of memory"),
            Interruption::Debugger => formatter.write_str("held by a debugger"),
            Interruption::GuestEnded => formatter.write_str("its guest was ended in the middle of its work"),
            Interruption::DeviceProcess => formatter.write_str("the process of its device crashed"),
        }
    }
}

/// Describes the interruptions that ended the tries of one trial, as in `killed by signal 9 three times`.
pub fn describe_interruptions(interruptions: &[Interruption]) -> String {
    let times = match interruptions.len() {
        0 | 1 => String::new(),
        2 => " twice".to_owned(),
        3 => " three times".to_owned(),
        more => format!(" {more} times"),
    };
    match interruptions {
        [] => String::new(),
        [first, rest @ ..] if rest.iter().all(|other| other == first) => format!("{first}{times}"),
        mixed => {
            let each: Vec<String> = mixed.iter().map(Interruption::to_string).collect();
            format!("ended from outside{times} ({})", each.join("; "))
        }
    }
}

/// The signal that ended a process, or the one that a sandbox's supervisor reports as 128 and the signal.
pub(super) fn terminating_signal(status: ExitStatus) -> Option<i32> {
    status.signal().or(status.code().filter(|code| *code > 128).map(|code| code - 128))
}

/// The signal from outside that ended a program of a trial, if one did; shells and supervisors report it as 128 and the signal.
pub(super) fn signal_from_outside(record: &CommandRecord) -> Option<i32> {
    FROM_OUTSIDE
        .into_iter()
        .find(|signal| record.signal == Some(*signal) || record.exit == Some(128 + signal))
}

#[cfg(test)]
mod tests {
    use super::{Interruption, describe_interruptions};

    #[test]
    fn interruptions_are_counted_and_named() {
        let killed = Interruption::Signal(9);
        assert_eq!(describe_interruptions(&[killed; 3]), "killed by signal 9 three times");
        assert_eq!(describe_interruptions(&[killed; 2]), "killed by signal 9 twice");
        let stub = Interruption::GuestProcess(9);
        assert_eq!(
            describe_interruptions(&[stub, killed]),
            "ended from outside twice (a process of its guest got signal 9; killed by signal 9)"
        );
        assert!(stub.spoils_reports() && !killed.spoils_reports());
        assert_eq!(describe_interruptions(&[Interruption::GuestOutOfMemory]), "its guest ran out of memory");
        assert_eq!(
            describe_interruptions(&[killed, Interruption::Signal(15), killed]),
            "ended from outside three times (killed by signal 9; killed by signal 15; killed by signal 9)"
        );
    }
}
