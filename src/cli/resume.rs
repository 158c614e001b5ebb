//! `fsverdict resume`: carry on an interrupted run.

use std::path::PathBuf;

use clap::Args;

use crate::host::talk::say;
use crate::journal::{Run, Writer};
use crate::study::RunFolder;

use super::report::show_result;
use super::run::{conduct, observer};
use super::{CliError, Outcome, device};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The folder of the run
    run: PathBuf,
    /// Allow the device's present content to be destroyed, by the identity that the refusal names
    #[arg(long, value_name = "IDENTITY")]
    erase: Option<String>,
    /// No progress
    #[arg(long, short)]
    quiet: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome, CliError> {
    let (folder, mut plan) = RunFolder::open(&arguments.run).map_err(CliError::usage)?;
    let (writer, journal) = Writer::append_to(&folder.journal()).map_err(CliError::failed)?;
    let so_far = Run::derive(&plan, &journal).map_err(CliError::failed)?;
    if let Some(reason) = &so_far.finished {
        say(&format!("this run is complete ({reason}); nothing is left to do"));
        return show_result(&folder, &plan);
    }
    // The same lab as before, or the trials would not be comparable.
    plan.lab = match so_far.header.lab.as_str() {
        "native" => crate::plan::LabChoice::Native,
        "uml" => crate::plan::LabChoice::Uml,
        other => {
            return Err(CliError::Failed(format!(
                "this run was made in the lab `{other}`, which this version does not have"
            )));
        }
    };
    let choice = crate::lab::choose(&plan).map_err(CliError::failed)?;
    let disk = device::claim(&plan, arguments.erase.as_deref())?;
    let mut observer = observer(arguments.quiet);
    conduct(&plan, &choice, disk, writer, observer.as_mut(), Some(&so_far), &folder)
}
