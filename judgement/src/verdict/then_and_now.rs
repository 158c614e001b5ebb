//! Then and now: what a study published, held against the estimates of this run, finding by finding.
//!
//! A finding holds, or no longer holds, only where the samples are certain enough: by the interval of the ratio within
//! blocks, or of two numbers of one candidate within its trials. Everything else cannot be told here, and says why.

mod reach;

use serde::Serialize;

use crate::journal::{Better, Trial, Unit, is_of_cpu};
use crate::plan::{Claim, Of, Plan, Published, once_each};
use crate::statistics::{Estimate, Evidence};

use super::estimates::find;
use super::goal::log_cost;
use super::{ByBlock, PhaseEstimate, better_of};

/// Below this the range of a sample says nothing.
const FEWEST: usize = 3;

/// Whether a finding still holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Now {
    Holds,
    NoLongerHolds,
    CannotTell,
}

impl Now {
    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            Now::Holds => "holds",
            Now::NoLongerHolds => "no longer holds",
            Now::CannotTell => "cannot be told here",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Because {
    /// The pair that decides: how many times better one is than the other.
    Pair {
        /// The one that was the better, or is the best.
        one: String,
        /// The one that was the worse, or is the worst.
        other: String,
        ratio: f64,
        #[serde(flatten)]
        bounds: Bounds,
        limit: f64,
    },
    /// The share that decides: what one candidate reaches of another number of its own.
    Share {
        candidate: String,
        /// Of this metric …
        of_metric: String,
        /// … in this phase.
        of_phase: String,
        share: f64,
        #[serde(flatten)]
        bounds: Bounds,
        limit: f64,
    },
    /// Nothing is left to compare.
    NotMeasured,
    /// The metric does not say which way is better.
    NoDirection,
    /// It is about CPU time, which passes for nothing on a modelled device.
    CpuIsFree,
}

/// Between what and what a number lies, where that can be said.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bounds {
    pub low: Option<f64>,
    pub high: Option<f64>,
}

impl Bounds {
    pub fn ends(&self) -> Option<(f64, f64)> {
        self.low.zip(self.high)
    }
}

