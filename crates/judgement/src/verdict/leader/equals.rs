//! Chooses among candidates that are equal by the goal: the better protected is recommended, then the one with fewer
//! options, then the first of the ranking.

use serde::Serialize;

use crate::plan::{AXES, AxisLevel, AxisRole, Plan, ProtectionFeature};
use crate::verdict::options::added_option;
use crate::verdict::{Contrast, ContrastOutcome};

/// Why a candidate is recommended and not an equal one: one that is first by the estimates, or one that differs from it by an
/// option alone.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Preference {
    /// The equal candidate that is not recommended.
    pub over: String,
    /// The safeguards that the equal one gives up and the recommended candidate keeps; empty where only the number of options
    /// decides.
    pub keeps: Vec<ProtectionFeature>,
    /// The option that is all the difference between the two, such as `mkfs -m crc=0`, which the equal one has.
    pub option: Option<String>,
}

/// The safeguards that the recommended candidate gives up, for a gain that is shown and larger than a tie.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sacrifice {
    pub features: Vec<ProtectionFeature>,
    /// The closest candidate that keeps them.
    pub against: String,
}

/// The candidate to recommend, and how the others compare with it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EqualsDecision {
    pub(crate) taken: String,
    pub(crate) standings: Vec<Contrast>,
    pub(crate) preference: Option<Preference>,
    pub(crate) sacrifice: Option<Sacrifice>,
}

/// Chooses beside the leader of the goal, with which the others compare as `standings` say. `compare` compares all others
/// with another candidate, and `may_be_taken` says whether a candidate meets all other conditions of a recommendation.
pub(crate) fn choose_among_equals(
    plan: &Plan,
    leader: &str,
    standings: Vec<Contrast>,
    compare: impl Fn(&str) -> Vec<Contrast>,
    may_be_taken: impl Fn(&str) -> bool,
) -> EqualsDecision {
    let tie = plan.protocol.tie;
    let exceeds =
        |one: &str, other: &str| plan.goal.safeguards_of(one).exceeds(&plan.goal.safeguards_of(other));
    // The closest candidate that is protected better than this one, where no gain of giving that up is shown.
    let better_protected = |taken: &str, standings: &[Contrast]| {
        let equal = standings.iter().filter(|standing| !is_shown_worse(standing, tie));
        let names = equal.map(|standing| standing.of.as_str()).filter(|name| may_be_taken(name));
        let better: Vec<&str> = names.filter(|name| exceeds(name, taken)).collect();
        better.into_iter().min_by_key(|name| count_options(plan, name)).map(str::to_owned)
    };
    // A tie is one from both sides, also where only one of them has the blocks that a test needs.
    let turn = |standings: &[Contrast], taken: &str, to: &str| {
        let tied =
            standings.iter().any(|standing| standing.of == to && standing.outcome == ContrastOutcome::Tied);
        let mut turned = compare(to);
        for standing in turned.iter_mut().filter(|standing| tied && standing.of == taken) {
            standing.outcome = ContrastOutcome::Tied;
        }
        turned
    };
    let (mut taken, mut standings) = (leader.to_owned(), standings);
    // Each step adds protection, so that there are at most as many as candidates.
    for _ in 0..plan.candidates.len() {
        let Some(better) = better_protected(&taken, &standings) else { break };
        standings = turn(&standings, &taken, &better);
        taken = better;
    }
    let own = count_options(plan, &taken);
    let is_default = |standing: &&Contrast| {
        standing.has_outcome(ContrastOutcome::Tied, tie)
            && may_be_taken(&standing.of)
            && count_options(plan, &standing.of) < own
            && !exceeds(&taken, &standing.of)
    };
    let mut defaults: Vec<String> =
        standings.iter().filter(is_default).map(|standing| standing.of.clone()).collect();
    defaults.sort_by_key(|name| count_options(plan, name));
    let mut fitting = defaults.into_iter().map(|name| (turn(&standings, &taken, &name), name));
    if let Some((others, name)) = fitting.find(|(others, name)| better_protected(name, others).is_none()) {
        (taken, standings) = (name, others);
    }
    let equal_with_option = || {
        let equals = standings.iter().filter(|standing| standing.has_outcome(ContrastOutcome::Tied, tie));
        let mut preferences = equals.map(|standing| explain_preference(plan, &taken, &standing.of));
        preferences.find(|preference| preference.option.is_some())
    };
    EqualsDecision {
        preference: match taken == leader {
            true => equal_with_option(),
            false => Some(explain_preference(plan, &taken, leader)),
        },
        sacrifice: find_sacrifice(plan, &taken, &standings),
        taken,
        standings,
    }
}

/// Whether a candidate is shown to be worse by more than a tie.
fn is_shown_worse(standing: &Contrast, tie: f64) -> bool {
    standing.has_outcome(ContrastOutcome::Behind, tie) && standing.ratio.point > 1.0 + tie
}

/// How many words of options a candidate sets.
fn count_options(plan: &Plan, name: &str) -> usize {
    let Some(candidate) = plan.find_candidate(name) else { return usize::MAX };
    let options = AXES.iter().filter(|axis| matches!(axis.role, AxisRole::Option));
    let count = options.map(|axis| match axis.set_level(candidate) {
        AxisLevel::Nothing => 0,
        AxisLevel::Words(words) | AxisLevel::Options(words) => words.len(),
        AxisLevel::Layers(layers) => layers.names().count(),
        AxisLevel::Word(_) | AxisLevel::Path(_) | AxisLevel::Size(_) => 1,
    });
    count.sum()
}

fn explain_preference(plan: &Plan, taken: &str, leader: &str) -> Preference {
    let pair = plan.find_candidate(taken).zip(plan.find_candidate(leader));
    Preference {
        over: leader.to_owned(),
        keeps: plan.goal.safeguards_of(taken).advantages_over(&plan.goal.safeguards_of(leader)),
        option: pair.and_then(|(base, changed)| added_option(base, changed)),
    }
}

/// The safeguards that the candidate gives up beside the closest one that is protected better.
fn find_sacrifice(plan: &Plan, taken: &str, standings: &[Contrast]) -> Option<Sacrifice> {
    let own = plan.goal.safeguards_of(taken);
    let worse = standings.iter().filter(|standing| is_shown_worse(standing, plan.protocol.tie));
    let lost = |standing: &Contrast| {
        let other = plan.goal.safeguards_of(&standing.of);
        other
            .exceeds(&own)
            .then(|| Sacrifice { features: other.advantages_over(&own), against: standing.of.clone() })
    };
    worse.into_iter().find_map(lost)
}

#[cfg(test)]
mod tests;
