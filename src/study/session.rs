//! A session of a run, from its first event to its last: begins or resumes the run with its folder, lab, devices and
//! journal.

use std::time::Instant;

use fsverdict_judgement::journal::{
    Beginning, Caution, Event, Facts, JournalError, OpenJournal, Run, SCHEMA,
};
use fsverdict_judgement::plan::{DeviceSource, Plan};
use fsverdict_lab::lab::{
    Attachment, Attachments, ChosenLab, Lab, LabError, choose_lab, list_missing_content,
};
use fsverdict_lab::trial::{CIRCUMSTANCES_FACT, are_drawn};
use fsverdict_linux::guard::LeftDevice;
use fsverdict_linux::host::limits::{LimitError, check_file_size_limit};
use fsverdict_linux::host::procfs::read_memory;
use fsverdict_linux::host::root::Root;
use fsverdict_text::{FolderFile, Reason};

use super::budget::trial_deadline;
use super::claim::Permission;
use super::clocks::JumpWatch;
use super::conclusion::still_in;
use super::conduct::Study;
use super::environment::collect_facts;
use super::error::SessionError;
use super::folder::{FolderRequest, RunFolder};
use super::observer::Observer;
use super::prospect::{Prospect, check_datasets, find_obstacle};
use super::rehearsal::find_refused_options;
use super::schedule::{ORDER_SEED, draw_order_seed};
use super::unchanged::Changes;
use super::watcher::{MachineWatcher, UnwatchedMachine, Watcher};

/// A run that is ready to be conducted.
pub struct Session {
    pub plan: Plan,
    pub choice: ChosenLab,
    attachments: Attachments,
    pub folder: RunFolder,
    journal: OpenJournal,
    /// The event with which a resumed run continues; `None` for a run that begins.
    resumed: Option<Event>,
    /// When this session began, before its preparation.
    began: Instant,
}

pub enum Resumed {
    Session(Box<Session>),
    /// The run has already ended, for this reason; there is nothing to resume.
    Complete(String),
}

impl Session {
    /// Begins a run of `plan` in the lab of `choice` and in the folder that `wanted` requests.
    ///
    /// # Errors
    /// Fails before anything is written to the device: when writing is not permitted, or when the folder or a dataset
    /// cannot be used.
    pub fn begin(
        plan: Plan,
        choice: ChosenLab,
        wanted: &FolderRequest,
        permission: &Permission<'_>,
    ) -> Result<Self, SessionError> {
        let began = Instant::now();
        check_datasets(&plan)?;
        check_limits(&plan)?;
        let attachments = permission.claim_devices(&plan)?;
        let folder = RunFolder::create_requested(wanted, &plan)?;
        let attachments = attachments.with_traces_in(folder.handle());
        let environment = collect_run_facts(&plan, &choice, &attachments);
        let seed = Some(draw_order_seed(&plan));
        let start = start_event(&plan, &folder, &choice, &attachments, environment, seed);
        let journal = begin_journal(&plan, &folder.journal(), start, &attachments)?;
        Ok(Session { plan, choice, attachments, folder, journal, resumed: None, began })
    }

    /// Resumes the run in `folder` by the same plan, in the same lab and on the same kernel and device. `jobs` trials
    /// run at once (see [`ChosenLab::with_jobs`]); this number may differ from the earlier session's. A run that has
    /// ended continues for `more` blocks, or until every candidate has its place.
    pub fn resume(
        folder: RunFolder,
        plan: Plan,
        jobs: Option<usize>,
        more: Option<u32>,
        permission: &Permission<'_>,
    ) -> Result<Resumed, SessionError> {
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
        check_datasets(&plan)?;
        check_limits(&plan)?;
        let attachments = permission.claim_again(&plan, run.foreign_write.as_ref())?;
        let attachments = attachments.with_traces_in(folder.handle());
        let Changes { forbidden, cautions } = Changes::since(
            &run.header,
            folder.plan_digest(),
            &collect_run_facts(&plan, &choice, &attachments),
        );
        if !forbidden.is_empty() {
            return Err(SessionError::Changed(forbidden));
        }
        for text in cautions {
            journal.append(None, Event::Caution(Caution::new(text)))?;
        }
        let resumed = Some(Event::RunResumed { more });
        Ok(Resumed::Session(Box::new(Session { plan, choice, attachments, folder, journal, resumed, began })))
    }

    /// Checks that the run's devices are as an earlier session of this process left them. That session had the same
    /// permission.
    ///
    /// # Errors
    /// Fails when another program has written to one of the devices since.
    pub fn check_left(&self, left: &[LeftDevice]) -> Result<(), SessionError> {
        Ok(self.attachments.check_left(left).map_err(LabError::from)?)
    }

    /// The run's devices. After the run, the caller reads from them how the run left them.
    pub fn attachments(&self) -> Attachments {
        self.attachments.clone()
    }

    /// Predicts which candidates the run would skip, with the same checks that the run makes itself.
    pub fn predict_skips(&self) -> Prospect {
        Prospect::for_device(&self.plan, self.choice.lab.as_ref(), Some(self.attachments.size()))
    }