impl From<Option<(f64, f64)>> for Bounds {
    fn from(bounds: Option<(f64, f64)>) -> Self {
        let (low, high) = bounds.unzip();
        Self { low, high }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ThenAndNow {
    #[serde(flatten)]
    pub published: Published,
    pub now: Now,
    pub because: Because,
    /// What was measured of the candidates it names, in the phase it is about.
    pub measured: Vec<PhaseEstimate>,
    /// Named by it, but without a number here.
    pub missing: Vec<String>,
}

/// Judges every published finding of the plan.
pub fn then_and_now(plan: &Plan, estimates: &[PhaseEstimate], blocks: &ByBlock<'_>) -> Vec<ThenAndNow> {
    let modelled = plan.device.source.is_modelled();
    let free = |published: &Published| modelled && is_of_cpu(&published.metric);
    let judge = |published| {
        let judged = judge_one(published, estimates, blocks, plan.protocol.tie);
        let unknown = ThenAndNow { now: Now::CannotTell, because: Because::CpuIsFree, ..judged.clone() };
        if free(published) { unknown } else { judged }
    };
    plan.published.iter().map(judge).collect()
}

fn judge_one<'a>(
    published: &Published,
    estimates: &'a [PhaseEstimate],
    blocks: &ByBlock<'_>,
    tie: f64,
) -> ThenAndNow {
    let in_phase = |name: &str, phase: &str| find(estimates, name, (phase, &published.metric));
    let here = |name: &String| in_phase(name, &published.phase);
    // Whole only where what it is a multiple of was measured, too.
    let side = |found: &'a PhaseEstimate, of: &Of| {
        let base = |of: &Of| {
            let candidate = of.of.get(&found.candidate).unwrap_or(&found.candidate);
            let phase = of.of_phase.as_ref().unwrap_or(&found.phase);
            let metric = of.of_metric.as_ref().unwrap_or(&found.metric);
            find(estimates, candidate, (phase, metric))
        };
        if of.is_none() { Some(Side { found, of: None }) } else { Some(Side { found, of: Some(base(of)?) }) }
    };
    let named: Vec<String> = once_each(published.candidates().map(str::to_owned));
    let all =
        estimates.iter().filter(|found| found.phase == published.phase && found.metric == published.metric);
    let measured: Vec<&PhaseEstimate> =
        if named.is_empty() { all.collect() } else { named.iter().filter_map(here).collect() };
    let missing: Vec<String> = named.iter().filter(|name| here(name).is_none()).cloned().collect();
    let finding = |now: Now, because: Because, measured: Vec<&PhaseEstimate>| ThenAndNow {
        published: published.clone(),
        now,
        because,
        measured: measured.into_iter().cloned().collect(),
        missing: missing.clone(),
    };
    let (test, pairs): (Test, Vec<Pair<'_>>) = match &published.claim {
        Claim::Better { better, than, than_phase, by, of } => {
            let there = than_phase.as_ref().unwrap_or(&published.phase);
            let others = than.iter().filter_map(|name| side(in_phase(name, there)?, of));
            let others: Vec<Side<'_>> = others.collect();
            let ones = better.iter().filter_map(|name| side(here(name)?, of));
            let pairs = ones.flat_map(|one| others.iter().map(move |other| Pair::of(blocks, one, *other)));
            (Test::Better { by: *by }, pairs.collect())
        }
        Claim::Alike { alike, within, of } => {
            let alike = alike.iter().filter_map(|name| side(here(name)?, of)).collect();
            (Test::Alike { within: *within }, extremes(blocks, alike))
        }
        Claim::Spread { spread, .. } => {
            let among = measured.iter().map(|found| Side { found, of: None }).collect();
            (Test::Spread { spread: *spread }, extremes(blocks, among))
        }
        Claim::Reach { reach, share, of_metric, of_phase } => {
            let metric = of_metric.as_ref().unwrap_or(&published.metric);
            let phase = of_phase.as_ref().unwrap_or(&published.phase);
            let (now, because) = reach::judge(published, estimates, blocks, reach, *share, (metric, phase));
            return finding(now, because, measured);
        }
    };
    let (now, because) = if pairs.is_empty() {
        (Now::CannotTell, Because::NotMeasured)
    } else if pairs.iter().any(|pair| pair.one.found.direction() == Better::Neither) {
        (Now::CannotTell, Because::NoDirection)
    } else {
        decide(test, &pairs, tie)
    };
    finding(now, because, measured)
}

/// What is asked of two estimates.
#[derive(Clone, Copy)]
enum Test {
    /// The one is better by this factor.
    Better { by: f64 },
    /// They differ by this share at most.
    Alike { within: f64 },
    /// Some pair is this factor apart.
    Spread { spread: f64 },
}

/// A number, or what multiple of another it is.
#[derive(Clone, Copy)]
struct Side<'a> {
    found: &'a PhaseEstimate,
    of: Option<&'a PhaseEstimate>,
}

impl Side<'_> {
    fn cost(&self) -> f64 {
        let point = |found: &PhaseEstimate| found.cost(found.estimate.point);
        point(self.found) / self.of.map_or(1.0, point)
    }

    /// Least and most.
    fn costs(&self) -> Option<(f64, f64)> {
        let (least, most) = self.found.costs()?;
        let (low, high) = self.of.map_or(Some((1.0, 1.0)), PhaseEstimate::costs)?;
        Some((least / high, most / low))
    }

    /// The logarithm of the same in a block's trial.
    fn log_cost(&self, blocks: &ByBlock<'_>, trial: &Trial) -> Option<f64> {
        let own = log_cost(&self.found.metric, &self.found.phase, trial)?;
        let Some(of) = self.of else { return Some(own) };
        Some(own - log_cost(&of.metric, &of.phase, blocks.trial(trial.id.block, &of.candidate)?)?)
    }
}

/// Two of them, the one that should be the better first.
#[derive(Clone, Copy)]
struct Pair<'a> {
    one: Side<'a>,
    other: Side<'a>,
    /// How many times better the one is within blocks, where they share some.
    paired: Option<Estimate>,
}

/// The best with each of the others, the worst last.
fn extremes<'a>(blocks: &ByBlock<'_>, mut all: Vec<Side<'a>>) -> Vec<Pair<'a>> {
    all.sort_by(|one, other| one.cost().total_cmp(&other.cost()));
    match all.as_slice() {
        [best, others @ ..] => others.iter().map(|other| Pair::of(blocks, *best, *other)).collect(),
        [] => Vec::new(),
    }
}

