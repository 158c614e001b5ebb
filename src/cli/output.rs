//! Refuses output files that the command reads, or that a run needs.

use std::ffi::OsStr;
use std::fs::{Metadata, metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use fsverdict_text::{Reason, quoted};

use super::CliError;
use crate::fleet::{ROSTER, RUN_KEY, SITES};
use crate::study::{PLAN_FILE, RunFolder};
use fsverdict_faults::CUTS;
use fsverdict_judgement::journal::FILE_NAME;
use fsverdict_lab::lab::TRACES;

/// So many folders above a file are looked at: the deepest file of a run lies two folders below it.
const FOLDERS_ABOVE: usize = 4;

/// Files right in the folder of a run that are nowhere else: nothing can make them again.
const NEEDED: [&str; 4] = [PLAN_FILE, FILE_NAME, ROSTER, RUN_KEY];

/// Whether a file at this path below the folder of a run is one that a run needs, and no report, which can be made again.
fn is_needed(below: &Path) -> bool {
    let mut parts = below.iter().map(OsStr::to_string_lossy);
    match (parts.next(), parts.next()) {
        (Some(name), None) => NEEDED.contains(&&*name) || name.starts_with("slurm"),
        (Some(folder), Some(_)) => [SITES, TRACES, CUTS].contains(&&*folder),
        (None, _) => false,
    }
}

/// Fails if `file` is one of those that a command `reads`, or a file that a run cannot be without, under whichever name.
pub(super) fn check_output(file: &Path, reads: &[&Path]) -> Result<(), CliError> {
    let Some(known) = metadata(file).ok().filter(Metadata::is_file) else { return Ok(()) };
    let is_it = |path: &Path| {
        metadata(path).is_ok_and(|other| (other.dev(), other.ino()) == (known.dev(), known.ino()))
    };
    let read =
        reads.iter().copied().find(|path| is_it(path) || NEEDED.iter().any(|name| is_it(&path.join(name))));
    if let Some(read) = read {
        return Err(refused(file, &format!("it is a file of what is read here, {}", shown(read))));
    }
    let path = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let run = path
        .ancestors()
        .skip(1)
        .take(FOLDERS_ABOVE)
        .find(|above| RunFolder::has_plan(above) && path.strip_prefix(above).is_ok_and(is_needed));
    run.map_or(Ok(()), |run| Err(refused(file, &format!("it is a file of the run in {}", shown(run)))))
}

fn refused(file: &Path, why: &str) -> CliError {
    CliError::usage(Reason::new(
        format!("{} is not replaced: {why}", shown(file)),
        "name another file as output",
    ))
}

fn shown(path: &Path) -> String {
    quoted(&path.to_string_lossy()).to_string()
}
