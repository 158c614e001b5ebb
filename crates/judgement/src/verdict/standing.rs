//! Compares every candidate with the leader: how far behind it is, and how much of that is certain.

use serde::Serialize;

use super::{Contrast, ContrastOutcome, Deliberation, VerdictEvidence};
use crate::journal::Run;
use crate::plan::GOAL;
use crate::statistics::{BlockOutcome, Estimate, Evidence, FEWEST, Rival};

/// A candidate's place in the order of the sample.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rank {
    pub candidate: String,
    /// How many times worse than the leader it is, paired within blocks; `None` for the leader itself, or where no
    /// block has both.
    pub behind: Option<Estimate>,
    /// The goal in the metric's unit, where the goal is a total. For the leader it is the geometric mean over its
    /// trials, for the others that number times `behind`, so that the two never contradict each other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
}

/// Compares every candidate with the leader of the last look, in the order of that look.
pub(super) fn compare_with_leader(
    deliberation: &Deliberation,
    look: &BlockOutcome,
    run: &Run,
    measured: &[&str],
) -> Vec<Contrast> {
    let standing = |rival: &Rival| {
        let candidate = deliberation.candidates.get(rival.candidate)?.clone();
        // Runs of earlier versions dropped candidates by another rule; their conclusions stay valid.
        let dropped = run.candidates.iter().any(|state| state.name == candidate && state.dropped.is_some());
        let outcome = match outcome_of_rival(rival, dropped) {
            _ if look.block < FEWEST && !dropped => ContrastOutcome::Undecided,
            known => known,
        };
        measured.contains(&candidate.as_str()).then(|| Contrast {
            subject: GOAL.to_owned(),
            of: candidate,
            against: deliberation.leader(look).to_owned(),
            ratio: rival.evidence.ratio_after_stopping_rule(),
            outcome,
        })
    };
    look.rivals.iter().filter_map(standing).collect()
}

/// A candidate that is behind by less than δ counts as tied.
fn outcome_of_rival(rival: &Rival, dropped: bool) -> ContrastOutcome {
    match rival {
        one if one.tied => ContrastOutcome::Tied,
        one if one.behind || dropped => ContrastOutcome::Behind,
        one if one.not_better => ContrastOutcome::NotBetter,
        _ => ContrastOutcome::Undecided,
    }
}

/// Orders the candidates by how far behind the leader they are. The ratio is the standing's where there is one, so that
/// the reports show one number for one pair. Without a leader (before the second block), the best of the sample leads.
pub(super) fn rank_candidates(
    leader: Option<&str>,
    standings: &[Contrast],
    measured: &[&str],
    evidence: &VerdictEvidence<'_>,
) -> Vec<Rank> {
    let score = |name: &str| {
        let scores: Vec<f64> =
            evidence.trials.trials_of(name).filter_map(|trial| evidence.score(trial)).collect();
        Some(Evidence::from_sample(&scores)?.difference)
    };
    let mut scored: Vec<(&str, f64)> =
        measured.iter().filter_map(|name| Some((*name, score(name)?))).collect();
    scored.sort_by(|one, other| one.1.total_cmp(&other.1));
    let known = leader.filter(|leader| scored.iter().any(|(name, _)| name == leader));
    let Some(leader) = known.or(scored.first().map(|(name, _)| *name)) else { return Vec::new() };
    let behind = |name: &str| {
        let own = standings.iter().find(|standing| standing.of == name && standing.against == leader);
        let paired =
            || Some(Evidence::from_sample(&evidence.log_ratios(name, leader))?.ratio_after_stopping_rule());
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
    // The leader comes first even where another candidate has a better ratio by chance.
    let place = |rank: &Rank| match rank.behind {
        _ if rank.candidate == leader => f64::NEG_INFINITY,
        Some(behind) => behind.point,
        None => f64::INFINITY,
    };
    ranking.sort_by(|one, other| place(one).total_cmp(&place(other)));
    ranking
}
