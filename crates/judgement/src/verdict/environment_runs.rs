//! Splits a run with several environments (device models, kernels, memory sizes) into one run per environment. Each has
//! a verdict of its own, because a filesystem on one device is no alternative to another filesystem on another device.

use crate::journal::Run;
use crate::plan::{Environment, Plan};

/// The trials under one environment: a plan and a run as if there were no other environments.
#[derive(Debug, Clone)]
pub struct EnvironmentRun {
    pub under: Environment,
    pub plan: Plan,
    pub run: Run,
}

/// The environments of a run, in the plan's order; empty where there is only one.
pub fn environment_runs(plan: &Plan, run: &Run) -> Vec<EnvironmentRun> {
    match plan.environments().as_slice() {
        [] | [_] => Vec::new(),
        several => several.iter().map(|under| environment(plan, run, under)).collect(),
    }
}

fn environment(plan: &Plan, run: &Run, under: &Environment) -> EnvironmentRun {
    let mut plan = plan.clone();
    plan.candidates.retain(|candidate| candidate.under == *under);
    let own = |name: &str| plan.candidates.iter().any(|candidate| candidate.name == name);
    let all = run.complete_blocks() as u32;
    let mut run = run.clone();
    run.candidates.retain(|state| own(&state.name));
    // Later blocks leave out candidates that are already decided.
    run.blocks.retain(|block| block.order.iter().any(|name| own(name)));
    let left_out = all - run.complete_blocks() as u32;
    run.extended_to = run.extended_to.map(|last| last - left_out);
    run.trials.retain(|trial| own(&trial.id.candidate));
    run.commands.retain(|kept| own(&kept.trial.candidate));
    run.latencies.retain(|known| own(&known.candidate));
    EnvironmentRun { under: under.clone(), plan, run }
}
