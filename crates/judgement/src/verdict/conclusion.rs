//! The verdict as data: every conclusion about the goal, and the limits of each.

use serde::Serialize;

use super::{
    Background, ChargedComputation, Contrast, Dependence, DevicePrediction, DeviceSpread, DeviceStratum,
    FactorEffect, GroupVerdict, LeftOutPhase, LevelTrade, Limit, LossChoice, OpenPair, Preference,
    ProtectionCost, Rank, RequirementStanding, RunNoise, Sacrifice, Tradeoff, Unevaluated, UntoldCost,
    WeightRange,
};

/// The kind of conclusion about the goal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// No candidate is better than the recommended one by more than δ.
    Recommended,
    /// Also, every other candidate is shown to be behind the recommended one or tied with it.
    Ranked,
    /// The data suffices for neither.
    #[default]
    Undecided,
}

/// The verdict; it is serialised into the JSON report unchanged.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Verdict {
    pub outcome: Outcome,
    /// The recommended candidate; `None` where the outcome is undecided.
    pub recommended: Option<String>,
    /// Why the recommended candidate is not the leader of the goal but one that equals it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preference: Option<Preference>,
    /// The safeguards that the recommended candidate gives up for its lead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sacrifice: Option<Sacrifice>,
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
    pub standings: Vec<Contrast>,
    /// Pairs of candidates in unknown order, with the trials that would settle each.
    pub unsettled: Vec<OpenPair>,
    /// How noisy the run is; `None` below three blocks, and where each protection level has its own.
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
    /// The share of computation in the times; `None` where the device model charges no time for it, and where each
    /// protection level has its own.
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
    /// The choice between the recommended protection level and each of the others, where it can be compared with all of
    /// them; `recommended` follows it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trades: Vec<LevelTrade>,
    /// The choice by what candidates lost under faults, where the plan tries some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_losses: Option<LossChoice>,
    /// The cost of each protection, by pairs of candidates that differ in it alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub protection_costs: Vec<ProtectionCost>,
    /// Work of which no cost can be told, because computation took no time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub untold: Vec<UntoldCost>,
    /// Conclusions that the run does not allow, the gravest limit first.
    #[serde(skip)]
    pub limits: Vec<Limit>,
    #[serde(skip)]
    pub blocks: usize,
}

impl Verdict {
    pub fn find_rank(&self, candidate: &str) -> Option<&Rank> {
        self.ranking.iter().find(|rank| rank.candidate == candidate)
    }

    /// The comparison of a candidate with the leader.
    pub fn find_standing(&self, candidate: &str) -> Option<&Contrast> {
        self.standings.iter().find(|standing| standing.of == candidate)
    }

    pub fn find_tradeoff(&self, candidate: &str) -> Option<&Tradeoff> {
        self.tradeoffs.iter().find(|tradeoff| tradeoff.candidate == candidate)
    }

    /// The verdict without ranking and recommendation, for this reason. Statements about a single candidate stay.
    pub(super) fn refuse(self, reason: &str) -> Verdict {
        Verdict {
            refused: Some(reason.to_owned()),
            required: self.required,
            ruled_out: self.ruled_out,
            left_out_phases: self.left_out_phases,
            noise: self.noise,
            factors: self.factors,
            untold: self.untold,
            limits: self.limits,
            blocks: self.blocks,
            ..Verdict::default()
        }
    }
}
