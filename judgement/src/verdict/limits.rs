//! What may not be concluded: limits that are shown with every verdict (METHOD).

use super::order::peculiarities;
use super::{Blocks, Rank, Yardstick, twin_pairs};
use crate::journal::{Ending, Run};
use crate::plan::{Dataset, DeviceSource, Plan};
use crate::statistics::FEWEST;

/// The limits of this run's verdict, each a sentence, the gravest first.
pub(super) fn limits(
    plan: &Plan,
    run: &Run,
    yardstick: &Yardstick,
    trials: &Blocks<'_>,
    ranking: &[Rank],
) -> Vec<String> {
    let mut limits: Vec<String> = yardstick
        .left_out
        .iter()
        .map(|left| {
            format!(
                "{} is no part of the comparison: {} {} nothing in it",
                left.phase,
                left.lacking.join(" and "),
                if left.lacking.len() == 1 { "has" } else { "have" }
            )
        })
        .collect();
    limits.extend(twin_pairs(yardstick, run).into_iter().filter(|pair| pair.told_apart).map(|pair| {
        format!(
            "{} entered twice took {:.2} times its own time, which is no chance: something here favours one of two that are the same",
            pair.candidate, pair.ratio.point
        )
    }));
    let blocks = run.complete_blocks();
    let refused = run.ending == Some(Ending::Disturbed);
    if refused {
        limits.push(
            "run it again when the machine is quiet; --set protocol.disturbed.foreign_cpu=0.5 bears more, \
             --set protocol.disturbed=false counts every block"
                .to_owned(),
        );
    } else if (1..FEWEST as usize).contains(&blocks) {
        let blocks = if blocks == 1 { "1 block".to_owned() } else { format!("{blocks} blocks") };
        limits
            .push(format!("{blocks}: nothing is concluded below {FEWEST}; the order is that of the sample"));
    }
    limits.extend(peculiarities(plan, run, yardstick, trials, ranking));
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
    limits.push(if plan.device.source == DeviceSource::Folders {
        "folders as they are: how old and how full what they lie on is, and who else uses it, is part of this"
            .to_owned()
    } else {
        "freshly made filesystems: nothing is said of aged ones".to_owned()
    });
    limits
}

fn fits_in_memory(plan: &Plan, run: &Run) -> Option<crate::plan::Bytes> {
    let size = |dataset: &Dataset| match dataset {
        Dataset::Tree(shape) => shape.size.0,
        Dataset::Flat { files, file_size } => files * file_size.0,
        Dataset::File { size, .. } => size.0,
        Dataset::Folder { size, .. } => size.map_or(0, |size| size.0),
    };
    let data = plan.datasets.values().map(size).max().filter(|size| *size > 0)?;
    // Where guests have several, the smallest comes first.
    let fact = |name: &str| run.header.environment.get(name)?.split(',').next()?.parse::<u64>().ok();
    let memory = fact("lab.memory").or_else(|| fact("memory.total"))?;
    (data < memory).then_some(crate::plan::Bytes(data))
}
