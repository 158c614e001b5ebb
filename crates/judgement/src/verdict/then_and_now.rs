//! Then and now: what a study published, held against the estimates of this run, finding by finding.
//!
//! A finding holds, or no longer holds, only where the samples are certain enough: by the interval of the ratio within
//! blocks, or of two numbers of one candidate within its trials. Everything else cannot be told here, and says why.

mod reach;

use serde::Serialize;

use crate::journal::{Better, Trial, Unit, is_of_cpu};
use crate::plan::{Assertion, Candidate, GOAL, Of, Plan, Published, once_each};
use crate::statistics::{Estimate, Evidence};

use super::estimates::find;
use super::goal::log_cost;
use super::{ByBlock, Objective, PhaseEstimate, better_of};

/// By which factor times on a modelled device may be off: what is decided by less is the model's doing as likely as the
/// filesystem's. By what models show of what is known anyway (docs/results/known-facts.md).
const MODEL_ERROR: f64 = 1.5;

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
        /// By which factor the numbers may be off, besides; 1 on a real device.
        error: f64,
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
        /// By which factor the numbers may be off, besides; 1 on a real device.
        error: f64,
    },
    /// Nothing is left to compare.
    NotMeasured,
    /// The metric does not say which way is better.
    NoDirection,
    /// It is about CPU time, or about encryption or compression, which cost that: on a modelled device it passes for nothing.
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

/// What findings are judged by, besides the estimates.
#[derive(Clone, Copy)]
struct FindingContext<'a> {
    blocks: &'a ByBlock<'a>,
    /// The goal as a whole, which a finding may be about.
    objective: &'a Objective,
    tie: f64,
    /// By which factor times may be off.
    error: f64,
}

impl FindingContext<'_> {
    /// By which factor this may be off. What was asked of the device is counted, whatever time it takes.
    fn error(&self, found: &PhaseEstimate) -> f64 {
        if found.metric.starts_with("device_") { 1.0 } else { self.error }
    }
}

/// Judges every published finding of the plan.
pub fn then_and_now(plan: &Plan, estimates: &[PhaseEstimate], blocks: &ByBlock<'_>) -> Vec<ThenAndNow> {
    let modelled = plan.device.source.is_modelled();
    let error = if modelled { MODEL_ERROR } else { 1.0 };
    let objective = Objective::planned(plan);
    let bench = FindingContext { blocks, objective: &objective, tie: plan.protocol.tie, error };
    let estimates = [estimates, &of_goal(plan, &bench)].concat();
    let computes = |name: &str| {
        let known = plan.candidates.iter().find(|candidate| candidate.name == name);
        modelled && known.is_some_and(|candidate| computes(candidate) && plan.cpu_of(candidate).is_none())
    };
    let judge = |published: &Published| {
        let mut asked = published.clone();
        if let Assertion::Spread { among, .. } = &mut asked.claim {
            // Of all, those that computing does not favour.
            if among.is_empty() {
                *among = plan.candidates.iter().map(|candidate| candidate.name.clone()).collect();
            }
            among.retain(|name| !computes(name));
        }
        let judged = judge_one(&asked, &estimates, bench);
        let judged = ThenAndNow { published: published.clone(), ..judged };
        let unpriced = plan.cpus().is_empty();
        let free =
            modelled && unpriced && is_of_cpu(&published.metric) || asked.claim.candidates().any(computes);
        let unknown = ThenAndNow { now: Now::CannotTell, because: Because::CpuIsFree, ..judged.clone() };
        if free { unknown } else { judged }
    };
    plan.published.iter().map(judge).collect()
}

/// Whether what it writes is encrypted, or goes through another layer, or is compressed.
fn computes(candidate: &Candidate) -> bool {
    candidate.has_layers() || candidate.asks_for_compression()
}

/// The goal of every candidate as if it were a phase; nothing where no finding is about it.
fn of_goal(plan: &Plan, bench: &FindingContext<'_>) -> Vec<PhaseEstimate> {
    if plan.published.iter().all(|published| published.phase != GOAL) {
        return Vec::new();
    }
    let metric = plan.goal.metric.as_str();
    let of = |candidate: &Candidate| {
        let trials: Vec<&Trial> = bench.blocks.of(&candidate.name).collect();
        let kind = trials
            .iter()
            .flat_map(|trial| &trial.observations)
            .find_map(|observation| observation.measurements.iter().find(|found| found.metric == metric))?;
        let scores = trials.iter().filter_map(|trial| bench.objective.log_score(trial));
        // A score is a cost; shown as the metric itself, a rate must be turned over again.
        let sign = if better_of(metric, kind.unit, kind.better) == Better::Higher { -1.0 } else { 1.0 };
        let logs: Vec<f64> = scores.map(|score| sign * score).collect();
        let ends = logs
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), log| (least.min(*log), most.max(*log)));
        Some(PhaseEstimate {
            candidate: candidate.name.clone(),
            phase: GOAL.to_owned(),
            metric: metric.to_owned(),
            unit: kind.unit,
            better: kind.better,
            estimate: Evidence::of(&logs)?.ratio(),
            set_aside: 0,
            min: libm::exp(ends.0),
            max: libm::exp(ends.1),
        })
    };
    plan.candidates.iter().filter_map(of).collect()
}

