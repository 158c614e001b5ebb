//! Compares the two sides of a finding: numbers of candidates, or their ratios to other numbers, pair by pair.

use super::{FindingContext, FindingReason, FindingStatus};
use crate::journal::{Better, Trial};
use crate::plan::GOAL;
use crate::statistics::{Estimate, Evidence};
use crate::verdict::limits::ratio_errors::{RatioTerm, widen_interval};
use crate::verdict::work::log_cost;
use crate::verdict::{ByBlock, Objective, PhaseEstimate};

/// The smallest sample whose range from minimum to maximum is used.
const FEWEST: usize = 3;

/// The condition that a pair of estimates must meet.
#[derive(Clone, Copy)]
pub(crate) enum Test {
    /// One side is better by this factor.
    Better { by: f64 },
    /// The two differ by this share at most.
    Alike { within: f64 },
    /// Some pair differs by the factor `spread`, and no pair by more than `at_most`.
    Spread { spread: f64, at_most: Option<f64> },
}

/// One side of a comparison: a number, or its ratio to another number.
#[derive(Clone, Copy)]
pub(crate) struct FindingSide<'a> {
    pub(crate) found: &'a PhaseEstimate,
    pub(crate) of: Option<&'a PhaseEstimate>,
    /// The goal as a whole, which a finding may be about.
    pub(crate) objective: &'a Objective,
}

impl FindingSide<'_> {
    fn cost(&self) -> f64 {
        let point = |found: &PhaseEstimate| found.cost(found.estimate.point);
        point(self.found) / self.of.map_or(1.0, point)
    }

    fn costs(&self) -> Option<(f64, f64)> {
        let (least, most) = self.found.costs()?;
        let (low, high) = self.of.map_or(Some((1.0, 1.0)), PhaseEstimate::costs)?;
        Some((least / high, most / low))
    }

    /// The numbers that the side is made of, above or below the line of a ratio.
    fn terms(&self, is_divisor: bool) -> impl Iterator<Item = RatioTerm<'_>> {
        let of = self.of.map(|of| of.ratio_term(!is_divisor));
        [self.found.ratio_term(is_divisor)].into_iter().chain(of)
    }

    /// The logarithm of the cost in one trial.
    fn log_cost(&self, blocks: &ByBlock<'_>, trial: &Trial) -> Option<f64> {
        let own = match self.found.phase.as_str() {
            GOAL => self.objective.log_score(trial)?,
            phase => log_cost(&self.found.metric, phase, trial)?,
        };
        let Some(of) = self.of else { return Some(own) };
        Some(own - log_cost(&of.metric, &of.phase, blocks.find_trial(trial.id.block, &of.candidate)?)?)
    }
}

/// Two sides of a comparison; the side that should be better is `one`.
#[derive(Clone, Copy)]
pub(crate) struct FindingSides<'a> {
    pub(crate) one: FindingSide<'a>,
    other: FindingSide<'a>,
    /// How many times better `one` is within blocks, where the two share blocks.
    paired: Option<Estimate>,
}

/// Pairs the best side with each other side; the worst side comes last.
pub(crate) fn pair_with_best<'a>(
    bench: FindingContext<'_>,
    mut all: Vec<FindingSide<'a>>,
) -> Vec<FindingSides<'a>> {
    all.sort_by(|one, other| one.cost().total_cmp(&other.cost()));
    match all.as_slice() {
        [best, others @ ..] => others.iter().map(|other| FindingSides::new(bench, *best, *other)).collect(),
        [] => Vec::new(),
    }
}

