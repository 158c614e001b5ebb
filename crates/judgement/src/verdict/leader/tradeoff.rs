//! The costs of each candidate besides time, and the Pareto set over the goal, CPU time, space and device writes.

use libm::log;
use serde::Serialize;

use crate::journal::Trial;
use crate::statistics::{Estimate, Evidence};

use crate::verdict::work::cost_of_trial;
use crate::verdict::work::{differences, side_by_side};
use crate::verdict::{Rank, Verdict, VerdictEvidence};

/// A cost that is weighed against time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// CPU time of the tools and of the kernel on their behalf, summed over all phases of the goal.
    Cpu,
    /// The largest growth of the space in use after any phase of the goal.
    Space,
    /// Space of the device that the filesystem makes unavailable to ordinary users.
    Lost,
    /// Bytes written to the device, summed over all phases of the goal.
    Written,
}

pub const COSTS: [Cost; 4] = [Cost::Cpu, Cost::Space, Cost::Lost, Cost::Written];

/// A candidate's costs, side by side with the leader's.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tradeoff {
    pub candidate: String,
    /// Seconds of CPU time.
    pub cpu: Option<Estimate>,
    /// Bytes in use beyond those of the fresh filesystem.
    pub space: Option<Estimate>,
    /// Bytes of the device that the fresh filesystem makes unavailable to ordinary users.
    pub lost: Option<Estimate>,
    /// Bytes written to the device.
    pub written: Option<Estimate>,
    /// A candidate that is shown to be as good in everything and better in something.
    pub beaten_by: Option<String>,
    /// Whether the candidate is shown to be in the Pareto set: no other candidate beats it. Without `beaten_by`, false
    /// means that this is open.
    pub unbeaten: bool,
}

impl Tradeoff {
    pub fn cost(&self, cost: Cost) -> Option<Estimate> {
        match cost {
            Cost::Cpu => self.cpu,
            Cost::Space => self.space,
            Cost::Lost => self.lost,
            Cost::Written => self.written,
        }
    }
}

/// With more candidates than this, only so many, the best for the goal, are looked at as those that may beat others;
/// all pairs would take time quadratic in the candidates.
const MOST_BEATERS: usize = 64;

/// How a candidate compares with the others in one cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CostLead<'a> {
    /// This other candidate certainly takes less, by more than a tie; the estimate is its ratio to this candidate's
    /// cost.
    Less(&'a str, Estimate),
    /// No other candidate takes less by more than a tie.
    Least,
}

impl Verdict {
    /// The costs in which another candidate certainly takes less than this one, or in which no other candidate does.
    /// Costs where neither is known are left out.
    pub fn cost_leads(&self, candidate: &str, tie: f64) -> Vec<(Cost, CostLead<'_>)> {
        let Some(own) = self.find_tradeoff(candidate) else { return Vec::new() };
        let small = 1.0 / (1.0 + tie);
        let lead = |cost: Cost| {
            let mine = own.cost(cost).filter(|mine| mine.point > 0.0)?;
            let others = self.tradeoffs.iter().filter(|tradeoff| tradeoff.candidate != candidate);
            let ratios: Vec<(&str, Estimate)> = others
                .filter_map(|tradeoff| {
                    Some((tradeoff.candidate.as_str(), tradeoff.cost(cost)?.map(|value| value / mine.point)))
                })
                .collect();
            let best = ratios.iter().min_by(|one, other| one.1.point.total_cmp(&other.1.point));
            match best {
                Some((candidate, ratio)) if ratio.high.is_some_and(|high| high < small) => {
                    Some((cost, CostLead::Less(candidate, *ratio)))
                }
                Some(_) if ratios.iter().all(|(_, ratio)| ratio.low.is_some_and(|low| low > small)) => {
                    Some((cost, CostLead::Least))
                }
                Some(_) | None => None,
            }
        };
        COSTS.into_iter().filter_map(lead).collect()
    }
}

