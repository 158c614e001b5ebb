//! The goal of a trial as one number, where smaller is better: the sum over the phases of frequency × number (the time
//! of the whole job), or the weighted geometric mean of the phases' numbers (a score).
//!
//! Both are kept as logarithms, so that a difference of two candidates is their ratio.

use std::collections::BTreeMap;

use libm::log;
use serde::Serialize;

use crate::journal::{Run, Status, Trial, TrialStanding};
use crate::plan::{Aggregation, Amount, Dataset, Phase, PhaseWork, Plan};

#[derive(Debug, Clone, PartialEq)]
pub struct Objective {
    pub metric: String,
    pub by: Aggregation,
    /// Frequencies or weights by phase, for the phases of the goal that every candidate has a number for.
    pub weights: BTreeMap<String, f64>,
    /// Phases of the goal that some candidate has no number for, and which therefore count for no candidate.
    pub left_out: Vec<LeftOutPhase>,
    /// The bytes that phases move in each trial, as far as the plan tells.
    pub planned_bytes: BTreeMap<String, f64>,
}

/// A phase of the goal that is left out of the comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LeftOutPhase {
    pub phase: String,
    /// The candidates without a number in it.
    pub lacking: Vec<String>,
    /// The smallest share of its data that it moved, where that is why it does not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved: Option<f64>,
}

impl Objective {
    /// The goal as the plan states it, before any trial.
    pub fn from_plan(plan: &Plan) -> Self {
        let goal = &plan.goal;
        let every = || plan.phases.iter().map(|phase| (phase.name.clone(), 1.0)).collect();
        let given = if goal.weights.is_empty() { every() } else { goal.weights.clone() };
        let weights = given.into_iter().filter(|(_, weight)| *weight > 0.0).collect();
        Self {
            metric: goal.metric.clone(),
            by: goal.by,
            weights,
            left_out: Vec::new(),
            planned_bytes: planned_bytes(plan),
        }
    }

    /// The goal over the phases in which every candidate has a number in every trial. A candidate without a number for
    /// a phase must not drop out of the comparison for that.
    pub fn from_run(plan: &Plan, run: &Run) -> Self {
        let mut objective = Self::from_plan(plan);
        objective.add_trials(&run.trials);
        objective
    }

    /// Adds further trials of a run, from blocks that have ended.
    pub fn add_trials<'a>(&mut self, trials: impl IntoIterator<Item = &'a Trial>) {
        let succeeded = trials
            .into_iter()
            .filter(|trial| trial.status == Status::Ok && trial.standing != TrialStanding::Discarded);
        for trial in succeeded {
            let (metric, by) = (self.metric.as_str(), self.by);
            let planned = &self.planned_bytes;
            let moved = |phase: &str| insufficient_share(phase, trial, planned.get(phase).copied());
            let lacks =
                |phase: &str| phase_cost(metric, by, phase, trial).is_none() || moved(phase).is_some();
            let lacked: Vec<String> = self.weights.keys().filter(|phase| lacks(phase)).cloned().collect();
            for phase_left_out in
                self.left_out.iter_mut().filter(|phase_left_out| lacks(&phase_left_out.phase))
            {
                phase_left_out.moved =
                    phase_left_out.moved.into_iter().chain(moved(&phase_left_out.phase)).reduce(f64::min);
                if !phase_left_out.lacking.contains(&trial.id.candidate) {
                    phase_left_out.lacking.push(trial.id.candidate.clone());
                }
            }
            for phase in lacked {
                self.weights.remove(&phase);
                let moved = moved(&phase);
                let lacking = vec![trial.id.candidate.clone()];
                self.left_out.push(LeftOutPhase { phase, lacking, moved });
            }
        }
        self.left_out.sort_by(|one, other| one.phase.cmp(&other.phase));
    }

    pub fn phases(&self) -> Vec<&str> {
        self.weights.keys().map(String::as_str).collect()
    }

    /// Whether the goal is a sum of the phases' numbers, in their unit; otherwise it is a score.
    pub fn is_total(&self) -> bool {
        self.by == Aggregation::Total
    }

    /// The logarithm of the goal in one trial, where smaller is better. `None` when a phase that counts was not
    /// measured, or when the goal is zero, because zero has no ratios.
    pub fn log_score(&self, trial: &Trial) -> Option<f64> {
        self.log_of(|phase| self.phase_cost(phase, trial))
    }

    /// The logarithm of the goal as if each phase had taken `more` of the metric, or less where that is negative.
    /// `None` where the result is not positive.
    pub(crate) fn log_score_changed(&self, trial: &Trial, more: impl Fn(&str) -> f64) -> Option<f64> {
        self.log_of(|phase| {
            let changed = trial.value(phase, &self.metric)? + more(phase);
            Some(if self.is_total() { changed } else { log(changed) })
        })
    }

    /// The contribution of a phase of a trial to the goal per unit of weight: its number in a total, the logarithm of
    /// its cost in a score.
    pub(crate) fn phase_cost(&self, phase: &str, trial: &Trial) -> Option<f64> {
        phase_cost(&self.metric, self.by, phase, trial)
    }

    fn log_of(&self, cost: impl Fn(&str) -> Option<f64>) -> Option<f64> {
        let sum: Option<f64> = self.weights.iter().map(|(phase, weight)| Some(weight * cost(phase)?)).sum();
        let sum = sum?;
        let score = match self.by {
            Aggregation::Total => log(sum),
            Aggregation::Ratios => sum / self.weights.values().sum::<f64>(),
        };
        // A plan of an earlier version may have weights that make either infinite.
        (!self.weights.is_empty() && score.is_finite()).then_some(score)
    }
}

