//! A run whose candidates are tried in several environments (device models, kernels, memories) is several runs in one:
//! nobody chooses a filesystem by comparing one on a stick with another on a disk. Each has a verdict of its own.

use crate::journal::Run;
use crate::plan::{Environment, Plan};

/// What was tried under the same environment: a plan and a run as if there were no others.
#[derive(Debug, Clone)]
pub struct EnvironmentRun {
    pub under: Environment,
    pub plan: Plan,
    pub run: Run,
}

/// The environments of a run, in the plan's order; none where all is tried under the same environment.
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
    // What is settled is not tried in later blocks.
    run.blocks.retain(|block| block.order.iter().any(|name| own(name)));
    let left_out = all - run.complete_blocks() as u32;
    run.extended_to = run.extended_to.map(|last| last - left_out);
    run.trials.retain(|trial| own(&trial.id.candidate));
    run.commands.retain(|kept| own(&kept.trial.candidate));
    run.latencies.retain(|known| own(&known.candidate));
    EnvironmentRun { under: under.clone(), plan, run }
}
