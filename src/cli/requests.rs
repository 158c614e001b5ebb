//! For the page: the requests to a modelled device, from the traces in a run's folder.

use fsverdict_folders::FolderHandle;
use fsverdict_judgement::journal::{Run, Trial};
use fsverdict_judgement::plan::Plan;
use fsverdict_lab::lab::TraceFile;
use fsverdict_report::Requests;

use super::reckoned::reckon;

/// The most records that are drawn; a longer trace has no picture. A trace of a few MB may unpack to any number of
/// requests.
const MOST_RECORDS: usize = 1 << 22;

/// A successful trial of each candidate: the first with a trace that can be read.
pub(super) fn requests_of_run(folder: &FolderHandle, plan: &Plan, run: &Run) -> Vec<Requests> {
    let pictured = |name: &str| {
        let mut trials = run.trials.iter().filter(|trial| trial.is_counted() && trial.id.candidate == name);
        trials.find_map(|trial| of_trial(folder, plan, trial))
    };
    run.candidates.iter().filter_map(|state| pictured(&state.name)).collect()
}

fn of_trial(folder: &FolderHandle, plan: &Plan, trial: &Trial) -> Option<Requests> {
    let spans = plan.phases.iter().filter_map(|phase| {
        let began = trial.value(&phase.name, "began")?;
        Some((began, began + trial.value(&phase.name, "durable")?))
    });
    let (from, to) = spans.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))?;
    let id = &trial.id;
    let file = TraceFile::for_trial(folder, &id.candidate, id.block, id.attempt);
    let records = file.read_requests().ok()?;
    if records.len() > MOST_RECORDS {
        return None;
    }
    let reckoned = reckon(&records, (from * 1e9) as u64, (to * 1e9) as u64)?;
    Some(Requests { candidate: id.candidate.clone(), block: id.block, ..reckoned })
}
