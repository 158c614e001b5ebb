//! Every candidate against the leader: how far behind, and what of that is certain.

use serde::Serialize;

use super::{Deliberation, VerdictEvidence};
use crate::journal::Run;
use crate::statistics::{BlockOutcome, Estimate, Evidence, FEWEST, Rival};

/// How a candidate compares with the leader, for the goal.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Standing {
    pub candidate: String,
    /// The candidate it was compared with: whoever led at the time.
    pub against: String,
    /// How many times worse than that one; the interval is of this pair alone.
    pub ratio: Estimate,
    pub relation: Relation,
}

/// What is certain about a candidate and the leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// Worse.
    Behind,
    /// Within δ.
    Tied,
    /// Not better by more than δ.
    NotBetter,
    /// Nothing.
    Open,
}

/// A candidate in the order of the sample.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rank {
    pub candidate: String,
    /// How many times worse than the leader, paired within blocks; `None` for the leader itself, or where nothing pairs
    /// the two.
    pub behind: Option<Estimate>,
    /// The goal in the metric's unit, where it is a total: the leader's own geometric mean over its trials, and for the others that times
    /// `behind`, so that the two never contradict each other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
}

/// Every candidate against the leader of the last look, the closest first.
pub(super) fn standings(
    deliberation: &Deliberation,
    look: &BlockOutcome,
    run: &Run,
    measured: &[&str],
) -> Vec<Standing> {
    let standing = |rival: &Rival| {
        let candidate = deliberation.candidates.get(rival.candidate)?.clone();
        // Earlier versions dropped candidates by another rule: what they concluded stands.
        let dropped = run.candidates.iter().any(|state| state.name == candidate && state.dropped.is_some());
        let relation = match relation(rival, dropped) {
            _ if look.block < FEWEST && !dropped => Relation::Open,
            known => known,
        };
        let (against, ratio) = (deliberation.leader(look).to_owned(), rival.evidence.ratio_at_the_stop());
        measured.contains(&candidate.as_str()).then_some(Standing { candidate, against, ratio, relation })
    };
    look.rivals.iter().filter_map(standing).collect()
}

/// Behind by less than δ is tied.
fn relation(rival: &Rival, dropped: bool) -> Relation {
    match rival {
        one if one.tied => Relation::Tied,
        one if one.behind || dropped => Relation::Behind,
        one if one.not_better => Relation::NotBetter,
        _ => Relation::Open,
    }
}

/// Everybody by how far behind the leader it is: one number for one thing, the one that the evidence has where there is
/// any. Without a leader (before the second block) the best of the sample is one.
pub(super) fn ranking(
    leader: Option<&str>,
    standings: &[Standing],
    measured: &[&str],
    evidence: &VerdictEvidence<'_>,
) -> Vec<Rank> {
    let score = |name: &str| {
        let scores: Vec<f64> = evidence.trials.of(name).filter_map(|trial| evidence.score(trial)).collect();
        Some(Evidence::of(&scores)?.difference)
    };
    let mut scored: Vec<(&str, f64)> =
        measured.iter().filter_map(|name| Some((*name, score(name)?))).collect();
    scored.sort_by(|one, other| one.1.total_cmp(&other.1));
    let known = leader.filter(|leader| scored.iter().any(|(name, _)| name == leader));
    let Some(leader) = known.or(scored.first().map(|(name, _)| *name)) else { return Vec::new() };
    let behind = |name: &str| {
        let own = standings.iter().find(|standing| standing.candidate == name && standing.against == leader);
        let paired = || Some(Evidence::of(&evidence.behind(name, leader))?.ratio_at_the_stop());
        own.map(|standing| standing.ratio).or_else(paired)
    };
    let of_leader = score(leader).map(libm::exp).filter(|_| evidence.objective.is_total());
    let rank = |name: &str| {
        let behind = if name == leader { None } else { behind(name) };
        let times = if name == leader { Some(1.0) } else { behind.map(|behind| behind.point) };
        let total = of_leader.zip(times).map(|(total, times)| total * times);
        Rank { candidate: name.to_owned(), behind, total }
    };
    let mut ranking: Vec<Rank> = scored.iter().map(|(name, _)| rank(name)).collect();
    // The leader, which is behind nobody, comes first even where chance puts somebody before it.
    let place = |rank: &Rank| match rank.behind {
        _ if rank.candidate == leader => f64::NEG_INFINITY,
        Some(behind) => behind.point,
        None => f64::INFINITY,
    };
    ranking.sort_by(|one, other| place(one).total_cmp(&place(other)));
    ranking
}
