//! `fsverdict resume`: carry on a run that was interrupted, or one that has ended and left something open.

use std::path::PathBuf;

use clap::Args;

use crate::study::{Permission, Resumed, Session, SessionError};
use fsverdict_judgement::plan::{DeviceSource, Plan};
use fsverdict_linux::host::talk::print_line;
use fsverdict_text::Hinted;

use super::device::{ask, erases_a_device};
use super::fleet::{SiteArguments, begin_at_sites, conduct_at_sites, kept_fleet};
use super::recorded::open_to_carry_out;
use super::report::show_result;
use super::run::{Conduct, conduct, examine_faults};
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
    #[command(flatten)]
    sites: SiteArguments,
    #[command(flatten)]
    conduct: Conduct,
}

pub(super) fn run(arguments: &ResumeArguments) -> Result<Exit, CliError> {
    let (folder, plan) = open_to_carry_out(&arguments.run, arguments.conduct.said())?;
    erases_a_device(&arguments.erase, &plan.device.source)?;
    if let Some(fleet) = arguments.sites.fleet()? {
        return begin_at_sites(&folder, &plan, &fleet, arguments.conduct.all);
    }
    if let Some(fleet) = kept_fleet(&folder)? {
        return conduct_at_sites(&folder, &plan, &fleet, arguments.conduct.all);
    }
    let permission = Permission { erase: &arguments.erase, ask: &ask };
    let jobs = arguments.conduct.jobs();
    match Session::resume(folder.clone(), plan.clone(), jobs, arguments.more, &permission)
        .map_err(|error| refused(&plan, &error))?
    {
        Resumed::Session(session) => conduct(*session, &arguments.conduct),
        Resumed::Complete(reason) => {
            print_line(&format!("this run is complete ({reason}); --more BLOCKS adds blocks to it"));
            examine_faults(&folder, &plan, false, arguments.conduct.said().quiet)?;
            show_result(&folder, &plan, arguments.conduct.all)
        }
    }
}

/// Explains a refused device. A run's folder is no consent to erase one: any user may have made it, and the filesystem
/// that a trial left may have got data since.
fn refused(plan: &Plan, error: &SessionError) -> CliError {
    let of_device = matches!((&plan.device.source, error), (DeviceSource::Path(_), SessionError::Disk(_)));
    let hint = "the last trial of a run, also of an interrupted one, leaves its filesystem on the device; only you can tell whether this is that filesystem, so look at it first";
    let reason = error.reason();
    CliError::failed(if of_device { reason.and_hint(hint) } else { reason })
}