fn phase_cost(metric: &str, by: Aggregation, phase: &str, trial: &Trial) -> Option<f64> {
    match by {
        Aggregation::Total => {
            // Zero has no ratios, and a time of zero means that the work was not done.
            trial.value(phase, metric).filter(|value| value.is_finite() && *value > 0.0)
        }
        Aggregation::Ratios => log_cost(metric, phase, trial),
    }
}

/// The logarithm of a metric in a phase, where smaller is better; `None` where it was not measured or is zero.
pub(crate) fn log_cost(metric: &str, phase: &str, trial: &Trial) -> Option<f64> {
    let observation = trial.observations.iter().find(|observation| observation.phase == phase)?;
    let measurement = observation.find_measurement(metric)?;
    let sign = measurement.direction().cost_sign();
    Some(sign * log(measurement.resolved_value())).filter(|log| log.is_finite())
}

/// A phase that moved a smaller share of its data does not count.
const LEAST_SHARE: f64 = 0.5;

/// The bytes that each phase moves that goes through all of its dataset, as far as the plan tells.
pub(crate) fn planned_bytes(plan: &Plan) -> BTreeMap<String, f64> {
    let of_phase = |phase: &Phase| {
        let dataset = plan.datasets.get(phase.dataset.as_ref()?)?;
        let bytes = bytes_of(dataset).filter(|bytes| *bytes > 0 && moves_all(phase))?;
        Some((phase.name.clone(), bytes as f64))
    };
    plan.phases.iter().filter_map(of_phase).collect()
}

/// The share of its data that a phase moved, if that is too little to count: of `planned` bytes, or for data of unknown
/// size none at all.
pub(crate) fn insufficient_share(phase: &str, trial: &Trial, planned: Option<f64>) -> Option<f64> {
    let moved = trial.value(phase, "logical_bytes")?;
    match planned {
        Some(planned) => Some(moved / planned).filter(|share| *share < LEAST_SHARE),
        None => (moved == 0.0 && trial.value(phase, "files").unwrap_or(0.0) == 0.0).then_some(0.0),
    }
}

fn moves_all(phase: &Phase) -> bool {
    matches!(phase.work, PhaseWork::Operation(operation) if operation.amount() == Amount::Dataset)
}

