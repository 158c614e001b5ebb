//! `fsverdict stage`: stages a run's datasets once, in mounts that outlive it.
//!
//! A mount namespace lives as long as a process has it open (namespaces(7)): the conductor opens that of this
//! process's sandbox, and every agent's sandbox starts from it. Mounts and memory are freed when the conductor is
//! gone.

use std::io::{BufRead, Read, Write};
use std::path::Path;

use fsverdict_linux::host::messages::print_line;
use fsverdict_linux::host::mounts;
use fsverdict_text::Hinted;

use super::error::TrialError;
use super::sink::Sink;
use super::spec::Assignment;
use super::staging::{Materials, ROOM, write_records};

/// The line that the process prints once everything is staged.
pub const STAGED: &str = "staged";

/// Stages the datasets of the trial described on the first line of standard input, prints [`STAGED`] or an error on
/// standard output, and waits until standard input ends: until then its mounts can be opened. Returns the exit
/// status.
pub fn run_stage() -> u8 {
    let mut input = std::io::stdin().lock();
    let mut line = String::new();
    let assignment: Assignment = match input.read_line(&mut line).map(|_| serde_json::from_str(&line)) {
        Ok(Ok(assignment)) => assignment,
        _ => {
            print_line("fsverdict stage: no trial on standard input; the conductor starts this, not people");
            return 2;
        }
    };
    let (said, status) = match stage_all(&assignment) {
        Ok(()) => (STAGED.to_owned(), 0),
        Err(error) => (serde_json::to_string(&error.reason()).unwrap_or_default(), 1),
    };
    let mut output = std::io::stdout().lock();
    if output.write_all(said.as_bytes()).and_then(|()| output.write_all(b"\n")).is_err() {
        return 1;
    }
    let _ = output.flush();
    // The conductor ends this input in every case.
    let _ = input.read_to_end(&mut Vec::new());
    status
}

fn stage_all(assignment: &Assignment) -> Result<(), TrialError> {
    std::fs::create_dir_all(ROOM).map_err(TrialError::io_error("make the room for datasets"))?;
    mounts::mount_tmpfs(Path::new(ROOM), "755").map_err(TrialError::host_error)?;
    let materials = Materials::prepare_datasets(assignment, &mut Sink::new(std::io::sink()))?;
    write_records(&materials)
}
