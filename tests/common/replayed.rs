//! Makes the calls of a trace again in a folder, with the program's own engine and nothing around it.

use std::path::Path;
use std::time::Duration;

use fsverdict_calls::CallTrace;

use fsverdict_judgement::plan::{Dataset, Operation, Pace};
use fsverdict_workload::dataset::{Prepared, prepare_dataset};
use fsverdict_workload::workload::{Ledger, Workplace, renew_files, run_operation, verify_operation};

/// The folder below which the calls are made.
pub(crate) const FOLDER: &str = "data";

/// Lays out what is there before the trace in `before`, renames that to `after`, and makes the calls there, so that a recording of this
/// process tells the calls from the laying out by the folder. Then everything that must be there is compared, and the calls are repeated on files written again. `between` runs before the
/// calls, and `afterwards` behind them.
pub(crate) fn replay_calls(
    calls: CallTrace,
    before: &Path,
    after: &Path,
    between: impl FnOnce(),
    afterwards: impl FnOnce(),
) -> Result<(), String> {
    let shown = |error: &dyn std::fmt::Display| error.to_string();
    let prepared = prepare_dataset("trace", &Dataset::Trace { calls }, 7).map_err(|error| shown(&error))?;
    let mut ledger = Ledger::default();
    std::fs::create_dir_all(before).map_err(|error| shown(&error))?;
    run_operation(&mut site(Operation::TreeWrite, before, &prepared, &mut ledger))
        .map_err(|error| shown(&error))?;
    std::fs::rename(before, after).map_err(|error| shown(&error))?;
    between();
    let mut site = site(Operation::TraceReplay, after, &prepared, &mut ledger);
    run_operation(&mut site).map_err(|error| shown(&error))?;
    afterwards();
    // What is compared is read in a folder of another name, so that a recording tells it from the calls.
    std::fs::rename(after, before).map_err(|error| shown(&error))?;
    let mut site = Workplace { mount: before, ..site };
    verify_operation(&site).map_err(|error| shown(&error))?;
    // A repetition finds the files as they were before the first.
    renew_files(&mut site).map_err(|error| shown(&error))?;
    run_operation(&mut site).map_err(|error| shown(&error))?;
    verify_operation(&site).map_err(|error| shown(&error))
}

/// Where an operation works, with everything else as it is by default.
fn site<'a>(
    operation: Operation,
    mount: &'a Path,
    dataset: &'a Prepared,
    ledger: &'a mut Ledger,
) -> Workplace<'a> {
    Workplace {
        operation,
        mount,
        into: Path::new(FOLDER),
        dataset,
        staged: None,
        ledger,
        changed: 0.0,
        to: 0.0,
        piece: operation.usual_piece(),
        sync_every: 0,
        pause: Duration::ZERO,
        threads: 1,
        depth: 0,
        pace: Pace::Unpaced,
        pulls: 1,
        rounds: 1,
    }
}
