//! Checks whether a verdict holds when CPU time is charged. Trials in simulated time take computation as free, and how
//! much of it overlaps with the device's work is unknown, so both extremes are examined: none of its price is added, or
//! all.

use std::collections::HashMap;

use serde::Serialize;

use super::{Rank, VerdictEvidence};
use crate::journal::{CpuPrices, Trial, Unpriced};
use crate::statistics::{Estimate, Evidence};

/// The leader and the others when the price of computation is added to the device's time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Computing {
    /// The first of the ranking.
    pub leader: String,
    /// The basis of the prices, each a sentence without a full stop.
    pub basis: Vec<String>,
    /// Every candidate with a price, over the phases of the goal, in the order of the ranking.
    pub candidates: Vec<Computed>,
    /// Candidates without a price, which this says nothing about.
    pub unpriced: Vec<Unpriced>,
}

/// The effect of computation on one candidate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Computed {
    pub candidate: String,
    /// CPU seconds of one processor for the work, over the phases of the goal.
    pub work: f64,
    /// CPU seconds of one processor for its layers, over the phases of the goal.
    pub layers: f64,
    /// The ratio of its goal to the leader's if all computation of both is added; `None` for the leader, and where the
    /// leader has no price.
    pub with_all: Option<Estimate>,
    /// The share of all computation, from 0 to 1, beyond which it is better than the leader by more than δ.
    pub leads_beyond: Option<f64>,
}

/// The effect of the run's CPU prices on its ranking; `None` where there are none, or where the goal is not time.
pub(super) fn computing(evidence: &VerdictEvidence<'_>, ranking: &[Rank]) -> Option<Computing> {
    let prices = evidence.run.prices.as_ref()?;
    let leader = &ranking.first()?.candidate;
    if evidence.objective.metric != "durable" {
        return None;
    }
    let priced = Priced { evidence, seconds: seconds(prices) };
    let phases = evidence.objective.phases();
    let computed = |rank: &Rank| {
        let candidate = &rank.candidate;
        let of_goal = prices
            .prices
            .iter()
            .filter(|one| one.candidate == *candidate && phases.contains(&one.phase.as_str()));
        let (work, layers) =
            of_goal.fold((0.0, 0.0), |(work, layers), one| (work + one.work, layers + one.layers));
        priced.has_all_prices(candidate).then(|| {
            let other = (candidate != leader && priced.has_all_prices(leader)).then_some(leader);
            Computed {
                candidate: candidate.clone(),
                work,
                layers,
                with_all: other.and_then(|leader| priced.ratio(candidate, leader, 1.0)),
                leads_beyond: other.and_then(|leader| priced.leads_beyond(candidate, leader)),
            }
        })
    };
    let candidates: Vec<Computed> = ranking.iter().filter_map(computed).collect();
    let (leader, basis, unpriced) = (leader.clone(), prices.basis.clone(), prices.unpriced.clone());
    Some(Computing { leader, basis, candidates, unpriced })
}

/// CPU seconds by candidate and phase.
fn seconds(prices: &CpuPrices) -> HashMap<(&str, &str), f64> {
    let usable = prices.prices.iter().filter(|one| one.seconds().is_finite() && one.seconds() >= 0.0);
    usable.map(|one| ((one.candidate.as_str(), one.phase.as_str()), one.seconds())).collect()
}

struct Priced<'a> {
    evidence: &'a VerdictEvidence<'a>,
    seconds: HashMap<(&'a str, &'a str), f64>,
}

impl Priced<'_> {
    /// Whether each phase of the goal has a price.
    fn has_all_prices(&self, candidate: &str) -> bool {
        let phases = self.evidence.objective.phases();
        phases.iter().all(|phase| self.seconds.contains_key(&(candidate, phase)))
    }

    /// The logarithm of a trial's goal with this share of its computation added.
    fn score(&self, trial: &Trial, share: f64) -> Option<f64> {
        let more = |phase: &str| {
            share * self.seconds.get(&(trial.id.candidate.as_str(), phase)).copied().unwrap_or(f64::NAN)
        };
        self.evidence.objective.log_score_changed(trial, more)
    }

    fn ratio(&self, candidate: &str, leader: &str, share: f64) -> Option<Estimate> {
        let score = |trial: &Trial| self.score(trial, share);
        let logs = self.evidence.trials.differences(candidate, leader, score);
        Some(Evidence::from_sample(&logs)?.ratio_after_stopping_rule())
    }

    /// Bisects for the share: the added time grows with it for both, and so the ratio moves in one direction.
    fn leads_beyond(&self, candidate: &str, leader: &str) -> Option<f64> {
        let leads = |share: f64| {
            let ratio = self.ratio(candidate, leader, share)?.point;
            Some(ratio < 1.0 / (1.0 + self.evidence.tie()))
        };
        // Without computation the first of the ranking leads.
        if leads(0.0)? || !leads(1.0)? {
            return None;
        }
        let (mut none, mut all) = (0.0, 1.0);
        for _ in 0..20 {
            let middle = 0.5 * (none + all);
            if leads(middle)? { all = middle } else { none = middle }
        }
        Some(all)
    }
}