/// The size of data that the plan itself states; of a folder of the user's it only states a limit.
fn bytes_of(dataset: &Dataset) -> Option<u64> {
    match dataset {
        Dataset::Tree(shape) => Some(shape.size.0),
        Dataset::Flat { files, file_size } => Some(files.saturating_mul(file_size.0)),
        Dataset::File { size, .. } => Some(size.0),
        Dataset::Folder { .. } | Dataset::Trace { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::Objective;
    use crate::journal::{Event, Observation, Unit, made};
    use crate::plan::Plan;
    use serde_json::json;

    fn plan(goal: &serde_json::Value) -> Plan {
        made::plan(&json!({
            "candidates": [
                { "name": "a", "filesystem": "ext4", "encryption": "none" },
                { "name": "b", "filesystem": "xfs", "encryption": "none" },
            ],
            "goal": goal,
        }))
    }

    /// The objective, and the goals of `a` and `b`; `b` takes 4 % longer to write and a fiftieth of the time to remove.
    fn goals(plan: &Plan) -> (Objective, Vec<Option<f64>>) {
        let mut events = vec![(None, made::started()), (None, made::block_started(1, 1, &["a", "b"]))];
        for (name, write, remove) in [("a", 50.0, 0.5), ("b", 52.0, 0.01)] {
            let id = Some(made::id(1, name));
            events.push((id.clone(), Event::TrialStarted {}));
            events.push((id.clone(), made::durable("write", write)));
            events.push((id.clone(), made::durable("remove", remove)));
            events.push((id, made::ended(None, 1.0)));
        }
        events.push((None, Event::BlockFinished { block: 1, attempt: 1, invalid: None }));
        let run = &made::run(plan, events);
        let objective = Objective::from_run(plan, run);
        let scores = run.trials.iter().map(|trial| objective.log_score(trial).map(libm::exp)).collect();
        (objective, scores)
    }

    #[test]
    fn a_total_adds_up_what_a_user_waits_for_and_a_score_weighs_ratios() {
        let total =
            plan(&json!({ "metric": "durable", "by": "total", "weights": { "write": 1.0, "remove": 2.0 } }));
        let (_, seconds) = goals(&total);
        assert!((seconds[0].unwrap() - 51.0).abs() < 1e-9 && (seconds[1].unwrap() - 52.02).abs() < 1e-9);
        let ratios = plan(&json!({ "metric": "durable", "weights": { "write": 1.0, "remove": 1.0 } }));
        let (_, scores) = goals(&ratios);
        // The milliseconds of the removal outweigh two seconds of writing.
        assert!(scores[1].unwrap() < 0.2 * scores[0].unwrap());
    }

    /// The objective after one block in which each candidate had the same observations.
    fn objective_after_block(plan: &Plan, candidates: &[&str], observations: &[Observation]) -> Objective {
        let mut events = vec![(None, made::started()), (None, made::block_started(1, 1, candidates))];
        for name in candidates {
            let id = Some(made::id(1, name));
            events.push((id.clone(), Event::TrialStarted {}));
            for observation in observations {
                events.push((id.clone(), Event::Observation(observation.clone())));
            }
            events.push((id, made::ended(None, 1.0)));
        }
        events.push((None, Event::BlockFinished { block: 1, attempt: 1, invalid: None }));
        Objective::from_run(plan, &made::run(plan, events))
    }

    #[test]
    fn a_phase_that_moved_nothing_counts_for_no_candidate() {
        let plan =
            plan(&json!({ "metric": "durable", "by": "total", "weights": { "write": 1.0, "read": 1.0 } }));
        let observations = [("write", 12.0), ("read", 0.0)].map(|(phase, files)| {
            let numbers = [
                ("durable", Unit::Seconds, 1.0),
                ("logical_bytes", Unit::Bytes, 0.0),
                ("files", Unit::Count, files),
            ];
            made::measured(phase, &numbers)
        });
        let objective = objective_after_block(&plan, &["a", "b"], &observations);
        // Empty files are work; neither a byte nor a file is none.
        assert_eq!(objective.phases(), ["write"]);
        assert_eq!(objective.left_out[0].lacking, ["a", "b"]);
        assert_eq!(objective.left_out[0].moved, Some(0.0));
    }

    #[test]
    fn a_phase_that_moved_less_than_half_of_its_data_counts_for_no_candidate() {
        let work = |operation: &str, name: &str| json!({ "name": name, "work": { "operation": operation }, "dataset": "file", "cold": false });
        let plan = made::plan(&json!({
            "candidates": [{ "name": "a", "filesystem": "ext4", "encryption": "none" }],
            "datasets": { "file": { "kind": "file", "size": 1000, "compressible": 0.0 } },
            "phases": [work("stream.write", "write"), work("stream.read", "read"), work("random.read", "seek")],
            "goal": { "metric": "durable", "by": "total", "weights": { "write": 1.0, "read": 1.0, "seek": 1.0 } },
        }));
        // Reading at random goes through no certain share of its file.
        let observations = [("write", 1000.0), ("read", 499.0), ("seek", 10.0)].map(|(phase, bytes)| {
            made::measured(phase, &[("durable", Unit::Seconds, 1.0), ("logical_bytes", Unit::Bytes, bytes)])
        });
        let objective = objective_after_block(&plan, &["a"], &observations);
        assert_eq!(objective.phases(), ["seek", "write"]);
        assert_eq!(
            (objective.left_out[0].phase.as_str(), objective.left_out[0].moved),
            ("read", Some(0.499))
        );
    }

    #[test]
    fn a_phase_that_was_not_measured_counts_for_no_candidate() {
        let asked = json!({ "metric": "durable", "by": "total", "weights": { "write": 1.0, "fsck": 1.0 } });
        let (objective, _) = goals(&plan(&asked));
        assert_eq!(objective.phases(), ["write"]);
        assert_eq!(objective.left_out[0].lacking, ["a", "b"]);
    }
}
