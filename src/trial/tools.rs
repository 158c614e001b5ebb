//! Where the programs of a trial are started from, and for how long they may run.

use std::path::Path;
use std::time::Duration;

use crate::sandbox::Workshop;
use crate::sandbox::program::{Program, succeeded};
use fsverdict_judgement::journal::CommandRecord;

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

pub(super) struct Tools {
    limit: Duration,
    /// Where programs are started from whose options a plan can choose; none before [`Tools::shut_in`].
    workshops: Option<Workshops>,
}

struct Workshops {
    /// mount and umount, and what needs the mounted filesystem.
    mounting: Workshop,
    /// mkfs and fsck.
    formatting: Workshop,
}

impl Tools {
    pub(super) fn new(limit: Duration) -> Self {
        Tools { limit, workshops: None }
    }

    /// From here on tools see what the agent sees of devices, and less of the rest.
    pub(super) fn shut_in(&mut self) -> Result<(), TrialError> {
        let (mounting, formatting) = (Workshop::for_mounting()?, Workshop::for_formatting()?);
        self.workshops = Some(Workshops { mounting, formatting });
        Ok(())
    }

    /// Runs one program of the trial, traced, within the time limit.
    pub(super) fn run(
        &self,
        sink: &mut Sink,
        step: &str,
        trade: Trade,
        argv: Vec<String>,
    ) -> Result<CommandRecord, TrialError> {
        let record = self.run_untold(step, trade, argv)?;
        sink.command(&record);
        Ok(record)
    }

    /// The same for one that runs so often that nobody wants to hear of each time.
    pub(super) fn run_untold(
        &self,
        step: &str,
        trade: Trade,
        argv: Vec<String>,
    ) -> Result<CommandRecord, TrialError> {
        // In an empty folder: a stray word among a plan's mkfs options must not name a file.
        let mut program = Program::new(argv).limit(self.limit).folder(Path::new(EMPTY));
        let workshop = self.workshops.as_ref().and_then(|workshops| match trade {
            Trade::Layering => None,
            Trade::Formatting => Some(&workshops.formatting),
            Trade::Mounting => Some(&workshops.mounting),
        });
        if let Some(workshop) = workshop {
            program = program.from(workshop);
        }
        Ok(program.run(step)?)
    }

    /// The same; it must end well.
    pub(super) fn must(
        &self,
        sink: &mut Sink,
        step: &str,
        trade: Trade,
        argv: Vec<String>,
    ) -> Result<(), TrialError> {
        succeeded(self.run(sink, step, trade, argv)?).map(drop).map_err(TrialError::from)
    }
}
