//! The verdict on a plan's goal: the recommended candidate, candidates tied with it or ruled out, and the limits of
//! that.

mod across;
mod amount;
mod background;
mod candidates;
mod charged;
mod compare;
mod computing;
mod control;
mod cost;
mod deliberate;
mod dependence;
mod device_prediction;
mod device_spread;
mod device_stratum;
mod devices;
mod effect;
mod environment_runs;
#[cfg(test)]
mod error_rate_tests;
mod estimates;
mod evaluation;
mod evidence;
mod factors;
mod field;
mod goal;
mod group_runs;
mod groups;
mod harness;
mod judgement;
mod kernels;
mod latency;
mod legacy;
mod limit;
mod limits;
mod model_limit;
mod noise;
mod one_phase;
mod open;
mod order;
mod paired;
mod protection_cost;
mod ratio_errors;
mod raw_share;
mod required;
mod safety;
mod sensitivity;
mod sites;
mod sizes;
mod standing;
mod then_and_now;
mod tradeoff;

pub use across::{Across, AcrossColumn, Order};
pub use background::Background;
pub use candidates::{CandidateEntry, Why};
pub use charged::{ChargedCandidate, ChargedComputation, ChargedPhase};
pub use compare::{
    ALPHA, BETWEEN_RUNS, ComparedSide, Comparison, Difference, History, Incomparable, LeftOut, MetricChange,
    RunComparison, compare, settled,
};
pub use computing::{Computed, Computing};
pub use control::{ControlPair, control_pairs};
pub use cost::{CostColumn, cost_columns};
pub use deliberate::{Deliberation, better_of};
pub use dependence::{Dependence, DeviceSide};
pub use device_prediction::DevicePrediction;
pub use device_spread::DeviceSpread;
pub use device_stratum::{DeviceStratum, StratumRival};
pub use devices::{DevicePart, DeviceRun, DeviceTable, LikeThese, OnDevice, device_parts};
pub use effect::{EffectSize, OptionEffect, option_effects};
pub use environment_runs::{EnvironmentRun, environment_runs};
pub use estimates::{PhaseEstimate, estimate_all};
pub use evaluation::{MissingEvaluation, Unevaluated};
pub use factors::{AddedSeconds, FactorEffect, Interaction};
pub use field::{Field, Mark, times_worse};
pub use goal::{LeftOutPhase, Objective};
pub use group_runs::{GroupRun, group_runs};
pub use groups::GroupVerdict;
pub use harness::Harness;
pub use judgement::{Judgement, PhaseEntry, TrialBasis};
pub use kernels::{ChangeOutcome, KernelChange, KernelPair, KernelPhase, MEASURES, TIME, judged_alone};
pub use latency::{LatencyCounts, latencies, latency_at};
pub use legacy::{Combined, combine, legacy_name};
pub use limit::Limit;
pub use noise::RunNoise;
pub use open::OpenPair;
pub use paired::ByBlock;
pub use protection_cost::ProtectionCost;
pub use raw_share::{RawShare, raw_shares};
pub use required::{RequirementRelation, RequirementStanding, has_open_requirement};
pub use safety::{LossShare, SafetyPoint, price_of_safety};
pub use sensitivity::{WeightRange, WeightTurn};
pub use sites::{AtSites, SiteRatios, by_site};
pub use sizes::{AtSize, CostBySize, MovedRatio, SizeRun, SizeStep, SizeTable};
pub use standing::{Rank, Relation, Standing};
pub use then_and_now::{Because, Now, ThenAndNow, same_quantity, then_and_now};
pub use tradeoff::{COSTS, Cost, CostLead, Tradeoff};

pub use crate::statistics::Estimate;

use background::background;
use charged::charged_computation;
use computing::computing;
use dependence::dependences;
use device_prediction::predictions;
use device_spread::device_spreads;
use device_stratum::device_strata;
use evidence::VerdictEvidence;
use factors::factor_effects;
use limits::limits;
use noise::noise;
use open::open_pairs;
use required::requirement_standings;
use sensitivity::sensitivity;
use standing::{ranking, standings};
use tradeoff::tradeoffs;

use serde::Serialize;

use crate::journal::Run;
use crate::plan::{Plan, once_each};
use crate::statistics;
use crate::statistics::FEWEST;

/// The kind of conclusion about the goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// No candidate is better than the recommended one by more than δ.
    Recommended,
    /// Also, every other candidate is shown to be behind the recommended one or tied with it.
    Ranked,
    /// The data suffices for neither.
    Undecided,
}

