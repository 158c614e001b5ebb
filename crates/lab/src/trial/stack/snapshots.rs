//! Snapshots of the mounted filesystem, by programs of its own or of a layer below it.

use fsverdict_judgement::plan::Operation;
use fsverdict_linux::sandbox::program::require_success;
use fsverdict_workload::workload::{Ledger, OperationResult, WorkError};

use super::super::error::TrialError;
use super::super::tools::Trade;
use super::Stack;
use super::host_mapper::HostMapper;

/// The longest number that a program may call a snapshot by.
const LONGEST_ID: usize = 64;

impl Stack<'_> {
    /// Keeps the filesystem as it is now.
    pub(in crate::trial) fn create_snapshot(
        &mut self,
        ledger: &mut Ledger,
    ) -> Result<OperationResult, TrialError> {
        let number = ledger.next_snapshot().to_string();
        let printed = self.run_snapshot(Operation::SnapshotCreate, &number)?;
        let (id, shown) = match &self.filesystem.snapshots {
            Some(programs) => {
                let id = if programs.told { parse_snapshot_name(&printed)? } else { number };
                let shown = programs.shown_as(&id);
                (id, shown)
            }
            // It is a device, which would have to be mounted.
            None => (number, None),
        };
        ledger.keep_snapshot(id, shown);
        Ok(timed_result("snapshot"))
    }

    /// Gives up the oldest of those that are kept.
    pub(in crate::trial) fn delete_snapshot(
        &mut self,
        ledger: &mut Ledger,
    ) -> Result<OperationResult, TrialError> {
        let operation = Operation::SnapshotDelete;
        let none = WorkError::NoSnapshot { operation: operation.name() };
        let id = ledger.oldest_snapshot().ok_or(none)?.id.clone();
        self.run_snapshot(operation, &id)?;
        ledger.give_up_oldest_snapshot();
        Ok(timed_result("delete"))
    }

    /// Rolls the filesystem back to its newest snapshot.
    pub(in crate::trial) fn roll_back(&mut self, ledger: &mut Ledger) -> Result<OperationResult, TrialError> {
        let operation = Operation::SnapshotRollback;
        let none = WorkError::NoSnapshot { operation: operation.name() };
        let id = ledger.newest_snapshot().ok_or(none)?.id.clone();
        if self.filesystem.snapshots.is_some() {
            self.run_snapshot(operation, &id)?;
            self.unmount_filesystem()?;
        } else {
            self.unmount_filesystem()?;
            let mut mapper = HostMapper { sink: self.sink, tools: &self.tools };
            self.layers.roll_back(&id, &self.devices, &mut mapper)?;
        }
        self.mount_again()?;
        ledger.roll_back();
        Ok(timed_result("rollback"))
    }

    /// Runs the filesystem's own snapshot programs, or those of a layer; returns the output of the last.
    fn run_snapshot(&mut self, operation: Operation, id: &str) -> Result<String, TrialError> {
        if self.filesystem.snapshots.is_none() {
            let mut mapper = HostMapper { sink: self.sink, tools: &self.tools };
            let argv = self.layers.snapshot_command(operation, id, &self.devices, &mut mapper)?;
            let argv =
                argv.ok_or_else(|| TrialError::Unknown(format!("layer that could do `{operation}`")))?;
            let record = self.tools.run_program(self.sink, operation.name(), Trade::Layering, argv)?;
            return Ok(require_success(record)?.stdout);
        }
        let mut printed = String::new();
        for argv in self.snapshot_lines(operation, id, None)? {
            let record = self.tools.run_program(self.sink, operation.name(), Trade::Mounting, argv)?;
            printed = require_success(record)?.stdout;
        }
        Ok(printed)
    }
}

impl Stack<'_> {
    /// The filesystem's own programs for this operation on a snapshot.
    pub(super) fn snapshot_lines(
        &self,
        operation: Operation,
        id: &str,
        base: Option<&str>,
    ) -> Result<Vec<Vec<String>>, TrialError> {
        let lines = self.programs.snapshot_commands(operation, &self.trial_names(), id, base);
        lines.ok_or_else(|| {
            TrialError::Unknown(format!("way of {} to do `{operation}`", self.filesystem.name))
        })
    }
}

/// Parses the filesystem's name for a snapshot: the one word that its program printed.
fn parse_snapshot_name(printed: &str) -> Result<String, TrialError> {
    let word = printed.trim();
    let plain =
        !word.is_empty() && word.len() <= LONGEST_ID && word.bytes().all(|byte| byte.is_ascii_digit());
    let strange = || {
        TrialError::Host(format!("a snapshot was made, but it is not a number: `{}`", word.escape_debug()))
    };
    plain.then(|| word.to_owned()).ok_or_else(strange)
}

/// The result of a timed call that touches no file.
pub(super) fn timed_result(main_call: &'static str) -> OperationResult {
    OperationResult { logical_bytes: 0, files: 0, read_besides: 0, held: None, calls: Vec::new(), main_call }
}

#[cfg(test)]
mod tests {
    use super::parse_snapshot_name;

    #[test]
    fn a_snapshot_is_called_by_a_number_that_was_printed() {
        assert_eq!(parse_snapshot_name("17\n").unwrap(), "17");
        for printed in ["", "\n", "-f", "1 2", "a", &"1".repeat(65)] {
            parse_snapshot_name(printed).unwrap_err();
        }
    }
}
