//! Reports a phase in which the program failed to the author of the plan: the phase, the output, and a hint.

use std::path::Path;

use fsverdict_judgement::journal::CommandRecord;
use fsverdict_linux::sandbox::program::{ProgramError, require_success};
use fsverdict_stack::filesystem::Inodes;

use super::error::TrialError;
use super::stack::{MOUNT, Stack};

/// The C library's message for ENOSPC, which every program prints.
const NO_ROOM: &str = "No space left on device";

/// The record of a phase's program that ended well; else the error, with a hint of the program's own adapter where
/// nothing nearer is known.
pub(super) fn require_good_end(
    phase: &str,
    record: CommandRecord,
    stack: &Stack<'_>,
    of_adapter: impl Fn(&str) -> Option<String>,
) -> Result<CommandRecord, TrialError> {
    let output = format!("{}\n{}", record.stderr, record.stdout);
    let status = record.exit;
    require_success(record).map_err(|error| TrialError::Phase {
        phase: phase.to_owned(),
        hint: if output.contains(NO_ROOM) {
            Some(no_room(stack.filesystem.facts.inodes))
        } else {
            of_adapter(&output).or_else(|| of_shell(status))
        },
        error,
    })
}

pub(super) fn missing_program(phase: &str, program: &str) -> TrialError {
    let error = ProgramError::Missing { program: program.to_owned() };
    TrialError::Phase { phase: phase.to_owned(), error, hint: None }
}

/// Bytes or inodes? Asked of the filesystem as the program left it; one that tidied up has given both back.
fn no_room(inodes: Inodes) -> String {
    let used_up = rustix::fs::statvfs(Path::new(MOUNT)).ok().filter(|room| {
        matches!(inodes, Inodes::FixedAtMkfs { .. }) && room.f_files > 0 && room.f_favail == 0
    });
    match used_up {
        Some(room) => format!(
            "all {} inodes are in use; give mkfs more (mkfs = \"-N {}\"), or take a larger device",
            room.f_files,
            2 * room.f_files
        ),
        None => "the filesystem is full; take a larger device or image, or less data (--scale)".to_owned(),
    }
}

fn of_shell(status: Option<i32>) -> Option<String> {
    (status == Some(127)).then(|| {
        "commands run with the programs of this machine: install it, or look how it is spelled; what lies in a home is hidden from trials of root's but for what `reads` in the plan names"
            .to_owned()
    })
}
