//! The stopping rule: after which block which candidate is out, which are tied, and whether to go on.
//!
//! A pure state machine. It is fed one block at a time and its answers depend on nothing else, so a run that
//! is resumed from its journal decides as the uninterrupted one would have. How each decision is reached is in
//! [`elimination`](super::elimination) and [`pooled`](super::pooled); when decisions may be
//! reached, in [`spending`](super::spending).

use libm::log1p;

use super::distribution::{normal_quantile, root};
use super::elimination::{Contender, ruled_out};
use super::pooled::Evidence;
use super::scores::Scores;
use super::spending::{Levels, PlannedLook, levels, planned_looks};

/// The part of a look's share of α that its level is set for. Levels are right for normal noise of one known size; what
/// is held back covers what they overlook (docs/methodology.md says how much that is).
const USED: f64 = 0.5;

/// The same for two candidates, whose levels overlook less.
const USED_OF_TWO: f64 = 0.85;

/// How unlikely (in standard deviations) success must be before a run is given up early: one in five.
const HOPE: f64 = 0.84;

/// What the user has fixed in advance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StoppingRule {
    /// Nothing is concluded before this many blocks (nor before [`FEWEST`](super::FEWEST)).
    pub minimum: u32,
    /// No more blocks than this.
    pub maximum: u32,
    /// Probability of ever wrongly ruling out a best candidate; and, apart from that, of a wrong tie.
    pub alpha: f64,
    /// δ, as a fraction: smaller relative differences do not matter.
    pub tie: f64,
    /// End undecided, without using up the budget, when more blocks will hardly decide anything.
    pub give_up: bool,
}

impl StoppingRule {
    /// α = 5 %, giving up early.
    pub fn new(minimum: u32, maximum: u32, tie: f64) -> StoppingRule {
        StoppingRule { minimum, maximum, alpha: 0.05, tie, give_up: true }
    }
}

/// Whether to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Run another block of the surviving candidates.
    Continue,
    /// One candidate is left.
    Decided,
    /// All that are left are equivalent to the best of them within δ.
    Tied,
    /// The budget of blocks is used up, and some are neither out nor tied.
    Undecided,
    /// Undecided, and more blocks within the budget would hardly change that.
    Hopeless,
}

/// How a candidate compares with the leader at a look.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LookComparison {
    pub candidate: usize,
    /// Its log score less the leader's.
    pub evidence: Evidence,
    /// Two-sided p of this pair alone; not corrected.
    pub p: f64,
    /// It was ruled out at this look.
    pub out: bool,
    /// It was shown equivalent to the leader within δ at this look.
    pub tied: bool,
}

/// What one block led to.
#[derive(Debug, Clone, PartialEq)]
pub struct Look {
    pub block: u32,
    /// α spent by this look on ruling out; 0 when there was no look.
    pub spent: f64,
    /// α spent by all looks so far.
    pub spent_so_far: f64,
    /// The best surviving candidate; `None` when there was no look.
    pub leader: Option<usize>,
    /// Every other candidate that was still in, the closest first.
    pub comparisons: Vec<LookComparison>,
    /// Candidates ruled out by this look.
    pub eliminate: Vec<usize>,
    /// Candidates tied with the leader as of this look.
    pub tied: Vec<usize>,
    pub outcome: Outcome,
}

/// The state: what was recorded, and who is still in.
#[derive(Debug, Clone)]
pub struct Stopping {
    rule: StoppingRule,
    plan: Vec<PlannedLook>,
    out_levels: Levels,
    /// One-sided.
    tie_levels: Vec<f64>,
    scores: Scores,
    surviving: Vec<bool>,
    block: u32,
    looks_taken: usize,
}

impl Stopping {
    /// A run of this many candidates is about to begin.
    pub fn new(rule: StoppingRule, candidates: usize) -> Stopping {
        let plan = planned_looks(rule.minimum, rule.maximum, rule.alpha);
        Stopping {
            rule,
            out_levels: out_levels(&plan, candidates),
            tie_levels: tie_levels(&plan),
            plan,
            scores: Scores::new(candidates),
            surviving: vec![true; candidates],
            block: 0,
            looks_taken: 0,
        }
    }

    /// Candidates that are still in.
    pub fn surviving(&self) -> Vec<usize> {
        (0..self.surviving.len()).filter(|candidate| self.surviving[*candidate]).collect()
    }

    /// Takes in a block: one log score (smaller is better) per candidate. A surviving candidate without a
    /// finite score is withdrawn: it takes no further part, and is neither ruled out nor tied.
    pub fn block(&mut self, scores: &[Option<f64>]) -> Look {
        self.block += 1;
        for candidate in self.surviving() {
            match scores.get(candidate).copied().flatten().filter(|score| score.is_finite()) {
                Some(score) => self.scores.push(candidate, score),
                None => self.surviving[candidate] = false,
            }
        }
        match self.plan.get(self.looks_taken) {
            Some(planned) if planned.block <= self.block => {
                let spent = planned.out;
                self.looks_taken += 1;
                self.look(spent)
            }
            _ => self.no_look(),
        }
    }

