//! Checks further promises of a filesystem after a power cut: whole folders that were copied and synced, and the
//! promises that programs say they were given, which the programs themselves check.

use std::path::Path;
use std::time::Duration;

use fsverdict_judgement::journal::CommandRecord;
use fsverdict_linux::sandbox::program::ProgramError;
use fsverdict_workload::workload::{CommandContext, PROMISED, Recheck, SavedReading, command_program};

use super::agent::Agent;
use super::error::TrialError;
use super::phase::SCRATCH;
use super::spec::CutLook;
use super::stack::{MOUNT, Stack};

/// Longer, on the guest's clock, no program takes to look at its own data.
const LIMIT: Duration = Duration::from_secs(120);

/// Largest part of a program's last line that is reported, in characters.
const SEEN: usize = 300;

impl Agent<'_> {
    /// Checks everything that had been promised by this nanosecond.
    pub(super) fn look_besides(
        &self,
        stack: &Stack<'_>,
        look: &CutLook,
        moment_ns: u64,
        reading: &mut SavedReading,
    ) -> Result<(), TrialError> {
        for folder in &look.promises.written {
            let material = self.materials.get(&folder.dataset)?;
            let staged = material.staged.as_ref();
            folder.check_after_cut(Path::new(MOUNT), &material.prepared, staged, moment_ns, reading)?;
        }
        self.run_rechecks(stack, &look.promises.rechecks, moment_ns, reading)
    }

    /// Runs each recheck in the sandbox of the phases.
    fn run_rechecks(
        &self,
        stack: &Stack<'_>,
        rechecks: &[Recheck],
        moment_ns: u64,
        reading: &mut SavedReading,
    ) -> Result<(), TrialError> {
        let device = stack.top_device();
        for recheck in rechecks {
            let Some(promised) = recheck.last_by(moment_ns) else { continue };
            let context = CommandContext {
                mount: Path::new(MOUNT),
                device: &device,
                scratch: Path::new(SCRATCH),
                datasets: &self.variables,
                network: false,
                in_guest: self.assignment.bench.is_in_guest(),
                limit: LIMIT,
            };
            let program =
                command_program(&recheck.line, &context).with_variable(PROMISED, promised.to_string());
            let phase = &recheck.phase;
            match program.run(phase) {
                Ok(record) if record.exit == Some(0) => {}
                Ok(record) => {
                    let seen = || format!("{phase}, promised {promised}: {}", last_words(&record));
                    reading.broken.entry("recheck").or_insert_with(seen);
                }
                Err(error @ ProgramError::Missing { .. }) => return Err(error.into()),
                // The shell could not even be started in the filesystem.
                Err(error) => reading.errors.push(format!("{phase}: {error}")),
            }
        }
        Ok(())
    }
}

/// How it ended, by its last line on each stream; else by its status.
fn last_words(record: &CommandRecord) -> String {
    let last = |text: &str| -> Option<String> {
        let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
        Some(line.chars().take(SEEN).collect())
    };
    let last_lines: Vec<String> =
        [&record.stdout, &record.stderr].into_iter().filter_map(|text| last(text)).collect();
    match (last_lines.is_empty(), record.exit) {
        (false, _) => last_lines.join("; "),
        (true, Some(status)) => format!("exit status {status}"),
        (true, None) => format!("ended by a signal, or not within {} s", LIMIT.as_secs()),
    }
}

#[cfg(test)]
mod tests {
    use super::last_words;
    use fsverdict_linux::sandbox::program::Program;

    #[test]
    fn a_recheck_that_fails_is_told_by_its_last_line() {
        let said = |line: &str| last_words(&Program::new(["/bin/sh", "-c", line]).run("s").unwrap());
        assert_eq!(said("echo first; echo 3 rows of 5; echo; exit 1"), "3 rows of 5");
        assert_eq!(said("echo no such table >&2; exit 1"), "no such table");
        assert_eq!(said("exit 7"), "exit status 7");
    }
}
