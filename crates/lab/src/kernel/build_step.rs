//! Runs the programs of a build other than make(1), in its sandbox; their output goes into the build's log.

use std::path::Path;

use fsverdict_linux::sandbox::Sandbox;
use fsverdict_linux::sandbox::program::Program;

use super::error::KernelBuildError;
use super::scratch::{Scratch, says_full};

/// How many of a failed program's last lines are shown.
const LAST_LINES: usize = 12;

/// Runs a program in a folder of the build. The folder is entered within the sandbox: one that was entered before is read-only.
pub(super) fn run_in(
    folder: &Path,
    step: &'static str,
    argv: &[String],
    scratch: &Scratch,
    sandbox: &Sandbox,
) -> Result<(), KernelBuildError> {
    let shell = ["sh", "-c", "cd \"$0\" && exec \"$@\""].map(str::to_owned).into_iter();
    let argv = shell.chain([folder.display().to_string()]).chain(argv.iter().cloned()).collect();
    run_step(step, argv, scratch, sandbox)
}

/// Runs a program of the build; it must end well.
pub(super) fn run_step(
    step: &'static str,
    argv: Vec<String>,
    scratch: &Scratch,
    sandbox: &Sandbox,
) -> Result<(), KernelBuildError> {
    let program =
        Program::new(argv).inside(sandbox.clone()).with_variable("TMPDIR", scratch.temporary_folder());
    let record = program.run(step)?;
    scratch.append_to_log(&record.stdout)?;
    scratch.append_to_log(&record.stderr)?;
    if record.exit == Some(0) {
        return Ok(());
    }
    let said = format!("{}{}", record.stdout, record.stderr);
    if let Some(full) = scratch.disk_full_error(step, says_full(&said)) {
        return Err(full);
    }
    let lines: Vec<&str> = said.trim_end().lines().collect();
    let lines =
        lines.iter().skip(lines.len().saturating_sub(LAST_LINES)).copied().collect::<Vec<_>>().join("\n");
    Err(KernelBuildError::Step { step, lines, log: scratch.build_log() })
}
