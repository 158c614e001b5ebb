//! Checks whether runs did the same work: their plans may differ only in the device and in the folders of the user's
//! data.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::journal::Run;
use crate::plan::{Blocks, ClockChoice, Dataset, DeviceSource, LabChoice, Plan};
use crate::verdict::Slice;

/// The share of its times that a run may have in common with one on another device. On real devices no two measurements
/// are the same to the last digit.
const MOST_COMMON: f64 = 0.5;

/// Every reason against comparing the runs, one sentence each; empty where there is none.
pub(crate) fn list_obstacles(sources: &[Slice]) -> Vec<String> {
    let mut obstacles = Vec::new();
    let Some(first) = sources.first() else { return obstacles };
    let wanted = comparable_plan(&first.plan);
    for (at, source) in sources.iter().enumerate() {
        let name = &source.key;
        // A bundle of a run is the same run, even under another name.
        let begun = |source: &Slice| {
            (source.run.header.started, source.run.trials.first().map(|trial| trial.started))
        };
        if let Some(same) = sources[..at].iter().find(|known| begun(known) == begun(source)) {
            obstacles.push(format!("{name} and {} are the same run", same.key));
        }
        if let Some(other) = sources[..at].iter().find(|known| is_copy(known, source)) {
            obstacles.push(format!(
                "{name} measured to the last digit what {} did, on a device of another name: one is a copy of the other",
                other.key
            ));
        }
        if source.plan.environments().len() > 1 {
            obstacles.push(format!("{name} tries its candidates under several circumstances: `fsverdict report` sets those side by side"));
        }
        if source.run.complete_blocks() == 0 {
            obstacles.push(format!("no block of {name} is complete and valid"));
        }
        let plan_parts = comparable_plan(&source.plan);
        for (part, is) in plan_parts.as_object().into_iter().flatten() {
            if wanted.get(part) != Some(is) {
                obstacles.push(format!("{name} does other work than {}: another `{part}`", first.key));
            }
        }
        for candidate in &source.plan.candidates {
            let same = first.plan.find_candidate(&candidate.name);
            if same.is_some_and(|same| same != candidate) {
                obstacles
                    .push(format!("{name} and {} mean different things by `{}`", first.key, candidate.name));
            }
        }
    }
    obstacles
}

/// Whether two runs on devices of different names share too many times.
fn is_copy(one: &Slice, other: &Slice) -> bool {
    let identity = |source: &Slice| source.run.header.environment.get("device.identity").cloned();
    let is_simulated = one.plan.device.source.is_modelled() || other.plan.device.source.is_modelled();
    if is_simulated || identity(one) == identity(other) {
        return false;
    }
    let (one, other) = (times_of(&one.run), times_of(&other.run));
    let fewest = one.len().min(other.len());
    fewest > 0 && one.intersection(&other).count() as f64 >= MOST_COMMON * fewest as f64
}

/// The times until durable of a run that count, as candidate, phase and bits of the number.
fn times_of(run: &Run) -> BTreeSet<(&str, &str, u64)> {
    let times = run.counted_trials().flat_map(|trial| {
        trial.observations.iter().filter_map(|observation| {
            let seconds = observation.value("durable").filter(|seconds| *seconds > 0.0)?;
            Some((trial.id.candidate.as_str(), observation.phase.as_str(), seconds.to_bits()))
        })
    });
    times.collect()
}

/// A plan as data, without the parts that may differ: the device, this machine's folders, where trials run, and their
/// number.
fn comparable_plan(plan: &Plan) -> serde_json::Value {
    let mut plan = plan.clone();
    plan.title.clear();
    (plan.lab, plan.clock, plan.kernel, plan.memory) = (LabChoice::Auto, ClockChoice::Auto, None, None);
    plan.cpu = None;
    plan.device.source = DeviceSource::Folders;
    plan.device.further.clear();
    plan.device.fails = None;
    plan.device.folder = None;
    plan.candidates.clear();
    plan.published.clear();
    plan.protocol.blocks = Blocks { min: 1, max: 1 };
    (plan.protocol.order, plan.protocol.budget, plan.protocol.disturbed) = (None, None, None);
    for dataset in plan.datasets.values_mut() {
        if let Dataset::Folder { path, .. } = dataset {
            *path = PathBuf::new();
        }
    }
    serde_json::to_value(&plan).unwrap_or_default()
}
