//! Predicts a run without carrying it out: its lab, and the devices and candidates that it would refuse or skip.

use crate::study::{Permission, Prospect};
use fsverdict_judgement::plan::Plan;
use fsverdict_lab::lab::{ChosenLab, Lab, LabError, choose_to_look};

use super::error::RunnerError;
use super::request::RunRequest;

/// A predicted run.
pub struct DryRun {
    pub plan: Plan,
    pub choice: ChosenLab,
    /// The reason why this user cannot run trials in the lab.
    pub lacks: Option<LabError>,
    pub prospect: Prospect,
    /// The reason why options of mkfs and mount were not tried.
    pub untried: Option<&'static str>,
}

impl DryRun {
    /// Predicts the run that was requested. `is_own` says whether the plan is the user's, because commands of another
    /// user's plan run only after they were confirmed.
    ///
    /// # Errors
    /// Fails when there is no lab for the run.
    pub fn predict(request: RunRequest, is_own: bool) -> Result<Self, RunnerError> {
        let RunRequest { plan, jobs, erase, .. } = request;
        let (choice, lacks) = choose_to_look(&plan).map_err(RunnerError::Lab)?;
        let choice = choice.with_jobs(jobs).map_err(RunnerError::Jobs)?;
        let permission = Permission { erase: &erase, ask: &|_| None };
        let (prospect, untried) = predict_candidates(&plan, choice.lab.as_ref(), &permission, is_own);
        Ok(DryRun { plan, choice, lacks, prospect, untried })
    }
}

/// The prospects of a run, with the options of mkfs and mount tried, or the reason why they were not.
pub fn predict_candidates(
    plan: &Plan,
    lab: &dyn Lab,
    permission: &Permission<'_>,
    is_own: bool,
) -> (Prospect, Option<&'static str>) {
    let mut prospect = Prospect::from_plan(plan, lab, permission);
    if prospect.candidates_with_untried_options(plan).next().is_none() {
        return (prospect, None);
    }
    if !is_own {
        let why = "not tried: commands of a plan that is not yours run only after you have confirmed them";
        return (prospect, Some(why));
    }
    let why = lab.against_trying();
    if why.is_none() {
        prospect.try_options(plan, lab);
    }
    (prospect, why)
}
