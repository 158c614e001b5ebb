//! Computes the missing cells of an atlas, one after the other. Each cell is an ordinary run with its own folder.

use std::time::Instant;

use crate::fleet::Merged;
use crate::runner::{self, FaultNews, ResumeRequest, RunPlace, RunRequest, RunView, SiteNews};
use crate::study::{FolderRequest, Observer, PreparedTrials, RunFolder, Silent};
use fsverdict_folders::FolderHandle;
use fsverdict_judgement::journal::{Ending, Run};
use fsverdict_judgement::plan::{Plan, digest};
use fsverdict_linux::guard::Refusal;
use fsverdict_linux::host::messages::print_line;
use fsverdict_text::{Hinted, Reason, quoted, rough_duration_text};

use super::super::CliError;
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
    Ended(Box<(Plan, Run)>),
}

/// The state of a cell, read from its folder.
pub(super) fn read_cell(cell: &PlannedCell) -> Result<CellState, CliError> {
    if !RunFolder::has_plan(&cell.folder) {
        return Ok(CellState::Missing);
    }
    let (folder, plan) = RunFolder::open(&cell.folder).map_err(CliError::failed)?;
    let is_own = digest(&Plan { protocol: cell.plan.protocol.clone(), ..plan.clone() }) == digest(&cell.plan);
    if !is_own {
        let what = format!("{} holds the run of another plan", quoted(&cell.folder.to_string_lossy()));
        return Err(CliError::failed(Reason::new(what, "remove it, or name another folder with --cells")));
    }
    if !folder.journal().is_there() {
        return Ok(CellState::Missing);
    }
    let run = read_run(&folder, &plan)?;
    Ok(match (&run.finished, run.ending) {
        (Some(_), Some(Ending::Budget)) => CellState::TimeUp(plan),
        (Some(_), _) => CellState::Ended(Box::new((plan, run))),
        (None, _) => CellState::Interrupted(folder, plan),
    })
}

/// Shows nothing of a cell's trials, and asks nothing. It writes no page while a run goes on, which would cost more than many
/// a trial.
struct CellView {
    is_quiet: bool,
}

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

    fn tell_sites(&self, news: SiteNews<'_>) {
        if let (SiteNews::BlocksArrived(Merged { rounds, .. }), false) = (news, self.is_quiet) {
            print_line(&format!("  complete rounds: {rounds}"));
        }
    }
}

/// Computes the cells that are missing. A cell that cannot be computed does not keep the others from it.
pub(super) fn compute_cells(arguments: &BuildArguments, atlas: &PlannedAtlas) -> Result<(), CliError> {
    let began = Instant::now();
    let (mut computed, mut there) = (0_u32, 0);
    FolderHandle::open_or_create(&arguments.cells_folder())?;
    let all = atlas.cells.len();
    for (at, cell) in atlas.cells.iter().enumerate() {
        let state = read_cell(cell)?;
        let is_kept = match &state {
            CellState::Ended(_) => true,
            CellState::TimeUp(plan) => plan.protocol.budget.is_some_and(|time| time >= arguments.budget),
            CellState::Missing | CellState::Interrupted(..) => false,
        };
        if is_kept {
            there += 1;
            continue;
        }
        let to_go = began.elapsed().checked_div(computed).map_or(String::new(), |each| {
            format!(", about {} to go", rough_duration_text(each.as_secs_f64() * (all - at) as f64))
        });
        print_line(&format!(
            "cell {} of {all}: {} ({there} were there, {computed} computed{to_go})",
            at + 1,
            cell.slug
        ));
        if let Err(error) = compute_cell(arguments, cell, state) {
            print_line(&format!("warning: the cell {} stays empty: {}", cell.slug, error.reason()));
        }
        computed += 1;
    }
    print_line(&format!(
        "{all} cells: {there} were there, {computed} were computed in {}",
        rough_duration_text(began.elapsed().as_secs_f64())
    ));
    Ok(())
}

fn compute_cell(arguments: &BuildArguments, cell: &PlannedCell, state: CellState) -> Result<(), CliError> {
    let view = CellView { is_quiet: arguments.conduct.is_quiet() };
    let jobs = arguments.conduct.jobs();
    confirm_plan(&cell.plan, &cell.origin, arguments.conduct.consent())?;
    let outcome = match state {
        CellState::Interrupted(folder, plan) => {
            let request = ResumeRequest {
                folder,
                plan,
                fleet: arguments.sites.fleet()?,
                more: None,
                jobs,
                erase: Vec::new(),
            };
            runner::resume(request, &view)
        }
        state => {
            if matches!(state, CellState::TimeUp(_)) {
                remove_run(cell)?;
            }
            let mut plan = cell.plan.clone();
            plan.protocol.budget = Some(arguments.budget);
            let place = arguments.sites.fleet()?.map_or(RunPlace::Here, RunPlace::Sites);
            let folder = FolderRequest::Named(cell.folder.clone());
            let request = RunRequest { plan, folder, place, jobs, erase: Vec::new(), needs_rivals: false };
            runner::carry_out(request, &view)
        }
    };
    outcome.map(|_| ()).map_err(CliError::from)
}

/// Removes the run of a cell that was stopped and gets more time.
fn remove_run(cell: &PlannedCell) -> Result<(), CliError> {
    let parent = cell.folder.parent().map(FolderHandle::open).transpose()?;
    if let (Some(parent), Some(name)) = (parent, cell.folder.file_name()) {
        parent.remove_subfolder(name)?;
    }
    Ok(())
}
