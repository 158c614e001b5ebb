//! `fsverdict resume`: carry on an interrupted run.

use std::path::PathBuf;

use clap::Args;

use crate::host::talk::say;
use crate::study::{Permission, Resumed, RunFolder, Session};

use super::device::ask;
use super::report::show_result;
use super::run::conduct;
use super::{CliError, Outcome};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The folder of the run
    run: PathBuf,
    /// Allow the device's present content to be destroyed, by the identity that the refusal names
    #[arg(long, value_name = "IDENTITY")]
    erase: Option<String>,
    /// This many trials at once, in simulated time [default: one for each processor there; 1 elsewhere]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// No progress
    #[arg(long, short)]
    quiet: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome, CliError> {
    let (folder, plan) = RunFolder::open(&arguments.run).map_err(CliError::usage)?;
    let permission = Permission { erase: arguments.erase.as_deref(), ask: &ask };
    match Session::resume(folder.clone(), plan.clone(), arguments.jobs.map(usize::from), &permission)
        .map_err(CliError::failed)?
    {
        Resumed::Session(session) => conduct(*session, arguments.quiet),
        Resumed::Complete(reason) => {
            say(&format!("this run is complete ({reason}); nothing is left to do"));
            show_result(&folder, &plan)
        }
    }
}
