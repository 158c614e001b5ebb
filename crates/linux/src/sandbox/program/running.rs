//! A program that runs while this one continues, until it is stopped.

use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use fsverdict_judgement::journal::CommandRecord;

use super::output::collect_output;
use super::{PreparedProgram, ProgramError, stops};

/// A program that runs until it ends or this value is dropped.
#[derive(Debug)]
pub struct RunningProgram {
    pub(super) ready: Option<PreparedProgram>,
    pub(super) started: Instant,
}

impl RunningProgram {
    /// The interval between two checks whether it has ended.
    const LOOKS: Duration = Duration::from_millis(10);

    /// The process of the program.
    pub fn process(&self) -> Option<Pid> {
        self.ready.as_ref().map(|ready| Pid::from_child(&ready.child))
    }

    /// Whether the program has ended by itself.
    pub fn has_ended(&mut self) -> Result<bool, ProgramError> {
        let Some(ready) = &mut self.ready else { return Ok(true) };
        stops::report_stops(&ready.child);
        match ready.child.try_wait() {
            Ok(status) => Ok(status.is_some()),
            Err(source) => Err(ProgramError::Wait { program: ready.program_name(), source }),
        }
    }

    /// Closes its standard input, which asks it to stop, and waits; after `within` it is killed, and its record has
    /// neither exit status nor signal.
    pub fn stop_within(mut self, step: &str, within: Duration) -> Result<CommandRecord, ProgramError> {
        if let Some(ready) = &mut self.ready {
            ready.line = None;
        }
        let asked_at = Instant::now();
        while !self.has_ended()? && asked_at.elapsed() < within {
            std::thread::sleep(Self::LOOKS);
        }
        let seconds = self.started.elapsed().as_secs_f64();
        let Some(mut ready) = self.ready.take() else {
            return Err(ProgramError::Missing { program: step.to_owned() });
        };
        let too_late = !matches!(ready.child.try_wait(), Ok(Some(_)));
        if too_late {
            let _ = kill_process_group(ready.group, Signal::KILL);
        }
        let program = ready.program_name();
        let status = ready.child.wait().map_err(|source| ProgramError::Wait { program, source })?;
        Ok(CommandRecord {
            step: step.to_owned(),
            argv: ready.argv,
            exit: status.code().filter(|_| !too_late),
            signal: status.signal().filter(|_| !too_late),
            seconds,
            stdout: collect_output(ready.stdout),
            stderr: collect_output(ready.stderr),
        })
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        if let Some(ready) = &mut self.ready {
            let _ = kill_process_group(ready.group, Signal::KILL);
            let _ = ready.child.wait();
        }
    }
}
