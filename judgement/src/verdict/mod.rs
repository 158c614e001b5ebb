//! From estimates to a verdict about the plan's goal: the best, those tied with it, those ruled out, and the limits.

mod compare;
mod cost;
mod deliberate;
mod effect;
mod estimates;
mod floor;
mod goal;
mod legacy;
mod limits;
mod paired;
mod raw_share;
mod sensitivity;
mod then_and_now;
mod tradeoff;

pub use compare::{ALPHA, Change, Difference, Incomparable, LeftOut, RunComparison, Side, compare};
pub use cost::{CostColumn, cost_columns};
pub use deliberate::{Deliberation, better_of, weights};
pub use effect::{Effect, OptionEffect, Seen, option_effects};
pub use estimates::{CONFIDENCE, PhaseEstimate, estimate_all};
pub use floor::{TwinPair, twin_pairs};
pub use goal::Rank;
pub use legacy::{Combined, combine, legacy_name};
pub use paired::Blocks;
pub use raw_share::{RawShare, raw_shares};
pub use sensitivity::{Turn, WeightRange};
pub use then_and_now::{Because, Now, ThenAndNow, same_quantity, then_and_now};

pub use tradeoff::{COSTS, Cost, Tradeoff, cost_ratio};

pub use crate::statistics::Estimate;

use deliberate::{full_rows, log_score};
use goal::rank;
use limits::limits;
use paired::{paired_ratio, ratio_of};
use sensitivity::sensitivity;
use tradeoff::tradeoffs;

use serde::Serialize;

use crate::journal::{Ending, Run};
use crate::plan::Plan;
use crate::statistics::{self, Look, NoiseFloor};

/// What may be concluded about the goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// One candidate is certainly better than all others.
    Decided,
    /// Several are the best, and certainly too close to matter.
    Tied,
    /// The evidence does not suffice for either.
    Undecided,
}

/// How a candidate compares with the leader, for the goal.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Standing {
    pub candidate: String,
    /// The candidate it was compared with: whoever led at the time.
    pub against: String,
    /// How many times worse than that one; the interval is of this pair alone.
    pub ratio: Estimate,
    /// Two-sided p of this pair alone, not corrected.
    pub p: f64,
    /// What is certain, after correction over all pairs and looks.
    pub relation: Relation,
}

/// What is certain about a candidate and the leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// Certainly worse.
    RuledOut,
    /// Certainly within δ.
    Tied,
    Open,
}

/// The verdict: part of the JSON report as it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    pub outcome: Outcome,
    /// The best candidates: one where decided or tied, none where undecided.
    pub best: Vec<String>,
    /// Those practically tied with the best.
    pub tied: Vec<String>,
    /// Those certainly worse than the best.
    pub ruled_out: Vec<String>,
    /// Those of which neither is certain.
    pub undecided: Vec<String>,
    /// Why nothing may be ranked at all: too many blocks were disturbed.
    pub refused: Option<String>,
    /// Those that the rule told from the leader by less than the floor: not ranked.
    pub below_floor: Vec<String>,
    /// Candidates by their score for the goal, best first: what the sample shows, certain or not.
    pub ranking: Vec<Rank>,
    /// The evidence: every candidate against the leader of the look that decided about it.
    pub standings: Vec<Standing>,
    /// Differences below this are noise.
    pub floor: Option<NoiseFloor>,
    /// What each costs, in the order of the ranking, and who is beaten in everything.
    pub tradeoffs: Vec<Tradeoff>,
    /// How far each weight may move before another leads.
    pub sensitivity: Vec<WeightRange>,
    /// The probability of a wrong elimination that was spent, of 5 %.
    pub spent: f64,
    /// Limits of the verdict, each a sentence.
    #[serde(skip)]
    pub cautions: Vec<String>,
    #[serde(skip)]
    pub blocks: usize,
}

/// Judges the candidates that were measured: what the stopping rule concluded, and the limits of that. `blocks` are the
/// trials that the estimates are made from.
pub fn judge(
    plan: &Plan,
    run: &Run,
    blocks: &Blocks<'_>,
    measured: &[&str],
    estimates: &[PhaseEstimate],
) -> Verdict {
    let mut verdict = conclude(plan, run, blocks, measured, estimates);
    if run.ending == Some(Ending::Disturbed) {
        let names = [&mut verdict.best, &mut verdict.tied, &mut verdict.ruled_out];
        names.into_iter().for_each(Vec::clear);
        verdict.undecided = measured.iter().map(|name| (*name).to_owned()).collect();
        verdict.outcome = Outcome::Undecided;
        verdict.refused.clone_from(&run.finished);
        verdict.standings.clear();
        verdict.ranking.clear();
        verdict.tradeoffs.clear();
        verdict.sensitivity.clear();
    }
    verdict
}

