//! What may not be concluded: limits that are told with every verdict (METHOD).

use crate::journal::{Ending, Run};
use crate::plan::{Dataset, DeviceSource, Plan};
use crate::statistics::{minimum_detectable_difference, table_scale};
use crate::verdict::{Deliberation, full_rows};

use super::Outcome;

/// Below this many blocks no test is made.
const FEWEST_FOR_A_TEST: usize = 3;
/// The probability of seeing a difference that is there, for which the smallest such difference is told.
const POWER: f64 = 0.8;

/// The limits of this run's verdict, each a sentence, the gravest first.
pub(super) fn limits(
    plan: &Plan,
    run: &Run,
    outcome: Outcome,
    blocks: usize,
    deliberation: &Deliberation,
) -> Vec<String> {
    let mut limits = noise(plan, deliberation);
    let refused = run.ending == Some(Ending::Disturbed);
    if refused {
        limits.push(
            "run it again when the machine is quiet; --set protocol.disturbed.foreign_cpu=0.5 bears more, \
             --set protocol.disturbed=false counts every block"
                .to_owned(),
        );
    } else if (1..FEWEST_FOR_A_TEST).contains(&blocks) {
        let blocks = if blocks == 1 { "1 block".to_owned() } else { format!("{blocks} blocks") };
        limits.push(format!(
            "{blocks}: no test can be made below {FEWEST_FOR_A_TEST}; order and ties are those of the sample"
        ));
    } else if outcome == Outcome::Undecided
        && let Some(smallest) = smallest_difference(plan, run, blocks)
    {
        limits.push(format!(
            "with {blocks} blocks a difference below {:.0} % is likely to be missed",
            smallest * 100.0
        ));
    }
    let invalid = run.invalid_blocks().count();
    if invalid > blocks && !refused {
        limits.push(format!(
            "{invalid} blocks did not count, more than did: this machine is too busy to trust"
        ));
    }
    if matches!(plan.device.source, DeviceSource::Image(_)) {
        limits.push(
            "a scratch image, not a disk of its own: what your disk makes of it is not part of this"
                .to_owned(),
        );
    }
    if let Some(data) = fits_in_memory(plan, run) {
        limits.push(format!("the data ({data}) fit in memory: only phases marked cold read from the device"));
    }
    limits.push("freshly made filesystems: nothing is said of aged ones".to_owned());
    limits
}

/// What the noise floor takes from the verdict.
fn noise(plan: &Plan, deliberation: &Deliberation) -> Vec<String> {
    let Some(floor) = deliberation.floor else { return Vec::new() };
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let mut limits: Vec<String> = deliberation
        .below_floor()
        .map(|name| {
            format!(
                "{name} is behind, significantly by the test, but by less than the noise floor of {}: not ranked",
                percent(floor.floor)
            )
        })
        .collect();
    if floor.floor > plan.protocol.tie {
        limits.push(format!(
            "the noise floor of {} is above the {} that matter by the plan: differences between the two cannot be told",
            percent(floor.floor),
            percent(plan.protocol.tie)
        ));
    }
    limits
}

/// The smallest relative difference between two candidates that a run of so many blocks finds four times in five.
fn smallest_difference(plan: &Plan, run: &Run, blocks: usize) -> Option<f64> {
    let names: Vec<&str> = run.candidates.iter().map(|state| state.name.as_str()).collect();
    let scale = table_scale(&full_rows(plan, run, &names))?;
    minimum_detectable_difference(scale.variance.sqrt(), blocks, 0.05, POWER)
}

fn fits_in_memory(plan: &Plan, run: &Run) -> Option<crate::plan::Bytes> {
    let size = |dataset: &Dataset| match dataset {
        Dataset::Tree(shape) => shape.size.0,
        Dataset::Flat { files, file_size } => files * file_size.0,
        Dataset::File { size, .. } => size.0,
        Dataset::Folder { size, .. } => size.map_or(0, |size| size.0),
    };
    let data = plan.datasets.values().map(size).max().filter(|size| *size > 0)?;
    let fact = |name: &str| run.header.environment.get(name)?.parse::<u64>().ok();
    let memory = fact("lab.memory").or_else(|| fact("memory.total"))?;
    (data < memory).then_some(crate::plan::Bytes(data))
}
