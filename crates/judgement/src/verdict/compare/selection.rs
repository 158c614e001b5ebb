//! Selects the phases and costs that a comparison of two runs covers.

use std::collections::BTreeMap;

use crate::journal::Run;
use crate::plan::{Plan, once_each};

/// Metrics shown beside the goal's metric for information; they decide nothing.
const COSTS: [&str; 3] = ["cpu", "cpu_kernel", "device_written"];

/// Further metrics shown where the kernels differ: the requests to the device.
const REQUESTS: [&str; 4] = ["device_read", "device_reads", "device_writes", "device_flushes"];

/// The phases that are judged: those of the plan, and a step such as fsck where the goal gives it a weight.
pub(super) fn headline_phases<'a>(plan: &'a Plan, weights: &'a BTreeMap<String, f64>) -> Vec<&'a str> {
    let mut names: Vec<&str> = plan.phases.iter().map(|phase| phase.name.as_str()).collect();
    names.extend(
        weights
            .keys()
            .map(String::as_str)
            .filter(|name| !plan.phases.iter().any(|phase| phase.name == *name)),
    );
    names
}

/// The costs of the judged phases, and the time of the steps around them.
pub(super) fn costs_shown<'a>(
    run: &'a Run,
    headline: &[&'a str],
    goal: &str,
    another_kernel: bool,
) -> Vec<(&'a str, &'static str)> {
    let mut shown: Vec<(&str, &str)> = Vec::new();
    for name in headline {
        let costs = COSTS.iter().chain(REQUESTS.iter().filter(|_| another_kernel));
        shown.extend(costs.filter(|cost| **cost != goal).map(|cost| (*name, *cost)));
    }
    let observations = run.trials.iter().flat_map(|trial| &trial.observations);
    let steps = once_each(observations.map(|observation| observation.phase.as_str()));
    shown.extend(steps.into_iter().filter(|name| !headline.contains(name)).map(|name| (name, "durable")));
    shown
}
