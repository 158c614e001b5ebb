//! Control pairs: a candidate measured against its identical twin, which shows the bias of the machine.

use crate::journal::Run;
use crate::plan::CONTROL_SUFFIX;
use crate::statistics::{Estimate, Evidence};

use super::order::ALARM;
use super::{ByBlock, Objective};

/// A candidate and its twin: the same configuration, measured twice in every block.
#[derive(Debug, Clone, PartialEq)]
pub struct ControlPair {
    pub candidate: String,
    /// The ratio of the twin's goal to the candidate's own, with its 95 % interval; the true value is 1.
    pub ratio: Estimate,
    /// Whether the rule reports a difference between the two, which is a false alarm.
    pub told_apart: bool,
}

/// Every candidate that has a twin, as far as both were measured.
pub fn control_pairs(objective: &Objective, run: &Run) -> Vec<ControlPair> {
    let blocks: ByBlock<'_> = run.trials.iter().filter(|trial| trial.is_counted()).collect();
    let pairs = run
        .candidates
        .iter()
        .filter_map(|state| Some((state.name.strip_suffix(CONTROL_SUFFIX)?, &state.name)));
    pairs
        .filter_map(|(name, twin)| {
            let logs = blocks.differences(twin, name, |trial| objective.log_score(trial));
            let evidence = Evidence::from_sample(&logs)?;
            let told_apart = evidence.p_different() <= ALARM;
            Some(ControlPair {
                candidate: name.to_owned(),
                ratio: evidence.ratio_after_stopping_rule(),
                told_apart,
            })
        })
        .collect()
}
