//! The noise floor of a run: measured where a candidate was entered twice, else estimated from the run's own blocks.
//! Nothing is ranked below it.

use crate::journal::Run;
use crate::plan::{Plan, TWIN};
use crate::statistics::{Estimate, NoiseFloor, ratio_estimate, split_half_floor, twin_floor};

use super::deliberate::{full_rows, log_ratios};

/// A candidate and its twin: the same configuration, measured twice in every block.
#[derive(Debug, Clone, PartialEq)]
pub struct TwinPair {
    pub candidate: String,
    /// The ratio of its twin's score for the goal to its own, with its 95 % interval; 1 is the truth.
    pub ratio: Estimate,
    pub floor: NoiseFloor,
}

/// Every candidate that was entered twice, as far as both were measured.
pub fn twin_pairs(plan: &Plan, run: &Run) -> Vec<TwinPair> {
    let pairs = run.candidates.iter().filter_map(|state| Some((state.name.strip_suffix(TWIN)?, &state.name)));
    pairs
        .filter_map(|(name, twin)| {
            let logs = log_ratios(plan, run, twin, name);
            let (floor, ratio) = (twin_floor(&logs)?, ratio_estimate(&logs, 0.95)?);
            Some(TwinPair { candidate: name.to_owned(), ratio, floor })
        })
        .collect()
}

/// The floor: the largest that a twin shows, else that of halves of the run's own blocks: of the candidates still
/// tried, who have the most blocks, or of `all` of them.
pub(super) fn noise_floor(plan: &Plan, run: &Run, still_tried: &[&str], all: &[&str]) -> Option<NoiseFloor> {
    let twins = twin_pairs(plan, run).into_iter().map(|pair| pair.floor);
    let largest = twins.max_by(|one, other| one.floor.total_cmp(&other.floor));
    let halves = |names: &[&str]| split_half_floor(&full_rows(plan, run, names));
    largest.or_else(|| halves(still_tried)).or_else(|| halves(all))
}