fn judge_one<'a>(
    published: &Published,
    estimates: &'a [PhaseEstimate],
    bench: FindingContext<'a>,
) -> ThenAndNow {
    let in_phase = |name: &str, phase: &str| find(estimates, name, phase, &published.metric);
    let here = |name: &String| in_phase(name, &published.phase);
    // Whole only where what it is a multiple of was measured, too.
    let side = |found: &'a PhaseEstimate, of: &Of| {
        let base = |of: &Of| {
            let candidate = of.of.get(&found.candidate).unwrap_or(&found.candidate);
            let phase = of.of_phase.as_ref().unwrap_or(&found.phase);
            let metric = of.of_metric.as_ref().unwrap_or(&found.metric);
            find(estimates, candidate, phase, metric)
        };
        let of = if of.is_none() { None } else { Some(base(of)?) };
        Some(FindingSide { found, of, objective: bench.objective })
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
    let (test, pairs): (Test, Vec<FindingSides<'_>>) = match &published.claim {
        Assertion::Better { better, than, than_phase, by, of } => {
            let there = than_phase.as_ref().unwrap_or(&published.phase);
            let others = than.iter().filter_map(|name| side(in_phase(name, there)?, of));
            let others: Vec<FindingSide<'_>> = others.collect();
            let ones = better.iter().filter_map(|name| side(here(name)?, of));
            let pairs =
                ones.flat_map(|one| others.iter().map(move |other| FindingSides::of(bench, one, *other)));
            (Test::Better { by: *by }, pairs.collect())
        }
        Assertion::Alike { alike, within, of } => {
            let alike = alike.iter().filter_map(|name| side(here(name)?, of)).collect();
            (Test::Alike { within: *within }, extremes(bench, alike))
        }
        Assertion::Spread { spread, among, at_most } => {
            let is_of = |found: &&&PhaseEstimate| among.is_empty() || among.contains(&found.candidate);
            let among = measured.iter().filter(is_of);
            let among =
                among.map(|found| FindingSide { found, of: None, objective: bench.objective }).collect();
            (Test::Spread { spread: *spread, at_most: *at_most }, extremes(bench, among))
        }
        Assertion::Reach { reach, share, of_metric, of_phase } => {
            let metric = of_metric.as_ref().unwrap_or(&published.metric);
            let phase = of_phase.as_ref().unwrap_or(&published.phase);
            let (now, because) = reach::judge(published, estimates, bench, reach, *share, metric, phase);
            return finding(now, because, measured);
        }
    };
    let (now, because) = if pairs.is_empty() {
        (Now::CannotTell, Because::NotMeasured)
    } else if pairs.iter().any(|pair| pair.one.found.direction() == Better::Neither) {
        (Now::CannotTell, Because::NoDirection)
    } else {
        decide(test, &pairs, bench)
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
    /// Some pair is this factor apart, and none more than the other.
    Spread { spread: f64, at_most: Option<f64> },
}

/// A number, or what multiple of another it is.
#[derive(Clone, Copy)]
struct FindingSide<'a> {
    found: &'a PhaseEstimate,
    of: Option<&'a PhaseEstimate>,
    /// The goal as a whole, which a finding may be about.
    objective: &'a Objective,
}

impl FindingSide<'_> {
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
        let own = match self.found.phase.as_str() {
            GOAL => self.objective.log_score(trial)?,
            phase => log_cost(&self.found.metric, phase, trial)?,
        };
        let Some(of) = self.of else { return Some(own) };
        Some(own - log_cost(&of.metric, &of.phase, blocks.trial(trial.id.block, &of.candidate)?)?)
    }
}

/// Two of them, the one that should be the better first.
#[derive(Clone, Copy)]
struct FindingSides<'a> {
    one: FindingSide<'a>,
    other: FindingSide<'a>,
    /// How many times better the one is within blocks, where they share some.
    paired: Option<Estimate>,
}

