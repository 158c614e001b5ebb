//! Where the programs of a trial are started from, and for how long they may run.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use fsverdict_judgement::journal::CommandRecord;
use fsverdict_linux::sandbox::program::{Program, ProgramError, RunningProgram, require_success};
use fsverdict_linux::sandbox::{FROM_OUTSIDE, ToolSpawner};

use super::error::TrialError;
use super::sink::Sink;

/// The folder tools start in.
pub(super) const EMPTY: &str = "/tmp/fsverdict/empty";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trade {
    Layering,
    Formatting,
    Mounting,
}

/// What a program does with a stream of bytes.
pub(super) enum StreamEnd {
    Output(Arc<File>),
    Input(Arc<File>),
}

pub(super) struct Tools {
    limit: Duration,
    /// The sandboxes for programs with options from the plan; `None` before [`Tools::shut_in`].
    spawners: Option<ToolSpawners>,
}

struct ToolSpawners {
    /// For mount, umount and programs that need the mounted filesystem.
    mounting: ToolSpawner,
    /// mkfs and fsck.
    formatting: ToolSpawner,
}

impl Tools {
    pub(super) fn new(limit: Duration) -> Self {
        Tools { limit, spawners: None }
    }

    /// From here on tools see the devices that the agent sees, and less of everything else.
    pub(super) fn shut_in(&mut self) -> Result<(), TrialError> {
        let (mounting, formatting) = (ToolSpawner::for_mounting()?, ToolSpawner::for_formatting()?);
        self.spawners = Some(ToolSpawners { mounting, formatting });
        Ok(())
    }

    /// Runs one program of the trial, traced, within the time limit.
    pub(super) fn run_program(
        &self,
        sink: &mut Sink,
        step: &str,
        trade: Trade,
        argv: Vec<String>,
    ) -> Result<CommandRecord, TrialError> {
        let record = self.run_unrecorded(step, trade, argv)?;
        sink.send_command(&record);
        Ok(record)
    }

    /// The same for one that writes a stream of bytes to a file, or reads one.
    pub(super) fn run_streaming(
        &self,
        sink: &mut Sink,
        step: &str,
        argv: Vec<String>,
        end: &StreamEnd,
    ) -> Result<CommandRecord, TrialError> {
        let program = self.build_program(Trade::Mounting, argv);
        let program = match end {
            StreamEnd::Output(file) => program.with_output_file(file),
            StreamEnd::Input(file) => program.with_input_file(file),
        };
        let record = program.run(step)?;
        sink.send_command(&record);
        Ok(record)
    }

    /// The same for one that runs so often that its records are not sent. One that is killed from outside has no answer to
    /// give: that is an error, and its record is sent with it.
    pub(super) fn run_untold(
        &self,
        step: &str,
        trade: Trade,
        argv: Vec<String>,
    ) -> Result<CommandRecord, TrialError> {
        let record = self.run_unrecorded(step, trade, argv)?;
        match is_killed(&record) {
            true => Err(TrialError::Killed(ProgramError::Failed(Box::new(record)))),
            false => Ok(record),
        }
    }

    fn run_unrecorded(
        &self,
        step: &str,
        trade: Trade,
        argv: Vec<String>,
    ) -> Result<CommandRecord, TrialError> {
        Ok(self.build_program(trade, argv).run(step)?)
    }

    /// Starts one that goes on beside the trial; it ends with the value at the latest.
    pub(super) fn start_program(
        &self,
        trade: Trade,
        argv: Vec<String>,
    ) -> Result<RunningProgram, TrialError> {
        Ok(self.build_program(trade, argv).prepare_start()?.start())
    }

    fn build_program(&self, trade: Trade, argv: Vec<String>) -> Program {
        // In an empty folder, so that a stray word among a plan's mkfs options cannot name a file.
        let program = Program::new(argv).with_time_limit(self.limit).in_folder(Path::new(EMPTY));
        let spawner = self.spawners.as_ref().and_then(|spawners| match trade {
            Trade::Layering => None,
            Trade::Formatting => Some(&spawners.formatting),
            Trade::Mounting => Some(&spawners.mounting),
        });
        match spawner {
            Some(spawner) => program.from(spawner),
            None => program,
        }
    }

    /// Runs one program of the trial as [`Tools::run_program`] does; it must end well.
    pub(super) fn run_required(
        &self,
        sink: &mut Sink,
        step: &str,
        trade: Trade,
        argv: Vec<String>,
    ) -> Result<(), TrialError> {
        require_success(self.run_program(sink, step, trade, argv)?).map(drop).map_err(TrialError::from)
    }
}

/// Whether a signal from outside ended it.
fn is_killed(record: &CommandRecord) -> bool {
    FROM_OUTSIDE.iter().any(|signal| record.signal == Some(*signal))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Tools, Trade};
    use crate::trial::error::TrialError;

    #[test]
    fn a_checker_that_is_killed_has_no_answer() {
        std::fs::create_dir_all(super::EMPTY).unwrap();
        let tools = Tools::new(Duration::from_secs(60));
        let run = |line: &str| {
            tools.run_untold("fsck", Trade::Formatting, ["sh", "-c", line].map(str::to_owned).into())
        };
        assert_eq!(run("exit 9").unwrap().exit, Some(9));
        for signal in ["KILL", "TERM"] {
            let error = run(&format!("kill -{signal} $$")).unwrap_err();
            assert!(matches!(error, TrialError::Killed(_)) && error.untold_record().is_some(), "{error}");
        }
        // A crash is an answer: the filesystem may have caused it.
        assert!(run("kill -SEGV $$").is_ok());
    }
}
