//! A session of a run on this machine, from its first event to its last: begins or resumes the run, conducts its trials,
//! and examines its faults.

use std::time::Instant;

use crate::study::{
    Changes, FaultTime, Permission, PreparedTrials, Prospect, RunFolder, SessionError, TimeBudget,
    draw_order_seed, has_options, still_in,
};
use fsverdict_judgement::journal::{Caution, Event, OpenJournal, Run};
use fsverdict_judgement::plan::{DeviceSource, Plan};
use fsverdict_lab::lab::{Attachments, Lab, LabError, choose_lab};
use fsverdict_linux::guard::LeftDevice;
use fsverdict_text::Reason;

use super::error::RunnerError;
use super::faults::{FaultExamination, FaultNews};
use super::request::{ResumeRequest, RunOutcome, RunRequest};
use super::view::RunView;

/// A run that is ready to be conducted.
pub struct Session {
    folder: RunFolder,
    prepared: PreparedTrials,
    journal: OpenJournal,
    /// The event with which a resumed run continues; `None` for a run that begins.
    resumed: Option<Event>,
    /// The candidates with refused options, each with the reason.
    refused: Vec<(String, Reason)>,
    /// When this session began, before its preparation.
    began: Instant,
}

pub(super) enum Resumed {
    Session(Box<Session>),
    /// The run has already ended, for this reason; there is nothing to resume.
    Complete(String),
}

impl Session {
    /// Begins the run that was requested.
    ///
    /// # Errors
    /// Fails before anything is written to the device: when there is no lab for the run, when writing is not permitted,
    /// or when the folder or a dataset cannot be used.
    pub fn begin(request: RunRequest, view: &dyn RunView) -> Result<Self, RunnerError> {
        let RunRequest { plan, folder, jobs, erase, needs_rivals, .. } = request;
        let choice = choose_lab(&plan, plan.lab).map_err(RunnerError::Lab)?;
        let choice = choice.with_jobs(jobs).map_err(RunnerError::Jobs)?;
        let began = Instant::now();
        let refused = find_refused_candidates(&plan, choice.lab.as_ref(), &erase, needs_rivals)?;
        let begin = || -> Result<Self, SessionError> {
            let permission = Permission { erase: &erase, ask: &|refusal| view.ask_identity(refusal) };
            let prepared = PreparedTrials::new(plan, choice, &permission, None)?;
            let folder = RunFolder::create_requested(&folder, &prepared.plan)?;
            let prepared = prepared.with_traces_in(folder.handle());
            let seed = Some(draw_order_seed(&prepared.plan));
            let start = prepared.start_event(&folder, prepared.facts(), seed);
            let journal = prepared.begin_journal(&folder.journal(), start)?;
            Ok(Session { folder, prepared, journal, resumed: None, refused, began })
        };
        begin().map_err(RunnerError::NotBegun)
    }

    /// Resumes the run that was requested by the same plan, in the same lab and on the same kernel and device. The
    /// number of trials that run at once may differ from the earlier session's. A run that has ended continues for
    /// `more` blocks, or until every candidate has its place.
    ///
    /// # Errors
    /// Fails when the run cannot continue.
    pub(super) fn resume(request: ResumeRequest, view: &dyn RunView) -> Result<Resumed, RunnerError> {
        let on_device = matches!(request.plan.device.source, DeviceSource::Path(_));
        Self::try_resume(request, view).map_err(|source| RunnerError::NotResumed { on_device, source })
    }

    fn try_resume(request: ResumeRequest, view: &dyn RunView) -> Result<Resumed, SessionError> {
        let ResumeRequest { folder, plan, more, jobs, erase, .. } = request;
        let began = Instant::now();
        let mut journal = OpenJournal::resume(&plan, &folder.journal())?;
        let run = journal.run()?;
        if run.is_merged() {
            return Err(SessionError::Merged);
        }
        let killed = run.killed_in_last_block().next().is_some();
        match (&run.finished, more) {
            (Some(reason), None) if !killed => return Ok(Resumed::Complete(reason.clone())),
            (None, Some(_)) => return Err(SessionError::NotEnded),
            _ => {}
        }
        if more.is_some() && still_in(&plan, run).count() < 2 {
            return Err(SessionError::NobodyLeft);
        }
        let lab = &run.header.lab;
        let lab = lab.parse().map_err(|_| SessionError::UnknownLab(lab.clone()))?;
        let choice = choose_lab(&plan, lab)?.with_jobs(jobs)?;
        let permission = Permission { erase: &erase, ask: &|refusal| view.ask_identity(refusal) };
        let prepared = PreparedTrials::new(plan, choice, &permission, run.foreign_write.as_ref())?
            .with_traces_in(folder.handle());
        let Changes { forbidden, cautions } =
            Changes::since(&run.header, folder.plan_digest(), &prepared.facts());
        if !forbidden.is_empty() {
            return Err(SessionError::Changed(forbidden));
        }
        for text in cautions {
            journal.append(None, Event::Caution(Caution::new(text)))?;
        }
        let resumed = Some(Event::RunResumed { more });
        let session = Session { folder, prepared, journal, resumed, refused: Vec::new(), began };
        Ok(Resumed::Session(Box::new(session)))
    }

