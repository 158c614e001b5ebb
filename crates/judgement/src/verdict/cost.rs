//! The costs of a trial: each metric of the cost group over the phases of the goal, as one number.

use crate::journal::{Group, METRICS, MetricInfo, Trial};

use super::ByBlock;
use super::paired::side_by_side;

/// One cost of every candidate, side by side.
#[derive(Debug, Clone)]
pub struct CostColumn {
    pub metric: &'static MetricInfo,
    /// The values in the order of the requested candidates; `None` where the cost was not measured.
    pub values: Vec<Option<f64>>,
}

/// Every cost that some candidate has, over these phases; the first candidate is the reference for the others.
pub fn cost_columns(phases: &[&str], blocks: &ByBlock<'_>, candidates: &[&str]) -> Vec<CostColumn> {
    let metrics = METRICS.iter().filter(|metric| metric.group == Group::Cost);
    let column = |metric: &'static MetricInfo| {
        let cost = |trial: &Trial| cost_of_trial(phases, trial, metric.name);
        let found = side_by_side(blocks, candidates.first().copied(), candidates, cost);
        let values = found.into_iter().map(|estimate| estimate.map(|estimate| estimate.point));
        CostColumn { metric, values: values.collect() }
    };
    // A cost that is zero for all candidates is left out, such as flushes where the device cannot count them.
    metrics.map(column).filter(|column| column.values.iter().flatten().any(|value| *value > 0.0)).collect()
}

/// One trial's cost over those of these phases that have it (during fsck no filesystem is mounted and no space in use).
pub(super) fn cost_of_trial(phases: &[&str], trial: &Trial, metric: &str) -> Option<f64> {
    let values = |metric| phases.iter().filter_map(move |phase| trial.value(phase, metric));
    match metric {
        "space_grown" | "space_lost" => values(metric).reduce(f64::max),
        "write_amplification" => {
            let writing = || phases.iter().filter(|phase| trial.value(phase, metric).is_some());
            let sum = |metric| writing().filter_map(|phase| trial.value(phase, metric)).sum::<f64>();
            let logical = sum("logical_bytes");
            (logical > 0.0).then(|| sum("device_written") / logical)
        }
        _ => values(metric).reduce(|sum, value| sum + value),
    }
}
