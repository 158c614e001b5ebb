//! Then and now: what a study published, held against the estimates of this run, finding by finding.
//!
//! A finding holds, or no longer holds, only where the samples are certain enough: by their intervals, or below six
//! trials (three at least) where their whole ranges lie apart. Everything else cannot be told here, and says why.

use crate::journal::{Better, Unit};
use crate::plan::{Claim, Plan, Published};

use super::{PhaseEstimate, better_of};

/// Below this the range of a sample says nothing.
const FEWEST: usize = 3;

/// Whether a finding still holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Now {
    /// It does.
    Holds,
    /// It does not.
    NoLonger,
    /// This run cannot tell.
    CannotTell,
}

/// What a judgement rests on.
#[derive(Debug, Clone, PartialEq)]
pub enum Because {
    /// The pair that decides: how many times better one is than the other, with its bounds, and what was needed.
    Pair {
        /// The one that was the better, or is the best.
        one: String,
        /// The one that was the worse, or is the worst.
        other: String,
        /// How many times better the one is.
        ratio: f64,
        /// Between what and what, where that can be said.
        bounds: Option<(f64, f64)>,
        /// The factor in question.
        limit: f64,
    },
    /// These were not measured, so that nothing is left to compare.
    NotMeasured(Vec<String>),
    /// The metric does not say which way is better.
    NoDirection,
}

/// One finding, then and now.
#[derive(Debug, Clone, PartialEq)]
pub struct ThenAndNow<'a> {
    /// What was published.
    pub published: &'a Published,
    /// Whether it holds.
    pub now: Now,
    /// Why.
    pub because: Because,
    /// What was measured of the candidates it names, in the phase it is about.
    pub measured: Vec<&'a PhaseEstimate>,
    /// Named by it, but without a number here.
    pub missing: Vec<String>,
}

/// Judges every published finding of the plan.
pub fn then_and_now<'a>(plan: &'a Plan, estimates: &'a [PhaseEstimate]) -> Vec<ThenAndNow<'a>> {
    plan.published.iter().map(|published| judge_one(published, estimates, plan.protocol.tie)).collect()
}

fn judge_one<'a>(published: &'a Published, estimates: &'a [PhaseEstimate], tie: f64) -> ThenAndNow<'a> {
    let find = |candidate: &str, phase: &str| {
        estimates.iter().find(|found| {
            found.candidate == candidate && found.phase == phase && found.metric == published.metric
        })
    };
    let here = |name: &String| find(name, &published.phase);
    let mut named: Vec<String> = Vec::new();
    for name in published.candidates() {
        if !named.iter().any(|known| known == name) {
            named.push(name.to_owned());
        }
    }
    let all =
        estimates.iter().filter(|found| found.phase == published.phase && found.metric == published.metric);
    let measured: Vec<&PhaseEstimate> =
        if named.is_empty() { all.collect() } else { named.iter().filter_map(here).collect() };
    let missing: Vec<String> = named.iter().filter(|name| here(name).is_none()).cloned().collect();
    let pairs: Vec<Pair<'_>> = match &published.claim {
        Claim::Better { better, than, than_phase, .. } => {
            let there = than_phase.as_ref().unwrap_or(&published.phase);
            let others: Vec<&PhaseEstimate> = than.iter().filter_map(|name| find(name, there)).collect();
            let ones = better.iter().filter_map(here);
            ones.flat_map(|one| others.iter().map(move |other| Pair { one, other })).collect()
        }
        Claim::Alike { alike, .. } => extremes(&alike.iter().filter_map(here).collect::<Vec<_>>()),
        Claim::Spread { .. } => extremes(&measured),
    };
    let (now, because) = if pairs.is_empty() {
        (Now::CannotTell, Because::NotMeasured(missing.clone()))
    } else if pairs.iter().any(|pair| pair.one.direction() == Better::Neither) {
        (Now::CannotTell, Because::NoDirection)
    } else {
        decide(&published.claim, &pairs, tie)
    };
    ThenAndNow { published, now, because, measured, missing }
}

/// Two estimates, the one that should be the better first.
#[derive(Clone, Copy)]
struct Pair<'a> {
    one: &'a PhaseEstimate,
    other: &'a PhaseEstimate,
}

/// The best with each of the others, the worst last.
fn extremes<'a>(all: &[&'a PhaseEstimate]) -> Vec<Pair<'a>> {
    let mut ordered = all.to_vec();
    ordered.sort_by(|one, other| one.cost(one.estimate.point).total_cmp(&other.cost(other.estimate.point)));
    match ordered.as_slice() {
        [best, others @ ..] => others.iter().map(|other| Pair { one: best, other }).collect(),
        [] => Vec::new(),
    }
}