pub(crate) fn decide(
    test: Test,
    pairs: &[FindingSides<'_>],
    bench: FindingContext<'_>,
) -> (FindingStatus, FindingReason) {
    let judged: Vec<(FindingStatus, &FindingSides<'_>)> =
        pairs.iter().map(|pair| (pair.judge(test, bench), pair)).collect();
    let any = |wanted: FindingStatus| judged.iter().any(|(now, _)| *now == wanted);
    let too_far = |at_most: f64, pair: &FindingSides<'_>| {
        pair.judge(Test::Better { by: at_most }, bench) == FindingStatus::Holds
    };
    let (whole, limit) = match test {
        // The finding must hold for every pair, so one pair that certainly contradicts it decides.
        Test::Better { by } => {
            (all_of(any(FindingStatus::NoLongerHolds), any(FindingStatus::CannotTell)), by)
        }
        Test::Alike { within } => {
            (all_of(any(FindingStatus::NoLongerHolds), any(FindingStatus::CannotTell)), 1.0 + within)
        }
        Test::Spread { at_most: Some(most), .. } if pairs.iter().any(|pair| too_far(most, pair)) => {
            let furthest = pairs.iter().max_by(|one, other| one.ratio().total_cmp(&other.ratio()));
            return (
                FindingStatus::NoLongerHolds,
                furthest.map_or(FindingReason::NotMeasured, |pair| pair.explain_pair(most, bench)),
            );
        }
        // The finding must hold for some pair. One certain pair is enough if every pair is certainly within `at_most`.
        Test::Spread { spread, at_most } => {
            let alike =
                |most: f64, pair: &FindingSides<'_>| pair.judge(Test::Alike { within: most - 1.0 }, bench);
            let within =
                at_most.is_none_or(|most| pairs.iter().all(|pair| alike(most, pair) == FindingStatus::Holds));
            let whole = match (any(FindingStatus::Holds), any(FindingStatus::CannotTell)) {
                (true, _) if within => FindingStatus::Holds,
                (true, _) | (false, true) => FindingStatus::CannotTell,
                (false, false) => FindingStatus::NoLongerHolds,
            };
            (whole, spread)
        }
    };
    // Reports the most extreme deciding pair: the pair with the largest ratio for "alike" and "spread", else the
    // smallest.
    let widest = matches!(test, Test::Alike { .. } | Test::Spread { .. });
    // Where some pair holds but the finding as a whole does not, the pair that holds is the one to report.
    let so = |now: FindingStatus| now == whole || widest && !any(whole) && now == FindingStatus::Holds;
    let deciding = judged.iter().filter(|(now, _)| so(*now)).map(|(_, pair)| *pair);
    let order = |one: &&FindingSides<'_>, other: &&FindingSides<'_>| one.ratio().total_cmp(&other.ratio());
    let pair = if widest { deciding.max_by(order) } else { deciding.min_by(order) };
    (whole, pair.map_or(FindingReason::NotMeasured, |pair| pair.explain_pair(limit, bench)))
}

pub(crate) fn all_of(one_fails: bool, one_is_open: bool) -> FindingStatus {
    match (one_fails, one_is_open) {
        (true, _) => FindingStatus::NoLongerHolds,
        (false, true) => FindingStatus::CannotTell,
        (false, false) => FindingStatus::Holds,
    }
}

impl<'a> FindingSides<'a> {
    pub(crate) fn new(bench: FindingContext<'_>, one: FindingSide<'a>, other: FindingSide<'a>) -> Self {
        let blocks = bench.blocks;
        let number = |side: FindingSide<'a>| move |trial: &Trial| side.log_cost(blocks, trial);
        let differences =
            blocks.differences_of(&other.found.candidate, number(other), &one.found.candidate, number(one));
        FindingSides {
            one,
            other,
            paired: Evidence::from_sample(&differences).map(|evidence| evidence.ratio()),
        }
    }

    /// How many times better `one` is than `other`.
    fn ratio(&self) -> f64 {
        if let Some(paired) = self.paired {
            return paired.point;
        }
        self.other.cost() / self.one.cost()
    }

    fn bounds(&self) -> Option<(f64, f64)> {
        if let Some(paired) = self.paired {
            return paired.ends();
        }
        let (one, other) = (self.one.costs()?, self.other.costs()?);
        let bounds = (other.0 / one.1, other.1 / one.0);
        (bounds.0.is_finite() && bounds.1.is_finite()).then_some(bounds)
    }

    /// The factor by which the ratio may be wrong because the device is modelled.
    fn error(&self, bench: FindingContext<'_>) -> f64 {
        let terms: Vec<RatioTerm<'_>> = self.other.terms(false).chain(self.one.terms(true)).collect();
        bench.error(&terms)
    }

    fn explain_pair(&self, limit: f64, bench: FindingContext<'_>) -> FindingReason {
        FindingReason::Pair {
            one: self.one.found.candidate.clone(),
            other: self.other.found.candidate.clone(),
            ratio: self.ratio(),
            bounds: self.bounds().into(),
            limit,
            error: self.error(bench),
        }
    }

    fn judge(&self, test: Test, bench: FindingContext<'_>) -> FindingStatus {
        let Some((low, high)) = self.bounds() else { return FindingStatus::CannotTell };
        let (low, high) = widen_interval(self.ratio(), (low, high), self.error(bench));
        let (holds, fails) = match test {
            // "Not much worse" allows for a difference itself.
            Test::Better { by } if by < 1.0 => (low > by, high < by),
            // A finding without a factor no longer holds where the difference is smaller than the plan's tie.
            Test::Better { by } => (low > by, high < by.max(1.0 + bench.tie)),
            Test::Alike { within } => (high <= 1.0 + within, low > 1.0 + within),
            Test::Spread { spread, .. } => (low >= spread, high < spread),
        };
        status_of(holds, fails)
    }
}

pub(crate) fn status_of(holds: bool, fails: bool) -> FindingStatus {
    match (holds, fails) {
        (_, true) => FindingStatus::NoLongerHolds,
        (true, false) => FindingStatus::Holds,
        (false, false) => FindingStatus::CannotTell,
    }
}

impl PhaseEstimate {
    /// The estimate as a number that a ratio is made of.
    pub(crate) fn ratio_term(&self, is_divisor: bool) -> RatioTerm<'_> {
        RatioTerm { candidate: &self.candidate, phase: &self.phase, metric: &self.metric, is_divisor }
    }

    /// The value as a cost, where smaller is better.
    fn cost(&self, value: f64) -> f64 {
        if self.direction() == Better::Higher { 1.0 / value } else { value }
    }

    /// The smallest and the largest value, where the sample is large enough.
    pub(crate) fn range(&self) -> Option<(f64, f64)> {
        match (self.estimate.low, self.estimate.high) {
            (Some(low), Some(high)) => Some((low, high)),
            _ if self.estimate.n >= FEWEST => Some((self.min, self.max)),
            _ => None,
        }
    }

    fn costs(&self) -> Option<(f64, f64)> {
        let (least, most) = self.range()?;
        Some(if self.direction() == Better::Higher { (1.0 / most, 1.0 / least) } else { (least, most) })
    }
}
