//! The pool of a filesystem in the states that power cuts or rot left on its devices: imported, mounted, scrubbed and
//! exported many times in a row.

use fsverdict_judgement::journal::CommandRecord;
use fsverdict_stack::filesystem::counted_errors;

use super::super::programs::Line;
use super::state::failure_text;
use super::{Stack, trade_of};
use crate::trial::error::TrialError;

impl Stack<'_> {
    /// Runs the program of this line without sending its record.
    fn run_line_untold(&mut self, line: Line) -> Result<Option<CommandRecord>, TrialError> {
        let argv = self.argv_for(line);
        argv.map(|argv| self.tools.run_untold(line.step_name(), trade_of(line), argv)).transpose()
    }

    /// Imports the pool, which was not exported before the power was cut. Returns why it cannot be imported, if it cannot.
    pub(super) fn import_pool_state(&mut self) -> Result<Option<String>, TrialError> {
        let Some(pool) = self.filesystem.pool.filter(|_| !self.imported) else { return Ok(None) };
        self.make_pool_nodes()?;
        self.wait_until_released();
        let names = self.trial_names();
        let devices: Vec<String> =
            names.tops.iter().map(|top| top.path.to_string_lossy().into_owned()).collect();
        let encrypted = pool.is_encrypted(&self.candidate.mkfs);
        let argv = pool.forced_import_argv(&self.pool_name(), &devices, encrypted);
        let record = self.tools.run_untold(Line::Import.step_name(), trade_of(Line::Import), argv)?;
        self.imported = record.exit == Some(0);
        Ok((!self.imported).then(|| failure_text(&record)))
    }

    /// Exports the pool, if it is imported.
    pub(super) fn export_pool_state(&mut self) -> Result<(), TrialError> {
        if !self.imported {
            return Ok(());
        }
        match self.run_line_untold(Line::Export)? {
            Some(record) if record.exit != Some(0) => Err(TrialError::Host(failure_text(&record))),
            _ => {
                self.imported = false;
                Ok(())
            }
        }
    }

    /// Scrubs the pool, which repairs blocks from their copies. Returns the errors that it reported, if any.
    pub(super) fn scrub_pool_state(&mut self) -> Result<Option<String>, TrialError> {
        if let Some(reason) = self.import_pool_state()? {
            return Ok(Some(reason));
        }
        let scrubbed = self.run_line_untold(Line::Scrub)?;
        let failed = scrubbed.filter(|record| record.exit != Some(0)).map(|record| failure_text(&record));
        let status = self.run_line_untold(Line::Check)?;
        let complaint = status.and_then(|record| {
            let counted = counted_errors(&record.stdout).map(|text| format!("; {text}")).unwrap_or_default();
            self.complaint_in(&record).map(|text| text + &counted)
        });
        self.export_pool_state()?;
        Ok(failed.or(complaint))
    }

    /// The errors that the imported pool has counted of its devices; nothing where there is no pool.
    pub(in crate::trial) fn counted_by_pool(&mut self) -> Result<Option<String>, TrialError> {
        if !self.imported {
            return Ok(None);
        }
        Ok(self.run_line_untold(Line::Check)?.and_then(|record| counted_errors(&record.stdout)))
    }
}