fn decide(claim: &Claim, pairs: &[Pair<'_>], tie: f64) -> (Now, Because) {
    let judged: Vec<(Now, &Pair<'_>)> = pairs.iter().map(|pair| (pair.judge(claim, tie), pair)).collect();
    let any = |wanted: Now| judged.iter().any(|(now, _)| *now == wanted);
    let (whole, limit) = match claim {
        // Of every pair it was said; one that is certainly otherwise ends it.
        Claim::Better { by, .. } => (all_of(any(Now::NoLonger), any(Now::CannotTell)), *by),
        Claim::Alike { within, .. } => (all_of(any(Now::NoLonger), any(Now::CannotTell)), 1.0 + within),
        // Of some pair it was said; one that is certainly so suffices.
        Claim::Spread { spread, .. } => {
            let whole = match (any(Now::Holds), any(Now::CannotTell)) {
                (true, _) => Now::Holds,
                (false, true) => Now::CannotTell,
                (false, false) => Now::NoLonger,
            };
            (whole, *spread)
        }
    };
    // The pair furthest on the side that decided: the narrowest where all hold, the worst where one does not.
    let widest = matches!(claim, Claim::Alike { .. } | Claim::Spread { .. });
    let deciding = judged.iter().filter(|(now, _)| *now == whole).map(|(_, pair)| *pair);
    let order = |one: &&Pair<'_>, other: &&Pair<'_>| one.ratio().total_cmp(&other.ratio());
    let pair = if widest { deciding.max_by(order) } else { deciding.min_by(order) };
    let because = pair.map_or(Because::NotMeasured(Vec::new()), |pair| Because::Pair {
        one: pair.one.candidate.clone(),
        other: pair.other.candidate.clone(),
        ratio: pair.ratio(),
        bounds: pair.bounds(),
        limit,
    });
    (whole, because)
}

fn all_of(one_fails: bool, one_is_open: bool) -> Now {
    match (one_fails, one_is_open) {
        (true, _) => Now::NoLonger,
        (false, true) => Now::CannotTell,
        (false, false) => Now::Holds,
    }
}

impl Pair<'_> {
    /// How many times better the one is.
    fn ratio(&self) -> f64 {
        self.other.cost(self.other.estimate.point) / self.one.cost(self.one.estimate.point)
    }

    fn bounds(&self) -> Option<(f64, f64)> {
        let (one, other) = (self.one.costs()?, self.other.costs()?);
        let bounds = (other.0 / one.1, other.1 / one.0);
        (bounds.0.is_finite() && bounds.1.is_finite()).then_some(bounds)
    }

    fn judge(&self, claim: &Claim, tie: f64) -> Now {
        let Some((low, high)) = self.bounds() else { return Now::CannotTell };
        let (holds, fails) = match claim {
            // "Better, however little" has ended where the difference is too small to matter.
            Claim::Better { by, .. } => (low > *by, high < by.max(1.0 + tie)),
            Claim::Alike { within, .. } => (high <= 1.0 + within, low > 1.0 + within),
            Claim::Spread { spread, .. } => (low >= *spread, high < *spread),
        };
        match (holds, fails) {
            (_, true) => Now::NoLonger,
            (true, false) => Now::Holds,
            (false, false) => Now::CannotTell,
        }
    }
}

impl PhaseEstimate {
    fn direction(&self) -> Better {
        better_of(&self.metric, self.unit)
    }

    /// The value as something of which less is better.
    fn cost(&self, value: f64) -> f64 {
        if self.direction() == Better::Higher { 1.0 / value } else { value }
    }

    /// Least and most cost, where the sample is large enough to have them.
    fn costs(&self) -> Option<(f64, f64)> {
        let (least, most) = match (self.estimate.low, self.estimate.high) {
            (Some(low), Some(high)) => (low, high),
            _ if self.estimate.n >= FEWEST => (self.min, self.max),
            _ => return None,
        };
        Some(if self.direction() == Better::Higher { (1.0 / most, 1.0 / least) } else { (least, most) })
    }
}

/// Whether a published unit is the one the metric has here, so that the figures may stand side by side.
pub fn same_quantity(published: &Published, unit: Unit) -> bool {
    match unit {
        Unit::Seconds => matches!(published.unit.as_str(), "s" | "min" | "h"),
        other => published.unit == other.sign(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Because, Now, judge_one};
    use crate::journal::Unit;
    use crate::plan::{Claim, Published};
    use crate::verdict::{Estimate, PhaseEstimate};

    fn estimate(candidate: &str, n: usize, (min, point, max): (f64, f64, f64)) -> PhaseEstimate {
        PhaseEstimate {
            candidate: candidate.to_owned(),
            phase: "write".to_owned(),
            metric: "durable".to_owned(),
            unit: Unit::Seconds,
            estimate: Estimate { point, low: None, high: None, n },
            min,
            max,
        }
    }

    fn published(claim: Claim) -> Published {
        Published {
            finding: "a finding".to_owned(),
            source: "somewhere".to_owned(),
            phase: "write".to_owned(),
            metric: "durable".to_owned(),
            figures: BTreeMap::new(),
            unit: String::new(),
            claim,
        }
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn better(one: &[&str], than: &[&str], by: f64) -> Claim {
        Claim::Better { better: names(one), than: names(than), by, than_phase: None }
    }

    fn now(claim: Claim, estimates: &[PhaseEstimate]) -> Now {
        judge_one(&published(claim), estimates, 0.03).now
    }

    #[test]
    fn better_needs_ranges_apart_and_the_factor() {
        let estimates = [
            estimate("fast", 3, (0.9, 1.0, 1.1)),
            estimate("slow", 3, (2.9, 3.0, 3.1)),
            estimate("near", 3, (1.0, 1.05, 1.3)),
            estimate("once", 1, (9.0, 9.0, 9.0)),
        ];
        assert_eq!(now(better(&["fast"], &["slow"], 1.0), &estimates), Now::Holds);
        assert_eq!(now(better(&["fast"], &["slow"], 2.0), &estimates), Now::Holds);
        assert_eq!(now(better(&["fast"], &["slow"], 3.0), &estimates), Now::CannotTell);
        assert_eq!(now(better(&["fast"], &["slow"], 4.0), &estimates), Now::NoLonger);
        assert_eq!(now(better(&["slow"], &["fast"], 1.0), &estimates), Now::NoLonger);
        assert_eq!(now(better(&["fast"], &["near"], 1.0), &estimates), Now::CannotTell);
        assert_eq!(now(better(&["fast"], &["once"], 1.0), &estimates), Now::CannotTell);
        // One pair that is certainly otherwise ends what was said of all.
        assert_eq!(now(better(&["fast", "slow"], &["near"], 1.0), &estimates), Now::NoLonger);
    }

    #[test]
    fn a_difference_too_small_to_matter_is_none() {
        let estimates = [estimate("a", 3, (1.0, 1.001, 1.002)), estimate("b", 3, (1.005, 1.006, 1.007))];
        assert_eq!(now(better(&["a"], &["b"], 1.0), &estimates), Now::NoLonger);
        let alike = Claim::Alike { alike: names(&["a", "b"]), within: 0.1 };
        assert_eq!(now(alike, &estimates), Now::Holds);
    }

    #[test]
    fn spread_is_of_the_best_and_the_worst() {
        let estimates = [
            estimate("a", 3, (1.0, 1.0, 1.0)),
            estimate("b", 3, (1.2, 1.2, 1.2)),
            estimate("c", 3, (2.0, 2.0, 2.1)),
        ];
        let spread = |factor| Claim::Spread { among: Vec::new(), spread: factor };
        assert_eq!(now(spread(1.8), &estimates), Now::Holds);
        assert_eq!(now(spread(2.5), &estimates), Now::NoLonger);
        let alike = Claim::Alike { alike: names(&["a", "b", "c"]), within: 0.1 };
        assert_eq!(now(alike, &estimates), Now::NoLonger);
    }

    #[test]
    fn what_was_not_measured_is_named() {
        let estimates = [estimate("a", 3, (1.0, 1.0, 1.0))];
        let published = published(better(&["a"], &["gone"], 1.0));
        let judged = judge_one(&published, &estimates, 0.03);
        assert_eq!((judged.now, judged.missing.clone()), (Now::CannotTell, names(&["gone"])));
        assert_eq!(judged.because, Because::NotMeasured(names(&["gone"])));
    }

    #[test]
    fn rates_are_better_when_higher() {
        let rate = |name: &str, value: f64| PhaseEstimate {
            metric: "throughput".to_owned(),
            unit: Unit::BytesPerSecond,
            ..estimate(name, 3, (value, value, value))
        };
        let published =
            Published { metric: "throughput".to_owned(), ..published(better(&["a"], &["b"], 1.5)) };
        let estimates = [rate("a", 200.0), rate("b", 100.0)];
        let judged = judge_one(&published, &estimates, 0.03);
        assert_eq!(judged.now, Now::Holds);
        assert!(matches!(judged.because, Because::Pair { ratio, .. } if (ratio - 2.0).abs() < 1e-9));
    }
}
