//! Prepares the faults of a run's plan: checks limits, chooses the lab and attaches the modelled devices.

use fsverdict_faults::PowerCutting;
use fsverdict_judgement::plan::Plan;
use fsverdict_lab::lab::choose_lab;
use fsverdict_text::FolderHandle;

use super::claim::Permission;
use super::error::SessionError;
use super::session::check_limits;

/// Prepares the faults of this plan for the run in this folder.
///
/// # Errors
/// When the plan has no faults, or its lab or devices cannot be used.
pub fn prepare_power_cutting<'a>(
    plan: &'a Plan,
    run: &FolderHandle,
) -> Result<PowerCutting<'a>, SessionError> {
    PowerCutting::new(plan, run, || {
        check_limits(plan)?;
        let permission = Permission { erase: &[], ask: &|_| None };
        let attachments = permission.claim_devices(plan)?;
        Ok((choose_lab(plan, plan.lab)?, attachments))
    })
}
