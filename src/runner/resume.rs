//! Continues a run: one that was interrupted, or one that has ended and whose faults are not examined yet.

use crate::study::{Permission, Resumed, Session};
use fsverdict_judgement::plan::DeviceSource;

use super::carry_out::{conduct_session, examine_faults, finish_run};
use super::error::RunnerError;
use super::request::{ResumeRequest, RunOutcome};
use super::sites::{conduct_at_sites, keep_inventory, kept_fleet};
use super::view::RunView;

/// Continues the run that was requested, at its sites or here.
///
/// # Errors
/// Fails when the run cannot continue. A failed trial is no error.
pub fn resume(request: ResumeRequest, view: &dyn RunView) -> Result<RunOutcome, RunnerError> {
    let ResumeRequest { folder, plan, fleet, more, jobs, erase } = request;
    if let Some(fleet) = fleet {
        keep_inventory(&folder, &fleet, view)?;
        return conduct_at_sites(folder, plan, &fleet, view);
    }
    if let Some(fleet) = kept_fleet(&folder)? {
        return conduct_at_sites(folder, plan, &fleet, view);
    }
    let permission = Permission { erase: &erase, ask: &|refusal| view.ask_identity(refusal) };
    let on_device = matches!(plan.device.source, DeviceSource::Path(_));
    match Session::resume(folder.clone(), plan.clone(), jobs, more, &permission)
        .map_err(|source| RunnerError::NotResumed { on_device, source })?
    {
        Resumed::Session(session) => conduct_session(*session, view),
        Resumed::Complete(reason) => {
            view.already_complete(&reason);
            examine_faults(&folder, &plan, false, view)?;
            finish_run(folder, plan)
        }
    }
}
