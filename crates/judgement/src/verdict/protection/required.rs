//! Checks each candidate against the requirements of the goal (such as a largest latency), with a ratio to each bound.

use libm::log;
use serde::Serialize;

use crate::journal::{Run, Unit};
use crate::plan::{Bound, Plan, Requirement, ranked_candidates};
use crate::statistics::{Estimate, Evidence, FEWEST};

use crate::verdict::Verdict;

/// The metric that bounds every single call, so the largest value over all trials is compared with the bound.
const WORST: &str = "latency_max";

/// A measured zero is replaced by this share of the bound, because ratios and logarithms of zero do not exist.
const NOTHING: f64 = 1e-9;

/// How one candidate stands with one requirement.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RequirementStanding {
    pub candidate: String,
    pub phase: String,
    pub metric: String,
    /// The requirement as the reports show it: `commit.p99 <= 10ms`.
    pub requirement: String,
    pub relation: RequirementRelation,
    /// The value in the metric's unit: the geometric mean over trials, or for the worst latency the largest value;
    /// `None` where it was not measured.
    pub value: Option<f64>,
    pub unit: Option<Unit>,
    /// The ratio of the value to the bound.
    pub times: Option<Estimate>,
}

/// Whether a candidate is shown to meet a requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RequirementRelation {
    Kept,
    /// The samples show that the candidate misses it, so the candidate is ruled out.
    Missed,
    /// The samples show neither.
    Open,
    /// No trial has a number for the metric.
    NotMeasured,
}

impl Verdict {
    /// Whether every candidate with a requirement standing is ruled out.
    pub fn nobody_is_left(&self) -> bool {
        let out = |standing: &RequirementStanding| self.ruled_out.contains(&standing.candidate);
        !self.ruled_out.is_empty() && self.required.iter().all(out)
    }
}

/// The standing of every measured candidate with every requirement, in the order of the plan.
pub(crate) fn requirement_standings(plan: &Plan, run: &Run, measured: &[&str]) -> Vec<RequirementStanding> {
    let tried = ranked_candidates(plan).map(|candidate| candidate.name.as_str());
    let tried: Vec<&str> = tried.filter(|name| measured.contains(name)).collect();
    let each = tried
        .iter()
        .flat_map(|name| plan.goal.require.numbers.iter().map(move |requirement| (*name, requirement)));
    each.map(|(candidate, requirement)| judge_requirement(candidate, requirement, run, u32::MAX)).collect()
}

/// Whether the blocks up to `block` show that the candidate misses a requirement.
pub(crate) fn is_ruled_out(plan: &Plan, run: &Run, candidate: &str, block: u32) -> bool {
    plan.goal.require.numbers.iter().any(|requirement| {
        judge_requirement(candidate, requirement, run, block).relation == RequirementRelation::Missed
    })
}

/// Whether the trials so far show neither that the candidate meets a requirement nor that it misses it.
pub fn has_open_requirement(plan: &Plan, run: &Run, candidate: &str) -> bool {
    plan.goal.require.numbers.iter().any(|requirement| {
        judge_requirement(candidate, requirement, run, u32::MAX).relation == RequirementRelation::Open
    })
}

fn judge_requirement(
    candidate: &str,
    requirement: &Requirement,
    run: &Run,
    block: u32,
) -> RequirementStanding {
    let Requirement { phase, metric, value: bound, .. } = requirement;
    let mut sample = run.counted_values(candidate, phase, metric);
    sample.retain(|(at, _)| *at <= block);
    let values: Vec<f64> = sample.into_iter().map(|(_, value)| value).collect();
    let times = if metric == WORST { worst_ratio(&values, *bound) } else { mean_ratio(&values, *bound) };
    let unit = run.trials.iter().flat_map(|trial| &trial.observations).find_map(|observation| {
        let own = Some(observation).filter(|observation| observation.phase == *phase);
        own?.find_measurement(metric).map(|found| found.unit)
    });
    RequirementStanding {
        candidate: candidate.to_owned(),
        phase: phase.clone(),
        metric: metric.clone(),
        requirement: requirement.title(),
        relation: relation(requirement, times),
        value: times.map(|times| times.point * bound),
        unit,
        times,
    }
}

/// The ratio of the largest value to the bound. A maximum is an observed fact, so its interval has no width.
fn worst_ratio(values: &[f64], bound: f64) -> Option<Estimate> {
    let largest = values.iter().copied().reduce(f64::max)?;
    let times = Estimate::without_interval(largest / bound, values.len());
    let known = values.len() >= FEWEST as usize;
    Some(if known { Estimate { low: Some(times.point), high: Some(times.point), ..times } } else { times })
}

/// The ratio of the geometric mean to the bound. Every trial counts, because requirements are about tails, so no
/// outlier is set aside. The interval is of this sample alone: one corrected for repeated looks would be too wide after
/// three blocks to rule any candidate out.
fn mean_ratio(values: &[f64], bound: f64) -> Option<Estimate> {
    let logs: Vec<f64> = values.iter().map(|value| log(value.max(bound * NOTHING) / bound)).collect();
    Some(Evidence::of_all(&logs)?.ratio())
}

fn relation(requirement: &Requirement, times: Option<Estimate>) -> RequirementRelation {
    let Some(times) = times else { return RequirementRelation::NotMeasured };
    let (Some(low), Some(high)) = (times.low, times.high) else { return RequirementRelation::Open };
    let (beyond, within) = match requirement.bound {
        Bound::AtMost => (low > 1.0, high <= 1.0),
        Bound::AtLeast => (high < 1.0, low >= 1.0),
    };
    match (beyond, within) {
        (true, _) => RequirementRelation::Missed,
        (_, true) => RequirementRelation::Kept,
        _ => RequirementRelation::Open,
    }
}

