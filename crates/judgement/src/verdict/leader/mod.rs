//! Which candidate to take: the stopping rule's conclusion, with everything that is said of the leader and its rivals.

mod deliberate;
mod equals;
#[cfg(test)]
mod error_rate_tests;
mod field;
mod noise;
mod sensitivity;
mod standing;
mod tradeoff;

pub use deliberate::Deliberation;
pub use equals::{Preference, Sacrifice};
pub use field::{Field, times_worse};
pub use noise::RunNoise;
pub use sensitivity::{WeightRange, WeightTurn};
pub use standing::{OpenPair, Rank};
pub use tradeoff::{COSTS, Cost, CostLead, Tradeoff};

use equals::choose_among_equals;
use noise::estimate_noise;
use sensitivity::weight_ranges;
use standing::{compare_with_leader, open_pairs, rank_candidates};
use tradeoff::list_tradeoffs;

use super::devices::{device_spreads, device_strata, find_dependences, predict_rivals};
use super::limits::list_limits;
use super::options::factor_effects;
use super::protection::{requirement_standings, unevaluated};
use super::work::{charged_computation, find_background};
use super::{
    Contrast, ContrastOutcome, Outcome, RequirementRelation, RequirementStanding, Verdict, VerdictEvidence,
};
use crate::journal::Run;
use crate::plan::once_each;
use crate::statistics;
use crate::statistics::{BlockOutcome, FEWEST};

/// The only candidate that is not ruled out, if it is shown to meet every requirement.
fn sole_fitting(required: &[RequirementStanding], fitting: &[&str], run: &Run) -> Option<String> {
    let [only] = fitting else { return None };
    let mut standings = required.iter().filter(|standing| standing.candidate == *only);
    let keeps = standings.all(|standing| standing.relation == RequirementRelation::Kept);
    (keeps && run.complete_blocks() >= FEWEST as usize).then(|| (*only).to_owned())
}

/// Whether it is not yet known of a candidate that it meets every requirement.
fn lacks_requirement(required: &[RequirementStanding], name: &str) -> bool {
    let mut own = required.iter().filter(|standing| standing.candidate == name);
    own.any(|standing| standing.relation != RequirementRelation::Kept)
}

