//! Throughput of each candidate as a share of the bare device's throughput.

use serde::Serialize;

use crate::journal::{Unit, adapter_metric};
use crate::plan::{Flow, Needs, Operation, Phase, PhaseWork, Plan};

use super::PhaseEstimate;
use super::estimates::find;

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
