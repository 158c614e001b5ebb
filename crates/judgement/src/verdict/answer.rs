//! The answer of a run in its shortest form, for a table of many runs: the filesystem to take, its lead over the
//! runner-up, and whether that holds from drive to drive.

use serde::Serialize;

use super::{ContrastOutcome, Judgement, Limit, Outcome};
use crate::statistics::Estimate;

/// How far an answer holds on a single drive of its class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerMark {
    /// On nine devices of ten no rival is better by more than δ, and the errors of the models reverse nothing.
    NineOfTen,
    /// Another candidate may be better on the drive of a reader.
    DependsOnDrive,
    /// The trials do not decide, or decide nothing.
    Undecided,
    /// Only one filesystem was measured: there is nothing to choose.
    OnlyOne,
}

/// The answer of a run, or of some of its candidates.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    pub mark: AnswerMark,
    /// The candidate to take; the leader so far where nothing is decided.
    pub first: String,
    /// Candidates that are shown to be as good.
    pub tied: Vec<String>,
    /// The best of the others, and how many times as much as the first it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<RunnerUp>,
    /// Candidates that may be better on the drive of a reader.
    pub rivals: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunnerUp {
    pub name: String,
    pub times: Estimate,
}

impl Answer {
    /// The answer of a judged run; `None` if no candidate was measured, or the run allows no ranking.
    pub fn from_judgement(judged: &Judgement<'_>) -> Option<Self> {
        let verdict = &judged.verdict;
        if verdict.refused.is_some() {
            return None;
        }
        let first = match judged.candidate_to_take() {
            Some(taken) => taken.to_owned(),
            None => verdict.ranking.first()?.candidate.clone(),
        };
        // The question is for a filesystem: the same one with other options is no rival.
        let of = |name: &str| judged.plan.find_candidate(name).map(|one| one.filesystem.as_str());
        let is_other = |name: &str| name != first && of(name) != of(&first);
        let is_rival = |name: &str| is_other(name) && !verdict.tied.iter().any(|tied| tied == name);
        let times = |name: &str| {
            let standing = verdict.standings.iter().find(|one| one.of == name && one.against == first);
            let ranked = || verdict.find_rank(name)?.behind;
            standing.map(|one| one.ratio).or_else(ranked)
        };
        let next =
            verdict.ranking.iter().find(|rank| is_rival(&rank.candidate)).and_then(|rank| {
                Some(RunnerUp { name: rank.candidate.clone(), times: times(&rank.candidate)? })
            });
        let tied = verdict.tied.iter().filter(|name| **name != first).cloned().collect();
        let mut rivals = rivals_on_a_drive(judged, &first);
        rivals.retain(|name| is_other(name));
        let is_open = verdict.behind.is_empty() || verdict.open.iter().any(|name| is_other(name));
        let mark = match verdict.outcome {
            _ if !verdict.ranking.iter().any(|rank| is_other(&rank.candidate)) => AnswerMark::OnlyOne,
            Outcome::Undecided if is_open => AnswerMark::Undecided,
            _ if rivals.is_empty() => AnswerMark::NineOfTen,
            _ => AnswerMark::DependsOnDrive,
        };
        Some(Answer { mark, first, tied, next, rivals })
    }
}

/// The candidates that may be better than the first on one drive: by the prediction for a device of the class, by a
/// number of the device on which the order depends, or by the errors of the models.
fn rivals_on_a_drive(judged: &Judgement<'_>, first: &str) -> Vec<String> {
    let verdict = &judged.verdict;
    let tie = judged.plan.protocol.tie;
    let mut rivals: Vec<String> = Vec::new();
    let mut add = |name: &str| {
        if name != first && !rivals.iter().any(|known| known == name) {
            rivals.push(name.to_owned());
        }
    };
    for prediction in &verdict.predictions {
        // A candidate that was certainly behind on every device rested before it could be predicted.
        let is_behind = verdict.standings.iter().any(|standing| {
            standing.of == prediction.candidate && standing.outcome == ContrastOutcome::Behind
        });
        let is_worse_everywhere = is_behind && prediction.worse == prediction.devices;
        if prediction.may_lead(tie) || (prediction.low.is_none() && !is_worse_everywhere) {
            add(&prediction.candidate);
        }
    }
    verdict.device_strata.iter().for_each(|stratum| add(&stratum.leader));
    // A tied candidate is as good anyway, unless a prediction says more.
    let is_behind = |name: &str| !verdict.tied.iter().any(|tied| tied == name);
    for limit in &verdict.limits {
        if let Limit::ModelsMayReverse { others, .. } = limit {
            others.iter().filter(|(name, _)| is_behind(name)).for_each(|(name, _)| add(name));
        }
    }
    rivals
}

/// Every other measured candidate beside one, of all protection levels: how many times as much each takes, the
/// least first. Candidates of which that is not told, since computation took no time, are left out.
pub fn compare_all(judged: &Judgement<'_>, first: &str) -> Vec<RunnerUp> {
    let score = |trial: &crate::journal::Trial| judged.objective.log_score(trial);
    let compare = |name: &str| {
        let times =
            judged.blocks.ratio(name, first, score).filter(|_| !judged.free.hides_difference(name, first));
        Some(RunnerUp { name: name.to_owned(), times: times? })
    };
    let names = judged.candidates.iter().map(|entry| entry.name).filter(|name| *name != first);
    let mut all: Vec<RunnerUp> = names.filter_map(compare).collect();
    all.sort_by(|one, other| one.times.point.total_cmp(&other.times.point));
    all
}
