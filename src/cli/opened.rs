//! A run to be read: in its folder, or in a bundle.

use std::path::Path;

use crate::fleet::open_bundle;
use crate::study::RunFolder;
use fsverdict_judgement::journal::Run;
use fsverdict_judgement::plan::Plan;

use super::CliError;

/// The run at this path; its folder too, unless it is a bundle.
pub(super) fn open_run(path: &Path) -> Result<(Option<RunFolder>, Plan, Run), CliError> {
    if path.is_file() {
        let (plan, run) = open_bundle(path).map_err(CliError::usage)?;
        return Ok((None, plan, run));
    }
    let (folder, plan) = RunFolder::open(path).map_err(CliError::usage)?;
    let run = read_run(&folder, &plan)?;
    Ok((Some(folder), plan, run))
}

pub(super) fn read_run(folder: &RunFolder, plan: &Plan) -> Result<Run, CliError> {
    Run::read_in_folder(plan, &folder.journal()).map_err(CliError::failed)
}