    /// A last look with all the α that is left, for a run that ends for a reason that has nothing to do with
    /// its results (its time is up). No blocks may follow.
    pub fn close(&mut self) -> Look {
        let taken = self.looks_taken.min(self.plan.len());
        let rest = |share: fn(&PlannedLook) -> f64| self.plan[taken..].iter().map(share).sum::<f64>();
        let last = PlannedLook { block: self.block, out: rest(|look| look.out), tie: rest(|look| look.tie) };
        if self.block < super::spending::FEWEST || last.out <= 0.0 {
            let mut look = self.no_look();
            if look.outcome == Outcome::Continue {
                look.outcome = Outcome::Undecided;
            }
            return look;
        }
        self.plan.truncate(taken);
        self.plan.push(last);
        self.out_levels = out_levels(&self.plan, self.scores.candidates());
        self.tie_levels = tie_levels(&self.plan);
        self.looks_taken = taken + 1;
        self.rule.maximum = self.block;
        self.look(last.out)
    }

    fn spent_so_far(&self) -> f64 {
        self.plan.iter().take(self.looks_taken).map(|look| look.out).sum()
    }

    fn no_look(&self) -> Look {
        let left = self.surviving().len();
        let outcome = if self.block >= self.rule.maximum || left == 0 {
            Outcome::Undecided
        } else if left == 1 && self.scores.candidates() > 1 {
            Outcome::Decided
        } else {
            Outcome::Continue
        };
        Look {
            block: self.block,
            spent: 0.0,
            spent_so_far: self.spent_so_far(),
            leader: None,
            comparisons: Vec::new(),
            eliminate: Vec::new(),
            tied: Vec::new(),
            outcome,
        }
    }

    fn look(&mut self, spent: f64) -> Look {
        let number = self.looks_taken - 1;
        let surviving = self.surviving();
        let Some(leader) = self.scores.leader(&surviving) else { return self.no_look() };
        let bound = log1p(self.rule.tie);
        let common = self.scores.common();
        let mut contenders: Vec<Contender> = surviving
            .into_iter()
            .filter_map(|candidate| self.scores.contender(candidate, leader, common))
            .collect();
        contenders.sort_by(|a, b| a.evidence.difference.total_cmp(&b.evidence.difference));
        let level = |comparisons: f64| self.out_levels.level(number, comparisons);
        let out = ruled_out(&contenders, common, bound, level);
        let tie_level = self.tie_levels.get(number).copied().unwrap_or(0.0);
        let comparisons: Vec<LookComparison> = contenders
            .iter()
            .zip(out)
            .map(|(contender, out)| LookComparison {
                candidate: contender.candidate,
                evidence: contender.evidence,
                p: contender.p,
                out,
                tied: !out && contender.evidence.p_not_equivalent(bound) <= tie_level,
            })
            .collect();
        let named = |of: fn(&LookComparison) -> bool| -> Vec<usize> {
            comparisons
                .iter()
                .filter(|comparison| of(comparison))
                .map(|comparison| comparison.candidate)
                .collect()
        };
        let (eliminate, tied) = (named(|comparison| comparison.out), named(|comparison| comparison.tied));
        let open: Vec<&LookComparison> = comparisons.iter().filter(|one| !one.out && !one.tied).collect();
        let outcome = if comparisons.len() == eliminate.len() {
            Outcome::Decided
        } else if open.is_empty() {
            Outcome::Tied
        } else if self.block >= self.rule.maximum {
            Outcome::Undecided
        } else if self.rule.give_up
            && open.iter().all(|one| self.hopeless(&one.evidence, bound, open.len() as f64))
        {
            Outcome::Hopeless
        } else {
            Outcome::Continue
        };
        for candidate in &eliminate {
            self.surviving[*candidate] = false;
        }
        let spent_so_far = self.spent_so_far();
        Look {
            block: self.block,
            spent,
            spent_so_far,
            leader: Some(leader),
            comparisons,
            eliminate,
            tied,
            outcome,
        }
    }

    /// Whether, going by what was seen so far, neither a difference nor a tie will be shown by the last block:
    /// both miss their level at the last look (divided among the pairs still open) by a margin that one run in five
    /// would overcome. A matter of thrift only: it can cost a decision, never make one.
    fn hopeless(&self, seen: &Evidence, bound: f64, open: f64) -> bool {
        let Some(last) = self.plan.len().checked_sub(1) else { return false };
        let part = f64::from(self.block) / f64::from(self.rule.maximum);
        if part < 0.5 || self.block < 6 || seen.error <= 0.0 {
            return false;
        }
        let error_then = seen.error * root(part);
        let drift = HOPE * seen.error * root(1.0 - part);
        let out =
            normal_quantile(1.0 - 0.5 * self.out_levels.level(last, 0.5 * open * (open + 1.0))) * error_then;
        let tie_level = self.tie_levels.get(last).copied().unwrap_or(0.0);
        let tied = bound - normal_quantile(1.0 - tie_level) * error_then;
        let (largest, smallest) = (seen.difference.abs() + drift, (seen.difference.abs() - drift).max(0.0));
        largest < out.max(bound) && smallest > tied
    }
}

fn out_levels(plan: &[PlannedLook], candidates: usize) -> Levels {
    let used = if candidates > 2 { USED } else { USED_OF_TWO };
    let looks: Vec<(u32, f64)> = plan.iter().map(|look| (look.block, used * look.out)).collect();
    Levels::new(&looks, super::elimination::most_comparisons(candidates))
}

/// Equivalence is one-sided, so the two-sided levels for twice the share are halved.
fn tie_levels(plan: &[PlannedLook]) -> Vec<f64> {
    let looks: Vec<(u32, f64)> = plan.iter().map(|look| (look.block, 2.0 * look.tie)).collect();
    levels(&looks).into_iter().map(|level| 0.5 * level).collect()
}

#[cfg(test)]
mod tests;