/// Judges the measured candidates: applies the stopping rule's conclusion and collects its limits.
pub(crate) fn judge(evidence: &VerdictEvidence<'_>, measured: &[&str]) -> Verdict {
    let VerdictEvidence { plan, run, objective, free, .. } = *evidence;
    let required = requirement_standings(plan, run, measured);
    let missed = required.iter().filter(|standing| standing.relation == RequirementRelation::Missed);
    let ruled_out = once_each(missed.map(|standing| standing.candidate.clone()));
    let fitting: Vec<&str> =
        measured.iter().copied().filter(|name| !ruled_out.iter().any(|out| out == name)).collect();
    let measured = fitting.as_slice();
    let deliberation = Deliberation::from_run(plan, run);
    let refused = run.was_too_disturbed();
    let look = deliberation.last_look();
    let shown = look.as_ref().filter(|_| !refused);
    let compare = |look: &BlockOutcome| {
        let mut standings = compare_with_leader(&deliberation, look, run, measured);
        standings.retain(|standing| !free.hides_order(&standing.of, &standing.against));
        standings
    };
    let list_unsettled = |look: &BlockOutcome| {
        let mut unsettled = open_pairs(&deliberation, look, run, measured);
        unsettled.retain(|pair| !free.hides_order(&pair.candidate, &pair.against));
        unsettled
    };
    let mut standings = shown.map_or(Vec::new(), compare);
    let leader = look.as_ref().map(|look| deliberation.leader(look).to_owned());
    let alone = sole_fitting(&required, measured, run).filter(|_| !refused && !ruled_out.is_empty());
    let mut leader = leader.filter(|name| measured.contains(&name.as_str())).or_else(|| alone.clone());
    let mut unsettled = shown.map_or(Vec::new(), list_unsettled);
    let mut outcome = match deliberation.outcome() {
        // Runs of older versions continued past the point where a run ends today, so their last look may recommend no
        // candidate.
        _ if alone.is_some() => Outcome::Recommended,
        _ if refused || leader.is_none() || standings.is_empty() => Outcome::Undecided,
        _ if run.complete_blocks() < FEWEST as usize => Outcome::Undecided,
        statistics::Ruling::Recommended if unsettled.is_empty() => Outcome::Ranked,
        statistics::Ruling::Recommended => Outcome::Recommended,
        _ if standings.iter().any(|standing| standing.outcome == ContrastOutcome::Undecided) => {
            Outcome::Undecided
        }
        _ if unsettled.is_empty() => Outcome::Ranked,
        _ => Outcome::Recommended,
    };
    // Of equals, not the first of the sample is recommended but the best protected, and everything is told beside it.
    let (mut preference, mut sacrifice) = (None, None);
    if let Some(first) = leader.clone().filter(|_| outcome != Outcome::Undecided) {
        let look_against = |name: &str| deliberation.look_against(name);
        let beside = |name: &str| look_against(name).as_ref().map_or(Vec::new(), compare);
        let may_be_taken = |name: &str| !lacks_requirement(&required, name);
        let choice = choose_among_equals(plan, &first, standings, beside, may_be_taken);
        (standings, preference, sacrifice) = (choice.standings, choice.preference, choice.sacrifice);
        if preference.is_some() {
            unsettled = look_against(&choice.taken).as_ref().map_or(Vec::new(), list_unsettled);
            let is_placed = |standing: &Contrast| {
                matches!(standing.outcome, ContrastOutcome::Tied | ContrastOutcome::Behind)
            };
            unsettled.retain(|pair| {
                !standings.iter().any(|standing| standing.of == pair.candidate && is_placed(standing))
            });
            outcome = if standings.iter().all(is_placed) { Outcome::Ranked } else { Outcome::Recommended };
            leader = Some(choice.taken);
        }
    }
    let with = |outcomes: &[ContrastOutcome]| -> Vec<String> {
        let fitting = standings.iter().filter(|standing| outcomes.contains(&standing.outcome));
        fitting.map(|standing| standing.of.clone()).collect()
    };
    let (tied, behind) = (with(&[ContrastOutcome::Tied]), with(&[ContrastOutcome::Behind]));
    let ranking =
        if refused { Vec::new() } else { rank_candidates(leader.as_deref(), &standings, measured, evidence) };
    let unevaluated = match leader.as_deref().filter(|_| outcome != Outcome::Undecided) {
        Some(leader) => {
            let close = with(&[ContrastOutcome::Tied, ContrastOutcome::Undecided]);
            unevaluated(plan, run, &required, leader, &close)
        }
        None => Vec::new(),
    };
    // The ranking without candidates of which it is not told whether they are behind the first: nothing else compares
    // these with it either.
    let is_told = |rank: &&Rank| !free.hides_order(&rank.candidate, &ranking[0].candidate);
    let told: Vec<Rank> = ranking.iter().filter(is_told).cloned().collect();
    let is_known = unevaluated.is_empty() && told.len() == ranking.len();
    let outcome = if is_known { outcome } else { Outcome::Undecided };
    let recommended = leader.filter(|_| outcome != Outcome::Undecided);
    let placed = |name: &&str| {
        let known = recommended.iter().chain(&tied).chain(&behind);
        known.into_iter().any(|known| known == name)
    };
    let depends = find_dependences(evidence, &told);
    let predictions = predict_rivals(evidence, &told, &depends);
    Verdict {
        outcome,
        open: measured.iter().filter(|name| !placed(name)).map(|name| (*name).to_owned()).collect(),
        noise: estimate_noise(evidence, &told),
        factors: factor_effects(evidence, measured),
        tradeoffs: list_tradeoffs(evidence, &ranking),
        sensitivity: weight_ranges(evidence, &told, &tied),
        device_strata: device_strata(evidence, &told, &depends),
        depends,
        background: find_background(evidence, &ranking),
        charged: charged_computation(evidence, &told),
        device_spreads: device_spreads(&predictions),
        predictions,
        limits: list_limits(evidence, &told),
        untold: free.list_untold(plan, run, measured),
        required,
        ruled_out,
        unevaluated,
        left_out_phases: objective.left_out.clone(),
        refused: if refused { run.finished.clone() } else { None },
        blocks: run.complete_blocks(),
        preference: preference.filter(|_| outcome != Outcome::Undecided),
        sacrifice: sacrifice.filter(|_| outcome != Outcome::Undecided),
        recommended,
        tied,
        behind,
        ranking,
        standings,
        unsettled,
        // What protection levels and losses add comes later.
        ..Verdict::default()
    }
}
