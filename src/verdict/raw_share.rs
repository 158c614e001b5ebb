//! Rates as shares of what the bare device gave: how much of it a filesystem passes on.

use serde::Serialize;

use crate::journal::Unit;
use crate::plan::{Phase, Plan, Work};
use crate::workload::{DEVICE_READ, DEVICE_WRITE};

use super::PhaseEstimate;

/// One rate beside that of the bare device in the same direction.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RawShare {
    pub candidate: String,
    pub phase: String,
    /// Name of the rate's metric.
    pub metric: String,
    /// Median rate over the median rate of the bare device; 1 is all of it.
    pub share: f64,
}

/// Every rate in bytes per second as a share of the bare device's; nothing where the plan has not measured that.
pub fn raw_shares(plan: &Plan, estimates: &[PhaseEstimate]) -> Vec<RawShare> {
    let raw = |operation: &str| plan.phases.iter().find(|phase| does(phase, operation));
    let (read, write) = (raw(DEVICE_READ), raw(DEVICE_WRITE));
    let mut shares = Vec::new();
    for found in estimates.iter().filter(|found| found.unit == Unit::BytesPerSecond) {
        let Some(phase) = plan.phases.iter().find(|phase| phase.name == found.phase) else { continue };
        if does(phase, DEVICE_READ) || does(phase, DEVICE_WRITE) {
            continue;
        }
        let reference = if reads(phase, &found.metric) { read } else { write };
        let rate = reference.and_then(|reference| {
            estimates.iter().find(|raw| {
                raw.candidate == found.candidate && raw.phase == reference.name && raw.metric == "throughput"
            })
        });
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

fn does(phase: &Phase, operation: &str) -> bool {
    matches!(&phase.work, Work::Operation(name) if name == operation)
}

/// Whether a rate is one of reading: by its name, or by the operation.
fn reads(phase: &Phase, metric: &str) -> bool {
    metric.contains("_read") || matches!(&phase.work, Work::Operation(name) if name.ends_with(".read"))
}
