//! Compares all candidates in one metric of one phase: which is best, and how the others compare with it.

use crate::journal::{Better, Trial};
use crate::plan::is_twin;
use crate::verdict::{ContrastOutcome, GroupVerdict, Judgement, PhaseEstimate};

/// The candidates that have this metric in this phase.
#[derive(Debug, Clone)]
pub struct Field<'a> {
    judged: &'a Judgement<'a>,
    /// The estimates, with their indices among those of the run.
    pub all: Vec<(usize, &'a PhaseEstimate)>,
    /// The best of them; `None` where no best may be named: the run ranks nothing, the metric has no better direction,
    /// or there is no rival.
    pub best: Option<(usize, &'a PhaseEstimate)>,
    /// The best of each protection level that has rivals; empty where levels are compared.
    of_groups: Vec<(&'a GroupVerdict, (usize, &'a PhaseEstimate))>,
}

impl<'a> Field<'a> {
    pub fn from_judgement(judged: &'a Judgement<'a>, metric: &str, phase: &str) -> Self {
        let is_of = |found: &&PhaseEstimate| found.metric == metric && found.phase == phase;
        let all = judged.estimates.iter().enumerate().filter(|(_, found)| is_of(found));
        let all: Vec<(usize, &PhaseEstimate)> = all.collect();
        let contesting = || all.iter().copied().filter(|(_, found)| can_be_best(judged, found));
        let best = best_of(judged, contesting());
        let groups = judged.verdict.groups.iter().filter(|_| judged.verdict.has_separate_levels());
        let best_of_group = |group: &'a GroupVerdict| {
            Some((
                group,
                best_of(
                    judged,
                    contesting().filter(|(_, found)| group.candidates.contains(&found.candidate)),
                )?,
            ))
        };
        Self { judged, best, of_groups: groups.filter_map(best_of_group).collect(), all }
    }

    /// The best candidate that this one is compared with: of its own protection level where levels are not compared. `None` if
    /// their order is unknown.
    fn best_beside(&self, own: &PhaseEstimate) -> Option<(usize, &'a PhaseEstimate)> {
        let is_own = |(group, _): &&(&GroupVerdict, _)| group.candidates.contains(&own.candidate);
        let best = match self.judged.verdict.has_separate_levels() {
            true => self.of_groups.iter().find(is_own).map(|(_, best)| *best),
            false => self.best,
        };
        best.filter(|(_, best)| !hides_order(self.judged, own, best))
    }

    /// How many times worse than the best it is.
    pub fn times_worse_than_best(&self, own: &PhaseEstimate) -> Option<f64> {
        times_worse(own, own.estimate.point, self.best_beside(own)?.1.estimate.point)
    }

    /// How a number compares with the best of its phase, which is itself "better"; `None` where there is no best.
    pub fn outcome(&self, own: &PhaseEstimate) -> Option<ContrastOutcome> {
        let best = self.best_beside(own).filter(|_| can_be_best(self.judged, own));
        let (_, best) = best?;
        let log = |trial: &Trial| trial.value(&own.phase, &own.metric).map(libm::log);
        let unsure = || {
            let ratio = self.judged.blocks.ratio(&own.candidate, &best.candidate, log);
            ratio.and_then(|ratio| Some(ratio.low? <= 1.0 && ratio.high? >= 1.0)).unwrap_or(false)
        };
        Some(match self.times_worse_than_best(own) {
            // A value equal to the best, such as zero, is also the best, though it may have no ratio.
            _ if own.estimate.point == best.estimate.point => ContrastOutcome::Better,
            Some(small) if small <= 1.0 + self.judged.plan.protocol.tie => ContrastOutcome::Tied,
            // The number is not certainly behind the best: the difference may be chance.
            _ if unsure() => ContrastOutcome::Undecided,
            _ => ContrastOutcome::Behind,
        })
    }
}

/// Whether the estimate can be the best: a twin cannot, and where the run ranks nothing, none can.
fn can_be_best(judged: &Judgement<'_>, found: &PhaseEstimate) -> bool {
    judged.verdict.refused.is_none() && !is_twin(&found.candidate)
}

/// Whether the order of two numbers is that of computation that took no time.
fn hides_order(judged: &Judgement<'_>, one: &PhaseEstimate, other: &PhaseEstimate) -> bool {
    judged.free.hides_order_in(one.unit, &one.candidate, &other.candidate)
}

/// The best of a phase. There is none where all are equal, where there is only one candidate, and where it is not told
/// whether another one is better.
fn best_of<'a>(
    judged: &Judgement<'_>,
    rivals: impl Iterator<Item = (usize, &'a PhaseEstimate)>,
) -> Option<(usize, &'a PhaseEstimate)> {
    let rivals: Vec<(usize, &PhaseEstimate)> = rivals.collect();
    let (_, first) = *rivals.first()?;
    let order = |one: &&(usize, &PhaseEstimate), other: &&(usize, &PhaseEstimate)| {
        one.1.estimate.point.total_cmp(&other.1.estimate.point)
    };
    let alike = rivals.iter().all(|(_, found)| found.estimate.point == first.estimate.point);
    let best = match first.direction() {
        _ if alike => None,
        Better::Lower => rivals.iter().min_by(order).copied(),
        Better::Higher => rivals.iter().max_by(order).copied(),
        Better::Neither => None,
    };
    best.filter(|(_, best)| rivals.iter().all(|(_, other)| !hides_order(judged, best, other)))
}

/// How many times worse a value of this estimate's metric is than the best: 1 for the best itself, in either direction
/// of the metric.
pub fn times_worse(found: &PhaseEstimate, value: f64, best: f64) -> Option<f64> {
    let ratio = match found.direction() {
        Better::Higher => best / value,
        Better::Lower | Better::Neither => value / best,
    };
    (ratio.is_finite() && ratio > 0.0).then_some(ratio)
}
