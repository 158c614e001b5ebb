//! Carries out a run: its session with all trials, then the faults of its plan.

use crate::study::{Permission, Prospect, RunFolder, Session};
use fsverdict_judgement::journal::Run;
use fsverdict_judgement::plan::Plan;
use fsverdict_lab::lab::choose_lab;

use super::error::RunnerError;
use super::fault_time::FaultTime;
use super::faults::{FaultExamination, FaultNews};
use super::request::{RunOutcome, RunPlace, RunRequest, RunResult};
use super::sites::begin_at_sites;
use super::view::RunView;

/// Carries out the run that was requested.
///
/// # Errors
/// Fails when the run cannot begin or continue. A failed trial is no error.
pub fn carry_out(request: RunRequest, view: &dyn RunView) -> Result<RunOutcome, RunnerError> {
    if let RunPlace::Sites(fleet) = &request.place {
        return begin_at_sites(&request.folder, request.plan, fleet, view);
    }
    let mut session = begin_session(request, view)?;
    view.session_begins(&mut session).map_err(RunnerError::View)?;
    conduct_session(session, view)
}

/// Begins the run that was requested, on this machine.
///
/// # Errors
/// Fails before anything is written to the device: as [`Session::begin`], or when there is no lab for the run.
pub fn begin_session(request: RunRequest, view: &dyn RunView) -> Result<Session, RunnerError> {
    let RunRequest { plan, folder, jobs, erase, needs_rivals, .. } = request;
    let choice = choose_lab(&plan, plan.lab).map_err(RunnerError::Lab)?;
    let choice = choice.with_jobs(jobs).map_err(RunnerError::Jobs)?;
    if needs_rivals {
        let permission = Permission { erase: &erase, ask: &|_| None };
        check_rivals(&plan, &Prospect::from_plan(&plan, choice.lab.as_ref(), &permission))?;
    }
    let permission = Permission { erase: &erase, ask: &|refusal| view.ask_identity(refusal) };
    Session::begin(plan, choice, &folder, &permission).map_err(RunnerError::NotBegun)
}

/// Checks that at least two of the candidates can be tried here, if the plan has so many.
fn check_rivals(plan: &Plan, prospect: &Prospect) -> Result<(), RunnerError> {
    let able: Vec<&str> = plan
        .candidates
        .iter()
        .map(|one| one.name.as_str())
        .filter(|name| prospect.reason_to_skip(name).is_none())
        .collect();
    let ([only], Some((name, reason))) = (able.as_slice(), prospect.skipped.first()) else { return Ok(()) };
    let reason = reason.clone().after(format!(
        "only {only} can be tried here, so that there is nothing to compare it with: {name}: "
    ));
    Err(RunnerError::NoRivals(reason))
}

/// Conducts a session to its end, and examines the faults of the plan in the remaining time of the run.
///
/// # Errors
/// Fails when the journal cannot be written, a trial cannot be started, or faults cannot be examined on this machine.
pub fn conduct_session(session: Session, view: &dyn RunView) -> Result<RunOutcome, RunnerError> {
    let (folder, plan) = (session.folder.clone(), session.plan.clone());
    let mut observer = view.observe_trials(&folder, &plan);
    session.conduct(observer.as_mut()).map_err(|error| RunnerError::interrupted(&folder, error))?;
    drop(observer);
    examine_faults(&folder, &plan, true, view)?;
    finish_run(folder, plan)
}

/// Examines the faults of the plan for every candidate for which that is still to be done; within the time of the run if
/// it `is_limited`.
pub(super) fn examine_faults(
    folder: &RunFolder,
    plan: &Plan,
    is_limited: bool,
    view: &dyn RunView,
) -> Result<(), RunnerError> {
    if plan.faults.is_none() {
        return Ok(());
    }
    let time = match is_limited {
        true => FaultTime::left_of_run(plan, &Run::read_in_folder(plan, &folder.journal())?),
        false => FaultTime::default(),
    };
    let tell = |news: FaultNews<'_>| view.tell_faults(news);
    FaultExamination { folder, plan, time, only: None, again: false, tell: &tell }
        .examine()
        .map_err(|source| RunnerError::Faults { run: folder.path().to_owned(), source: source.into() })
}

/// Reads the run as it was recorded.
pub(super) fn finish_run(folder: RunFolder, plan: Plan) -> Result<RunOutcome, RunnerError> {
    let run = Run::read_in_folder(&plan, &folder.journal())?;
    Ok(RunOutcome { folder, plan, result: RunResult::Here(Box::new(run)) })
}
