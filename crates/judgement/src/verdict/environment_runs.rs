//! Splits a run with several environments (device models, kernels, memory sizes) into one run per environment. Each has
//! a verdict of its own, because a filesystem on one device is no alternative to another filesystem on another device.

use crate::journal::Run;
use crate::plan::{Candidate, Environment, Plan};

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
    let (plan, run) = restrict_to(plan, run, |candidate| candidate.under == *under);
    EnvironmentRun { under: under.clone(), plan, run }
}

/// The plan and the run as if there were only the candidates for which `keeps` holds.
pub(super) fn restrict_to(plan: &Plan, run: &Run, keeps: impl Fn(&Candidate) -> bool) -> (Plan, Run) {
    let mut plan = plan.clone();
    plan.candidates.retain(keeps);
    let own = |name: &str| plan.candidates.iter().any(|candidate| candidate.name == name);
    let all = run.complete_blocks() as u32;
    let mut run = run.clone();
    run.candidates.retain(|state| own(&state.name));
    // Later blocks leave out candidates that are already decided.
    run.blocks.retain(|block| block.order.iter().any(|name| own(name)));
    let left_out = all - run.complete_blocks() as u32;
    run.extended_to = run.extended_to.map(|last| last - left_out);
    run.trials.retain(|trial| own(&trial.id.candidate));
    run.power_cuts.retain(|cuts| own(&cuts.candidate));
    run.rotten.retain(|rotten| own(&rotten.candidate));
    number_blocks(&mut run);
    run.commands.retain(|kept| own(&kept.trial.candidate));
    run.latencies.retain(|known| own(&known.candidate));
    (plan, run)
}

/// Numbers the blocks from 1 without gaps: a run that was extended tries candidates again that had rested in between.
fn number_blocks(run: &mut Run) {
    let mut numbers: Vec<u32> = run.blocks.iter().map(|block| block.block).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let place = |number: u32| numbers.binary_search(&number).map_or(number, |at| at as u32 + 1);
    run.blocks.iter_mut().for_each(|block| block.block = place(block.block));
    run.trials.iter_mut().for_each(|trial| trial.id.block = place(trial.id.block));
}