fn conclude(
    plan: &Plan,
    run: &Run,
    trials: &Blocks<'_>,
    measured: &[&str],
    estimates: &[PhaseEstimate],
) -> Verdict {
    let deliberation = Deliberation::of(plan, run, run.finished.is_some());
    let standings = standings(&deliberation, measured);
    let with = |relation: Relation| -> Vec<String> {
        let fitting = standings.iter().filter(|standing| standing.relation == relation);
        fitting.map(|standing| standing.candidate.clone()).collect()
    };
    let outcome = match deliberation.outcome() {
        statistics::Outcome::Decided if measured.len() > 1 => Outcome::Decided,
        statistics::Outcome::Tied => Outcome::Tied,
        _ => Outcome::Undecided,
    };
    let (tied, ruled_out) = (with(Relation::Tied), with(Relation::RuledOut));
    let leader = deliberation.last_look().map(|look| deliberation.leader(look).to_owned());
    let best: Vec<String> = match outcome {
        Outcome::Decided | Outcome::Tied => leader.iter().cloned().collect(),
        Outcome::Undecided => Vec::new(),
    };
    let mut ranking = rank(plan, measured, estimates);
    order(&mut ranking, leader.as_deref(), &standings, |candidate, other| {
        let weights = weights(plan);
        paired_ratio(&trials.differences(candidate, other, |trial| log_score(plan, &weights, trial)))
    });
    let tied = if outcome == Outcome::Tied { tied } else { Vec::new() };
    let settled =
        |name: &&str| [&best, &tied, &ruled_out].iter().any(|names| names.iter().any(|known| known == name));
    let undecided = measured.iter().filter(|name| !settled(name)).map(|name| (*name).to_owned()).collect();
    let blocks = run.complete_blocks();
    let floor = deliberation.floor.map_or(0.0, |floor| floor.floor);
    Verdict {
        outcome,
        tradeoffs: tradeoffs(plan, trials, &ranking, plan.protocol.tie, floor),
        sensitivity: sensitivity(plan, &ranking, &tied, estimates),
        best,
        tied,
        ruled_out,
        undecided,
        cautions: limits(plan, run, outcome, blocks, &deliberation),
        ranking,
        standings,
        floor: deliberation.floor,
        refused: None,
        below_floor: deliberation.below_floor().map(str::to_owned).collect(),
        blocks,
        spent: deliberation.looks.last().map_or(0.0, |look| look.spent_so_far),
    }
}

/// Says of everybody in the ranking how far behind the leader it is, and orders it by that: one number for one thing,
/// the one that the evidence has where there is any.
fn order(
    ranking: &mut [Rank],
    leader: Option<&str>,
    standings: &[Standing],
    ratio: impl Fn(&str, &str) -> Option<Estimate>,
) {
    let Some(first) = ranking.first() else { return };
    let known = leader.filter(|name| ranking.iter().any(|rank| rank.candidate == *name));
    let leader = known.unwrap_or(&first.candidate).to_owned();
    for rank in ranking.iter_mut().filter(|rank| rank.candidate != leader) {
        let own = standings
            .iter()
            .find(|standing| standing.candidate == rank.candidate && standing.against == leader);
        rank.behind = own.map(|standing| standing.ratio).or_else(|| ratio(&rank.candidate, &leader));
    }
    // The leader, which is behind nobody, comes first even where chance puts somebody before it.
    ranking.sort_by(|one, other| {
        let place =
            |rank: &Rank| (rank.candidate != leader, rank.behind.map_or(f64::INFINITY, |ratio| ratio.point));
        place(one).0.cmp(&place(other).0).then(place(one).1.total_cmp(&place(other).1))
    });
}

/// Every candidate against the leader: at the look that ruled it out, else at the last one.
fn standings(deliberation: &Deliberation, measured: &[&str]) -> Vec<Standing> {
    let looks = deliberation.looks.iter().filter(|look| look.leader.is_some());
    let mut standings: Vec<Standing> = Vec::new();
    for look in looks {
        for comparison in &look.comparisons {
            let Some(name) = deliberation.candidates.get(comparison.candidate) else { continue };
            standings
                .retain(|standing| standing.candidate != *name || standing.relation == Relation::RuledOut);
            let known = standings.iter().any(|standing| standing.candidate == *name);
            let leader = deliberation.leader(look);
            if !known && measured.contains(&name.as_str()) && leader != name {
                standings.push(standing(name, leader, look, comparison, deliberation.is_out(comparison)));
            }
        }
    }
    let leader = deliberation.last_look().map(|look| deliberation.leader(look));
    standings.retain(|standing| Some(standing.candidate.as_str()) != leader);
    standings.sort_by(|one, other| one.ratio.point.total_cmp(&other.ratio.point));
    standings
}

fn standing(
    name: &str,
    leader: &str,
    look: &Look,
    comparison: &statistics::LookComparison,
    is_out: bool,
) -> Standing {
    let ratio = ratio_of(&comparison.evidence, look.block as usize);
    let relation = match comparison {
        _ if is_out => Relation::RuledOut,
        one if one.tied => Relation::Tied,
        _ => Relation::Open,
    };
    let (candidate, against) = (name.to_owned(), leader.to_owned());
    Standing { candidate, against, ratio, p: comparison.p, relation }
}
