//! Computes the missing cells of an atlas, one after the other. Each cell is an ordinary run with its own folder.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::fleet::{Fleet, SharedRun, SiteEntry, carry_out_whole_runs, read_bundle};
use crate::runner::{self, FaultNews, ResumeRequest, RunView, SiteNews};
use crate::study::{Observer, PreparedTrials, RunFolder, Silent};
use fsverdict_folders::{FolderHandle, read_regular};
use fsverdict_judgement::journal::{Ending, Run};
use fsverdict_judgement::plan::{Plan, digest};
use fsverdict_linux::guard::Refusal;
use fsverdict_linux::host::messages::print_line;
use fsverdict_text::{Hinted, Reason, quoted, rough_duration_text};

use super::super::CliError;
use super::super::bundle::pack_for_strangers;
use super::super::consent::confirm_plan;
use super::super::open_run::read_run;
use super::BuildArguments;
use super::cells::{PlannedAtlas, PlannedCell};

/// How far the run of a cell has come.
pub(super) enum CellState {
    /// There is no run that could be continued.
    Missing,
    Interrupted(RunFolder, Plan),
    /// The run was stopped when the time of its cell was up.
    TimeUp(Plan),
    Ended(Box<EndedCell>),
}

/// The run of a cell that has ended.
pub(super) struct EndedCell {
    pub(super) plan: Plan,
    pub(super) run: Run,
    /// Where its run was read from.
    pub(super) source: EndedRun,
}

/// The source of a run that has ended.
pub(super) enum EndedRun {
    /// The bytes of its bundle in the site.
    Published(Vec<u8>),
    Folder(RunFolder),
}

impl EndedCell {
    /// The run as a bundle.
    pub(super) fn pack(&self) -> Result<Vec<u8>, CliError> {
        match &self.source {
            EndedRun::Published(bundle) => Ok(bundle.clone()),
            EndedRun::Folder(folder) => pack_for_strangers(folder, &self.plan),
        }
    }
}

/// The most bytes of a bundle in a site.
const LONGEST_BUNDLE: u64 = 64 << 20;

/// The state of a cell, read from the bundle in the site or from the cell's folder.
pub(super) fn read_cell(cell: &PlannedCell) -> Result<CellState, CliError> {
    if let Some(ended) = read_published(cell) {
        return Ok(CellState::Ended(Box::new(ended)));
    }
    if !RunFolder::has_plan(&cell.folder) {
        return Ok(CellState::Missing);
    }
    let (folder, plan) = RunFolder::open(&cell.folder).map_err(CliError::failed)?;
    if !is_plan_of(cell, &plan) {
        let what = format!("{} holds the run of another plan", quoted(&cell.folder.to_string_lossy()));
        return Err(CliError::failed(Reason::new(what, "remove it, or name another folder with --cells")));
    }
    if !folder.journal().is_there() {
        return Ok(CellState::Missing);
    }
    let run = read_run(&folder, &plan)?;
    Ok(match (&run.finished, run.ending) {
        (Some(_), Some(Ending::Budget)) => CellState::TimeUp(plan),
        (Some(_), _) => CellState::Ended(Box::new(EndedCell { plan, run, source: EndedRun::Folder(folder) })),
        (None, _) => CellState::Interrupted(folder, plan),
    })
}

/// Whether a recorded plan is that of the cell. The time that a cell is given may differ.
fn is_plan_of(cell: &PlannedCell, plan: &Plan) -> bool {
    digest(&Plan { protocol: cell.plan.protocol.clone(), ..plan.clone() }) == digest(&cell.plan)
}

/// The run of a cell that an earlier build, perhaps on another machine, has left in the site.
fn read_published(cell: &PlannedCell) -> Option<EndedCell> {
    let bundle = read_regular(&cell.published, LONGEST_BUNDLE).ok()?;
    let shown = quoted(&cell.published.to_string_lossy());
    let (plan, run) = match read_bundle(&cell.published, &bundle) {
        Ok(read) => read,
        Err(error) => {
            print_line(&format!("left out {shown}: {}", error.reason().what));
            return None;
        }
    };
    if !is_plan_of(cell, &plan) || run.finished.is_none() {
        print_line(&format!("left out {shown}: it is not the whole run of this cell"));
        return None;
    }
    Some(EndedCell { plan, run, source: EndedRun::Published(bundle) })
}

/// Shows nothing of a cell's trials, and asks nothing. It writes no page while a run goes on, which would cost more than many
/// a trial.
struct CellView;

impl RunView for CellView {
    fn ask_identity(&self, _: &Refusal) -> Option<String> {
        None
    }

    fn session_begins(&self, _: &PreparedTrials, _: &RunFolder, _: &Run) -> Result<(), Reason> {
        Ok(())
    }