#[cfg(test)]
mod tests {
    use super::{RequirementRelation, is_ruled_out, mean_ratio, requirement_standings, worst_ratio};
    use crate::journal::{Event, Run, Unit, made};
    use crate::plan::Plan;
    use crate::verdict::{Deliberation, Judgement, Outcome};

    fn plan(said: &serde_json::Value) -> Plan {
        made::plan(&serde_json::json!({
            "candidates": [
                { "name": "a", "filesystem": "ext4", "encryption": "none" },
                { "name": "b", "filesystem": "xfs", "encryption": "none" },
                { "name": "c", "filesystem": "jfs", "encryption": "none" },
            ],
            "goal": { "metric": "durable", "weights": { "write": 1.0 }, "require": { "numbers": [said] } },
        }))
    }

    fn at_most(metric: &str, seconds: f64) -> serde_json::Value {
        serde_json::json!({
            "phase": "write", "metric": metric, "bound": "at_most", "value": seconds, "said": "<= so much",
        })
    }

    /// A run of `blocks` blocks, in which `a` is the fastest candidate; `tails` has the latencies of the three.
    fn run(plan: &Plan, blocks: u32, tails: [f64; 3]) -> Run {
        let names = ["a", "b", "c"];
        let mut events = vec![(None, made::started())];
        for block in 1..=blocks {
            events.push((None, made::block_started(block, 1, &names)));
            for (at, name) in names.into_iter().enumerate() {
                let id = Some(made::id(block, name));
                events.push((id.clone(), Event::TrialStarted {}));
                let wobble = 1.0 + 0.001 * f64::from(block * (at as u32 + 3) % 5);
                events.push((
                    id.clone(),
                    Event::Observation(made::measured(
                        "write",
                        &[
                            ("durable", Unit::Seconds, (1.0 + 0.5 * at as f64) * wobble),
                            ("latency_p99", Unit::Seconds, tails[at] * wobble),
                            (
                                "latency_max",
                                Unit::Seconds,
                                tails[at] * wobble * if block == 2 { 3.0 } else { 1.0 },
                            ),
                        ],
                    )),
                ));
                events.push((id, made::ended(None, 1.0)));
            }
            events.push((None, Event::BlockFinished { block, attempt: 1, invalid: None }));
        }
        made::run(plan, events)
    }

    #[test]
    fn who_misses_is_ruled_out_and_the_next_is_taken() {
        let plan = plan(&at_most("latency_p99", 0.010));
        let run = run(&plan, 6, [0.018, 0.004, 0.005]);
        let judged = Judgement::from_run(&plan, &run);
        assert_eq!(judged.verdict.ruled_out, ["a"]);
        assert_eq!(judged.verdict.recommended.as_deref(), Some("b"));
        let missed = &judged.verdict.required[0];
        assert_eq!(missed.relation, RequirementRelation::Missed);
        assert!((missed.times.unwrap().point - 1.8).abs() < 0.01);
        assert!(judged.verdict.ranking.iter().all(|rank| rank.candidate != "a"));
        assert!(
            judged.estimates.iter().any(|one| one.candidate == "a"),
            "its numbers are shown all the same"
        );
        // Two blocks rule no candidate out; from the third block on, `a` is not tried.
        assert!(!is_ruled_out(&plan, &run, "a", 2) && is_ruled_out(&plan, &run, "a", 3));
        assert!(Deliberation::from_run(&plan, &run).racing().all(|name| name != "a"));
    }

    #[test]
    fn one_that_is_left_is_taken_and_none_is_nobody() {
        let plan = plan(&at_most("latency_p99", 0.010));
        let run_of = |tails| run(&plan, 4, tails);
        let alone = run_of([0.018, 0.019, 0.005]);
        let judged = Judgement::from_run(&plan, &alone);
        assert_eq!(judged.verdict.recommended.as_deref(), Some("c"));
        assert_eq!(judged.verdict.outcome, Outcome::Recommended);
        let none = run_of([0.018, 0.019, 0.015]);
        let judged = Judgement::from_run(&plan, &none);
        assert_eq!(judged.verdict.recommended, None);
        assert_eq!(judged.verdict.ruled_out, ["a", "b", "c"]);
        assert_eq!(Deliberation::from_run(&plan, &none).racing().count(), 0);
    }

    #[test]
    fn the_worst_is_that_of_all_trials_and_a_mean_is_unsure_near_the_bound() {
        let plan = plan(&at_most("latency_max", 0.010));
        let run = run(&plan, 4, [0.004, 0.003, 0.001]);
        let standings = requirement_standings(&plan, &run, &["a", "b", "c"]);
        let relations: Vec<_> = standings.iter().map(|one| one.relation).collect();
        use RequirementRelation::{Kept, Missed};
        assert_eq!(relations, [Missed, Kept, Kept], "{standings:?}");
        assert_eq!(worst_ratio(&[1.0, 2.0], 4.0).unwrap().low, None);
        let near = mean_ratio(&[0.8, 1.1, 1.3, 0.9], 1.0).unwrap();
        assert!(near.low.unwrap() < 1.0 && near.high.unwrap() > 1.0);
        assert_eq!(mean_ratio(&[2.0, 2.0, 2.0], 1.0).unwrap().low, Some(2.0));
        assert!(mean_ratio(&[0.0, 0.0, 0.0], 1.0).unwrap().high.unwrap() < 1.0);
        assert_eq!(mean_ratio(&[], 1.0), None);
    }
}
