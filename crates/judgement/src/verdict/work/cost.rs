//! The costs of a trial: each metric of the cost group over the phases of the goal, as one number; and rates as shares of
//! the bare device's.

use serde::Serialize;

use super::find;
use super::paired::side_by_side;
use crate::journal::{Group, METRICS, MetricInfo, Trial, Unit, adapter_metric};
use crate::plan::{Flow, Needs, Operation, Phase, PhaseWork, Plan};
use crate::verdict::{PhaseEstimate, VerdictEvidence};

/// One cost of every candidate, side by side.
#[derive(Debug, Clone)]
pub struct CostColumn {
    pub metric: &'static MetricInfo,
    /// The values in the order of the requested candidates; `None` where the cost was not measured.
    pub values: Vec<Option<f64>>,
}

/// Every cost that some candidate has, over the phases of the goal, without CPU times where computation was free; the first
/// candidate is the reference for the others.
pub(crate) fn cost_columns(evidence: &VerdictEvidence<'_>, candidates: &[&str]) -> Vec<CostColumn> {
    let phases = evidence.objective.phases();
    let metrics = METRICS.iter().filter(|metric| metric.group == Group::Cost);
    let column = |metric: &'static MetricInfo| {
        let cost = |trial: &Trial| {
            let is_hidden = evidence.free.hides_metric(&trial.id.candidate, metric.name);
            cost_of_trial(&phases, trial, metric.name).filter(|_| !is_hidden)
        };
        let found = side_by_side(evidence.trials, candidates.first().copied(), candidates, cost);
        let values = found.into_iter().map(|estimate| estimate.map(|estimate| estimate.point));
        CostColumn { metric, values: values.collect() }
    };
    // A cost that is zero for all candidates is left out, such as flushes where the device cannot count them.
    metrics.map(column).filter(|column| column.values.iter().flatten().any(|value| *value > 0.0)).collect()
}

/// One trial's cost over those of these phases that have it (during fsck no filesystem is mounted and no space in use).
pub(crate) fn cost_of_trial(phases: &[&str], trial: &Trial, metric: &str) -> Option<f64> {
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

/// One rate compared with the bare device's rate in the same direction.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RawShare {
    pub candidate: String,
    pub phase: String,
    pub metric: String,
    /// The median rate divided by the median rate of the bare device.
    pub share: f64,
}

/// Every rate in bytes per second as a share of the bare device's; empty where the plan does not measure the bare
/// device.
pub fn raw_shares(plan: &Plan, estimates: &[PhaseEstimate]) -> Vec<RawShare> {
    let raw = |operation| plan.phases.iter().find(|phase| phase.work == PhaseWork::Operation(operation));
    let (read, write) = (raw(Operation::DeviceRead), raw(Operation::DeviceWrite));
    let mut shares = Vec::new();
    for found in estimates.iter().filter(|found| found.unit == Unit::BytesPerSecond) {
        let Some(phase) = plan.phases.iter().find(|phase| phase.name == found.phase) else { continue };
        if matches!(phase.work, PhaseWork::Operation(operation) if operation.needs() == Needs::BareDevice) {
            continue;
        }
        let reference = if is_read_rate(phase, &found.metric) { read } else { write };
        let rate =
            reference.and_then(|reference| find(estimates, &found.candidate, &reference.name, "throughput"));
        let share =
            rate.map(|rate| found.estimate.point / rate.estimate.point).filter(|share| share.is_finite());
        if let Some(share) = share {
            let (candidate, phase, metric) =
                (found.candidate.clone(), found.phase.clone(), found.metric.clone());
            shares.push(RawShare { candidate, phase, metric, share });
        }
    }
    shares
}

/// Whether a rate is one of reading: by the operation, or for an adapter's rate by the metric.
fn is_read_rate(phase: &Phase, metric: &str) -> bool {
    let flow = match phase.work {
        PhaseWork::Operation(operation) => operation.flow(),
        PhaseWork::Command(_) | PhaseWork::Adapter { .. } => {
            adapter_metric(metric).map_or(Flow::Neither, |known| known.flow)
        }
    };
    flow == Flow::Reads
}