    fn observe_trials<'a>(&'a self, _: &'a RunFolder, _: &'a Plan) -> Box<dyn Observer + 'a> {
        Box::new(Silent)
    }

    fn already_complete(&self, _: &str) {}

    fn tell_faults(&self, _: FaultNews<'_>) {}

    fn tell_sites(&self, _: SiteNews<'_>) {}
}

/// Computes the cells that are missing, here or at the sites that were named. A cell that cannot be computed does not keep
/// the others from it.
pub(super) fn compute_cells(arguments: &BuildArguments, atlas: &PlannedAtlas) -> Result<(), CliError> {
    let began = Instant::now();
    FolderHandle::open_or_create(&arguments.cells_folder())?;
    let mut missing = Vec::new();
    for cell in &atlas.cells {
        let state = read_cell(cell)?;
        let is_kept = match &state {
            CellState::Ended(_) => true,
            CellState::TimeUp(plan) => plan.protocol.budget.is_some_and(|time| time >= arguments.budget),
            CellState::Missing | CellState::Interrupted(..) => false,
        };
        if !is_kept {
            missing.push((cell, state));
        }
    }
    let (all, wanted) = (atlas.cells.len(), missing.len());
    let progress = CellProgress { wanted, there: all - wanted, began };
    match arguments.sites.fleet()? {
        Some(fleet) => compute_at_sites(arguments, missing, &fleet, &progress)?,
        None => {
            for (at, (cell, state)) in missing.into_iter().enumerate() {
                progress.tell(at, &cell.slug);
                let run =
                    || prepare_cell(arguments, cell, state).and_then(|run| compute_cell(arguments, run));
                if let Err(error) = run() {
                    warn_of_empty(&cell.slug, &error.reason());
                }
            }
        }
    }
    print_line(&format!(
        "{all} cells: {} were there, {wanted} were computed in {}",
        all - wanted,
        rough_duration_text(began.elapsed().as_secs_f64())
    ));
    Ok(())
}

/// How far the missing cells have come.
struct CellProgress {
    wanted: usize,
    there: usize,
    began: Instant,
}

impl CellProgress {
    /// Says which cell comes next or has ended, after `computed` of them.
    fn tell(&self, computed: usize, what: &str) {
        let each =
            u32::try_from(computed).ok().and_then(|computed| self.began.elapsed().checked_div(computed));
        let to_go = each.map_or(String::new(), |each| {
            let left = self.wanted.saturating_sub(computed) as f64;
            format!(", about {} to go", rough_duration_text(each.as_secs_f64() * left))
        });
        let (all, next) =
            (self.there + self.wanted, (self.there + computed + 1).min(self.there + self.wanted));
        print_line(&format!(
            "cell {next} of {all}: {what} ({} were there, {computed} computed{to_go})",
            self.there
        ));
    }
}

fn warn_of_empty(slug: &str, reason: &Reason) {
    print_line(&format!("warning: the cell {slug} stays empty: {reason}"));
}

/// The run of a cell, with its folder and its plan, and no journal unless it was interrupted.
fn prepare_cell(
    arguments: &BuildArguments,
    cell: &PlannedCell,
    state: CellState,
) -> Result<SharedRun, CliError> {
    confirm_plan(&cell.plan, &cell.origin, arguments.conduct.consent())?;
    if let CellState::Interrupted(folder, plan) = state {
        return Ok(SharedRun { folder, plan });
    }
    if matches!(state, CellState::TimeUp(_)) {
        remove_run(cell)?;
    }
    let mut plan = cell.plan.clone();
    plan.protocol.budget = Some(arguments.budget);
    let folder = RunFolder::create(&cell.folder, &plan).map_err(CliError::failed)?;
    Ok(SharedRun { folder, plan })
}

fn compute_cell(arguments: &BuildArguments, run: SharedRun) -> Result<(), CliError> {
    let SharedRun { folder, plan } = run;
    let jobs = arguments.conduct.jobs();
    let request = ResumeRequest { folder, plan, fleet: None, more: None, jobs, erase: Vec::new() };
    runner::resume(request, &CellView).map(drop).map_err(CliError::from)
}

/// Computes each cell at one of the sites. Its drives are drawn as here, so that the record is the same.
fn compute_at_sites(
    arguments: &BuildArguments,
    missing: Vec<(&PlannedCell, CellState)>,
    fleet: &Fleet,
    progress: &CellProgress,
) -> Result<(), CliError> {
    let mut runs = Vec::new();
    for (cell, state) in missing {
        match prepare_cell(arguments, cell, state) {
            Ok(run) => runs.push(run),
            Err(error) => warn_of_empty(&cell.slug, &error.reason()),
        }
    }
    let computed = AtomicUsize::new(0);
    let tell = |run: &SharedRun, site: &SiteEntry, failed: Option<Reason>| {
        let name = run.folder.path().file_name().unwrap_or_default().to_string_lossy();
        match failed {
            None => {
                progress.tell(computed.fetch_add(1, Ordering::Relaxed), &format!("{name} at {}", site.name));
            }
            Some(reason) => warn_of_empty(&name, &reason.after(format!("site {}: ", site.name))),
        }
    };
    carry_out_whole_runs(&runs, fleet, &tell).map_err(CliError::failed)
}

/// Removes the run of a cell that was stopped and gets more time.
fn remove_run(cell: &PlannedCell) -> Result<(), CliError> {
    let parent = cell.folder.parent().map(FolderHandle::open).transpose()?;
    if let (Some(parent), Some(name)) = (parent, cell.folder.file_name()) {
        parent.remove_subfolder(name)?;
    }
    Ok(())
}
