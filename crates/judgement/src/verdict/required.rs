//! Who keeps what the goal requires, and by how much the others miss it.

use libm::log;
use serde::Serialize;

use crate::journal::{Run, Unit};
use crate::plan::{Bound, Plan, Requirement, contestants};
use crate::statistics::{Estimate, Evidence, FEWEST};

use super::Verdict;

/// The metric that holds of a trial only where it holds of each call: the worst of all trials is what counts.
const WORST: &str = "latency_max";

/// A measured nothing is taken for this share of the bound: there are no ratios of nothing.
const NOTHING: f64 = 1e-9;

/// One candidate and one requirement.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RequirementStanding {
    pub candidate: String,
    pub phase: String,
    pub metric: String,
    /// As it is told: `commit.p99 <= 10ms`.
    pub requirement: String,
    pub relation: RequirementRelation,
    /// In the unit of the metric: the geometric mean over trials, of the worst latency the largest; nothing where it was not
    /// measured.
    pub value: Option<f64>,
    pub unit: Option<Unit>,
    /// How many times the bound that is.
    pub times: Option<Estimate>,
}

/// What is known of a candidate and a requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RequirementRelation {
    Kept,
    /// Shown to be missed: the candidate is ruled out.
    Missed,
    /// Neither is shown.
    Open,
    /// No trial gave a number.
    NotMeasured,
}

impl Verdict {
    /// Whether everybody who was measured is ruled out.
    pub fn nobody_is_left(&self) -> bool {
        let out = |one: &RequirementStanding| self.ruled_out.contains(&one.candidate);
        !self.ruled_out.is_empty() && self.required.iter().all(out)
    }
}

/// Where everybody who was tried stands, in the order of the plan.
pub(super) fn requirement_standings(plan: &Plan, run: &Run, measured: &[&str]) -> Vec<RequirementStanding> {
    let tried = contestants(plan).map(|candidate| candidate.name.as_str());
    let tried: Vec<&str> = tried.filter(|name| measured.contains(name)).collect();
    let each = tried
        .iter()
        .flat_map(|name| plan.goal.require.numbers.iter().map(move |requirement| (*name, requirement)));
    each.map(|(candidate, requirement)| standing(candidate, requirement, run, u32::MAX)).collect()
}

/// Whether a candidate is shown to miss something by the blocks up to this one.
pub(super) fn is_ruled_out(plan: &Plan, run: &Run, candidate: &str, block: u32) -> bool {
    plan.goal.require.numbers.iter().any(|requirement| {
        standing(candidate, requirement, run, block).relation == RequirementRelation::Missed
    })
}

fn standing(candidate: &str, requirement: &Requirement, run: &Run, block: u32) -> RequirementStanding {
    let Requirement { phase, metric, value: bound, .. } = requirement;
    let mut sample = run.sample(candidate, phase, metric);
    sample.retain(|(at, _)| *at <= block);
    let values: Vec<f64> = sample.into_iter().map(|(_, value)| value).collect();
    let times = if metric == WORST { worst(&values, *bound) } else { mean(&values, *bound) };
    let unit = run.trials.iter().flat_map(|trial| &trial.observations).find_map(|observation| {
        let of_phase = observation.phase == *phase;
        let found = observation.measurements.iter().find(|found| of_phase && found.metric == *metric);
        found.map(|found| found.unit)
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

/// The largest of all trials. That it was so large is certain.
fn worst(values: &[f64], bound: f64) -> Option<Estimate> {
    let largest = values.iter().copied().reduce(f64::max)?;
    let times = Estimate::without_interval(largest / bound, values.len());
    let known = values.len() >= FEWEST as usize;
    Some(if known { Estimate { low: Some(times.point), high: Some(times.point), ..times } } else { times })
}

/// The geometric mean with every trial counted: a tail is what a requirement is about, so none is set aside. Its interval is that of
/// this sample alone: one that made up for every look would be so wide after three blocks that nobody could miss anything.
fn mean(values: &[f64], bound: f64) -> Option<Estimate> {
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
    use super::{RequirementRelation, is_ruled_out, mean, requirement_standings, worst};
    use crate::journal::{Event, Fold, Run, Unit, made};
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

    /// `a` is the fastest and has the longest tail; so many blocks of all.
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
        let mut fold = Fold::new(plan);
        made::journal(events).records.into_iter().for_each(|record| fold.take(record));
        fold.into_run().unwrap()
    }

    #[test]
    fn who_misses_is_ruled_out_and_the_next_is_taken() {
        let plan = plan(&at_most("latency_p99", 0.010));
        let run = run(&plan, 6, [0.018, 0.004, 0.005]);
        let judged = Judgement::of(&plan, &run);
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
        // Not before three blocks, and from then on it is not tried.
        assert!(!is_ruled_out(&plan, &run, "a", 2) && is_ruled_out(&plan, &run, "a", 3));
        assert!(Deliberation::of(&plan, &run).racing().all(|name| name != "a"));
    }

    #[test]
    fn one_that_is_left_is_taken_and_none_is_nobody() {
        let plan = plan(&at_most("latency_p99", 0.010));
        let run_of = |tails| run(&plan, 4, tails);
        let alone = run_of([0.018, 0.019, 0.005]);
        let judged = Judgement::of(&plan, &alone);
        assert_eq!(judged.verdict.recommended.as_deref(), Some("c"));
        assert_eq!(judged.verdict.outcome, Outcome::Recommended);
        let none = run_of([0.018, 0.019, 0.015]);
        let judged = Judgement::of(&plan, &none);
        assert_eq!(judged.verdict.recommended, None);
        assert_eq!(judged.verdict.ruled_out, ["a", "b", "c"]);
        assert_eq!(Deliberation::of(&plan, &none).racing().count(), 0);
    }

    #[test]
    fn the_worst_is_that_of_all_trials_and_a_mean_is_unsure_near_the_bound() {
        let plan = plan(&at_most("latency_max", 0.010));
        let run = run(&plan, 4, [0.004, 0.003, 0.001]);
        let standings = requirement_standings(&plan, &run, &["a", "b", "c"]);
        let relations: Vec<_> = standings.iter().map(|one| one.relation).collect();
        use RequirementRelation::{Kept, Missed};
        assert_eq!(relations, [Missed, Kept, Kept], "{standings:?}");
        assert_eq!(worst(&[1.0, 2.0], 4.0).unwrap().low, None);
        let near = mean(&[0.8, 1.1, 1.3, 0.9], 1.0).unwrap();
        assert!(near.low.unwrap() < 1.0 && near.high.unwrap() > 1.0);
        assert_eq!(mean(&[2.0, 2.0, 2.0], 1.0).unwrap().low, Some(2.0));
        assert!(mean(&[0.0, 0.0, 0.0], 1.0).unwrap().high.unwrap() < 1.0);
        assert_eq!(mean(&[], 1.0), None);
    }
}
