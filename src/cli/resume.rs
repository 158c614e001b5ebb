//! `fsverdict resume`: carry on an interrupted run.

use std::path::PathBuf;

use clap::Args;

use crate::host::talk::say;
use crate::study::{Permission, Resumed, RunFolder, Session};

use super::device::ask;
use super::report::show_result;
use super::run::{Conduct, conduct};
use super::{CliError, Outcome};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The folder of the run
    run: PathBuf,
    /// Allow the device's present content to be destroyed, by the identity that the refusal names
    #[arg(long, value_name = "IDENTITY")]
    erase: Option<String>,
    #[command(flatten)]
    conduct: Conduct,
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome, CliError> {
    let (folder, plan) = RunFolder::open(&arguments.run).map_err(CliError::usage)?;
    let permission = Permission { erase: arguments.erase.as_deref(), ask: &ask };
    match Session::resume(folder.clone(), plan.clone(), arguments.conduct.jobs(), &permission)
        .map_err(CliError::failed)?
    {
        Resumed::Session(session) => conduct(*session, &arguments.conduct),
        Resumed::Complete(reason) => {
            say(&format!("this run is complete ({reason}); nothing is left to do"));
            show_result(&folder, &plan, arguments.conduct.all)
        }
    }
}
