//! Prepares trials: checks the data, the limits and the devices of a plan before anything is written, and begins the
//! journal with the facts about this machine, the lab and the devices.

use std::collections::BTreeMap;
use std::time::Duration;

use fsverdict_folders::{FolderFile, FolderHandle};
use fsverdict_judgement::journal::{
    Beginning, Caution, Event, Facts, JournalError, OpenJournal, SCHEMA, kernel_release,
};
use fsverdict_judgement::plan::{Plan, once_each};
use fsverdict_lab::lab::{Attachment, Attachments, ChosenLab, list_missing_content};
use fsverdict_lab::trial::{CIRCUMSTANCES_FACT, are_drawn};
use fsverdict_linux::host::environment::collect_environment;
use fsverdict_linux::host::procfs::read_memory;
use fsverdict_linux::host::root::Root;
use fsverdict_linux::sandbox::program::Program;
use fsverdict_stack::filesystem::{Filesystem, Tool, find_filesystem};
use fsverdict_stack::layer::layers_of;
use fsverdict_text::Reason;

use super::claim::Permission;
use super::clocks::JumpWatch;
use super::conduct::{Observer, Study};
use super::error::SessionError;
use super::folder::RunFolder;
use super::prospect::{check_datasets, find_obstacle};
use super::rehearsal::find_refused_options;
use super::schedule::ORDER_SEED;
use super::watcher::{MachineWatcher, UnwatchedMachine, Watcher};

/// The time limit of a program that states its version.
const VERSION_LIMIT: Duration = Duration::from_secs(5);

/// A plan with the lab and the devices of its trials.
pub struct PreparedTrials {
    pub plan: Plan,
    pub choice: ChosenLab,
    pub attachments: Attachments,
}

impl PreparedTrials {
    /// Checks the data of the plan, and claims its devices. A device that another program has written to (`foreign`:
    /// its number and a description of the write) must be confirmed again.
    ///
    /// # Errors
    /// Fails before anything is written to a device: when writing is not permitted, or when a dataset cannot be read.
    pub fn new(
        plan: Plan,
        choice: ChosenLab,
        permission: &Permission<'_>,
        foreign: Option<&(usize, String)>,
    ) -> Result<Self, SessionError> {
        check_datasets(&plan)?;
        let attachments = permission.claim_again(&plan, foreign)?;
        Ok(PreparedTrials { plan, choice, attachments })
    }

    /// Stores the traces of modelled devices in this folder.
    #[must_use]
    pub fn with_traces_in(self, folder: &FolderHandle) -> Self {
        PreparedTrials { attachments: self.attachments.with_traces_in(folder), ..self }
    }

    /// Facts about this machine, the lab and the devices.
    pub fn facts(&self) -> Facts {
        let mut facts = collect_environment(&Root::default());
        facts.insert("fsverdict.version".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
        for (program, tool) in tools_of_plan(&self.plan) {
            facts.extend(read_version(&tool).map(|line| (format!("tool.{program}"), line)));
        }
        facts.extend(self.choice.lab.facts());
        facts.insert("lab.jobs".to_owned(), self.choice.jobs.to_string());
        facts.extend(self.attachments.facts());
        facts
    }

    /// The first record of the run in this folder.
    pub fn start_event(&self, folder: &RunFolder, mut environment: Facts, order_seed: Option<u64>) -> Event {
        let PreparedTrials { plan, choice, attachments } = self;
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

    /// Begins a journal with its first record and the cautions about the devices and the plan.
    ///
    /// # Errors
    /// Fails when the journal cannot be written.
    pub fn begin_journal(&self, place: &FolderFile, start: Event) -> Result<OpenJournal, JournalError> {
        let older = older_drivers(&self.plan, &start);
        let mut journal = OpenJournal::begin(&self.plan, place, start)?;
        let missing = list_missing_content(&self.plan).into_iter();
        let missing = missing.map(Caution::new);
        for caution in self.attachments.cautions().into_iter().chain(missing).chain(older) {
            journal.append(None, Event::Caution(caution))?;
        }
        Ok(journal)
    }

    /// The candidates with options that the tools or the kernel refuse, each with the reason: they would fail in every
    /// trial.
    pub fn refused_candidates(&self) -> Vec<(String, Reason)> {
        let PreparedTrials { plan, choice, attachments } = self;
        let (lab, size) = (choice.lab.as_ref(), attachments.size());
        let able =
            plan.candidates.iter().filter(|candidate| find_obstacle(plan, lab, candidate, size).is_none());
        find_refused_options(plan, lab, Some(size), able)
    }

    /// The study that conducts these trials, without a deadline. Simulated time is not disturbed by other load on the
    /// machine, so the machine is not watched then.
    pub fn study<'a>(&'a self, journal: OpenJournal, observer: &'a mut dyn Observer) -> Study<'a> {
        let lab = self.choice.lab.as_ref();
        let watcher: Box<dyn Watcher> = match lab.side_by_side() {
            Some(_) => Box::new(UnwatchedMachine),
            None => Box::new(MachineWatcher::new(&self.attachments)),
        };
        Study {
            plan: &self.plan,
            lab,
            attachments: self.attachments.clone(),
            journal,
            observer,
            watcher,
            jobs: self.choice.jobs,
            deadline: None,
            refused: Vec::new(),
            jumps: JumpWatch::start(),
        }
    }
}

/// Cautions about filesystems of the plan: their driver in the run's kernels is older than today's.
fn older_drivers(plan: &Plan, start: &Event) -> Vec<Caution> {
    let Event::RunStarted { environment, .. } = start else { return Vec::new() };
    let releases = kernel_release(environment).map_or("", String::as_str);
    let filesystems = plan.candidates.iter().filter_map(|candidate| find_filesystem(&candidate.filesystem));
    let cautions = filesystems.flat_map(|filesystem| {
        releases.split(", ").filter_map(|release| filesystem.older_driver_caution(release))
    });
    once_each(cautions).into_iter().map(Caution::new).collect()
}

fn tools_of_plan(plan: &Plan) -> BTreeMap<&'static str, Tool> {
    let tools = plan.candidates.iter().flat_map(|candidate| {
        let filesystem = find_filesystem(&candidate.filesystem).into_iter().flat_map(Filesystem::tools);
        filesystem.chain(layers_of(candidate).flat_map(|layer| layer.tools.iter().copied()))
    });
    tools.map(|tool| (tool.program, tool)).collect()
}

fn read_version(tool: &Tool) -> Option<String> {
    let argv = [tool.program].into_iter().chain(tool.version.iter().copied());
    let record = Program::new(argv).with_time_limit(VERSION_LIMIT).run("version").ok()?;
    Tool::version_line(&format!("{}\n{}", record.stdout, record.stderr)).map(str::to_owned)
}