pub(crate) fn list_tradeoffs(evidence: &VerdictEvidence<'_>, ranking: &[Rank]) -> Vec<Tradeoff> {
    let names: Vec<&str> = ranking.iter().map(|rank| rank.candidate.as_str()).collect();
    let phases = evidence.objective.phases();
    let [cpu, space, lost, written] = COSTS.map(|cost| {
        side_by_side(evidence.trials, names.first().copied(), &names, |trial| {
            of_trial(evidence, &phases, trial, cost)
        })
    });
    let beaten = pareto_dominators(evidence, &names);
    let tradeoff = |(at, (beater, unbeaten)): (usize, (Option<usize>, bool))| Tradeoff {
        candidate: names[at].to_owned(),
        cpu: cpu[at],
        space: space[at],
        lost: lost[at],
        written: written[at],
        // The best candidate for the goal is in the Pareto set by definition.
        beaten_by: beater.filter(|_| at > 0).map(|beater| names[beater].to_owned()),
        unbeaten: at == 0 || unbeaten,
    };
    beaten.into_iter().enumerate().map(tradeoff).collect()
}

/// For each candidate, the first in the ranking that beats it: by the intervals, it is no worse by more than a tie in
/// anything, and better by more than a tie in something. A cost that the two do not both have is left out. The flag
/// says whether it is shown that no candidate does: each other one is worse by more than a tie in something, or nowhere
/// better. With more than [`MOST_BEATERS`] candidates that is not shown of any.
fn pareto_dominators(evidence: &VerdictEvidence<'_>, names: &[&str]) -> Vec<(Option<usize>, bool)> {
    let (phases, tie) = (evidence.objective.phases(), evidence.tie());
    let cost =
        |trial: &Trial, cost| of_trial(evidence, &phases, trial, cost).filter(|value| *value > 0.0).map(log);
    // Looks up each number of each trial once, however many candidates it is compared with.
    let of_cost = |which| evidence.trials.rows_by_block(names, |trial| cost(trial, which));
    let goal = evidence.trials.rows_by_block(names, |trial| evidence.score(trial));
    let tables = [goal].into_iter().chain(COSTS.map(of_cost));
    let mut beaten = vec![(None, names.len() <= MOST_BEATERS); names.len()];
    let tables: Vec<_> = tables.collect();
    for at in 0..names.len().min(MOST_BEATERS) {
        let (mut no_worse, mut better) = (vec![true; names.len()], vec![false; names.len()]);
        // Of a pair whose times leave out computation neither is shown to beat the other.
        let is_told: Vec<bool> =
            names.iter().map(|name| !evidence.free.hides_order(names[at], name)).collect();
        let (mut nowhere_better, mut worse) = (is_told.clone(), vec![false; names.len()]);
        for rows in &tables {
            let pairs = (0..names.len()).filter(|other| *other != at && is_told[*other]);
            let pairs = pairs.map(|other| (other, differences(rows, at, other)));
            let (others, samples): (Vec<usize>, Vec<Vec<f64>>) =
                pairs.filter(|(_, sample)| !sample.is_empty()).unzip();
            for (other, evidence) in others.into_iter().zip(Evidence::from_paired_samples(&samples)) {
                let ratio = evidence.ratio();
                let high = ratio.high.unwrap_or(f64::INFINITY);
                no_worse[other] &= high <= 1.0 + tie;
                better[other] |= high < 1.0 && ratio.point < 1.0 / (1.0 + tie);
                let low = ratio.low.unwrap_or(0.0);
                nowhere_better[other] &= low >= 1.0 / (1.0 + tie);
                worse[other] |= low > 1.0 && ratio.point > 1.0 + tie;
            }
        }
        for other in 0..names.len() {
            let (beater, unbeaten) = &mut beaten[other];
            if no_worse[other] && better[other] && beater.is_none() {
                *beater = Some(at);
            }
            *unbeaten &= other == at || worse[other] || nowhere_better[other];
        }
    }
    beaten
}

fn of_trial(evidence: &VerdictEvidence<'_>, phases: &[&str], trial: &Trial, cost: Cost) -> Option<f64> {
    match cost {
        Cost::Cpu if evidence.free.applies_to(&trial.id.candidate) => None,
        Cost::Cpu => {
            let kernel = cost_of_trial(phases, trial, "cpu_kernel").unwrap_or(0.0);
            Some(cost_of_trial(phases, trial, "cpu")? + kernel)
        }
        Cost::Written => cost_of_trial(phases, trial, "device_written"),
        Cost::Space => cost_of_trial(phases, trial, "space_grown"),
        Cost::Lost => cost_of_trial(phases, trial, "space_lost"),
    }
}