/// The verdict; it is serialised into the JSON report unchanged.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    pub outcome: Outcome,
    /// The recommended candidate; `None` where the outcome is undecided.
    pub recommended: Option<String>,
    /// Candidates shown to be within δ of the leader.
    pub tied: Vec<String>,
    /// Candidates shown to be worse than the leader.
    pub behind: Vec<String>,
    /// Candidates of which neither is shown.
    pub open: Vec<String>,
    /// Why the run allows no ranking at all: too many blocks were disturbed.
    pub refused: Option<String>,
    /// Every candidate's standing with each requirement of the goal; empty where the goal requires no measured number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub required: Vec<RequirementStanding>,
    /// Candidates shown to miss a requirement; they take no part in the comparison.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ruled_out: Vec<String>,
    /// Candidates that could be recommended by the goal, except that other properties that the plan asks about are
    /// unknown; empty if all are known, or no candidate could be recommended yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unevaluated: Vec<Unevaluated>,
    /// Phases of the goal that some candidate has no number for, and which therefore count for no candidate.
    pub left_out_phases: Vec<LeftOutPhase>,
    /// Candidates by the goal, the leader first: the order in the sample, whether certain or not.
    pub ranking: Vec<Rank>,
    /// The evidence: every candidate against the leader of the last look.
    pub standings: Vec<Standing>,
    /// Pairs of candidates in unknown order, with the trials that would settle each.
    pub unsettled: Vec<OpenPair>,
    /// How noisy the run is; `None` below three blocks.
    pub noise: Option<RunNoise>,
    /// The effect of each level of each option, over all candidates that were tried with it.
    pub factors: Vec<FactorEffect>,
    /// The costs of each candidate, in the order of the ranking, and which candidates are worse in everything.
    pub tradeoffs: Vec<Tradeoff>,
    /// How far each weight of the goal can move before another candidate leads.
    pub sensitivity: Vec<WeightRange>,
    /// Differences that change sign with a property of the devices of a class; empty where every block had the same
    /// device.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depends: Vec<Dependence>,
    /// Background work of filesystems during timed phases of the goal; empty where it was small or not reported.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub background: Vec<Background>,
    /// Whether the verdict holds where computation takes time; `None` where CPU time has no price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub computing: Option<Computing>,
    /// The share of computation in the times; `None` where the device model charges no time for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub charged: Option<ChargedComputation>,
    /// Candidates with a difference from the first that varies much between the devices of a class.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub device_spreads: Vec<DeviceSpread>,
    /// The prediction for each candidate on one device of a class, relative to the first of the ranking; empty where
    /// every block had the same device.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub predictions: Vec<DevicePrediction>,
    /// The verdict on each of two kinds of devices, where they have different ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub device_strata: Vec<DeviceStratum>,
    /// The verdicts of the protection levels, where the candidates have several: then `recommended` is that of the first
    /// level with a recommendation, and the lists and orders are those of the levels, one after the other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupVerdict>,
    /// The cost of each protection, by pairs of candidates that differ in it alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub protection_costs: Vec<ProtectionCost>,
    /// Conclusions that the run does not allow, the gravest limit first.
    #[serde(skip)]
    pub limits: Vec<Limit>,
    #[serde(skip)]
    pub blocks: usize,
}

impl Verdict {
    /// Withdraws the ranking and the recommendation, and stores the reason.
    pub fn refuse(&mut self, reason: &str) {
        self.refused = Some(reason.to_owned());
        self.outcome = Outcome::Undecided;
        self.recommended = None;
        self.unevaluated.clear();
        self.tied.clear();
        self.behind.clear();
        self.open.clear();
        self.unsettled.clear();
        self.ranking.clear();
        self.standings.clear();
        self.tradeoffs.clear();
        self.sensitivity.clear();
        self.depends.clear();
        self.background.clear();
        self.computing = None;
        self.charged = None;
        self.device_spreads.clear();
        self.predictions.clear();
        self.device_strata.clear();
        self.groups.clear();
        self.protection_costs.clear();
    }
}

/// The only candidate that is not ruled out, if it is shown to meet every requirement.
fn alone(required: &[RequirementStanding], fitting: &[&str], run: &Run) -> Option<String> {
    let [only] = fitting else { return None };
    let mut own = required.iter().filter(|one| one.candidate == *only);
    let keeps = own.all(|one| one.relation == RequirementRelation::Kept);
    (keeps && run.complete_blocks() >= FEWEST as usize).then(|| (*only).to_owned())
}

