//! `fsverdict price`: measures the time of the computing that trials in simulated time took as free.

use std::path::PathBuf;

use clap::Args;

use crate::study::measure_prices;
use fsverdict_judgement::journal::{Event, OpenJournal};
use fsverdict_linux::host::talk::print_line;

use super::consent::Consent;
use super::opened::read_run;
use super::recorded::open_to_carry_out;
use super::report::show_result;
use super::{CliError, Exit};

#[derive(Debug, Args)]
pub(super) struct PriceArguments {
    /// The run's folder
    run: PathBuf,
    /// Run a plan of another user without asking for confirmation
    #[arg(long)]
    yes: bool,
    /// Let the commands of such a plan use this machine's network
    #[arg(long)]
    allow_network: bool,
    /// Print only the result
    #[arg(long, short)]
    quiet: bool,
    /// Every table
    #[arg(long)]
    all: bool,
}

pub(super) fn run(arguments: &PriceArguments) -> Result<Exit, CliError> {
    let PriceArguments { yes, allow_network: network, quiet, .. } = *arguments;
    let (folder, plan) = open_to_carry_out(&arguments.run, Consent { yes, network, quiet })?;
    let run = read_run(&folder, &plan)?;
    let mut tell = |filesystem: &str| {
        if !quiet {
            print_line(&format!("measuring the CPU time of the work on {filesystem}"));
        }
    };
    let prices = measure_prices(&plan, &run, &mut tell).map_err(CliError::failed)?;
    let mut journal = OpenJournal::resume(&plan, &folder.journal()).map_err(CliError::failed)?;
    journal.append(None, Event::Priced(prices)).map_err(CliError::failed)?;
    drop(journal);
    show_result(&folder, &plan, arguments.all)
}
