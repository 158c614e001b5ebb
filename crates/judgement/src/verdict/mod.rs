//! The verdict on a plan's goal: the recommended candidate, candidates tied with it or ruled out, and the limits of
//! that.
//!
//! The folders answer one question each: `work`, the cost of the phases; `leader`, which candidate to take; `protection`,
//! the requirements and the price of a protection level; `options`, the effect of an option; `devices`, whether the answer
//! depends on device, environment or site; `runs`, changes between runs, kernels and sizes; `published`, whether
//! findings hold; `limits`, conclusions that may not be drawn.

mod answer;
mod candidates;
mod conclusion;
mod contrast;
mod devices;
mod evidence;
mod free_computation;
mod judgement;
mod leader;
mod limits;
mod options;
mod protection;
mod published;
mod runs;
mod slice;
mod work;

pub use answer::{Answer, AnswerMark, RunnerUp, compare_all};
pub use candidates::{CandidateEntry, NoNumbersReason};
pub use conclusion::{Outcome, Verdict};
pub use contrast::{ALPHA, Contrast, ContrastOutcome};
pub use devices::{
    Across, AcrossColumn, AtSites, Dependence, DevicePrediction, DeviceSide, DeviceSpread, DeviceStratum,
    DeviceTable, OnDevice, Order, SimilarDevices, SiteRatios, StratumRival, slice_by_device,
};
pub use free_computation::{ComputedWork, FreeComputation, UntoldCost};
pub use judgement::{Judgement, PhaseEntry, TrialBasis};
pub use leader::{
    COSTS, Cost, CostLead, Deliberation, Field, OpenPair, Preference, Rank, RunNoise, Sacrifice, Tradeoff,
    WeightRange, WeightTurn, times_worse,
};
pub use limits::{Limit, TooLittle, control_pairs};
pub use options::{AddedSeconds, FactorEffect, Interaction, OptionEffect};
pub use protection::{
    CandidateLosses, GroupVerdict, LevelTrade, LossChoice, LossShare, MissingEvaluation, ProtectionCost,
    RequirementRelation, RequirementStanding, SafetyPoint, TriedFault, Unevaluated, has_open_requirement,
    price_of_safety,
};
pub use published::{
    Combined, FindingReason, FindingStatus, ThenAndNow, combine_as_study, legacy_name, same_quantity,
    then_and_now,
};
pub use runs::{
    AtSize, BETWEEN_RUNS, CostBySize, Difference, History, Incomparable, KernelChange, KernelPair,
    KernelPhase, LeftOut, MEASURES, MetricChange, MovedRatio, RunComparison, SizeStep, SizeTable, TIME,
    compare_runs, judged_alone,
};
pub use slice::{
    Slice, SliceVerdict, slice_by_candidates, slice_by_environment, slice_by_protection, slice_by_site,
};
pub use work::{
    Background, ByBlock, ChargedCandidate, ChargedComputation, ChargedPhase, CostColumn, Harness,
    LatencyCounts, LeadOrigin, LeftOutPhase, Objective, PhaseEstimate, RawShare, estimate_all, latencies,
    latency_at, raw_shares,
};

pub use crate::statistics::Estimate;

use evidence::VerdictEvidence;
use leader::judge;
use options::option_effects;
use work::cost_columns;