    /// Checks that the run's devices are as an earlier session of this process left them. That session had the same
    /// permission.
    ///
    /// # Errors
    /// Fails when another program has written to one of the devices since.
    pub fn check_left(&self, left: &[LeftDevice]) -> Result<(), SessionError> {
        Ok(self.prepared.attachments.check_left(left).map_err(LabError::from)?)
    }

    /// The run's devices. After the run, the caller reads from them how the run left them.
    pub fn attachments(&self) -> Attachments {
        self.prepared.attachments.clone()
    }

    /// Conducts the run to its end, and examines the faults of the plan in the remaining time of the run.
    ///
    /// # Errors
    /// Fails when the journal cannot be written, a trial cannot be started, or faults cannot be examined on this
    /// machine. A failed trial is no error.
    pub fn conduct(mut self, view: &dyn RunView) -> Result<RunOutcome, RunnerError> {
        if self.resumed.is_none() {
            let run = self.journal.run()?;
            view.session_begins(&self.prepared, &self.folder, run).map_err(RunnerError::View)?;
        }
        let (folder, plan) = (self.folder.clone(), self.prepared.plan.clone());
        self.conduct_trials(view).map_err(|error| RunnerError::interrupted(&folder, error))?;
        examine_faults(&folder, &plan, true, view)?;
        Ok(RunOutcome::read(folder, plan)?)
    }

    /// Conducts the trials, then closes the journal.
    fn conduct_trials(self, view: &dyn RunView) -> Result<(), SessionError> {
        let Session { folder, prepared, mut journal, resumed, refused, began } = self;
        let is_extended = matches!(resumed, Some(Event::RunResumed { more: Some(_) }));
        let budget = TimeBudget::from_run(&prepared.plan, journal.run()?).filter(|_| !is_extended);
        let mut observer = view.observe_trials(&folder, &prepared.plan);
        let mut study = prepared.study(journal, observer.as_mut());
        study.deadline = budget.and_then(|budget| budget.trial_deadline(began));
        study.refused = refused;
        study.conduct(resumed)
    }
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
        true => FaultTime::from_run(plan, &Run::read_in_folder(plan, &folder.journal())?),
        false => FaultTime::default(),
    };
    let tell = |news: FaultNews<'_>| view.tell_faults(news);
    FaultExamination { folder, plan, time, only: None, again: false, tell: &tell }
        .examine()
        .map_err(|source| RunnerError::Faults { run: folder.path().to_owned(), source: source.into() })
}

/// The candidates with refused options, each with the reason; an error if these leave a single one, or, where rivals are
/// needed, anything else does. The devices are not looked at where neither is in question.
fn find_refused_candidates(
    plan: &Plan,
    lab: &dyn Lab,
    erase: &[String],
    needs_rivals: bool,
) -> Result<Vec<(String, Reason)>, RunnerError> {
    if !needs_rivals && !plan.candidates.iter().any(has_options) {
        return Ok(Vec::new());
    }
    let mut prospect = Prospect::from_plan(plan, lab, &Permission { erase, ask: &|_| None });
    if needs_rivals {
        check_rivals(plan, &prospect)?;
    }
    // Other errors that keep the run from beginning come first.
    if prospect.refusals().next().is_some() {
        return Ok(Vec::new());
    }
    let refused = prospect.try_options(plan, lab);
    if !refused.is_empty() {
        check_rivals(plan, &prospect)?;
    }
    Ok(refused)
}

/// Checks that at least two of the candidates can be tried here, if the plan has so many.
fn check_rivals(plan: &Plan, prospect: &Prospect) -> Result<(), RunnerError> {
    let able: Vec<&str> = plan
        .candidates
        .iter()
        .map(|candidate| candidate.name.as_str())
        .filter(|name| prospect.reason_to_skip(name).is_none())
        .collect();
    // Options that were refused are the last, and the user's to correct.
    let ([only], Some((name, reason))) = (able.as_slice(), prospect.skipped.last()) else { return Ok(()) };
    let reason = reason.clone().after(format!(
        "only {only} can be tried here, so that there is nothing to compare it with: {name}: "
    ));
    Err(RunnerError::NoRivals(reason))
}
