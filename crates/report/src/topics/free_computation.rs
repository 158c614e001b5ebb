//! Topic: the costs that cannot be told because computation took no time, and how to learn them.

use super::ReportTopic;
use crate::model::{Clause, ClauseKind};
use crate::wording::{difference, listing};
use fsverdict_judgement::verdict::{ContrastOutcome, Judgement, Outcome};

pub(super) static TOPIC: ReportTopic = ReportTopic {
    list_clauses: |judged| Clause::list(ClauseKind::Proviso, write_remedy(judged)),
    ..ReportTopic::EMPTY
};

/// How to have the cost of computation in the times.
pub(crate) const REMEDY: &str =
    "leave `cpu` out of the plan, or name a processor model (`--set cpu=epyc-vm`)";

/// The most candidates that are named.
const MOST_NAMES: usize = 4;

/// `encryption and checksums`; `None` where every cost is told.
fn list_work(judged: &Judgement<'_>) -> Option<String> {
    let untold = &judged.verdict.untold;
    let nouns: Vec<&str> = untold.iter().map(|cost| cost.work.noun()).collect();
    (!nouns.is_empty()).then(|| listing(&nouns, nouns.len()))
}

/// The costs that cannot be told, as a sentence; `None` where every cost is told, and where nothing is compared.
pub(crate) fn write_sentence(judged: &Judgement<'_>) -> Option<String> {
    let work = list_work(judged).filter(|_| judged.verdict.refused.is_none())?;
    Some(format!("The cost of {work} cannot be told: computation took no time here."))
}

fn write_remedy(judged: &Judgement<'_>) -> Option<String> {
    let work = list_work(judged)?;
    Some(format!("computation took no time here; to learn the cost of {work}, {REMEDY}"))
}

/// The first candidate and those that differ from it in free computation, if that alone leaves open which to take.
pub(crate) fn list_undecidable<'a>(judged: &'a Judgement<'_>) -> Option<Vec<&'a str>> {
    let verdict = &judged.verdict;
    let first = &verdict.ranking.first()?.candidate;
    let rivals = judged.untold_rivals();
    let mut others = verdict.standings.iter().map(|standing| standing.outcome);
    let are_others_decided = match verdict.ranking.len() == 1 + rivals.len() {
        true => true,
        false => !verdict.standings.is_empty() && others.all(|outcome| outcome != ContrastOutcome::Undecided),
    };
    let is_withheld = verdict.outcome == Outcome::Undecided && !rivals.is_empty() && are_others_decided;
    is_withheld.then(|| [vec![first.as_str()], rivals].concat())
}

/// `No recommendation between btrfs (8.0 s) and btrfs:compress=zstd`.
pub(crate) fn withhold_recommendation(judged: &Judgement<'_>, names: &[&str]) -> String {
    let first = names.first().copied().unwrap_or_default();
    let total =
        difference::describe_total(judged, first).map_or(String::new(), |total| format!(" ({total})"));
    let others = listing(names.get(1..).unwrap_or_default(), MOST_NAMES);
    format!("No recommendation between {first}{total} and {others}")
}
