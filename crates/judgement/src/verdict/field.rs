//! One metric in one phase: who is best, and how everybody else compares with it.

use super::{Judgement, PhaseEstimate};
use crate::journal::{Better, Trial};
use crate::plan::is_twin;
use crate::statistics::Evidence;

/// Everybody who has this metric in this phase.
#[derive(Debug, Clone)]
pub struct Field<'a> {
    judged: &'a Judgement<'a>,
    /// The estimates, with their places among those of the run.
    pub all: Vec<(usize, &'a PhaseEstimate)>,
    /// Of them the best; `None` where nobody is to be crowned: the run ranks nothing, the metric has no better, there is no
    /// rival.
    pub best: Option<(usize, &'a PhaseEstimate)>,
}

/// How a number compares with the best of its phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    Best,
    /// Within δ of the best.
    Tied,
    /// It is not certainly behind the best: the difference may be chance.
    Unsure,
    Plain,
}

impl<'a> Field<'a> {
    pub fn of(judged: &'a Judgement<'a>, metric: &str, phase: &str) -> Self {
        let is_of = |found: &&PhaseEstimate| found.metric == metric && found.phase == phase;
        let all = judged.estimates.iter().enumerate().filter(|(_, found)| is_of(found));
        let all: Vec<(usize, &PhaseEstimate)> = all.collect();
        let best = best_of(all.iter().copied().filter(|(_, found)| contests(judged, found)));
        Self { judged, all, best }
    }

    /// How many times worse than the best of all.
    pub fn times(&self, own: &PhaseEstimate) -> Option<f64> {
        times_worse(own, own.estimate.point, self.best?.1.estimate.point)
    }

    pub fn mark(&self, own: &PhaseEstimate) -> Mark {
        let Some((_, best)) = self.best.filter(|_| contests(self.judged, own)) else { return Mark::Plain };
        let log = |trial: &Trial| trial.value(&own.phase, &own.metric).map(libm::log);
        let unsure = || {
            let pairs = self.judged.blocks.differences(&own.candidate, &best.candidate, log);
            let ratio = Evidence::of(&pairs).map(|evidence| evidence.ratio_at_the_stop());
            ratio.and_then(|ratio| Some(ratio.low? <= 1.0 && ratio.high? >= 1.0)).unwrap_or(false)
        };
        match self.times(own) {
            // Nothing at all is the best too, and no ratio.
            _ if own.estimate.point == best.estimate.point => Mark::Best,
            Some(small) if small <= 1.0 + self.judged.plan.protocol.tie => Mark::Tied,
            _ if unsure() => Mark::Unsure,
            _ => Mark::Plain,
        }
    }
}

/// A twin has nothing to win, and where nothing is ranked nobody has.
fn contests(judged: &Judgement<'_>, found: &PhaseEstimate) -> bool {
    judged.verdict.refused.is_none() && !is_twin(&found.candidate)
}

/// The best of a phase. Where all are alike there is no best to point at, and of one alone neither.
fn best_of<'a>(
    rivals: impl Iterator<Item = (usize, &'a PhaseEstimate)>,
) -> Option<(usize, &'a PhaseEstimate)> {
    let rivals: Vec<(usize, &PhaseEstimate)> = rivals.collect();
    let (_, first) = *rivals.first()?;
    let order = |one: &&(usize, &PhaseEstimate), other: &&(usize, &PhaseEstimate)| {
        one.1.estimate.point.total_cmp(&other.1.estimate.point)
    };
    let alike = rivals.iter().all(|(_, found)| found.estimate.point == first.estimate.point);
    match first.direction() {
        _ if alike => None,
        Better::Lower => rivals.iter().min_by(order).copied(),
        Better::Higher => rivals.iter().max_by(order).copied(),
        Better::Neither => None,
    }
}

/// How many times worse a value of this estimate's metric is than the best: 1 for the best itself, whichever way it
/// is better.
pub fn times_worse(found: &PhaseEstimate, value: f64, best: f64) -> Option<f64> {
    let ratio = match found.direction() {
        Better::Higher => best / value,
        Better::Lower | Better::Neither => value / best,
    };
    (ratio.is_finite() && ratio > 0.0).then_some(ratio)
}
