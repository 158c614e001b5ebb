//! How much of the data that a phase names it moved: a phase that moved less than half of them was not the work that it is
//! named after, so that its time does not count.

use std::collections::BTreeMap;

use crate::journal::Trial;
use crate::plan::{Amount, Dataset, Phase, PhaseWork, Plan};

/// A phase that moved a smaller share of its data does not count.
const LEAST_SHARE: f64 = 0.5;

/// The bytes that each phase moves that goes through all of its dataset, as far as the plan tells.
pub(crate) fn planned_bytes(plan: &Plan) -> BTreeMap<String, f64> {
    let of_phase = |phase: &Phase| {
        let dataset = plan.datasets.get(phase.dataset.as_ref()?)?;
        let bytes = bytes_of(dataset).filter(|bytes| *bytes > 0 && moves_all(phase))?;
        Some((phase.name.clone(), bytes as f64))
    };
    plan.phases.iter().filter_map(of_phase).collect()
}

/// The share of its data that a phase moved, if that is too little to count: of `planned` bytes, or for data of unknown
/// size none at all.
pub(crate) fn insufficient_share(phase: &str, trial: &Trial, planned: Option<f64>) -> Option<f64> {
    let moved = trial.value(phase, "logical_bytes")?;
    match planned {
        Some(planned) => Some(moved / planned).filter(|share| *share < LEAST_SHARE),
        None => (moved == 0.0 && trial.value(phase, "files").unwrap_or(0.0) == 0.0).then_some(0.0),
    }
}

fn moves_all(phase: &Phase) -> bool {
    matches!(phase.work, PhaseWork::Operation(operation) if operation.amount() == Amount::Dataset)
}

/// The size of data that the plan itself states; of a folder of the user's it only states a limit.
fn bytes_of(dataset: &Dataset) -> Option<u64> {
    match dataset {
        Dataset::Tree(shape) => Some(shape.size.0),
        Dataset::Flat { files, file_size } => Some(files.saturating_mul(file_size.0)),
        Dataset::File { size, .. } => Some(size.0),
        Dataset::Folder { .. } | Dataset::Trace { .. } => None,
    }
}