/// The best with each of the others, the worst last.
fn extremes<'a>(bench: FindingContext<'_>, mut all: Vec<FindingSide<'a>>) -> Vec<FindingSides<'a>> {
    all.sort_by(|one, other| one.cost().total_cmp(&other.cost()));
    match all.as_slice() {
        [best, others @ ..] => others.iter().map(|other| FindingSides::of(bench, *best, *other)).collect(),
        [] => Vec::new(),
    }
}

fn decide(test: Test, pairs: &[FindingSides<'_>], bench: FindingContext<'_>) -> (Now, Because) {
    let judged: Vec<(Now, &FindingSides<'_>)> =
        pairs.iter().map(|pair| (pair.judge(test, bench), pair)).collect();
    let any = |wanted: Now| judged.iter().any(|(now, _)| *now == wanted);
    let too_far =
        |at_most: f64, pair: &FindingSides<'_>| pair.judge(Test::Better { by: at_most }, bench) == Now::Holds;
    let (whole, limit) = match test {
        // Of every pair it was said; one that is certainly otherwise ends it.
        Test::Better { by } => (all_of(any(Now::NoLongerHolds), any(Now::CannotTell)), by),
        Test::Alike { within } => (all_of(any(Now::NoLongerHolds), any(Now::CannotTell)), 1.0 + within),
        Test::Spread { at_most: Some(most), .. } if pairs.iter().any(|pair| too_far(most, pair)) => {
            let furthest = pairs.iter().max_by(|one, other| one.ratio().total_cmp(&other.ratio()));
            return (
                Now::NoLongerHolds,
                furthest.map_or(Because::NotMeasured, |pair| pair.because(most, bench)),
            );
        }
        // Of some pair it was said; one that is certainly so suffices, where none is certainly or maybe further.
        Test::Spread { spread, at_most } => {
            let alike =
                |most: f64, pair: &FindingSides<'_>| pair.judge(Test::Alike { within: most - 1.0 }, bench);
            let within = at_most.is_none_or(|most| pairs.iter().all(|pair| alike(most, pair) == Now::Holds));
            let whole = match (any(Now::Holds), any(Now::CannotTell)) {
                (true, _) if within => Now::Holds,
                (true, _) | (false, true) => Now::CannotTell,
                (false, false) => Now::NoLongerHolds,
            };
            (whole, spread)
        }
    };
    // The pair furthest on the side that decided: the narrowest where all hold, the worst where one does not.
    let widest = matches!(test, Test::Alike { .. } | Test::Spread { .. });
    // Where one holds of several and not the whole, it is the one in question.
    let so = |now: Now| now == whole || widest && !any(whole) && now == Now::Holds;
    let deciding = judged.iter().filter(|(now, _)| so(*now)).map(|(_, pair)| *pair);
    let order = |one: &&FindingSides<'_>, other: &&FindingSides<'_>| one.ratio().total_cmp(&other.ratio());
    let pair = if widest { deciding.max_by(order) } else { deciding.min_by(order) };
    (whole, pair.map_or(Because::NotMeasured, |pair| pair.because(limit, bench)))
}

fn all_of(one_fails: bool, one_is_open: bool) -> Now {
    match (one_fails, one_is_open) {
        (true, _) => Now::NoLongerHolds,
        (false, true) => Now::CannotTell,
        (false, false) => Now::Holds,
    }
}

impl<'a> FindingSides<'a> {
    fn of(bench: FindingContext<'_>, one: FindingSide<'a>, other: FindingSide<'a>) -> Self {
        let blocks = bench.blocks;
        let number = |side: FindingSide<'a>| move |trial: &Trial| side.log_cost(blocks, trial);
        let differences =
            blocks.differences_of(&other.found.candidate, number(other), &one.found.candidate, number(one));
        FindingSides { one, other, paired: Evidence::of(&differences).map(|evidence| evidence.ratio()) }
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

    fn because(&self, limit: f64, bench: FindingContext<'_>) -> Because {
        Because::Pair {
            one: self.one.found.candidate.clone(),
            other: self.other.found.candidate.clone(),
            ratio: self.ratio(),
            bounds: self.bounds().into(),
            limit,
            error: bench.error(self.one.found),
        }
    }

    fn judge(&self, test: Test, bench: FindingContext<'_>) -> Now {
        let Some((low, high)) = self.bounds() else { return Now::CannotTell };
        let error = bench.error(self.one.found);
        let (low, high) = (low / error, high * error);
        let (holds, fails) = match test {
            // "Better, however little" has ended where the difference is too small to matter.
            Test::Better { by } => (low > by, high < by.max(1.0 + bench.tie)),
            Test::Alike { within } => (high <= 1.0 + within, low > 1.0 + within),
            Test::Spread { spread, .. } => (low >= spread, high < spread),
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