fn decide(test: Test, pairs: &[Pair<'_>], tie: f64) -> (Now, Because) {
    let judged: Vec<(Now, &Pair<'_>)> = pairs.iter().map(|pair| (pair.judge(test, tie), pair)).collect();
    let any = |wanted: Now| judged.iter().any(|(now, _)| *now == wanted);
    let (whole, limit) = match test {
        // Of every pair it was said; one that is certainly otherwise ends it.
        Test::Better { by } => (all_of(any(Now::NoLongerHolds), any(Now::CannotTell)), by),
        Test::Alike { within } => (all_of(any(Now::NoLongerHolds), any(Now::CannotTell)), 1.0 + within),
        // Of some pair it was said; one that is certainly so suffices.
        Test::Spread { spread } => {
            let whole = match (any(Now::Holds), any(Now::CannotTell)) {
                (true, _) => Now::Holds,
                (false, true) => Now::CannotTell,
                (false, false) => Now::NoLongerHolds,
            };
            (whole, spread)
        }
    };
    // The pair furthest on the side that decided: the narrowest where all hold, the worst where one does not.
    let widest = matches!(test, Test::Alike { .. } | Test::Spread { .. });
    let deciding = judged.iter().filter(|(now, _)| *now == whole).map(|(_, pair)| *pair);
    let order = |one: &&Pair<'_>, other: &&Pair<'_>| one.ratio().total_cmp(&other.ratio());
    let pair = if widest { deciding.max_by(order) } else { deciding.min_by(order) };
    let because = pair.map_or(Because::NotMeasured, |pair| Because::Pair {
        one: pair.one.found.candidate.clone(),
        other: pair.other.found.candidate.clone(),
        ratio: pair.ratio(),
        bounds: pair.bounds().into(),
        limit,
    });
    (whole, because)
}

fn all_of(one_fails: bool, one_is_open: bool) -> Now {
    match (one_fails, one_is_open) {
        (true, _) => Now::NoLongerHolds,
        (false, true) => Now::CannotTell,
        (false, false) => Now::Holds,
    }
}

impl<'a> Pair<'a> {
    fn of(blocks: &ByBlock<'_>, one: Side<'a>, other: Side<'a>) -> Self {
        let number = |side: Side<'a>| {
            (side.found.candidate.as_str(), move |trial: &Trial| side.log_cost(blocks, trial))
        };
        let differences = blocks.differences_of(number(other), number(one));
        Pair { one, other, paired: Evidence::of(&differences).map(|evidence| evidence.ratio()) }
    }

    /// How many times better the one is.
    fn ratio(&self) -> f64 {
        if let Some(paired) = self.paired {
            return paired.point;
        }
        self.other.cost() / self.one.cost()
    }

    fn bounds(&self) -> Option<(f64, f64)> {
        if let Some(paired) = self.paired {
            return paired.low.zip(paired.high);
        }
        let (one, other) = (self.one.costs()?, self.other.costs()?);
        let bounds = (other.0 / one.1, other.1 / one.0);
        (bounds.0.is_finite() && bounds.1.is_finite()).then_some(bounds)
    }

    fn judge(&self, test: Test, tie: f64) -> Now {
        let Some((low, high)) = self.bounds() else { return Now::CannotTell };
        let (holds, fails) = match test {
            // "Better, however little" has ended where the difference is too small to matter.
            Test::Better { by } => (low > by, high < by.max(1.0 + tie)),
            Test::Alike { within } => (high <= 1.0 + within, low > 1.0 + within),
            Test::Spread { spread } => (low >= spread, high < spread),
        };
        word(holds, fails)
    }
}

fn word(holds: bool, fails: bool) -> Now {
    match (holds, fails) {
        (_, true) => Now::NoLongerHolds,
        (true, false) => Now::Holds,
        (false, false) => Now::CannotTell,
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

    /// Least and most, where the sample is large enough to have them.
    fn range(&self) -> Option<(f64, f64)> {
        match (self.estimate.low, self.estimate.high) {
            (Some(low), Some(high)) => Some((low, high)),
            _ if self.estimate.n >= FEWEST => Some((self.min, self.max)),
            _ => None,
        }
    }

    /// Least and most cost.
    fn costs(&self) -> Option<(f64, f64)> {
        let (least, most) = self.range()?;
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
mod tests;
