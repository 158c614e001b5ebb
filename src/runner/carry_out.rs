//! Carries out a run that was requested, or continues one: here, or at the sites of an inventory.

use super::error::RunnerError;
use super::request::{ResumeRequest, RunOutcome, RunPlace, RunRequest};
use super::session::{Resumed, Session, examine_faults};
use super::sites::{begin_at_sites, conduct_at_sites, keep_inventory, kept_fleet};
use super::view::RunView;

/// Carries out the run that was requested.
///
/// # Errors
/// Fails when the run cannot begin or continue. A failed trial is no error.
pub fn carry_out(request: RunRequest, view: &dyn RunView) -> Result<RunOutcome, RunnerError> {
    if let RunPlace::Sites(fleet) = &request.place {
        return begin_at_sites(&request.folder, request.plan, fleet, view);
    }
    Session::begin(request, view)?.conduct(view)
}

/// Continues the run that was requested: one that was interrupted, one that has ended with faults that are not
/// examined yet, or one that has a plan alone because it was prepared, or ended before its first record.
///
/// # Errors
/// Fails when the run cannot continue. A failed trial is no error.
pub fn resume(request: ResumeRequest, view: &dyn RunView) -> Result<RunOutcome, RunnerError> {
    if let Some(fleet) = &request.fleet {
        keep_inventory(&request.folder, fleet, view)?;
        return conduct_at_sites(request.folder, request.plan, fleet, view);
    }
    if let Some(fleet) = kept_fleet(&request.folder)? {
        return conduct_at_sites(request.folder, request.plan, &fleet, view);
    }
    if request.more.is_none() && !request.folder.journal().is_there() {
        return Session::begin(request.into_run(), view)?.conduct(view);
    }
    let (folder, plan) = (request.folder.clone(), request.plan.clone());
    match Session::resume(request, view)? {
        Resumed::Session(session) => session.conduct(view),
        Resumed::Complete(reason) => {
            view.already_complete(&reason);
            examine_faults(&folder, &plan, false, view)?;
            Ok(RunOutcome::read(folder, plan)?)
        }
    }
}
