//! `fsverdict resume`: carry on a run that was interrupted, or one that has ended and left something open.

use std::path::PathBuf;

use clap::Args;

use crate::runner::{ResumeRequest, resume};

use super::consent::check_erase_option;
use super::fleet::{SiteArguments, end_with_input};
use super::open_run::open_to_carry_out;
use super::run::Conduct;
use super::run_report::show_outcome;
use super::{CliError, Exit};

#[derive(Debug, Args)]
pub(super) struct ResumeArguments {
    /// The run's folder
    run: PathBuf,
    /// Add blocks to a run that has ended: this many at most, fewer once every candidate has its place
    #[arg(long, value_name = "BLOCKS", value_parser = clap::value_parser!(u32).range(1..=1000), allow_negative_numbers = true)]
    more: Option<u32>,
    /// Allow the content of this block device to be destroyed: its identity, as the refusal prints it
    #[arg(long, value_name = "IDENTITY")]
    erase: Vec<String>,
    /// End when standard input does: who asked for the run is then gone
    #[arg(long, hide = true)]
    attended: bool,
    #[command(flatten)]
    sites: SiteArguments,
    #[command(flatten)]
    conduct: Conduct,
}

pub(super) fn run(arguments: &ResumeArguments) -> Result<Exit, CliError> {
    if arguments.attended {
        end_with_input();
    }
    let conduct = &arguments.conduct;
    let (folder, plan) = open_to_carry_out(&arguments.run, conduct.consent())?;
    check_erase_option(&arguments.erase, &plan.device.source)?;
    let request = ResumeRequest {
        folder,
        plan,
        fleet: arguments.sites.fleet()?,
        more: arguments.more,
        jobs: conduct.jobs(),
        erase: arguments.erase.clone(),
    };
    show_outcome(&resume(request, &conduct.view())?, conduct.all)
}
