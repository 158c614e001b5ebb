//! Carries out a run at the sites of an inventory.

use crate::fleet::{
    Fleet, FleetError, Merged, conduct_fleet, create_shared_run, merge_blocks, sites_of_run, state_folder,
    store_inventory, stored_inventory,
};
use crate::study::{FolderRequest, RunFolder};
use fsverdict_judgement::plan::Plan;

use super::error::RunnerError;
use super::request::{RunOutcome, RunResult};
use super::view::{RunView, SiteNews};

/// Begins a run at the sites of an inventory that the user has just named, and conducts it.
pub(super) fn begin_at_sites(
    folder: &FolderRequest,
    plan: Plan,
    fleet: &Fleet,
    view: &dyn RunView,
) -> Result<RunOutcome, RunnerError> {
    let folder = create_shared_run(folder, &plan)?;
    keep_inventory(&folder, fleet, view)?;
    conduct_at_sites(folder, plan, fleet, view)
}

/// Keeps an inventory for `resume`.
pub(super) fn keep_inventory(
    folder: &RunFolder,
    fleet: &Fleet,
    view: &dyn RunView,
) -> Result<(), RunnerError> {
    if let Some(caution) = store_inventory(folder, fleet)? {
        view.tell_sites(SiteNews::NotKept(&caution));
    }
    Ok(())
}

/// The inventory with which this user began the run; `None` where it has none, being no run of several sites.
pub(super) fn kept_fleet(folder: &RunFolder) -> Result<Option<Fleet>, RunnerError> {
    let run = folder.handle();
    match stored_inventory(folder)? {
        None if sites_of_run(run)?.is_some() => {
            Err(FleetError::NoInventory { run: run.path().to_owned(), state: state_folder() }.into())
        }
        fleet => Ok(fleet),
    }
}

/// Conducts a run at the sites of an inventory, from its beginning or from where it was interrupted.
pub(super) fn conduct_at_sites(
    folder: RunFolder,
    plan: Plan,
    fleet: &Fleet,
    view: &dyn RunView,
) -> Result<RunOutcome, RunnerError> {
    view.tell_sites(SiteNews::Begins { folder: &folder, fleet });
    let mut look = |merged: &Merged| -> Result<(), FleetError> {
        merged.write_journal(&folder)?;
        view.tell_sites(SiteNews::BlocksArrived(merged));
        Ok(())
    };
    conduct_fleet(&folder, &plan, fleet, &mut look)?;
    let merged = merge_blocks(&folder, &plan, &[])?;
    merged.write_journal(&folder)?;
    let log_place = fleet.on.describe_log_place(folder.path());
    Ok(RunOutcome { folder, plan, result: RunResult::Sites { merged: Box::new(merged), log_place } })
}
