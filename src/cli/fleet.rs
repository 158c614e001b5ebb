//! A run at several sites, from `run --on` or `resume`, and how far it has come.

use std::path::PathBuf;

use clap::Args;

use crate::fleet::{
    Fleet, FleetError, Merged, SiteTransport, conduct_fleet, merge_blocks, sites_of_run, state_folder,
    store_inventory, stored_inventory,
};
use crate::study::RunFolder;
use fsverdict_judgement::plan::Plan;
use fsverdict_linux::host::talk::print_line;
use fsverdict_text::{Reason, quoted};

use super::report::show_run;
use super::{CliError, Exit};

/// Where blocks are done; the same for `run` and `resume`.
#[derive(Debug, Default, Args)]
pub(super) struct SiteArguments {
    /// Run the blocks at several sites and merge the results
    #[arg(long, value_enum, requires = "sites")]
    on: Option<SiteTransport>,
    /// The sites: a list of machines and their devices
    #[arg(long, value_name = "SITES.toml", requires = "on")]
    sites: Option<PathBuf>,
}

impl SiteArguments {
    /// The inventory that was named, as it is read.
    pub(super) fn fleet(&self) -> Result<Option<Fleet>, CliError> {
        match (self.on, &self.sites) {
            (Some(on), Some(path)) => Fleet::from_inventory(path, on).map(Some).map_err(complaint),
            _ => Ok(None),
        }
    }
}

/// Conducts a run with the inventory that the user has just named, which is kept for `resume`.
pub(super) fn begin_at_sites(
    folder: &RunFolder,
    plan: &Plan,
    fleet: &Fleet,
    all: bool,
) -> Result<Exit, CliError> {
    if let Some(caution) = store_inventory(folder, fleet).map_err(complaint)? {
        print_line(&format!("warning: {caution}"));
    }
    conduct_at_sites(folder, plan, fleet, all)
}

/// The inventory with which this user began the run; `None` where it has none, being no run of several sites.
pub(super) fn kept_fleet(folder: &RunFolder) -> Result<Option<Fleet>, CliError> {
    let run = folder.handle();
    match stored_inventory(folder).map_err(complaint)? {
        None if sites_of_run(run).map_err(complaint)?.is_some() => {
            Err(complaint(FleetError::NoInventory { run: run.path().to_owned(), state: state_folder() }))
        }
        fleet => Ok(fleet),
    }
}

/// Conducts a run at the sites of an inventory, and reports; also where it had been left.
pub(super) fn conduct_at_sites(
    folder: &RunFolder,
    plan: &Plan,
    fleet: &Fleet,
    all: bool,
) -> Result<Exit, CliError> {
    let names: Vec<String> = fleet.sites.iter().map(|site| site.name.to_string()).collect();
    let run = quoted(&folder.path().to_string_lossy());
    let interrupted = fleet.on.describe_interruption();
    print_line(&format!(
        "blocks are done at {}; {interrupted}, `fsverdict resume {run}` comes back",
        names.join(", ")
    ));
    let mut look = |merged: &Merged| -> Result<(), FleetError> {
        merged.write_journal(folder)?;
        let each: Vec<String> = merged.done.iter().map(|(site, blocks)| format!("{site} {blocks}")).collect();
        print_line(&format!("blocks done: {}; complete rounds: {}", each.join(", "), merged.rounds));
        Ok(())
    };
    conduct_fleet(folder, plan, fleet, &mut look).map_err(complaint)?;
    let merged = merge_blocks(folder, plan, &[]).map_err(complaint)?;
    merged.write_journal(folder).map_err(complaint)?;
    let outcome = show_run(folder, plan, &merged.run, all)?;
    if merged.settled.is_none() {
        settled(&merged, plan);
        let why = fleet.on.describe_log_place(folder.path());
        return Err(CliError::failed(Reason::new(
            "no site has a block under way, and the run is not settled",
            format!("{why}; `fsverdict resume {run}` runs the missing blocks"),
        )));
    }
    Ok(outcome)
}

/// Whether further blocks are wanted, said.
pub(super) fn settled(merged: &Merged, plan: &Plan) -> Exit {
    match &merged.settled {
        Some(reason) => {
            print_line(&format!("settled: {reason}"));
            Exit::Done
        }
        None => {
            let in_it = plan.candidates.len() - merged.out.len();
            let waiting = match merged.awaited.as_slice() {
                [] => String::new(),
                awaited => format!("; the next round lacks {}", awaited.join(", ")),
            };
            print_line(&format!(
                "not settled: {in_it} candidates can still win, complete rounds: {}{waiting}",
                merged.rounds
            ));
            Exit::NoVerdict
        }
    }
}

pub(super) fn complaint(error: FleetError) -> CliError {
    match error {
        FleetError::Inventory { .. }
        | FleetError::Sites(_)
        | FleetError::Folder(_)
        | FleetError::NoInventory { .. }
        | FleetError::NotShared(_)
        | FleetError::OtherRun { .. } => CliError::usage(error),
        other => CliError::failed(other),
    }
}