    /// The run as the journal records it so far.
    ///
    /// # Errors
    /// Never fails once the run has begun.
    pub fn run(&mut self) -> Result<&Run, JournalError> {
        self.journal.run()
    }

    /// Conducts the run to its end, then closes the journal.
    ///
    /// # Errors
    /// Fails when the journal cannot be written or a trial cannot be started. A failed trial is no error.
    pub fn conduct(self, observer: &mut dyn Observer) -> Result<(), SessionError> {
        let Session { plan, choice, attachments, mut journal, resumed, began, .. } = self;
        let is_extended = matches!(resumed, Some(Event::RunResumed { more: Some(_) }));
        let deadline = trial_deadline(&plan, journal.run()?, began).filter(|_| !is_extended);
        let lab = choice.lab.as_ref();
        let mut watcher = choose_watcher(lab, &attachments);
        let jobs = choice.jobs;
        let jumps = JumpWatch::start();
        let begins = resumed.is_none();
        let refused = if begins { refusals_of(&plan, lab, &attachments) } else { Vec::new() };
        let watcher = watcher.as_mut();
        Study { plan: &plan, lab, attachments, journal, observer, watcher, jobs, deadline, refused, jumps }
            .conduct(resumed)
    }
}

/// The candidates that would fail in every trial because the tools or the kernel refuse their options.
pub(super) fn refusals_of(plan: &Plan, lab: &dyn Lab, attachments: &Attachments) -> Vec<(String, Reason)> {
    let able =
        plan.candidates.iter().filter(|one| find_obstacle(plan, lab, one, attachments.size()).is_none());
    find_refused_options(plan, lab, Some(attachments.size()), able)
}

/// Checks the limit on file size (`ulimit -f`) before anything is created. The limit does not matter for folders and
/// devices, which are no files of this program.
pub(super) fn check_limits(plan: &Plan) -> Result<(), LimitError> {
    check_file_size_limit(match &plan.device.source {
        DeviceSource::Image(size) => size.0,
        DeviceSource::Model { size, .. } => size.0,
        DeviceSource::Path(_) | DeviceSource::Folders => 0,
    })
}

/// The watcher for trials in this lab. Simulated time is not disturbed by other load on the machine, so it is not
/// watched.
pub(super) fn choose_watcher(lab: &dyn Lab, attachments: &Attachments) -> Box<dyn Watcher> {
    match lab.side_by_side() {
        Some(_) => Box::new(UnwatchedMachine),
        None => Box::new(MachineWatcher::new(attachments)),
    }
}

/// Begins a journal with its first record and the facts of the device that a later session must know.
pub(super) fn begin_journal(
    plan: &Plan,
    place: &FolderFile,
    start: Event,
    attachments: &Attachments,
) -> Result<OpenJournal, JournalError> {
    let mut journal = OpenJournal::begin(plan, place, start)?;
    let lacking = list_missing_content(plan).into_iter().map(|text| Caution::new(text));
    for caution in attachments.cautions().into_iter().chain(lacking) {
        journal.append(None, Event::Caution(caution))?;
    }
    Ok(journal)
}

/// The first record of a run of `plan`.
pub(super) fn start_event(
    plan: &Plan,
    folder: &RunFolder,
    choice: &ChosenLab,
    attachments: &Attachments,
    mut environment: Facts,
    order_seed: Option<u64>,
) -> Event {
    let drawn = are_drawn(plan, choice.lab.side_by_side().is_some());
    environment.extend(order_seed.map(|seed| (ORDER_SEED.to_owned(), seed.to_string())));
    environment.insert(CIRCUMSTANCES_FACT.to_owned(), if drawn { "drawn" } else { "fixed" }.to_owned());
    let guest = choice.lab.guest_memory();
    let here = || Some(read_memory(&Root::default()).ok()?.total);
    let beginning = Beginning {
        order_seed,
        drawn: Some(drawn),
        memory: guest.as_ref().and_then(|guest| guest.each.first().copied()).or_else(here),
        memory_of_datasets: guest.map(|guest| guest.datasets),
        device_size: Some(attachments.size())
            .filter(|_| !matches!(attachments.first_device(), Attachment::Folders { .. })),
        sites: None,
        processors: choice.lab.processor_models(),
        access_errors: choice.lab.access_errors(),
    };
    Event::RunStarted {
        schema: SCHEMA,
        id: folder.id(),
        title: plan.title.clone(),
        plan_digest: folder.plan_digest().to_owned(),
        lab: choice.lab.name().to_owned(),
        lab_reason: choice.reason.clone(),
        fidelity: format!("{}; {}", choice.lab.fidelity(), attachments.fidelity()),
        environment,
        beginning,
    }
}

/// Facts about this machine, the lab and the devices.
pub(super) fn collect_run_facts(plan: &Plan, choice: &ChosenLab, attachments: &Attachments) -> Facts {
    let mut facts = collect_facts(plan);
    facts.extend(choice.lab.facts());
    facts.insert("lab.jobs".to_owned(), choice.jobs.to_string());
    facts.extend(attachments.facts());
    facts
}
