//! `fsverdict clean`: finds and removes leftovers of earlier crashes.

use std::io::Write;

use clap::Args;

use fsverdict_lab::packages::{remove_left_folders, tools_folder};
use fsverdict_linux::host::results::result_writer;
use fsverdict_linux::host::root::Root;
use fsverdict_linux::sandbox::leftovers;
use fsverdict_text::{Hinted, Reason};

use super::{CliError, Exit};

#[derive(Debug, Args)]
pub(super) struct CleanArguments {
    /// Only list what would be removed
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(arguments: &CleanArguments) -> Result<Exit, CliError> {
    let leftovers_found = leftovers::find_leftovers(&Root::default());
    let mut out = result_writer();
    let packages = remove_left_folders(&tools_folder(), arguments.dry_run);
    let done = if arguments.dry_run { "would remove" } else { "removed" };
    for folder in &packages {
        writeln!(out, "{done} folder {}, of an interrupted `fsverdict tools`", folder.display())?;
    }
    if leftovers_found.is_empty() && packages.is_empty() {
        writeln!(out, "nothing was left behind")?;
        return Ok(Exit::Done);
    }
    let mut stayed = 0;
    for leftover in &leftovers_found {
        if arguments.dry_run {
            writeln!(out, "would remove {leftover}")?;
            continue;
        }
        match leftovers::remove_leftover(leftover) {
            Ok(()) => writeln!(out, "removed {leftover}")?,
            Err(error) => {
                stayed += 1;
                writeln!(out, "{}", error.reason().after(format!("could not remove {leftover}: ")))?;
            }
        }
    }
    if stayed > 0 {
        return Err(CliError::failed(Reason::new(
            format!("{stayed} of {} could not be removed", leftovers_found.len()),
            "`sudo fsverdict clean` may be able to remove it as root",
        )));
    }
    Ok(Exit::Done)
}