/// Judges the measured candidates: applies the stopping rule's conclusion and collects its limits. `trials` are the
/// trials that the numbers come from.
pub fn judge(
    plan: &Plan,
    run: &Run,
    objective: &Objective,
    trials: &ByBlock<'_>,
    measured: &[&str],
) -> Verdict {
    let required = requirement_standings(plan, run, measured);
    let missed = required.iter().filter(|one| one.relation == RequirementRelation::Missed);
    let ruled_out = once_each(missed.map(|one| one.candidate.clone()));
    let fitting: Vec<&str> =
        measured.iter().copied().filter(|name| !ruled_out.iter().any(|out| out == name)).collect();
    let measured = fitting.as_slice();
    let deliberation = Deliberation::of(plan, run);
    let refused = run.was_too_disturbed();
    let look = deliberation.last_look();
    let shown = look.as_ref().filter(|_| !refused);
    let standings = shown.map_or(Vec::new(), |look| standings(&deliberation, look, run, measured));
    let with = |relation: &[Relation]| -> Vec<String> {
        let fitting = standings.iter().filter(|standing| relation.contains(&standing.relation));
        fitting.map(|standing| standing.candidate.clone()).collect()
    };
    let (tied, behind) = (with(&[Relation::Tied]), with(&[Relation::Behind]));
    let leader = look.as_ref().map(|look| deliberation.leader(look).to_owned());
    let alone = alone(&required, measured, run).filter(|_| !refused && !ruled_out.is_empty());
    let leader = leader.filter(|name| measured.contains(&name.as_str())).or_else(|| alone.clone());
    let unsettled = shown.map_or(Vec::new(), |look| open_pairs(&deliberation, look, run, measured));
    let evidence = VerdictEvidence { plan, run, objective, trials };
    let outcome = match deliberation.outcome() {
        // Runs of older versions continued past the point where a run ends today, so their last look may recommend no
        // candidate.
        _ if alone.is_some() => Outcome::Recommended,
        _ if refused || leader.is_none() || standings.is_empty() => Outcome::Undecided,
        _ if run.complete_blocks() < FEWEST as usize => Outcome::Undecided,
        statistics::Ruling::Recommended if unsettled.is_empty() => Outcome::Ranked,
        statistics::Ruling::Recommended => Outcome::Recommended,
        _ if standings.iter().any(|standing| standing.relation == Relation::Open) => Outcome::Undecided,
        _ if unsettled.is_empty() => Outcome::Ranked,
        _ => Outcome::Recommended,
    };
    let ranking =
        if refused { Vec::new() } else { ranking(leader.as_deref(), &standings, measured, &evidence) };
    let unevaluated = match leader.as_deref().filter(|_| outcome != Outcome::Undecided) {
        Some(leader) => {
            let close = with(&[Relation::Tied, Relation::Open]);
            evaluation::unevaluated(plan, run, &required, leader, &close)
        }
        None => Vec::new(),
    };
    let outcome = if unevaluated.is_empty() { outcome } else { Outcome::Undecided };
    let recommended = leader.filter(|_| outcome != Outcome::Undecided);
    let placed = |name: &&str| {
        let known = recommended.iter().chain(&tied).chain(&behind);
        known.into_iter().any(|known| known == name)
    };
    let depends = dependences(&evidence, &ranking);
    Verdict {
        outcome,
        open: measured.iter().filter(|name| !placed(name)).map(|name| (*name).to_owned()).collect(),
        noise: noise(&evidence, &ranking),
        factors: factor_effects(&evidence, measured),
        tradeoffs: tradeoffs(&evidence, &ranking),
        sensitivity: sensitivity(&evidence, &ranking, &tied),
        device_strata: device_strata(&evidence, &ranking, &depends),
        predictions: predictions(&evidence, &ranking, &depends),
        depends,
        background: background(&evidence, &ranking),
        computing: computing(&evidence, &ranking),
        charged: charged_computation(&evidence, &ranking),
        device_spreads: device_spreads(&evidence, &ranking),
        limits: limits(&evidence, &ranking),
        groups: Vec::new(),
        protection_costs: Vec::new(),
        required,
        ruled_out,
        unevaluated,
        left_out_phases: objective.left_out.clone(),
        refused: if refused { run.finished.clone() } else { None },
        blocks: run.complete_blocks(),
        recommended,
        tied,
        behind,
        ranking,
        standings,
        unsettled,
    }
}
