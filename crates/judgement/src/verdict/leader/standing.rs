//! Compares every candidate with the leader: how far behind it is, how much of that is certain, and how many more
//! blocks would decide the open questions.

use serde::Serialize;

use crate::journal::Run;
use crate::plan::GOAL;
use crate::statistics::{BlockOutcome, Estimate, Evidence, FEWEST, Rival};
use crate::verdict::{Contrast, ContrastOutcome, Deliberation, Outcome, Verdict, VerdictEvidence};

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
pub(crate) fn compare_with_leader(
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
            ratio: rival.ratio,
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
pub(crate) fn rank_candidates(
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
        own.map(|standing| standing.ratio).or_else(|| evidence.ratio(name, leader))
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

/// Two candidates that are not yet fully ordered.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OpenPair {
    pub candidate: String,
    pub against: String,
    /// The candidate is shown not to be better than the leader by more than δ, so only its place is open.
    pub not_better: bool,
    /// About how many more blocks would decide, if difference and noise stay as they are; `None` where no useful number
    /// can be given.
    pub more_blocks: Option<u32>,
    /// About how many seconds those blocks would take.
    pub seconds: Option<f64>,
}

/// Every rival of the last look with an unknown place, in the order of that look.
pub(crate) fn open_pairs(
    deliberation: &Deliberation,
    look: &BlockOutcome,
    run: &Run,
    measured: &[&str],
) -> Vec<OpenPair> {
    if look.block < FEWEST {
        return Vec::new();
    }
    let leader = deliberation.leader(look);
    let walls = run.trials.iter().map(|trial| trial.wall).sum::<f64>();
    let seconds_per_block = walls / run.trials.len().max(1) as f64 * deliberation.racing().count() as f64;
    look.rivals
        .iter()
        .filter(|rival| !rival.is_placed())
        .filter_map(|rival| {
            let name = deliberation.candidates.get(rival.candidate)?;
            measured.contains(&name.as_str()).then(|| {
                let more = deliberation.settled_after(rival).map(|blocks| {
                    u32::try_from(blocks.saturating_sub(rival.evidence.count)).unwrap_or(u32::MAX).max(1)
                });
                OpenPair {
                    candidate: name.clone(),
                    against: leader.to_owned(),
                    not_better: rival.not_better,
                    more_blocks: more,
                    seconds: more.filter(|_| walls > 0.0).map(|more| f64::from(more) * seconds_per_block),
                }
            })
        })
        .collect()
}

/// The most blocks that are worth running to decide a difference within the tie.
const WORTHWHILE: u32 = 100;

impl Verdict {
    /// The pair to settle first: the one that needs the most blocks where the run is undecided, else the one that needs
    /// the fewest.
    pub fn first_to_settle(&self) -> Option<&OpenPair> {
        let open = self.unsettled.iter();
        let needed = |pair: &&OpenPair| pair.more_blocks.unwrap_or(u32::MAX);
        match self.outcome {
            Outcome::Undecided => open.filter(|pair| !pair.not_better).max_by_key(needed),
            Outcome::Recommended | Outcome::Ranked => open.min_by_key(needed),
        }
    }

    /// The candidates that no reasonable number of blocks can separate and that are not known to differ by more than
    /// `tie`: the candidate in question and the one that it is compared with.
    pub fn inseparable_candidates(&self, tie: f64) -> Option<Vec<&str>> {
        let near = |pair: &&OpenPair| {
            let ratio = self.find_standing(&pair.candidate).map(|standing| standing.ratio.point);
            ratio.is_some_and(|ratio| ratio <= 1.0 + tie && ratio >= 1.0 / (1.0 + tie))
                && pair.more_blocks.is_none_or(|more| more > WORTHWHILE)
        };
        let hardest = self.first_to_settle().filter(near)?;
        let others = self.unsettled.iter().filter(near).map(|pair| pair.candidate.as_str());
        Some(std::iter::once(hardest.against.as_str()).chain(others).collect())
    }
}
